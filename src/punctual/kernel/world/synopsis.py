"""Uncertain rows of a pane, so that panes can be merged and a window ranked.

Model
-----
A cell keeps its rows as a list in rank order: by score, then event time, then the tie columns in declared order, then
the rest of the row, so that equal sets of rows are equal lists. Rows without a score have no rank and are not kept.
With a ``k`` only candidates stay (:mod:`punctual.kernel.world.candidates`): no probability of the first k ranks moves
by more than 1e-18, and a ranking cuts everything below that anyway. Without one (expected ranks, U-topk) all stay.

State: ``rows``, a list of structs with ``t`` (event time), ``s``, ``p``, ``r`` (score, probability, rule), ``tie0``,
... (the declared columns) and ``x...`` (what queries select besides).

A rule is judged within a window: where its mass exceeds 1 its rows are left out of that answer and counted. Whether
they will be is not known when a pane is cut, so only rows without a rule may push others out: by the same lemma, since
rows with rules only add to those above.

All rankings that read the same windows are made from one walk a window (:mod:`punctual.kernel.world.together`).

Cost: a sort of the rows a merge; a Python call for every list that is long enough to cut, and for every window ranked.
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
from punctual.kernel.window.order import ranks
from punctual.kernel.window.ragged import lists_of, offsets_of, take_lists
from punctual.kernel.window.rangefold import fold
from punctual.kernel.window.state import I64, State, as_type
from punctual.kernel.world.candidates import candidates
from punctual.kernel.world.rank_scan import EPS
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.rows import SLACK, numbered
from punctual.kernel.world.together import Wanted, rank_together

WORTH_CUTTING = 4
"""A list is cut to candidates once it is so many times as long as k."""
FIRST = ("t", "s", "p", "r")
Finish = tuple[str, tuple[Any, ...], pa.DataType | None]
"""Function, parameters, type of the result."""
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
        return self._tidy(offsets, items.take(pa.array(order)))

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        def merge(some: State, members: I64, offsets: I64) -> State:
            return self._tidy(*take_lists(some["rows"], members, offsets))

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
        rankings = [_Ranking.of(*finish) for finish in finishes]
        lists = _Lists.of(state["rows"], rankings)
        askers: dict[int, list[int]] = {}
        for number, rows in enumerate(wanted):
            for row in rows.tolist():
                askers.setdefault(row, []).append(number)
        chosen: list[list[I64]] = [[] for _ in rankings]
        values: list[list[NDArray[np.float64]]] = [[] for _ in rankings]
        rejected: list[list[int]] = [[] for _ in rankings]
        broken: list[list[I64]] = [[] for _ in rankings]
        for row in sorted(askers):
            places, left_out = lists.places(row)
            answers = lists.rank(places, [rankings[number] for number in askers[row]])
            for number, answer in zip(askers[row], answers):
                chosen[number].append(places[answer.index])
                values[number].append(answer.value)
                rejected[number].append(left_out.size)
                broken[number].append(left_out if number == askers[row][0] else left_out[:0])
        return [
            (lists.answers(ranking, *found), None)
            for ranking, found in zip(rankings, zip(chosen, values, rejected, broken))
        ]

    def _tidy(self, offsets: I64, items: pa.Array) -> State:
        """Each group in rank order, cut to candidates where that is worth it."""
        group = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        order = np.lexsort([*self._keys(items), group])
        items = items.take(pa.array(order))
        if self.k:
            kept = self._candidates(offsets, items)
            if kept is not None:
                offsets = offsets_of(np.bincount(group[kept], minlength=offsets.size - 1))
                items = items.filter(pa.array(kept))
        return {"rows": lists_of(offsets, items)}

    def _keys(self, items: pa.StructArray) -> list[I64]:
        """Sort keys, the last one first, as ``lexsort`` wants them."""
        fields = dict(zip((field.name for field in items.type), items.flatten()))
        score = ranks(fields["s"])
        others = [name for name in fields if name not in FIRST]
        keys = [score if self.ascending else -score, ranks(fields["t"]), *(ranks(fields[name]) for name in others)]
        return [*keys, ranks(fields["p"]), ranks(fields["r"])][::-1]

    def _candidates(self, offsets: I64, items: pa.StructArray) -> NDArray[np.bool_] | None:
        """Which rows stay; None where all do."""
        long = np.flatnonzero(np.diff(offsets) > WORTH_CUTTING * self.k)
        if not long.size:
            return None
        kept = np.ones(len(items), np.bool_)
        prob = items.field("p").to_numpy(zero_copy_only=False)
        free = items.field("r").is_null().to_numpy(zero_copy_only=False)
        for one in long.tolist():
            begin, end = int(offsets[one]), int(offsets[one + 1])
            places = begin + np.flatnonzero(free[begin:end] & (prob[begin:end] > 0))
            stays = candidates(np.arange(places.size, 0, -1), prob[places], k=self.k)
            if not stays.all():
                kept[places[np.argmin(stays)] : end] = False
        return kept


def _has_rank(score: pa.Array) -> NDArray[np.bool_]:
    valid = pc.is_valid(score)
    if pa.types.is_floating(score.type):
        valid = pc.and_(valid, pc.invert(pc.fill_null(pc.is_nan(score), True)))
    mask: NDArray[np.bool_] = valid.to_numpy(zero_copy_only=False)
    return mask


def _overfull(prob: NDArray[np.float64], rule: I64) -> NDArray[np.bool_]:
    """The rows of rules whose probabilities add up to more than 1."""
    member = rule >= 0
    if not member.any():
        return np.zeros(rule.size, np.bool_)
    masses = np.bincount(rule[member], prob[member], int(rule.max()) + 1)
    return member & (masses[np.maximum(rule, 0)] > 1 + SLACK)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What a query wants: its ranking, the fields of a row that it shows and their types, the field of a row's key."""

    wanted: Wanted
    fields: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    key: str
    eps: float

    @staticmethod
    def of(function: str, parameters: tuple[Any, ...], result_type: pa.DataType | None) -> _Ranking:
        if function != "top":
            raise InternalError(f"function {function} does not read the synopsis world")
        semantics, k, _ascending, margin, numbers, fields, key, *eps = parameters
        types: tuple[pa.DataType | None, ...] = (None,) * len(fields)
        if result_type is not None:
            types = tuple(field.type for field in result_type.value_type if field.name[0] == "x")
        return _Ranking(Wanted(semantics, k, tuple(numbers), margin), fields, types, key, *(eps or [EPS]))


@dataclass(frozen=True, slots=True)
class _Lists:
    """The rows of all lists as arrays, in rank order list by list."""

    bounds: list[int]
    fields: dict[str, pa.Array]
    prob: NDArray[np.float64]
    rule: I64 | None
    keys: I64 | None

    @staticmethod
    def of(lists: pa.ListArray, rankings: Sequence[_Ranking]) -> _Lists:
        bounds = lists.offsets.to_numpy()
        items = lists.flatten()
        fields = {field.name: column for field, column in zip(items.type, items.flatten())}
        named = sorted({ranking.key for ranking in rankings if ranking.key})
        if len(named) > 1:
            raise InternalError(f"rows of one stream have one key, not {named}")
        return _Lists(
            (bounds - bounds[0]).tolist(),
            fields,
            fields["p"].to_numpy(zero_copy_only=False),
            numbered(fields["r"]) if fields["r"].null_count < len(items) else None,
            numbered(fields[named[0]]) if named and named[0] in fields else None,
        )

    def places(self, row: int) -> tuple[I64, I64]:
        """The rows of a list whose rules hold, and the others."""
        begin, end = self.bounds[row], self.bounds[row + 1]
        places = np.arange(begin, end)
        if self.rule is None:
            return places, places[:0]
        overfull = _overfull(self.prob[begin:end], self.rule[begin:end])
        return places[~overfull], places[overfull]

    def rank(self, places: I64, rankings: Sequence[_Ranking]) -> list[Ranked]:
        """All rankings of these rows, at the least of their tail cuts: one walk serves those who asked for less."""
        rule, keys = (None if column is None else column[places] for column in (self.rule, self.keys))
        wanted = [ranking.wanted for ranking in rankings]
        return rank_together(self.prob[places], rule, keys, wanted, eps=min(ranking.eps for ranking in rankings))

    def answers(
        self,
        ranking: _Ranking,
        chosen: list[I64],
        values: list[NDArray[np.float64]],
        rejected: list[int],
        broken: list[I64],
    ) -> pa.StructArray:
        """The answers of one query, a struct for each list that it reads."""
        sizes = np.array([one.size for one in chosen], np.int64)
        rows = np.concatenate([np.zeros(0, np.int64), *chosen])
        at = pa.array(rows)
        # Where there are no rows yet it is the query that knows their columns.
        found = (self.fields.get(name, pa.nulls(0)).take(at) for name in ranking.fields)
        columns = {f"x{i}": as_type(column, t) for i, (column, t) in enumerate(zip(found, ranking.types))}
        columns["value"] = pa.array(np.concatenate([np.zeros(0), *values]))
        place = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        columns["rank"] = pa.array(place.astype(np.int32))
        struct = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        listed = lists_of(offsets_of(sizes), struct)
        columns = {"rows": listed, "rejected": pa.array(rejected, pa.int64()), "broken": self._as_they_are(broken)}
        return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))

    def _as_they_are(self, several: list[I64]) -> pa.ListArray:
        """Lists of rows with their declared columns."""
        at = pa.array(np.concatenate([np.zeros(0, np.int64), *several]))
        names = [name for name in self.fields if name in ("t", "p", "r") or name.startswith("tie")]
        struct = pa.StructArray.from_arrays([self.fields[name].take(at) for name in names], names=names)
        return lists_of(offsets_of(np.array([one.size for one in several], np.int64)), struct)
