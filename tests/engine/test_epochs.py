"""Queries with ANSWERS that are planned by epochs: their answers say what a replay of so many rounds says."""

from __future__ import annotations

from pathlib import Path

from punctual.clock import SECOND, ManualClock, SystemClock
from punctual.engine.engine import Engine
from tests.engine.test_rounds_ahead import CHANCE, STAGES, START, STREAM, SUMS, live, replayed, written
from tests.inprocess.backend import InProcess

EPOCHS = {"anytime": "epoch", "epoch": "1 second", "lead": "200 ms"}


def test_answers_are_the_same_function_of_their_rounds(tmp_path: Path) -> None:
    clock = ManualClock(START + 1_000 * SECOND)
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {STAGES} ROUNDS 50;"
    found = live(tmp_path, program, 3, clock, **EPOCHS)
    assert [one["number"] for one in found] == [0, 1, 2]
    assert all(one["on_time"] for one in found)
    rounds = [one["rounds"] for one in found]
    assert rounds == sorted(rounds)
    for number, one in enumerate(written(tmp_path, "q")):
        again = replayed(tmp_path / f"again{number}", SUMS, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


def test_on_a_real_clock(tmp_path: Path) -> None:
    program = (
        f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 300 MILLISECONDS, 900 MILLISECONDS ROUNDS 20;"
        f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS ANSWERS WITHIN 700 MILLISECONDS ROUNDS 20;"
    )
    live(tmp_path, program, 3, SystemClock(), tick="20 ms", anytime="epoch", epoch="200 ms", lead="50 ms")
    first, second = written(tmp_path, "q")
    (chance,) = written(tmp_path, "p")
    assert 1 <= first["rounds"] <= second["rounds"]
    for number, (one, select) in enumerate(((first, SUMS), (second, SUMS), (chance, CHANCE))):
        again = replayed(tmp_path / f"again{number}", select, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


def test_explain_says_that_there_are_epochs() -> None:
    for options, line in (
        (EPOCHS, "epochs · 1 query · every 1s, planned 200ms before · what comes too late waits for the next one"),
        ({}, None),
    ):
        engine = Engine(live=False, backend=InProcess, options=dict(options))
        engine.sql(f"{STREAM} CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {STAGES} ROUNDS 50;")
        said = engine.explain("EXPLAIN SCHEDULE;")
        assert said.rstrip().endswith(line) if line else "epochs" not in said
