"""Queries that finish in time by using less, while their job runs: scans that are cut, and jobs that are run again.

The clock is simulated: a job from rows takes a fixed time, and so much for each row that its scans hand on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, Micros, iso
from punctual.engine.engine import Engine
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.row_costs import RowCosts
from punctual.kernel.sample import kept
from punctual.runtime.backend import Draws, OverdueError, RowAnswers, RowWork
from punctual.schedule.qos.notices import DUE, FITS_AGAIN
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
JOB_US, ROW_US = 20_000, 100


class Simulated(InProcess):
    """Answers from rows take time; ``pause`` is how long the machine does nothing before the next job's scans, and
    ``slower`` how many times as long the next job's rows take."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.pause: Micros = 0
        self.slower = 1.0
        self.jobs: list[tuple[dict[str, float | None], Micros | None]] = []
        """By query the share that its scan was asked for, and when the job was to end."""
        self._until: Micros | None = None

    def monotonic(self) -> Micros:
        return self.clock.monotonic()

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Micros | None = None
    ) -> RowAnswers:
        draws = {one.query: one.windows[0].draw for one in work}
        self.jobs.append(({name: None if draw is None else draw.share for name, draw in draws.items()}, until))
        self.clock.sleep(JOB_US + self.pause)
        self.pause, self._until = 0, until
        self._use("rows", JOB_US - 50_021 * len(work))
        try:
            return super().rows(work, tables, until)
        finally:
            self.slower = 1.0

    def answered(self, work: RowWork, draws: Draws) -> None:
        handed_on = draws[0].kept if 0 in draws else sum(file.rows for file in work.windows[0].files)
        took = int(self.slower * ROW_US * handed_on)
        if self._until is not None and self.clock.at + took > self._until:
            self.clock.sleep(self._until - self.clock.at)
            raise OverdueError
        self.clock.sleep(took)
        self._use("rows", ROW_US * handed_on)


STREAM = """
    SET window_merge = rows;
    CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, a DOUBLE) FROM FEED;
"""
TOTAL = """
    CREATE QUERY total AS SELECT sum(a) AS total, count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS
    DEADLINE 1 SECOND QUALITY LINEAR;
"""
EXACT = """
    CREATE QUERY whole AS SELECT sum(a) AS total, count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS
    DEADLINE 2 SECONDS;
"""
JOIN = """
    CREATE STREAM r (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, b DOUBLE) FROM FEED;
    CREATE QUERY pairs AS SELECT s.k % 2 AS odd, count(*) AS n, sum(s.a) AS a, sum(r.b) AS b, max(r.b) AS top
    FROM s [RANGE 10 SECONDS], r [RANGE 10 SECONDS] WHERE s.k = r.k GROUP BY s.k % 2
    PERIOD 10 SECONDS DEADLINE 1 SECOND QUALITY LINEAR;
"""
COST = replace(
    LinearCost.guessed(
        1e-3, job=JOB_US, slot=1e-3, plan=1e-3, read=ROW_US, select=1e-3, selected=1e-3, project=1e-3, join=1e-3,
        joined=1e-3, pair=1e-3, sort=1e-3, aggregate=1e-3, group=1e-3, window=1e-3, generated=1e-3, answer=1e-3,
    ),
    seen=1,
)  # fmt: skip
"""What jobs cost indeed."""


def opened(
    folder: Path, program: str = TOTAL, *, live: bool = True, plane: type[Simulated] = Simulated, **options: str
) -> tuple[Engine, Simulated]:
    clock = ManualClock(START + 10_000 * SECOND)
    backend = plane(clock)
    engine = Engine(str(folder), clock=clock, backend=lambda: backend, live=live, options=options)
    engine.sql(STREAM + program)
    engine.open()
    engine._opened().core.costs.rows.costs = RowCosts(COST)
    return engine, backend


def raw_rows(window: int, size: int) -> pa.Table:
    """The rows of a window, as the stream declares them: so many a second."""
    chance = np.random.default_rng(window)
    times = START + window * 10 * SECOND + np.arange(1, 10 * size + 1) * SECOND // size
    return pa.table({
        "t": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array(np.arange(times.size) % 7, pa.int32()),
        "a": chance.normal(100.0, 10.0, times.size),
    })  # fmt: skip


def play(engine: Engine, backend: Simulated, windows: Sequence[int], size: int = 400, parts: int = 1) -> None:
    """Windows of ten seconds, in so many batches: each is answered once the next one has begun."""
    for window in windows:
        rows = raw_rows(window, size)
        columns = rows.column("t").cast(pa.int64()), rows.column("k"), rows.column("a")
        every = [(iso(t), k, a) for t, k, a in zip(*(column.to_pylist() for column in columns))]
        for part in range(parts):
            engine.feed("s", every[part * len(every) // parts : (part + 1) * len(every) // parts])
            engine.tick()
            backend.clock.sleep(10 * SECOND // parts)


def answers(engine: Engine, query: str) -> list[dict[str, Any]]:
    return [row for block in engine.records() if block.query == query for row in block.table.to_pylist()]


def recomputed(window: int, sample: str) -> tuple[float, int]:
    """The sum that an answer over a window says, by what it says of its sample, and how many rows were kept."""
    said, rows = orjson.loads(sample)["s"], raw_rows(window, 400)
    values = rows.column("a").to_numpy()
    certain = np.abs(values) >= said["certain"]["a"]
    drawn = kept(rows, said["by"], said["salt"], said["share"]) & ~certain
    weight = (~certain).sum() / drawn.sum()
    return float(values[certain].sum() + weight * values[drawn].sum()), int((certain | drawn).sum())


def test_a_scan_hands_on_what_fits(tmp_path: Path) -> None:
    """400 ms of work and a deadline after 1 s, of which 700 ms are lost before the scan."""
    engine, backend = opened(tmp_path)
    with engine:
        play(engine, backend, range(3))
        backend.pause = 700_000
        play(engine, backend, range(3, 5))
        *before, cut, after = answers(engine, "total")
    assert all(one["on_time"] and one["kept"] == 1.0 and "sample" not in one for one in before)
    left = SECOND - 700_000 - JOB_US
    assert cut["on_time"]
    certain = 200  # the largest 5 % are in every sample
    assert cut["kept"] == pytest.approx(0.98 * (left / ROW_US - certain) / (4_000 - certain), abs=1e-3)
    assert cut["quality"] == pytest.approx(cut["kept"])
    assert cut["basis"] == "sample"
    said = orjson.loads(cut["sample"])["s"]
    assert said["share"] == cut["kept"]
    (row,) = cut["rows"]
    total, rows = recomputed(2, cut["sample"])
    assert row["total"] == pytest.approx(total, rel=1e-12)
    assert row["n"] == 4_000
    assert rows < 4_000
    assert orjson.loads(cut["error"])["total"]["confidence"] == 0.95
    assert after["on_time"]
    assert after["kept"] > cut["kept"]
    assert len(backend.jobs) == 4, "nothing was run again"


def test_queries_of_one_job_are_cut_alike(tmp_path: Path) -> None:
    """The first one leaves time for those after it."""
    several = "".join(TOTAL.replace("QUERY total", f"QUERY q{n}").replace("sum(a)", f"sum(a + {n})") for n in range(2))
    engine, backend = opened(tmp_path, several)
    with engine:
        play(engine, backend, range(3), size=200)
        backend.pause = 700_000
        play(engine, backend, range(3, 4), size=200)
        cut = [answers(engine, f"q{n}")[-1] for n in range(2)]
    assert len(backend.jobs[-1][0]) == 2, "they were one job"
    assert all(one["on_time"] and one["kept"] < 0.7 for one in cut)
    assert cut[0]["kept"] == pytest.approx(cut[1]["kept"], abs=0.02)


def test_no_less_than_is_acceptable(tmp_path: Path) -> None:
    engine, backend = opened(tmp_path, TOTAL.replace("QUALITY LINEAR", "QUALITY (100% => 1, 40% => 0.5)"))
    with engine:
        play(engine, backend, range(3))
        backend.pause = 950_000
        play(engine, backend, range(3, 4))
        *_before, cut = answers(engine, "total")
    assert cut["kept"] == 0.4
    assert not cut["on_time"]
    assert cut["quality"] == 0.0, "late is worth nothing"


def test_a_job_past_its_deadline_is_run_again_with_less(tmp_path: Path) -> None:
    """The rows take ten times as long as anybody could know, so it shows only after the scans."""
    engine, backend = opened(tmp_path, TOTAL + EXACT)
    with engine:
        play(engine, backend, range(3), size=300)
        before = len(backend.jobs)
        backend.slower = 10.0
        play(engine, backend, range(3, 4), size=300)
        late, whole = (answers(engine, name)[-1] for name in ("total", "whole"))
        assert len(answers(engine, "total")) == len(answers(engine, "whole")) == 3
    (first, until), (second, never) = backend.jobs[before:]
    assert first == {"total": 1.0, "whole": None}
    assert until is not None
    assert second == {"total": 0.01, "whole": None}
    assert never is None, "it is run again once"
    assert late["kept"] == 0.01
    assert not late["on_time"]
    assert late["quality"] == 0.0
    assert whole["kept"] == 1.0
    assert whole["rows"][0]["n"] == 3_000
    (row,) = late["rows"]
    assert row["n"] == 3_000


@pytest.mark.parametrize(
    ("program", "live", "options"),
    [
        (TOTAL, False, {}),
        (TOTAL, True, {"qos": "best-effort"}),
        (TOTAL, True, {"qos": "feedback"}),
        (TOTAL, True, {"keep": "50%"}),
        (EXACT, True, {}),
    ],
)
def test_nobody_else_is_cut(tmp_path: Path, program: str, live: bool, options: dict[str, str]) -> None:
    """Not in a replay at full speed, nor where something else was asked for, nor without QUALITY."""
    engine, backend = opened(tmp_path, program, live=live, **options)
    with engine:
        play(engine, backend, range(3))
        backend.pause = 900_000
        play(engine, backend, range(3, 4))
        found = answers(engine, "whole" if program is EXACT else "total")
    assert len(found) == 3
    assert all(until is None for _shares, until in backend.jobs)
    assert {one["kept"] for one in found} == {0.5 if "keep" in options else 1.0}


def test_the_ledger_says_when_queries_give_way_and_how_alike(tmp_path: Path) -> None:
    """Two queries of other curves, which need 840 ms with full windows and have 400: equal quality, other shares."""
    soon = TOTAL.replace("1 SECOND", "400 MILLISECONDS")
    program = soon + soon.replace("QUERY total", "QUERY tolerant").replace("LINEAR", "CONVEX")
    engine, backend = opened(tmp_path, program)
    with engine:
        for window, size in enumerate((100, 100, 400, 400, 400, 100, 100, 100)):
            play(engine, backend, [window], size, parts=10)
        ledger = engine.ledger()
        status = engine.status()
        found = {name: answers(engine, name) for name in ("total", "tolerant")}
    assert all(one["on_time"] for several in found.values() for one in several)
    lines = ledger[ledger["record"] == "shedding"]
    begins, ends = (lines.iloc[number] for number in range(2))
    assert len(lines) == 2
    assert (begins["why"], ends["why"]) == (DUE, FITS_AGAIN)
    assert 0.0 < begins["level"] < 1.0
    assert ends["level"] == 1.0
    firings = ledger[ledger["record"] == "firing"]
    less = firings[firings["kept"] < 1.0]
    assert set(less["query"]) == {"total", "tolerant"}
    assert set(less["at"]) == {firings["at"].unique()[n] for n in (2, 3, 4)}
    for _at, several in list(less.groupby("at"))[1:2]:  # before and after it the load changes
        by_query = several.set_index("query")
        assert by_query.loc["total", "quality"] == pytest.approx(by_query.loc["tolerant", "quality"], abs=0.03)
        assert by_query.loc["tolerant", "kept"] < 0.5 * by_query.loc["total", "kept"]
        assert by_query.loc["total", "level"] == pytest.approx(by_query.loc["total", "quality"], abs=0.03)
    ticks = ledger[ledger["record"] == "tick"]
    assert ticks["level"].dropna().min() < 0.9
    assert (ticks["fairness"].dropna() > 0.98).all()
    assert ticks["fairness"].notna().sum() >= 5
    assert status["level"] == 1.0
    assert status["queries"]["total"]["core_time"]["misses"] == 0


def joined_rows(window: int, size: int = 250) -> dict[str, pa.Table]:
    """The rows of a window of both streams of the join, by stream: of some keys, not as many of each."""
    chance = np.random.default_rng(1_000 + window)
    found = {}
    for stream, value, per_second in (("s", "a", size), ("r", "b", size // 2)):
        times = START + window * 10 * SECOND + np.arange(1, 10 * per_second + 1) * SECOND // per_second
        found[stream] = pa.table({
            "t": pa.array(times, pa.timestamp("us", tz="UTC")),
            "k": pa.array(chance.integers(0, 300, times.size), pa.int32()),
            value: chance.normal(100.0, 10.0, times.size),
        })  # fmt: skip
    return found


def feed_joined(engine: Engine, window: int) -> None:
    """A window of both streams in one batch: the one before it is answered."""
    for stream, rows in joined_rows(window).items():
        columns = [rows.column(0).cast(pa.int64()), *rows.columns[1:]]
        engine.feed(stream, [(iso(t), k, v) for t, k, v in zip(*(column.to_pylist() for column in columns))])
    engine.tick()


def joined_at_share(window: int, sample: str) -> list[dict[str, Any]]:
    """What the join says of a window, from the raw rows and what an answer says of its samples."""
    said = orjson.loads(sample)
    sides = {}
    for stream, rows in joined_rows(window).items():
        one = said[stream]
        sides[stream] = rows.filter(pa.array(kept(rows, one["by"], one["salt"], one["share"])))
    pairs = sides["s"].join(sides["r"], "k", join_type="inner").to_pandas()
    share = said["s"]["share"]
    return [
        {
            "odd": int(odd),
            "n": round(len(mine) / share),
            "a": pytest.approx(mine["a"].sum() / share, rel=1e-9),
            "b": pytest.approx(mine["b"].sum() / share, rel=1e-9),
            "top": mine["b"].max(),
        }
        for odd, mine in pairs.groupby(pairs["k"] % 2)
    ]


def of_the_share(folder: Path, share: float, windows: int, program: str = JOIN) -> dict[str, Any]:
    """The last answer of the join where somebody asked for that share of every window, and no scan was cut."""
    engine, backend = opened(folder, program, keep=str(share))
    with engine:
        for window in range(windows):
            feed_joined(engine, window)
            backend.clock.sleep(10 * SECOND)
        assert all(until is None for _shares, until in backend.jobs)
        return answers(engine, "pairs")[-1]


def check_cut_join(cut: dict[str, Any], window: int, asked: dict[str, Any]) -> None:
    """An answer of a join that was cut is that of the smaller share, in all that it says."""
    said = orjson.loads(cut["sample"])
    assert cut["basis"] == "sample"
    by_key = {"share": cut["kept"], "salt": iso(cut["at"]), "by": ["k"]}
    assert said == {"s": by_key, "r": by_key}, "both sides are cut at one place"
    assert cut["rows"] == joined_at_share(window, cut["sample"])
    truth = joined_at_share(window, orjson.dumps({name: {**one, "share": 1.0} for name, one in said.items()}).decode())
    assert all(one["n"] != other["n"] for one, other in zip(cut["rows"], truth)), "keys are missing"
    # As if it had been decided before: the intervals too.
    assert {name: cut[name] for name in ("at", "rows", "error", "sample", "kept", "quality", "basis")} == {
        name: asked[name] for name in ("at", "rows", "error", "sample", "kept", "quality", "basis")
    }
    error = orjson.loads(cut["error"])
    for column in ("n", "a", "b"):
        for row, low, high in zip(cut["rows"], error[column]["low"], error[column]["high"]):
            assert low < row[column] < high


def test_a_join_is_cut_on_both_sides_at_one_key(tmp_path: Path) -> None:
    """Both windows take 375 ms of a second, of which 700 ms are lost before the scans."""

    class OfBoth(Simulated):
        def answered(self, work: RowWork, draws: Draws) -> None:
            self.clock.sleep(int(ROW_US * sum(one.kept for one in draws.values())))
            cut.append([draws[number].share for number in sorted(draws)])
            self._use("rows", ROW_US * sum(one.kept for one in draws.values()))

    cut: list[list[float]] = []
    engine, backend = opened(tmp_path / "cut", JOIN, plane=OfBoth)
    with engine:
        for window in range(3):
            feed_joined(engine, window)
            backend.clock.sleep(10 * SECOND)
        backend.pause = 700_000
        feed_joined(engine, 3)
        *before, last = answers(engine, "pairs")
    assert [(one["kept"], one["basis"]) for one in before] == [(1.0, "exact")] * 2
    assert backend.jobs[-1][0] == {"pairs": 1.0}, "all of it was decided"
    assert len(backend.jobs) == 3, "nothing was run again"
    assert 0.05 < last["kept"] < 0.9
    assert min(cut[-1]) == last["kept"]
    assert last["on_time"]
    assert last["quality"] == pytest.approx(last["kept"])
    check_cut_join(last, 2, of_the_share(tmp_path / "asked", last["kept"], 4))
