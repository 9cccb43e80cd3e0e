"""The synopses of window aggregates: what a pane keeps of its rows so that panes can be merged.

Model
-----
Rows fall into *cells* (a pane of a group). ``lift`` reduces rows to one state per cell, ``combine`` merges ranges of
neighbouring states (panes of a window, partials of tasks), ``finish`` reads a function's value off a state.

Invariants
----------
Merges are order-free: every column of a state is a function of the *set* of rows below it, so any partition of the
rows, in any order, through any tree of merges, gives the same bytes. No floating-point addition takes part in a merge.
``combine`` costs ``O(n)`` for disjoint ranges and ``O(n + m log n)`` for overlapping ones.

``tests/kernel/test_laws.py`` proves this for every kind of ``plan.functions.SYNOPSES`` that ``make`` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, State
from punctual.kernel.synopses.counts import Count
from punctual.kernel.synopses.distinct import Distinct
from punctual.kernel.synopses.ends import End
from punctual.kernel.synopses.extrema import Extremum
from punctual.kernel.synopses.moments import Moments
from punctual.kernel.synopses.ranked_lists import Finish
from punctual.kernel.synopses.ranked_rows import WorldRows
from punctual.kernel.synopses.sums import Sum
from punctual.kernel.synopses.values import Values

__all__ = ["KINDS", "Finish", "Invertible", "State", "Synopsis", "Together", "make"]


class Synopsis(Protocol):
    """One kind of synopsis; it has parameters but no data of its own."""

    kind: str

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        """State of ``cells`` cells; ``cell[i]`` is the cell of row i.

        Rows come in any order and are filtered already. NULL arguments are ignored (except by first and last).
        ``times`` (event time) and ``ties`` (the other columns in declared order) are read by first and last only.
        """
        ...

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        """One state per range ``[starts[j], ends[j])`` of rows of ``state``.

        Ranges may overlap, be disjoint, leave rows out, or be empty: an empty range gives the neutral state.
        """
        ...

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        """The function's value per state row, cast to ``result_type`` when given (Spark's result type), and its error.

        The error is the half-width of an interval around the value (float64, NULL where the value is exact), or None
        where the synopsis is always exact.
        """
        ...


@runtime_checkable
class Invertible(Protocol):
    """A synopsis from which rows that left can be taken out again: ``subtract(combine(a, b), b) == a``."""

    def subtract(self, whole: State, part: State) -> State:
        """Cell by cell, the state of the rows of ``whole`` without those of ``part``."""
        ...


@runtime_checkable
class Together(Protocol):
    """A synopsis whose functions have most of their work in common where they read the same states."""

    def finish_together(
        self, finishes: Sequence[Finish], wanted: Sequence[I64], state: State
    ) -> list[tuple[pa.Array, pa.Array | None]]:
        """What ``finish`` gives for each of the calls, on the state rows (ascending) that it is wanted of."""
        ...


KINDS: dict[str, Callable[[tuple[Any, ...], bool], Synopsis]] = {
    "rows": lambda parameters, ignore_nulls: Count("rows"),
    "count": lambda parameters, ignore_nulls: Count("count"),
    "sum": lambda parameters, ignore_nulls: Sum(),
    "moments": lambda parameters, ignore_nulls: Moments(),
    "minimum": lambda parameters, ignore_nulls: Extremum("minimum"),
    "maximum": lambda parameters, ignore_nulls: Extremum("maximum"),
    "first": lambda parameters, ignore_nulls: End("first", ignore_nulls),
    "last": lambda parameters, ignore_nulls: End("last", ignore_nulls),
    "values": lambda parameters, ignore_nulls: Values(*parameters),
    "distinct": lambda parameters, ignore_nulls: Distinct(*parameters),
    "world": lambda parameters, ignore_nulls: WorldRows(*parameters),
}


SIZED = frozenset(("world",))
"""Kinds whose first parameter says how much is kept. States of one size can be read as those of another."""


def make(kind: str, parameters: tuple[Any, ...] = (), ignore_nulls: bool = False) -> Synopsis:
    """The synopsis of a kind.

    Parameters
    ----------
    kind : str
        As in ``plan.functions``: rows, count, sum, moments, minimum, maximum, first, last, values, distinct.
    parameters : tuple
        ``values``: (cap,), how many distinct values are kept exactly, None for all. ``distinct``: (precision,), see
        ``distinct.precision_for``. ``world``: (k, ascending), 0 for every row. Others: none.
    ignore_nulls : bool
        ``first`` and ``last`` skip rows whose argument is NULL.

    Examples
    --------
    >>> make("count").kind
    'count'
    """
    if kind not in KINDS:
        raise InternalError(f"no synopsis of kind {kind}")
    return KINDS[kind](parameters, ignore_nulls)
