"""Uncertain rows of a pane, so that panes can be merged and a window ranked.

Model
-----
A cell keeps its rows as a list in rank order: by score, then event time, then the tie columns in declared order, then
the rest of the row, so that equal sets of rows are equal lists. Rows without a score have no rank and are not kept.
With a ``k`` only candidates stay (:mod:`punctual.kernel.world.candidates`): no probability of the first k ranks moves
by more than 1e-18, and a ranking cuts everything below that anyway. Without one (expected ranks, U-topk) all stay.

State: ``rows``, a list of structs with ``t`` (event time), ``s``, ``p``, ``r`` (score, probability, rule), ``tie0``,
... (the declared columns), ``x...`` (what queries select besides) and, of united streams, ``u`` and ``w`` (where a row
comes from, and as what); ``dropped``, how many rows were no candidates; ``gone``, the rules of those (label, mass,
rows).

A rule is judged within a window, by all of its rows (:mod:`punctual.kernel.synopses.ranked_lists`). Whether it will
break is not known when a pane is cut, so where there are rules panes keep candidates for twice as many ranks, which
lets up to k of them break; a rule that breaks within the pane pushes nobody out, and its rows stay to be shown.

Cost: a sort of the rows per merge; a Python call for every list that is long enough to cut, and for every window
ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.order import ranks
from punctual.kernel.arrays.ragged import lists_of, offsets_of, take_lists
from punctual.kernel.arrays.rangefold import fold
from punctual.kernel.arrays.state import I64, State, int64s
from punctual.kernel.synopses.ranked_lists import Finish, overfull_rows, rank_lists
from punctual.kernel.world.candidates import candidates
from punctual.kernel.world.input.labels import numbered

WORTH_CUTTING = 4
"""A list is cut to candidates once it is so many times as long as the ranks that it is kept for."""
SPARED = 2
"""With rules, candidates are kept for so many times k ranks."""
FIRST = ("t", "s", "p", "r")
NO_KEYS = (*FIRST, "w")
"""Fields that rank rows by themselves, or not at all: ``w`` repeats others as texts."""
UNKNOWN = pa.struct([("s", pa.float64()), ("p", pa.float64()), ("r", pa.string())])


class WorldRows:
    """The rows of a cell, or its candidates for the k best.

    Parameters
    ----------
    k : int
        The largest k of all queries; 0 keeps every row.
    ascending : int
        1 where lower scores are better.
    """

    kind = "world"

    def __init__(self, k: int, ascending: int) -> None:
        self.k = k
        self.ascending = bool(ascending)

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("a ranking needs its rows")
        if not pa.types.is_struct(argument.type):  # no rows yet, of a type that nobody knows
            argument = pa.array([], UNKNOWN)
        fields = {field.name: column for field, column in zip(argument.type, argument.flatten())}
        columns = {"t": pa.array(times), **{name: fields[name] for name in ("s", "p", "r")}}
        columns |= {f"tie{i}": column for i, column in enumerate(ties)}
        columns |= {name: column for name, column in fields.items() if name not in FIRST}
        items = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        kept = np.flatnonzero(_has_rank(columns["s"]))
        order = kept[np.argsort(cell[kept], kind="stable")]
        offsets = offsets_of(np.bincount(cell[kept], minlength=cells))
        return self._tidy(offsets, items.take(pa.array(order)), _Gone.none(), np.zeros(cells, np.int64))

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        def merge(some: State, members: I64, offsets: I64) -> State:
            running = np.concatenate([[0], np.cumsum(int64s(some["dropped"])[members])])
            dropped = running[offsets[1:]] - running[offsets[:-1]]
            gone = _Gone.taken(*take_lists(some["gone"], members, offsets))
            return self._tidy(*take_lists(some["rows"], members, offsets), gone, dropped)

        return fold(state, starts, ends, merge)

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        """For each list a struct: ``rows`` (the selected columns, ``value`` and ``rank``), and of those whose rule
        breaks how many there are (``rejected``) and, told to one asker only, which (``broken``)."""
        (found,) = self.finish_together([(function, parameters, result_type)], [np.arange(len(state["rows"]))], state)
        return found

    def finish_together(
        self, finishes: Sequence[Finish], wanted: Sequence[I64], state: State
    ) -> list[tuple[pa.Array, pa.Array | None]]:
        """Many rankings, each of some of the lists: a list is walked once, whoever wants it."""
        return rank_lists(finishes, wanted, state, self.k)

    def _tidy(self, offsets: I64, items: pa.Array, gone: _Gone, dropped: I64) -> State:
        """Each group in rank order, cut to candidates where that is worth it."""
        group = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        order = np.lexsort([*self._keys(items), group])
        items = items.take(pa.array(order))
        if self.k:
            kept = self._candidates(offsets, items)
            if kept is not None:
                lost = items.filter(pa.array(~kept))
                gone = gone.and_rows(group[~kept], lost)
                dropped = dropped + np.bincount(group[~kept], minlength=dropped.size)
                offsets = offsets_of(np.bincount(group[kept], minlength=offsets.size - 1))
                items = items.filter(pa.array(kept))
        return {"rows": lists_of(offsets, items), "gone": gone.lists(dropped.size), "dropped": pa.array(dropped)}

    def _keys(self, items: pa.StructArray) -> list[I64]:
        """Sort keys, the last one first, as ``lexsort`` wants them."""
        fields = dict(zip((field.name for field in items.type), items.flatten()))
        score = ranks(fields["s"])
        others = [name for name in fields if name not in NO_KEYS]
        keys = [score if self.ascending else -score, ranks(fields["t"]), *(ranks(fields[name]) for name in others)]
        return [*keys, ranks(fields["p"]), ranks(fields["r"])][::-1]

    def _candidates(self, offsets: I64, items: pa.StructArray) -> NDArray[np.bool_] | None:
        """Which rows stay; None where all do."""
        spared = SPARED if items.field("r").null_count < len(items) else 1
        long = np.flatnonzero(np.diff(offsets) > WORTH_CUTTING * spared * self.k)
        if not long.size:
            return None
        kept = np.ones(len(items), np.bool_)
        prob = items.field("p").to_numpy(zero_copy_only=False)
        rule = numbered(items.field("r")) if spared > 1 else None
        for one in long.tolist():
            begin, end = int(offsets[one]), int(offsets[one + 1])
            counts, own = prob[begin:end] > 0, None
            overfull = None if rule is None else overfull_rows(prob[begin:end], rule[begin:end])
            if overfull is not None:
                counts &= ~overfull
            places = begin + np.flatnonzero(counts)
            if rule is not None:
                own = pa.array(rule[places], mask=rule[places] < 0)
            stays = candidates(np.arange(places.size, 0, -1), prob[places], own, k=spared * self.k)
            if not stays.all():
                kept[places[np.argmin(stays)] : end] = False
            if overfull is not None:
                kept[begin:end] |= overfull
        return kept


NO_RULES = pa.array([[]], pa.list_(pa.struct([("r", pa.string()), ("p", pa.float64()), ("n", pa.int64())])))


@dataclass(frozen=True, slots=True)
class _Gone:
    """Rules of rows that were dropped: the group of each, its label, mass, and number of rows."""

    group: I64
    label: pa.Array
    mass: NDArray[np.float64]
    rows: I64

    @staticmethod
    def none() -> _Gone:
        return _Gone(np.zeros(0, np.int64), pa.nulls(0, pa.string()), np.zeros(0), np.zeros(0, np.int64))

    @staticmethod
    def taken(offsets: I64, items: pa.StructArray) -> _Gone:
        group = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        mass, rows = (items.field(name).to_numpy(zero_copy_only=False) for name in ("p", "n"))
        return _Gone(group, items.field("r"), mass, rows)

    def and_rows(self, group: I64, rows: pa.StructArray) -> _Gone:
        """With these rows, of which those without a rule may be forgotten."""
        ruled = np.flatnonzero(rows.field("r").is_valid().to_numpy(zero_copy_only=False))
        at = pa.array(ruled)
        return _Gone(
            np.append(self.group, group[ruled]),
            pa.concat_arrays([self.label, rows.field("r").take(at).cast(pa.string())]),
            np.append(self.mass, rows.field("p").take(at).to_numpy(zero_copy_only=False)),
            np.append(self.rows, np.ones(ruled.size, np.int64)),
        )

    def lists(self, groups: int) -> pa.ListArray:
        """A list for each group, one entry per rule."""
        if not self.group.size:
            return NO_RULES.take(pa.array(np.zeros(groups, np.int64)))
        rule = numbered(self.label)
        places, first, which = np.unique(
            self.group * (rule.max(initial=0) + 1) + rule, return_index=True, return_inverse=True
        )
        columns = {
            "r": self.label.take(pa.array(first)),
            "p": pa.array(np.bincount(which, self.mass, places.size).astype(np.float64)),
            "n": pa.array(np.bincount(which, self.rows, places.size).astype(np.int64)),
        }
        struct = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        return lists_of(offsets_of(np.bincount(self.group[first], minlength=groups)), struct)


def _has_rank(score: pa.Array) -> NDArray[np.bool_]:
    valid = pc.is_valid(score)
    if pa.types.is_floating(score.type):
        valid = pc.and_(valid, pc.invert(pc.fill_null(pc.is_nan(score), True)))
    mask: NDArray[np.bool_] = valid.to_numpy(zero_copy_only=False)
    return mask
