"""The ledger: every batch and every answer once, and what they used adds up to what was used."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x INT, p DOUBLE PROBABILITY) FROM FEED;
CREATE QUERY mean AS SELECT k, avg(x) + 1 AS m FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 2 SECONDS;
CREATE QUERY total AS SELECT sum(x) AS n FROM s [RANGE 6 SECONDS] PERIOD 2 SECONDS DEADLINE 1 SECOND;
CREATE QUERY most AS SELECT TOP 2 k, x FROM s [RANGE 8 SECONDS] ORDER BY x DESC PERIOD 4 SECONDS;
CREATE QUERY pairs AS SELECT a.k, count(*) AS n
FROM s [RANGE 4 SECONDS] AS a JOIN s [RANGE 9 SECONDS] AS b ON a.k = b.k GROUP BY a.k PERIOD 5 SECONDS;
"""


def rows(second: int) -> list[tuple[str, str, int, float]]:
    return [(iso(START + second * SECOND), key, second * number, 0.5) for number, key in enumerate("aab", start=1)]


def opened(state: Path, clock: ManualClock, *, live: bool = False, program: str = PROGRAM) -> tuple[Engine, InProcess]:
    backend = InProcess()
    engine = Engine(str(state), clock=clock, backend=lambda: backend, live=live)
    engine.sql(program)
    engine.open()
    return engine, backend


def answered(engine: Engine) -> list[tuple[str, int, int]]:
    """All answers: query, instant, number."""
    return sorted(
        (block.query, at, number)
        for block in engine.records()
        for at, number in zip(block.table.column("at").to_pylist(), block.table.column("number").to_pylist())
    )


def firings(ledger: pd.DataFrame) -> list[tuple[str, int, int]]:
    """The same of the ledger."""
    found = ledger[ledger["record"] == "firing"]
    times = found["at"].astype("datetime64[us, UTC]").astype("int64")
    return sorted(zip(found["query"], times.tolist(), found["number"].astype(int).tolist()))


def test_what_batches_and_answers_used_adds_up_to_what_the_data_plane_reports(tmp_path: Path) -> None:
    engine, backend = opened(tmp_path, ManualClock(START))
    with engine:
        for second in range(30):
            engine.feed("s", rows(second))
            engine.tick()
        engine.end()
        ledger = engine.ledger()
        assert firings(ledger) == answered(engine)
    used = ledger.groupby("record")["used_ms"].sum() * 1000
    assert used["tick"] == pytest.approx(backend.used["tick"])
    assert used["firing"] == pytest.approx(backend.used["rows"] + backend.used["evaluate"])
    pairs = ledger[ledger["query"] == "pairs"]
    assert pairs["used_ms"].sum() * 1000 >= backend.used["rows"], "nobody else pays for the job of row queries"
    assert (ledger[ledger["record"] == "firing"]["used_ms"] > 0).all()
    ticks = ledger[ledger["record"] == "tick"]
    assert ticks["batch"].tolist() == list(range(len(ticks)))
    assert ticks["rows"].sum() == 90


def test_predictions_come_with_experience_and_are_right_where_nothing_changes(tmp_path: Path) -> None:
    engine, _backend = opened(tmp_path, ManualClock(START))
    with engine:
        for second in range(36):
            engine.feed("s", rows(second))
            engine.tick()
        ledger = engine.ledger()
    for _name, several in ledger[ledger["record"] == "firing"].groupby("query"):
        assert several["predicted_ms"].isna().tolist()[0]
        assert several["predicted_ms"].notna().tolist()[-1]
        last = several.tail(3)
        assert (last["high_ms"] >= last["predicted_ms"]).all()
    ticks = ledger[ledger["record"] == "tick"]
    assert ticks["predicted_ms"].tolist()[-1] == pytest.approx(ticks["used_ms"].tolist()[-1], rel=0.2)


def test_in_a_replay_nothing_is_said_of_the_wall_clock(tmp_path: Path) -> None:
    clocked = ["released", "deadline", "answered", "slack_seconds", "on_time", "lag_seconds"]
    engine, _backend = opened(tmp_path / "replay", ManualClock(START))
    with engine:
        engine.feed("s", rows(1) + rows(11))
        engine.tick()
        assert engine.ledger()[clocked].isna().all().all()
    clock = ManualClock(START + 20 * SECOND)
    engine, _backend = opened(tmp_path / "live", clock, live=True)
    with engine:
        engine.feed("s", rows(1) + rows(11))
        clock.sleep(2 * SECOND)
        engine.tick()
        ledger = engine.ledger()
    total = ledger[ledger["query"] == "total"]
    assert total["slack_seconds"].tolist() == [-1.0] * 5
    assert not total["on_time"].any()
    assert (total["deadline"] - total["answered"]).dt.total_seconds().tolist() == [-1.0] * 5
    mean = ledger[ledger["query"] == "mean"]
    assert mean["released"].notna().all()
    assert mean["slack_seconds"].isna().all(), "without a deadline there is no slack"
    assert ledger[ledger["record"] == "tick"]["lag_seconds"].tolist() == [2.0]


def test_a_resumed_run_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    clock = ManualClock(START)
    for first in range(0, 30, 10):
        engine, _backend = opened(tmp_path, clock)
        with engine:
            for second in range(first, first + 10):
                engine.feed("s", rows(second))
                engine.tick()
            sealed_and_not = engine.ledger()
            assert firings(sealed_and_not) == answered(engine)
    assert len(list((tmp_path / "ledger").iterdir())) == 3
    assert sealed_and_not["recorded"].is_monotonic_increasing


def test_a_killed_run_loses_its_unsealed_records_and_no_others(tmp_path: Path) -> None:
    clock = ManualClock(START)
    engine, _backend = opened(tmp_path, clock)
    for second in range(10):
        engine.feed("s", rows(second))
        engine.tick()
        clock.sleep(20 * SECOND)
    every, there = answered(engine), firings(engine.ledger())
    assert there == every
    engine._lock.release()  # as if its process were gone: nothing is closed, and nothing is sealed
    engine, _backend = opened(tmp_path, clock)
    with engine:
        sealed = firings(engine.ledger())
        assert 0 < len(sealed) < len(every)
        assert set(sealed) < set(every)
        for second in range(10, 20):
            engine.feed("s", rows(second))
            engine.tick()
        after = firings(engine.ledger())
        assert len(set(after)) == len(after)
        assert set(answered(engine)) - set(every) == set(after) - set(sealed)


def test_old_files_are_removed_whole(tmp_path: Path) -> None:
    clock = ManualClock(START)
    engine, _backend = opened(tmp_path, clock, program="SET keep_answers = 10 minutes;" + PROGRAM)
    with engine:
        for second in range(24):
            engine.feed("s", rows(second))
            engine.tick()
            clock.sleep(60 * SECOND)
        oldest = engine.ledger()["recorded"].min()
    assert 5 <= len(list((tmp_path / "ledger").iterdir())) <= 13
    assert oldest.timestamp() * SECOND >= clock.now() - 13 * 60 * SECOND


def test_a_ledger_that_cannot_be_sealed_keeps_nothing_else_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the engine closes: it says so, and the logs are closed and vouched for."""
    engine, _backend = opened(tmp_path, ManualClock(START))
    for second in range(10):
        engine.feed("s", rows(second))
        engine.tick()
    core = engine._opened().core

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(core.store.ledger, "seal", full)
    with pytest.raises(OSError, match="No space left"):
        engine.close()
    assert core.store.answers._tail is None
    assert (tmp_path / "closed.json").exists()
