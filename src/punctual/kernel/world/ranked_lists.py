"""Rankings of windows: the rows of each in rank order, walked once for everybody who wants them.

Model
-----
A window is a list of rows in rank order, and of rules whose rows were dropped from it because they cannot be among the
k best (``gone``: label, mass, number of rows). A rule is judged within the window, dropped rows included: where its
mass exceeds 1 its rows are left out of the answer and counted (``rejected``); those that are still there are told to
one asker (``broken``).

Rows were dropped as if their panes' rules held. A rule that breaks takes away at most one of the rows above, so
dropping for ``k + spare`` ranks leaves answers as they are while no more than ``spare`` rules break; beyond, where
anything was dropped at all, the answer is not complete (``short``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.window.ragged import lists_of, offsets_of
from punctual.kernel.window.state import I64, State, as_type, int64s
from punctual.kernel.world.rank_scan import EPS
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.rows import SLACK, numbered
from punctual.kernel.world.together import Wanted, rank_together

Finish = tuple[str, tuple[Any, ...], pa.DataType | None]
"""Function, parameters, type of the result."""
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a query wants: its ranking, the fields of a row that it shows and their types, the field of a row's key."""

    wanted: Wanted
    fields: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    key: str
    eps: float

    @staticmethod
    def of(function: str, parameters: tuple[Any, ...], result_type: pa.DataType | None) -> Ranking:
        """As the parameters of its aggregate say: semantics, k, whether lower scores are better, the margin of STABLE
        (0 without it), the numbers of the semantics, fields, key, and where the tail is cut if it is."""
        if function != "top":
            raise InternalError(f"function {function} does not read the synopsis world")
        semantics, k, _ascending, margin, numbers, fields, key, *eps = parameters
        types: tuple[pa.DataType | None, ...] = (None,) * len(fields)
        if result_type is not None:
            types = tuple(field.type for field in result_type.value_type if field.name[0] == "x")
        return Ranking(Wanted(semantics, k, tuple(numbers), margin), fields, types, key, *(eps or [EPS]))


@dataclass(frozen=True, slots=True)
class Judged:
    """A window's rows whose rules hold, those that break, how many break in all, and whether too many rules do."""

    places: I64
    broken: I64
    rejected: int
    short: bool


@dataclass(frozen=True, slots=True)
class RankedLists:
    """The rows of all windows as arrays, in rank order window by window; ``gone_*`` are the rules of dropped rows."""

    bounds: list[int]
    fields: dict[str, pa.Array]
    prob: F64
    rule: I64 | None
    keys: I64 | None
    gone_bounds: list[int]
    gone_rule: I64
    gone_mass: F64
    gone_rows: I64
    dropped: I64
    spare: int

    @staticmethod
    def of(state: State, rankings: Sequence[Ranking], spare: int) -> RankedLists:
        """The states of the synopsis ``world``."""
        items, gone = state["rows"].flatten(), state["gone"].flatten()
        fields = {field.name: column for field, column in zip(items.type, items.flatten())}
        rule, gone_rule = None, np.zeros(0, np.int64)
        if fields["r"].null_count < len(items):
            labels = numbered(pa.concat_arrays([fields["r"], gone.field("r").cast(fields["r"].type)]))
            rule, gone_rule = labels[: len(items)], labels[len(items) :]
        named = sorted({ranking.key for ranking in rankings if ranking.key})
        if len(named) > 1:
            raise InternalError(f"rows of one stream have one key, not {named}")
        return RankedLists(
            _bounds(state["rows"]),
            fields,
            fields["p"].to_numpy(zero_copy_only=False),
            rule,
            numbered(fields[named[0]]) if named and named[0] in fields else None,
            _bounds(state["gone"]),
            gone_rule,
            gone.field("p").to_numpy(zero_copy_only=False),
            gone.field("n").to_numpy(zero_copy_only=False),
            int64s(state["dropped"]),
            spare,
        )

    def judge(self, row: int) -> Judged:
        """The rows of a window, by whether their rules hold."""
        begin, end = self.bounds[row], self.bounds[row + 1]
        places = np.arange(begin, end)
        if self.rule is None:
            return Judged(places, places[:0], 0, short=False)
        gone = slice(self.gone_bounds[row], self.gone_bounds[row + 1])
        rule, prob = self.rule[begin:end], self.prob[begin:end]
        if gone.start < gone.stop:
            rule, prob = np.append(rule, self.gone_rule[gone]), np.append(prob, self.gone_mass[gone])
        overfull = overfull_rows(prob, rule)
        if not overfull.any():
            return Judged(places, places[:0], 0, short=False)
        here = overfull[: places.size]
        rejected = int(here.sum()) + int(self.gone_rows[gone][overfull[places.size :]].sum())
        short = bool(self.dropped[row]) and np.unique(rule[: places.size][here]).size > self.spare
        return Judged(places[~here], places[here], rejected, short)

    def rank(self, places: I64, rankings: Sequence[Ranking]) -> list[Ranked]:
        """All rankings of these rows, at the least of their tail cuts: one walk serves those who asked for less."""
        rule, keys = (None if column is None else column[places] for column in (self.rule, self.keys))
        wanted = [ranking.wanted for ranking in rankings]
        return rank_together(self.prob[places], rule, keys, wanted, eps=min(ranking.eps for ranking in rankings))

    def answers(
        self, ranking: Ranking, chosen: list[I64], values: list[F64], judged: list[Judged], broken: list[I64]
    ) -> pa.StructArray:
        """The answers of one query, a struct for each window that it reads."""
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
        columns = {
            "rows": lists_of(offsets_of(sizes), struct),
            "rejected": pa.array([one.rejected for one in judged], pa.int64()),
            "short": pa.array([one.short for one in judged], pa.bool_()),
            "broken": self._as_they_are(broken),
        }
        return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))

    def _as_they_are(self, several: list[I64]) -> pa.ListArray:
        """Lists of rows with their declared columns."""
        at = pa.array(np.concatenate([np.zeros(0, np.int64), *several]))
        names = [name for name in self.fields if name in ("t", "p", "r") or name.startswith("tie")]
        struct = pa.StructArray.from_arrays([self.fields[name].take(at) for name in names], names=names)
        return lists_of(offsets_of(np.array([one.size for one in several], np.int64)), struct)


def rank_lists(
    finishes: Sequence[Finish], wanted: Sequence[I64], state: State, spare: int
) -> list[tuple[pa.Array, pa.Array | None]]:
    """Many rankings, each of some of the windows."""
    rankings = [Ranking.of(*finish) for finish in finishes]
    lists = RankedLists.of(state, rankings, spare)
    askers: dict[int, list[int]] = {}
    for number, rows in enumerate(wanted):
        for row in rows.tolist():
            askers.setdefault(row, []).append(number)
    chosen: list[list[I64]] = [[] for _ in rankings]
    values: list[list[F64]] = [[] for _ in rankings]
    judged: list[list[Judged]] = [[] for _ in rankings]
    broken: list[list[I64]] = [[] for _ in rankings]
    for row in sorted(askers):
        window = lists.judge(row)
        answers = lists.rank(window.places, [rankings[number] for number in askers[row]])
        for number, answer in zip(askers[row], answers):
            chosen[number].append(window.places[answer.index])
            values[number].append(answer.value)
            judged[number].append(window)
            broken[number].append(window.broken if number == askers[row][0] else window.broken[:0])
    return [
        (lists.answers(ranking, *found), None) for ranking, found in zip(rankings, zip(chosen, values, judged, broken))
    ]


def overfull_rows(prob: F64, rule: I64) -> NDArray[np.bool_]:
    """The rows of rules whose probabilities add up to more than 1."""
    member = np.flatnonzero(rule >= 0)
    found = np.zeros(rule.size, np.bool_)
    _rules, which = np.unique(rule[member], return_inverse=True)
    found[member] = (np.bincount(which, prob[member]) > 1 + SLACK)[which]
    return found


def _bounds(lists: pa.ListArray) -> list[int]:
    offsets = lists.offsets.to_numpy()
    bounds: list[int] = (offsets - offsets[0]).tolist()
    return bounds
