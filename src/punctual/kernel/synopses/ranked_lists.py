"""Rankings of windows: the rows of each in rank order, walked once for everybody who wants them.

Model
-----
A window is a list of rows in rank order, and of rules whose rows were dropped from it because they cannot be among the
k best (``gone``: label, mass, number of rows). A rule is judged within the window, dropped rows included: where its
mass exceeds 1 its rows are left out of the answer and counted (``rejected``). Those that are still there are told to
one asker (``broken``), and of the others the rule and how many they are (``unseen``).

Rows were dropped as if their panes' rules held. A rule that breaks takes away at most one of the rows above, so
dropping for ``k + spare`` ranks leaves answers as they are while no more than ``spare`` rules break; beyond, where
anything was dropped at all, the answer is not complete (``short``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.ragged import lists_of, offsets_of
from punctual.kernel.arrays.state import I64, State, as_type, int64s
from punctual.kernel.world.input.labels import numbered
from punctual.kernel.world.input.rows import SLACK
from punctual.kernel.world.input.wanted import Wanted
from punctual.kernel.world.rank_walk import EPS
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.together import rank_together

Finish = tuple[str, tuple[Any, ...], pa.DataType | None]
"""Function, parameters, type of the result."""
F64 = NDArray[np.float64]
NOWHERE = np.zeros(0, np.int64)


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
class CheckedWindow:
    """A window's rows whose rules hold, those that break, the rules of dropped ones that do, how many rows that are in
    all, and whether too many rules break."""

    places: I64
    broken: I64
    unseen: I64
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
    gone: pa.StructArray
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
        if fields["r"].null_count < len(items) or len(gone):
            labels = numbered(pa.concat_arrays([fields["r"], gone.field("r").cast(fields["r"].type)]))
            rule, gone_rule = labels[: len(items)], labels[len(items) :]
        named = sorted({ranking.key for ranking in rankings if ranking.key})
        if len(named) > 1:
            raise InternalError(f"rows of one stream have one key, not {named}")
        return RankedLists(
            _bounds(state["rows"]),
            fields,
            # Without PROBABILITY there is none, and nobody reads it: all rows of a key are as likely.
            fields["p"].fill_null(0.0).to_numpy(zero_copy_only=False),
            rule,
            numbered(fields[named[0]]) if named and named[0] in fields else None,
            _bounds(state["gone"]),
            gone,
            gone_rule,
            gone.field("p").to_numpy(zero_copy_only=False),
            gone.field("n").to_numpy(zero_copy_only=False),
            int64s(state["dropped"]),
            spare,
        )

    def check_rules(self, row: int) -> CheckedWindow:
        """The rows of a window, by whether their rules hold."""
        begin, end = self.bounds[row], self.bounds[row + 1]
        places = np.arange(begin, end)
        if self.rule is None:
            return CheckedWindow(places, NOWHERE, NOWHERE, 0, short=False)
        gone = slice(self.gone_bounds[row], self.gone_bounds[row + 1])
        rule, prob = self.rule[begin:end], self.prob[begin:end]
        if gone.start < gone.stop:
            rule, prob = np.append(rule, self.gone_rule[gone]), np.append(prob, self.gone_mass[gone])
        overfull = overfull_rows(prob, rule)
        if not overfull.any():
            return CheckedWindow(places, NOWHERE, NOWHERE, 0, short=False)
        here, unseen = overfull[: places.size], gone.start + np.flatnonzero(overfull[places.size :])
        rejected = int(here.sum()) + int(self.gone_rows[unseen].sum())
        short = bool(self.dropped[row]) and np.unique(rule[: places.size][here]).size > self.spare
        return CheckedWindow(places[~here], places[here], unseen, rejected, short)

    def rank(self, places: I64, rankings: Sequence[Ranking]) -> list[Ranked]:
        """All rankings of these rows, at the least of their tail cuts: one walk serves those who asked for less."""
        rule, keys = (None if column is None else column[places] for column in (self.rule, self.keys))
        wanted = [ranking.wanted for ranking in rankings]
        return rank_together(self.prob[places], rule, keys, wanted, eps=min(ranking.eps for ranking in rankings))

    def taken(self, rankings: Sequence[Ranking], rows: Sequence[I64]) -> list[dict[str, pa.Array]]:
        """For each ranking the fields that it shows of its rows, in their types: a field is taken once for all."""
        showing: dict[str, list[int]] = {}
        for number, ranking in enumerate(rankings):
            for name in dict.fromkeys(ranking.fields):
                showing.setdefault(name, []).append(number)
        found: list[dict[str, pa.Array]] = [{} for _ in rankings]
        for name, numbers in showing.items():
            # Where there are no rows yet it is the query that knows their columns.
            whole = self.fields.get(name, pa.nulls(0)).take(pa.array(np.concatenate([rows[n] for n in numbers])))
            start = 0
            for number in numbers:
                found[number][name] = whole.slice(start, rows[number].size)
                start += rows[number].size
        return found

    def said(self, windows: Sequence[CheckedWindow]) -> dict[str, pa.Array]:
        """What is said of windows besides their rows, if nobody is told of broken ones."""
        return {
            "rejected": pa.array([one.rejected for one in windows], pa.int64()),
            "short": pa.array([one.short for one in windows], pa.bool_()),
            "broken": _listed([NOWHERE] * len(windows), self.as_they_are(NOWHERE)),
            "unseen": _listed([NOWHERE] * len(windows), self.gone.slice(0, 0)),
        }

    def as_they_are(self, places: I64) -> pa.StructArray:
        """Rows with their declared columns, and where they come from if streams are united."""
        at = pa.array(places)
        names = [name for name in self.fields if name in ("t", "p", "r", "u", "w") or name.startswith("tie")]
        return pa.StructArray.from_arrays([self.fields[name].take(at) for name in names], names=names)


@dataclass(slots=True)
class _Answers:
    """What one query gets, window after window."""

    chosen: list[I64] = field(default_factory=list)
    values: list[F64] = field(default_factory=list)
    broken: list[I64] = field(default_factory=list)
    unseen: list[I64] = field(default_factory=list)

    def add(self, window: CheckedWindow, answer: Ranked, *, first: bool) -> None:
        self.chosen.append(window.places[answer.index])
        self.values.append(answer.value)
        self.broken.append(window.broken if first else NOWHERE)
        self.unseen.append(window.unseen if first else NOWHERE)

    def finished(self, columns: list[pa.Array], said: dict[str, pa.Array]) -> pa.StructArray:
        """A struct for each window, whose rows have these columns."""
        names = [*(f"x{i}" for i in range(len(columns) - 2)), "value", "rank"]
        rows = _listed(self.chosen, pa.StructArray.from_arrays(columns, names=names))
        return pa.StructArray.from_arrays([rows, *said.values()], names=["rows", *said])


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
    answers = [_Answers() for _ in rankings]
    windows: dict[int, CheckedWindow] = {}
    for row in sorted(askers):
        window = windows[row] = lists.check_rules(row)
        found = lists.rank(window.places, [rankings[number] for number in askers[row]])
        for number, answer in zip(askers[row], found):
            answers[number].add(window, answer, first=number == askers[row][0])
    picked = [np.concatenate([NOWHERE, *one.chosen]) for one in answers]
    sizes = np.array([places.size for one in answers for places in one.chosen], np.int64)
    ranks = pa.array((np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1).astype(np.int32))
    values = pa.array(np.concatenate([np.zeros(0), *(value for one in answers for value in one.values)]))
    finished: list[tuple[pa.Array, pa.Array | None]] = []
    about: dict[bytes, dict[str, pa.Array]] = {}  # most rankings read the same windows
    start = 0
    for asked, ranking, one, own, shown in zip(wanted, rankings, answers, picked, lists.taken(rankings, picked)):
        columns = [as_type(shown[name], t) for name, t in zip(ranking.fields, ranking.types)]
        columns += [column.slice(start, own.size) for column in (values, ranks)]
        start += own.size
        said = about.get(asked.tobytes())
        if said is None:
            said = about[asked.tobytes()] = lists.said([windows[row] for row in asked.tolist()])
        if any(places.size for places in one.broken):
            said = said | {"broken": _listed(one.broken, lists.as_they_are(np.concatenate(one.broken)))}
        if any(places.size for places in one.unseen):
            said = said | {"unseen": _listed(one.unseen, lists.gone.take(pa.array(np.concatenate(one.unseen))))}
        finished.append((one.finished(columns, said), None))
    return finished


def _listed(several: Sequence[I64], items: pa.Array) -> pa.ListArray:
    """Items cut into lists of these sizes."""
    return lists_of(offsets_of(np.array([one.size for one in several], np.int64)), items)


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
