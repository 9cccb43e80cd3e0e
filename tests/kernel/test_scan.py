"""Windows by walks over panes: the answers of shared merging, at the cost that the paper's model says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.panes import panes as panes_module
from punctual.kernel.panes import scan, series
from punctual.kernel.panes.layout import progressions_for
from punctual.kernel.panes.lift import lift
from punctual.kernel.panes.panes import Answered, Panes
from punctual.kernel.panes.spec import Band, Call, Comparison, Reader, Selection, SynopsisSpec, UnitSpec
from punctual.kernel.synopses.synopsis import KINDS
from punctual.runtime.operators.shards import AnswerShards, ShardWork, Stored, answered_table
from punctual.store.products import ShardAnswers, outputs, to_ipc

MINUTE = 60_000_000
SHARDS = 3
THRESHOLD = 2
EVERYTHING: Selection = ((),)
LARGE: Selection = ((Comparison(">", (THRESHOLD,)),),)

FUNCTIONS: tuple[tuple[str, str, tuple[Any, ...], str, tuple[Any, ...]], ...] = (
    ("count", "text", (), "count", ()),
    ("sum", "number", (), "sum", ()),
    ("sum", "real", (), "avg", ()),
    ("sum", "price", (), "sum", ()),
    ("moments", "real", (), "stddev_samp", ()),
    ("minimum", "text", (), "min", ()),
    ("maximum", "real", (), "max", ()),
    ("first", "text", (), "first", ()),
    ("last", "number", (), "last", ()),
    ("values", "number", (3,), "approx_percentile", (0.5,)),
    ("values", "text", (None,), "count", ()),
    ("distinct", "number", (5,), "approx_count_distinct", ()),
)
"""Kind, column, parameters, function and its parameters."""
SYNOPSES = (SynopsisSpec("rows"), *(SynopsisSpec(kind, column, given) for kind, column, given, _, _ in FUNCTIONS))
TYPES = {
    "key": pa.string(), "number": pa.int64(), "real": pa.float64(), "price": pa.decimal128(9, 2), "text": pa.string(),
}  # fmt: skip
Row = tuple[int, str, int | None, float | None, int | None, str | None]
"""Time, and the columns of TYPES."""


@dataclass(frozen=True)
class Asked:
    """A reader: length and step of its windows, whether its WHERE and its calls want large numbers only."""

    length: int
    step: int
    where: bool
    filtered: bool

    def reader(self, instants: Sequence[int]) -> Reader:
        where = LARGE if self.where else EVERYTHING
        narrow = LARGE if self.where or self.filtered else EVERYTHING
        calls = [Call(f, i + 1, given, narrow) for i, (_, _, _, f, given) in enumerate(FUNCTIONS)]
        return Reader(where, self.length, np.array(instants, np.int64), (Call("count", 0, (), where), *calls))


def spec_of(asked: Sequence[Asked], keys: tuple[str, ...]) -> UnitSpec:
    bands = (Band("number", "number", (THRESHOLD,)),)
    return UnitSpec(keys, None, bands, progressions_for((a.length, a.step) for a in asked), SYNOPSES, ("real",))


def cells_of(rows: Sequence[Row], spec: UnitSpec) -> pa.Table:
    times, *columns = zip(*rows) if rows else [()] * (1 + len(TYPES))
    arrays = {name: pa.array(column, kind) for (name, kind), column in zip(TYPES.items(), columns)}
    return lift(spec, np.array(times, np.int64), arrays, SHARDS)


def content(answers: Sequence[Answered]) -> str:
    """Answers as text, in which NaN equals NaN and types count."""
    return repr([
        (a.instant.tolist(), [(str(c.type), c.to_pylist()) for c in (*a.keys, *a.values, *filter(None, a.errors))])
        for a in answers
    ])  # fmt: skip


def pane(time: int, spec: UnitSpec) -> tuple[int, int]:
    """The edges around an instant, by trying one instant after the other."""
    lo, hi = time - 1, time
    while all((lo - offset) % step for step, offset in spec.progressions):
        lo -= 1
    while all((hi - offset) % step for step, offset in spec.progressions):
        hi += 1
    return lo, hi


def merges_of(rows: Sequence[Row], spec: UnitSpec, readers: Sequence[tuple[Asked, Reader]], dropped: int) -> int:
    """Merges of all executions: for each the panes with rows in its longest window, less one."""
    panes = {time: pane(time, spec) for time, *_ in rows}
    executions = defaultdict[tuple[Any, ...], set[tuple[int, int]]](set)
    for asked, reader in readers:
        narrow = asked.where or asked.filtered
        for at in reader.instants.tolist():
            for time, key, number, *_ in rows:
                lo, hi = panes[time]
                if not (at - asked.length <= lo and dropped < hi <= at):
                    continue
                large = number is not None and number > THRESHOLD
                group = key if spec.keys else ""
                if large or not asked.where:
                    executions[(0, asked.where, asked.where, at, group)].add((lo, hi))
                if large or not narrow:
                    for synopsis in range(1, len(SYNOPSES)):
                        executions[(synopsis, asked.where, narrow, at, group)].add((lo, hi))
    return sum(len(visited) - 1 for visited in executions.values())


ROWS = st.tuples(
    st.integers(0, 60),
    st.sampled_from(["a", "b", "c"]),
    st.none() | st.integers(-3, 9),
    st.none() | st.sampled_from([0.1, -0.0, 1e300, -1e300, math.nan, math.inf, 7.25]),
    st.none() | st.integers(-999, 999),
    st.none() | st.sampled_from(["x", "y", "é", ""]),
)
ASKED = st.builds(
    Asked, st.integers(1, 40), st.sampled_from([2, 3, 5, 6, 10]), st.booleans(), st.booleans()
)


def instants_of(asked: Asked, after: int, through: int) -> list[int]:
    return [at for at in range(0, through + 1, asked.step) if at > after]


def test_every_kind_of_synopsis_is_scanned() -> None:
    assert set(KINDS) - {"world"} == {one.kind for one in SYNOPSES}  # rankings are scanned in tests/engine/test_topk.py


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    st.lists(ROWS, max_size=50), st.lists(ASKED, min_size=1, max_size=5), st.sampled_from([(), ("key",)]),
    st.lists(st.integers(0, 60), max_size=3), st.integers(1, 3), st.sampled_from([1, 60, scan.MOST_WORDS]),
)  # fmt: skip
def test_a_scan_answers_as_shared_merging_does_and_counts_its_merges(
    rows: list[Row], asked: list[Asked], keys: tuple[str, ...], stops: list[int], few: int, words: int
) -> None:
    """Rows come in batches, panes are sealed and dropped as time goes on; arrays are merged early, chunks are small."""
    spec = spec_of(asked, keys)
    shared, walked = Panes(spec, SHARDS), Panes(spec, SHARDS, scan=True)
    done, dropped, merges = -1, -(2**62), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series, "MOST_LEVELS", few)
        patch.setattr(panes_module, "MOST_BLOCKS", few)
        patch.setattr(scan, "MOST_WORDS", words)
        for stop in (*sorted(set(stops)), 80):
            due = [row for row in rows if done < row[0] <= stop]
            readers = [(one, one.reader(instants_of(one, done, stop))) for one in asked]
            found = []
            for panes in (shared, walked):
                panes.add(cells_of(due[::2], spec))
                panes.add(cells_of(due[1::2], spec))
                panes.seal(stop)
                found.append(content(panes.answer([reader for _, reader in readers])))
                panes.drop(stop - 30)
            assert found[1] == found[0]
            merges += merges_of(rows, spec, readers, dropped)
            assert (walked.merges, shared.merges) == (merges, 0)
            done, dropped = stop, stop - 30


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(
    st.lists(ROWS, max_size=25), st.lists(ROWS, max_size=25),
    st.lists(ASKED, min_size=1, max_size=2), st.lists(ASKED, min_size=1, max_size=3), st.sampled_from([(), ("key",)]),
)  # fmt: skip
def test_cells_of_an_older_layout_are_walked_too(
    early: list[Row], late: list[Row], old: list[Asked], new: list[Asked], keys: tuple[str, ...]
) -> None:
    """Their panes lie across the edges of new windows, which begin in them or are inside of one."""
    before, after = spec_of(old, keys), spec_of([*old, *new], keys)
    readers = [one.reader(instants_of(one, -1, 80)) for one in (*old, *new)]
    found = []
    for walks in (False, True):
        panes = Panes(after, SHARDS, scan=walks)
        panes.add(cells_of(early, before))
        panes.add(cells_of(late, after))
        panes.seal(80)
        found.append(content(panes.answer(readers)))
    assert found[1] == found[0]


Q = ((10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5))
"""Range and slide of the paper's Q1 to Q7, in minutes."""


def paper(queries: Sequence[int], instants: Sequence[int], keys: int = 1) -> int:
    """Merges of some of the paper's queries, due together at these minutes; the answers are checked."""
    synopses = (SynopsisSpec("rows"), SynopsisSpec("maximum", "a"))
    spec = UnitSpec(("key",), None, (), progressions_for((r * MINUTE, s * MINUTE) for r, s in Q), synopses)
    minutes = np.repeat(np.arange(60), 2 * keys)  # two rows per minute and key
    key = np.arange(minutes.size) % keys
    a = np.random.default_rng(1).permutation(minutes.size)
    panes = Panes(spec, SHARDS, scan=True)
    columns = {"key": pa.array(key), "a": pa.array(a)}
    panes.add(lift(spec, minutes * MINUTE + 1 + np.arange(minutes.size), columns, SHARDS))
    assert panes.export().num_rows == 60 * keys, "panes are of one minute"
    panes.seal(60 * MINUTE)
    ats = np.array(instants) * MINUTE
    lengths = [Q[number - 1][0] for number in queries]
    readers = [Reader((), length * MINUTE, ats, (Call("max", 1, (), ()),)) for length in lengths]
    for length, answered in zip(lengths, panes.answer(readers)):
        inside = [(minutes >= at - length) & (minutes < at) for at in instants]
        expected = [a[within & (key == k)].max() for within in inside for k in range(keys)]
        assert answered.values[0].to_pylist() == expected
    return panes.merges


def test_the_paper_s_costs() -> None:
    """Costs 9, 14 and 29 of the groups Q1-Q3, Q4-Q5 and Q6-Q7: the panes of the longest window, less one."""
    assert paper([1, 2, 3], [30]) == 9
    assert paper([4, 5], [30]) == 14
    assert paper([6, 7], [30]) == paper([1, 2, 3, 4, 5, 6, 7], [30]) == 29
    assert [paper([number], [30]) for number in range(1, 8)] == [9, 4, 5, 14, 11, 19, 29]
    assert paper([2, 3, 1, 2, 2], [30]) == 9, "an equal window costs nothing either"


def test_executions_share_nothing() -> None:
    """Neither instants, however much their windows overlap, nor groups."""
    assert paper([1, 2, 3], [30, 31, 32]) == 3 * 9
    assert paper(range(1, 8), [30, 31], keys=3) == 2 * 3 * 29


def test_queries_that_are_due_at_different_times_are_executed_apart() -> None:
    spec = UnitSpec((), None, (), ((1, 0),), (SynopsisSpec("rows"),))
    panes = Panes(spec, SHARDS, scan=True)
    panes.add(lift(spec, np.arange(1, 61), {}, SHARDS))
    panes.seal(60)
    due = {10: [40, 42, 44, 46], 15: [42, 45], 30: [45]}
    answers = panes.answer([Reader((), r, np.array(ats), (Call("count", 0, (), ()),)) for r, ats in due.items()])
    assert [answer.values[0].to_pylist() for answer in answers] == [[10] * 4, [15] * 2, [30]]
    assert panes.merges == 9 + 14 + 9 + 29 + 9


def test_panes_are_copied_out_in_bounded_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand instants would need sixty million panes at once."""
    taken: list[int] = []
    take_state = scan.take_state

    def watched(state: dict[str, pa.Array], rows: pa.Array) -> dict[str, pa.Array]:
        taken.append(len(rows))
        return take_state(state, rows)

    monkeypatch.setattr(scan, "take_state", watched)
    monkeypatch.setattr(scan, "MOST_WORDS", 5_000)
    spec = UnitSpec((), None, (), ((1, 0),), (SynopsisSpec("rows"),))
    panes = Panes(spec, SHARDS, scan=True)
    panes.add(lift(spec, np.arange(1, 1_001), {}, SHARDS))
    panes.seal(1_000)
    instants = np.arange(601, 1_001)
    (answered,) = panes.answer([Reader((), 600, instants, (Call("count", 0, (), ()),))])
    assert answered.values[0].to_pylist() == [600] * 400
    assert panes.merges == 400 * 599
    assert max(taken) <= 5_000
    assert len(taken) == 50 + 1, "eight windows at a time, and the answers"
    assert sum(taken) == 400 * 600 + 400, "every pane once, and every answer once"


def test_shards_answer_by_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator of Spark tasks: the same rows as without, and it does walk."""
    asked = [Asked(30, 5, False, False), Asked(10, 5, False, True), Asked(20, 10, True, False)]
    spec = spec_of(asked, ("key",))
    random = np.random.default_rng(2)
    rows: list[Row] = [
        (int(t), "abcdefg"[t % 7], int(random.integers(9)), float(t), int(t), "xyz"[t % 3])
        for t in random.integers(0, 60, 200)
    ]
    payload = to_ipc(cells_of(rows, spec))
    (tmp_path / "cells").write_bytes(memoryview(payload))
    stored = Stored(str(tmp_path / "cells"), 0, payload.size)
    readers = tuple(one.reader(instants_of(one, -1, 60)) for one in asked)
    works = (ShardWork(spec, (stored,), 60, -10, readers),)
    walks: list[bool] = []
    monkeypatch.setattr(panes_module, "Scan", lambda: walks.append(True) or scan.Scan())
    whole = Panes(spec, SHARDS)
    whole.add(cells_of(rows, spec))
    whole.seal(60)
    by_instant_and_key = [("instant", "ascending"), ("k0", "ascending")]
    expected = [answered_table(answered).sort_by(by_instant_and_key) for answered in whole.answer(readers)]
    for walking in (False, True):
        output = list(outputs(pa.Table.from_batches(AnswerShards(works, SHARDS, walking).run(None, 0))))
        for place, table in enumerate(expected):
            parts = [produced.table() for produced in output if produced.product == ShardAnswers(0, place)]
            found = pa.concat_tables(parts).sort_by(by_instant_and_key)
            assert repr(found.to_pydict()) == repr(table.to_pydict())
        assert len(walks) == walking * SHARDS
