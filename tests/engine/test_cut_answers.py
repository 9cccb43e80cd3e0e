"""What answers say whose scans were cut: that they are samples, of which share, and nothing in them is wrong.

The clock is simulated, as in test_finish_in_time.py: all of it was decided, and the scans find out that time is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from punctual.clock import SECOND, ManualClock, Micros, iso
from punctual.engine.engine import Engine
from punctual.kernel.sample import kept
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowSampling
from punctual.runtime.backend import Draws, RowTypeRequest, RowWork, TypeReport, TypeRequest
from tests.engine.test_finish_in_time import (
    ROW_US,
    TOTAL,
    Simulated,
    answers,
    feed_joined,
    joined_rows,
    opened,
    play,
    raw_rows,
)

SLOW = "CREATE QUERY slow AS SELECT k, a FROM s [RANGE 10 SECONDS] WHERE a > 100 PERIOD 10 SECONDS DEADLINE 1 SECOND "
JOINED = """
    CREATE STREAM r (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, b DOUBLE) FROM FEED;
    CREATE QUERY pairs AS SELECT {} FROM s [RANGE 10 SECONDS] {} JOIN r [RANGE 10 SECONDS] ON s.k = r.k AND r.b > 110
    PERIOD 10 SECONDS DEADLINE 1 SECOND QUALITY LINEAR;
"""


class Rows(Simulated):
    """Row queries may be sampled, as Spark's plan of them would say; scans come one after the other."""

    sampling = RowSampling()

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.pauses: list[Micros] = []
        """How long the machine does nothing before each of the next scans."""

    def typecheck(
        self,
        relations: Sequence[Declared],
        requests: Sequence[TypeRequest | RowTypeRequest],
        known: Sequence[Stream | Table],
    ) -> TypeReport:
        report = super().typecheck(relations, requests, known)
        rows = {one.query.name for one in requests if isinstance(one, RowTypeRequest)}
        types = {n: replace(t, sampling=self.sampling) if n in rows else t for n, t in report.queries.items()}
        return replace(report, queries=types)

    def monotonic(self) -> Micros:
        self.clock.sleep(self.pauses.pop(0) if self.pauses else 0)
        return super().monotonic()

    def answered(self, work: RowWork, draws: Draws) -> None:
        handed_on = sum(one.kept for one in draws.values())
        self.clock.sleep(int(ROW_US * handed_on))
        self._use("rows", ROW_US * handed_on)


class Inner(Rows):
    sampling = RowSampling((("k",), ("k",)))


class Preserving(Rows):
    sampling = RowSampling((("k",), ("k",)), preserved=0)


def whole_rows(window: int) -> pa.Table:
    rows = raw_rows(window, 400)
    return rows.filter(pc.greater(rows.column("a"), 100.0))


def drawn_rows(window: int, sample: str, size: int = 400) -> list[dict[str, Any]]:
    """The rows that an answer has, from the raw ones and what it says of its sample."""
    said, rows = orjson.loads(sample)["s"], raw_rows(window, size)
    drawn = rows.filter(pa.array(kept(rows, said["by"], said["salt"], said["share"])))
    chosen = drawn.filter(pc.greater(drawn.column("a"), 100.0)).select(["k", "a"])
    return chosen.sort_by([("k", "ascending"), ("a", "ascending")]).to_pylist()


def test_a_row_query_that_its_scan_cuts_is_a_sample(tmp_path: Path) -> None:
    """All of it was decided, and rows are missing: the answer, and the ledger, say which share is there."""
    engine, backend = opened(tmp_path, SLOW + "QUALITY CONVEX;", plane=Rows)
    with engine:
        play(engine, backend, range(3))
        backend.pause = 700_000
        play(engine, backend, range(3, 4))
        *before, cut = answers(engine, "slow")
        ledger = engine.ledger()
    assert [(one["basis"], one["kept"], one["quality"]) for one in before] == [("exact", 1.0, 1.0)] * 2
    assert [len(one["rows"]) for one in before] == [whole_rows(window).num_rows for window in range(2)]
    assert backend.jobs[-1][0] == {"slow": 1.0}, "all of it was decided"
    assert len(cut["rows"]) < whole_rows(2).num_rows
    assert cut["basis"] == "sample"
    said = orjson.loads(cut["sample"])["s"]
    assert said == {"share": cut["kept"], "salt": "s", "by": "row"}
    assert 0.5 < cut["kept"] < 0.8
    assert cut["quality"] == pytest.approx(1 - (1 - cut["kept"]) ** 4.185)
    assert cut["rows"] == drawn_rows(2, cut["sample"])
    assert cut["error"] is None
    last = ledger[ledger["record"] == "firing"].iloc[-1]
    assert (last["kept"], last["quality"]) == (cut["kept"], cut["quality"])


def test_a_row_query_says_the_share_that_was_used_not_that_which_was_decided(tmp_path: Path) -> None:
    """200 ms of work and a deadline after 150: less is decided. Then the machine does nothing for a while."""
    soon = SLOW.replace("1 SECOND", "150 MILLISECONDS")
    engine, backend = opened(tmp_path, soon + "QUALITY LINEAR;", plane=Rows)
    with engine:
        play(engine, backend, range(4), size=200)
        backend.pause = 50_000
        play(engine, backend, range(4, 5), size=200)
        *_before, cut = answers(engine, "slow")
    decided = backend.jobs[-1][0]["slow"]
    assert decided is not None
    assert decided < 1.0
    assert cut["kept"] < 0.9 * decided
    assert cut["quality"] == pytest.approx(cut["kept"])
    assert orjson.loads(cut["sample"])["s"]["share"] == cut["kept"]
    assert cut["rows"] == drawn_rows(3, cut["sample"], 200)


def feed_windows(engine: Engine, windows: Sequence[int], size: int) -> None:
    """Several windows in one batch: so many instants are answered as one."""
    rows = pa.concat_tables([raw_rows(window, size) for window in windows])
    columns = rows.column("t").cast(pa.int64()), rows.column("k"), rows.column("a")
    engine.feed("s", [(iso(t), k, a) for t, k, a in zip(*(column.to_pylist() for column in columns))])
    engine.tick()


def test_every_answer_of_a_job_says_whether_it_was_cut(tmp_path: Path) -> None:
    """Three instants are one job, and the scan of the last one comes late."""
    engine, backend = opened(tmp_path, SLOW + "QUALITY LINEAR;", plane=Rows)
    with engine:
        play(engine, backend, range(3), size=200)
        before = len(backend.jobs)
        backend.pauses = [0, 0, 450_000]
        feed_windows(engine, range(3, 6), size=200)
        assert len(backend.jobs) == before + 1
        first, second, last = answers(engine, "slow")[-3:]
    for one in (first, second):
        assert (one["basis"], one["kept"], one["quality"], one.get("sample")) == ("exact", 1.0, 1.0, None)
    assert last["basis"] == "sample"
    assert last["kept"] == last["quality"] == orjson.loads(last["sample"])["s"]["share"] < 0.9


RARE = TOTAL.replace("sum(a) AS total, count(*) AS n", "count(*) AS n, sum(a) AS total").replace(
    "PERIOD", "WHERE a > 1000 PERIOD"
)


def test_a_cut_window_without_a_match_is_no_certain_zero(tmp_path: Path) -> None:
    """Nothing that was read is counted. What was not read may be."""
    engine, backend = opened(tmp_path, RARE, plane=Rows)
    with engine:
        play(engine, backend, range(3), size=200)
        backend.pauses = [0, 0, 450_000]
        feed_windows(engine, range(3, 6), size=200)
        first, second, last = answers(engine, "total")[-3:]
    for one in (first, second):
        assert (one["basis"], one["kept"], one["error"]) == ("exact", 1.0, None)
        assert one["rows"] == [{"n": 0, "total": None}]
    assert last["basis"] == "sample"
    assert last["kept"] < 0.9
    assert last["rows"] == [{"n": 0, "total": None}]
    assert orjson.loads(last["error"]) == {"n": {"confidence": None}, "total": {"confidence": None}}


OUTER = {
    "LEFT": "s.k AS k, s.a AS a, r.b AS b",
    "SEMI": "s.k AS k, s.a AS a",
    "ANTI": "s.k AS k, s.a AS a",
}


@pytest.mark.parametrize("kind", OUTER)
def test_an_outer_join_that_is_cut_has_no_row_that_the_whole_one_has_not(tmp_path: Path, kind: str) -> None:
    """The scan of the second window comes later. Keys that it would leave out alone look as if they matched nothing."""
    engine, backend = opened(tmp_path, JOINED.format(OUTER[kind], kind), plane=Preserving)
    with engine:
        for window in range(3):
            feed_joined(engine, window)
            backend.clock.sleep(10 * SECOND)
        backend.pauses = [750_000, 150_000]
        feed_joined(engine, 3)
        *_before, cut = answers(engine, "pairs")
    assert backend.jobs[-1][0] == {"pairs": 1.0}
    assert cut["basis"] == "sample"
    said = {"share": cut["kept"], "salt": iso(cut["at"]), "by": ["k"]}
    assert orjson.loads(cut["sample"]) == {"s": said, "r": said}
    assert 0.1 < cut["kept"] < 0.9
    assert cut["rows"] == joined_part(kind, 2, said)


def joined_part(kind: str, window: int, said: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the whole join whose keys are in the sample."""
    sides = joined_rows(window)
    right = sides["r"].filter(pc.greater(sides["r"].column("b"), 110.0)).select(["k", "b"])
    how = {"LEFT": "left outer", "SEMI": "left semi", "ANTI": "left anti"}[kind]
    rows = sides["s"].select(["k", "a"]).join(right, "k", join_type=how)
    chosen = rows.filter(pa.array(kept(rows.select(["k"]), said["by"], said["salt"], said["share"])))
    assert 0 < chosen.num_rows < rows.num_rows
    found = chosen.to_pylist()
    return sorted(found, key=lambda row: (row["k"], row["a"], row.get("b") is not None, row.get("b") or 0.0))


def test_both_sides_of_an_inner_join_may_be_cut(tmp_path: Path) -> None:
    """Of two samples by key the smaller one is left, and the answer names it."""
    engine, backend = opened(tmp_path, JOINED.format("s.k AS k, s.a AS a, r.b AS b", "INNER"), plane=Inner)
    with engine:
        for window in range(3):
            feed_joined(engine, window)
            backend.clock.sleep(10 * SECOND)
        backend.pauses = [750_000, 150_000]
        feed_joined(engine, 3)
        *_before, cut = answers(engine, "pairs")
    said = {"share": cut["kept"], "salt": iso(cut["at"]), "by": ["k"]}
    assert orjson.loads(cut["sample"]) == {"s": said, "r": said}
    assert cut["rows"] == [row for row in joined_part("LEFT", 2, said) if row["b"] is not None]


def test_a_share_for_each_input_by_key_is_the_least_of_them(tmp_path: Path) -> None:
    """Rows that match are there together: of 60 % and 30 % of the keys 30 % are left, and the answer says so."""
    program = JOINED.format("s.k AS k, s.a AS a, r.b AS b", "INNER")
    asked = program.replace("QUALITY LINEAR", "QUALITY (1 => (s 100%, r 100%), 0.7 => (s 60%, r 30%))")
    assert asked != program
    for keep, used, quality in (("10%", 0.3, 0.7), ("65%", 0.65, 0.85)):
        engine, backend = opened(tmp_path / keep, asked, plane=Inner, keep=keep)
        with engine:
            for window in range(2):
                feed_joined(engine, window)
                backend.clock.sleep(10 * SECOND)
            (one,) = answers(engine, "pairs")
        said = {"share": used, "salt": iso(one["at"]), "by": ["k"]}
        assert orjson.loads(one["sample"]) == {"s": said, "r": said}
        assert (one["kept"], one["quality"]) == (used, pytest.approx(quality))
        assert one["rows"] == [row for row in joined_part("LEFT", 0, said) if row["b"] is not None]
