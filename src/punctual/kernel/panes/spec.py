"""What a unit keeps of a stream, and what its readers ask of it: frozen values that travel to Spark workers.

Model
-----
A *unit* is what many window queries share: one grouping, one mask of rows, one set of synopses. Its rows are lifted
into *cells*, each of one pane ``(lo, hi]``, one band and one group key. A *reader* is one query over a unit: a length
of window, instants, and calls of aggregate functions, each under a selection of bands.

A predicate reaches a unit in one of two ways. The *mask* is a boolean column that every reader wants. *Bands* carry the
comparisons in which readers differ: a band column's constants cut its values into stretches, and a selection says
which stretches it wants (see ``bands.py``).

Invariants
----------
Names of columns are those of the projected Arrow batch. The first synopsis is always ``rows``: it says which groups
exist. A selection has one conjunction for each band of its unit, in the unit's order; the empty conjunction wants all
rows, those with NULL too. Times and lengths are microseconds in int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

I64 = NDArray[np.int64]
Operator = Literal["<", "<=", "=", ">=", ">", "<>", "in"]
Constant = int | float | str


@dataclass(frozen=True, slots=True)
class SynopsisSpec:
    """A synopsis of one column: what ``synopsis.make`` is called with. ``column`` is None for ``rows``."""

    kind: str
    column: str | None = None
    parameters: tuple[object, ...] = ()
    ignore_nulls: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """A column and the sorted, distinct constants that cut its values.

    ``number`` columns are cut by order, ``label`` columns (strings, booleans as 0 and 1) by equality alone.
    """

    column: str
    kind: Literal["number", "label"]
    cuts: tuple[Constant, ...]

    def __post_init__(self) -> None:
        assert tuple(sorted(set(self.cuts))) == self.cuts, f"cuts are not sorted and distinct: {self.cuts}"


@dataclass(frozen=True, slots=True)
class Grid:
    """How rows are cut into cells, besides by group: pane edges and bands."""

    progressions: tuple[tuple[int, int], ...]
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """How rows become cells.

    keys : columns of the group key
    mask : boolean column of the rows that count, NULL is false; None for all rows
    bands : columns whose comparisons are decided when cells are read
    progressions : pane edges, each ``(step, offset)`` for the instants ``m * step + offset``; sorted
    synopses : what a cell keeps; the first is ``rows``
    ties : columns that order rows of equal event time, for ``first`` and ``last``
    """

    keys: tuple[str, ...]
    mask: str | None
    bands: tuple[Band, ...]
    progressions: tuple[tuple[int, int], ...]
    synopses: tuple[SynopsisSpec, ...]
    ties: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.synopses[:1] == (SynopsisSpec("rows"),), "the first synopsis of a unit is rows"
        assert self.progressions, "a unit has pane edges"

    @property
    def grid(self) -> Grid:
        """How its cells are cut."""
        return Grid(self.progressions, self.bands)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A band's column against constants: one, or several for ``in``. NULL satisfies none; NaN is above every number."""

    operator: Operator
    values: tuple[Constant, ...]


Selection = tuple[tuple[Comparison, ...], ...]
"""One conjunction a band."""


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate function over the rows of a selection.

    ``synopsis`` is an index into the unit's synopses, ``parameters`` and ``type`` are handed to its ``finish``.
    """

    function: str
    synopsis: int
    parameters: tuple[object, ...]
    selection: Selection
    type: pa.DataType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """One query: the windows ``(at - range_us, at]`` for every ``at`` of the sorted ``instants``.

    ``where`` decides which groups a window has; a call's own selection implies it or narrows it (FILTER).
    """

    where: Selection
    range_us: int
    instants: I64
    calls: tuple[Call, ...]

    def alone(self) -> Readers:
        """Readers of which it is the only one."""
        first = np.zeros(1, np.int64)
        return Readers((self.where,), first, np.array([self.range_us], np.int64), (self.calls,), first, self.instants)


@dataclass(frozen=True, slots=True, eq=False)
class Readers:
    """Queries with the same instants that call the same functions, as arrays with an entry for each.

    ``where`` is the place of a query's selection in ``wheres``, ``call`` that of its calls in ``calls``. Readers of one
    ``family`` that call the same functions are answered as one, also where their instants differ.
    """

    wheres: tuple[Selection, ...]
    where: I64
    ranges: I64
    calls: tuple[tuple[Call, ...], ...]
    call: I64
    instants: I64
    family: int = 0

    def __len__(self) -> int:
        return int(self.ranges.size)

    def each(self) -> list[Reader]:
        """Each by itself."""
        several = zip(self.where.tolist(), self.ranges.tolist(), self.call.tolist())
        return [Reader(self.wheres[w], length, self.instants, self.calls[c]) for w, length, c in several]
