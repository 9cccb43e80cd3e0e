"""Answers over worlds that are drawn for until they are due: on a clock that moves when told to, and on the real one.

How many rounds an answer has depends on the machine. What it says follows from that number, and is compared with a
replay that asks for just so many.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, SystemClock, iso
from punctual.engine.answers.rounds_ahead import LEAST_ROUNDS, MadeReady, RoundsAhead
from punctual.engine.engine import Engine
from punctual.kinds.program import compile_program
from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.rounds import window_drawing
from punctual.kinds.worlds.rounds.settle import as_drawn, settle
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.plan.worlds import Worlds
from punctual.runtime.backend import Backend, RowAnswers, RowWork
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.sharing import Sharing
from tests.engine.worked_clock import Worked, moved_by_rounds
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE) FROM FEED;"
SUMS = "SELECT k, EXPECTED(sum(x)) AS total, INTERVAL(sum(x), 90%) AS ends FROM s [RANGE 10 SECONDS] GROUP BY k"
CHANCE = "SELECT PROBABILITY(sum(x) > 20) AS p FROM s [RANGE 10 SECONDS]"
STAGES = "ANSWERS WITHIN 1 SECOND, 2 SECONDS, 4 SECONDS"
OPTIONS = {"tick": "100 seconds", "idle": "1 hour", "closed_forms": "off"}


def rows(begin: int = 1, end: int = 12) -> list[tuple[str, str, float, float]]:
    """One a second and key; those of c are certain."""
    return [
        (iso(START + second * SECOND), key, float(second * 7 % 5), 0.0 if key == "c" else 1.0 + second % 3)
        for second in range(begin, end)
        for key in "abc"
    ]


def live(
    folder: Path,
    program: str,
    answers: int,
    clock: Any,
    backend: Callable[[], Backend] = InProcess,
    heard_of: Callable[[int], None] = lambda _answers: None,
    **options: str,
) -> list[dict[str, Any]]:
    """The first answers of a live run, in the order in which they came; ``heard_of`` is told how many there are."""
    said = {**OPTIONS, **options}
    engine = Engine(str(folder / "state"), str(folder / "out"), clock=clock, backend=backend, options=said)
    found: list[dict[str, Any]] = []

    def heard(blocks: Sequence[Any]) -> None:
        for block in blocks:
            found.extend({"query": block.query, **row} for row in block.table.to_pylist())
        heard_of(len(found))
        if len(found) >= answers:
            engine.request_stop()

    engine.listen(heard)
    engine.sql(STREAM + program)
    engine.open()
    engine.feed("s", rows())
    engine.run()
    engine.close()
    return found


def replayed(
    folder: Path, select: str, rounds: int, backend: Callable[[], Backend] = InProcess
) -> dict[str, Any]:
    """The answer of the same instant by a replay that asks for so many rounds."""
    folder.mkdir()
    engine = Engine(out=str(folder), live=False, backend=backend, options=OPTIONS)
    engine.sql(f"{STREAM} CREATE QUERY q AS {select} PERIOD 10 SECONDS ROUNDS {rounds};")
    engine.open()
    engine.feed("s", rows())
    engine.tick()
    engine.end()
    engine.close()
    answers = [json.loads(line) for line in (folder / "q.jsonl").read_text().splitlines()]
    return next(one for one in answers if one["at"] == iso(START + 10 * SECOND))


def written(folder: Path, query: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / f"{query}.jsonl").read_text().splitlines()]


def test_later_answers_have_more_rounds_and_say_what_a_replay_says(tmp_path: Path) -> None:
    """The clock stands still while somebody draws, so as much is drawn as may be; then nobody waits any longer."""
    clock = ManualClock(START + 1_000 * SECOND)
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {STAGES} ROUNDS 50;"
    found = live(tmp_path, program, 3, clock)
    assert [one["number"] for one in found] == [0, 1, 2]
    assert all(one["on_time"] and one["quality"] == 1.0 and one["reached"] for one in found)
    assert [one["deadline"] - one["released"] for one in found] == [SECOND, 2 * SECOND, 4 * SECOND]
    assert [one["answered"] - one["released"] for one in found] == [0, SECOND, 2 * SECOND]
    rounds = [one["rounds"] for one in found]
    assert rounds[0] > 50
    assert rounds == sorted(rounds)
    for number, one in enumerate(written(tmp_path, "q")):
        again = replayed(tmp_path / f"again{number}", SUMS, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


def test_a_real_clock_gives_what_a_replay_of_so_many_rounds_gives(tmp_path: Path) -> None:
    program = (
        f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 300 MILLISECONDS, 600 MILLISECONDS ROUNDS 20;"
        f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS ANSWERS WITHIN 500 MILLISECONDS ROUNDS 20;"
    )
    live(tmp_path, program, 3, SystemClock(), tick="20 ms")
    first, second = written(tmp_path, "q")
    (chance,) = written(tmp_path, "p")
    assert 1 <= first["rounds"] <= second["rounds"]
    for number, (one, select) in enumerate(((first, SUMS), (second, SUMS), (chance, CHANCE))):
        again = replayed(tmp_path / f"again{number}", select, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


OF_SPARK = "SELECT k, EXPECTED(sum(x)) AS total FROM s [RANGE 10 SECONDS] WHERE upper(k) <> 'B' GROUP BY k"
"""No kernel knows ``upper``: Spark makes the rows."""


def test_rows_that_spark_makes_are_made_once_and_drawn_for_ahead(tmp_path: Path) -> None:
    clock, backend = ManualClock(START + 1_000 * SECOND), InProcess()
    program = "".join(
        f"CREATE QUERY {name} AS {OF_SPARK} PERIOD 10 SECONDS {STAGES} ROUNDS 50;" for name in ("q", "other")
    )
    asked: list[list[str]] = []
    real = backend.rows_beside

    def rows_of(works: Sequence[RowWork], *more: Any) -> RowAnswers:
        asked.append([one.query for one in works])
        return real(works, *more)

    backend.rows_beside = rows_of  # type: ignore[method-assign]
    found = live(tmp_path, program, 6, clock, lambda: backend)
    assert asked == [["other", "q"]], "one job for all answers of both"
    for name in ("q", "other"):
        rounds = [one["rounds"] for one in found if one["query"] == name]
        assert len(rounds) == 3
        assert 50 < rounds[0] <= rounds[1] <= rounds[2]
    for number, one in enumerate(written(tmp_path, "q")):
        again = replayed(tmp_path / f"again{number}", OF_SPARK, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])
        assert [row["k"] for row in one["rows"]] == ["a", "c"]


def test_what_spark_cannot_make_takes_nothing_from_others(tmp_path: Path) -> None:
    """It is asked for each by itself then; who fails is stopped by the pass that answers it, with the reason."""
    clock, backend = ManualClock(START + 1_000 * SECOND), InProcess()
    program = "".join(
        f"CREATE QUERY {name} AS {OF_SPARK} PERIOD 10 SECONDS {STAGES} ROUNDS 50;" for name in ("good", "bad")
    )
    real, beside = backend.rows, backend.rows_beside

    def refused(works: Sequence[RowWork]) -> None:
        if any(one.query == "bad" for one in works):
            raise ValueError("out of luck")

    def rows_of(works: Sequence[RowWork], *more: Any) -> RowAnswers:
        refused(works)
        return real(works, *more)

    def rows_beside(works: Sequence[RowWork], *more: Any) -> RowAnswers:
        refused(works)
        return beside(works, *more)

    backend.rows, backend.rows_beside = rows_of, rows_beside  # type: ignore[method-assign]
    found = live(tmp_path, program, 3, clock, lambda: backend)
    assert [one["query"] for one in found] == ["good"] * 3
    assert found[0]["rounds"] > 50


def test_further_answers_go_on_from_what_the_first_one_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody has made an instant ready before it is to be answered, since too much is due."""
    windows, real = list[int](), WindowDrawing.__init__

    def counted(self: WindowDrawing, *given: Any, **named: Any) -> None:
        windows.append(given[2])
        real(self, *given, **named)

    monkeypatch.setattr(WindowDrawing, "__init__", counted)
    monkeypatch.setattr(Sharing, "waiting", lambda _self, _groups, _now, _most=0: ())
    clock = ManualClock(START + 1_000 * SECOND)
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {STAGES} ROUNDS 50;"
    found = live(tmp_path, program, 3, clock)
    rounds = [one["rounds"] for one in found]
    assert 1 <= rounds[0] <= 50, "its own, and no more: it was to be answered"
    assert rounds[0] < rounds[1] <= rounds[2], "by joblets, until they were due or had all they may have"
    assert windows == [START + 10 * SECOND]
    for number, one in enumerate(written(tmp_path, "q")):
        again = replayed(tmp_path / f"again{number}", SUMS, one["rounds"])
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


def test_nobody_waits_until_spark_has_made_rows_of_others(tmp_path: Path) -> None:
    """On the real clock: their rows come once the others have all of their answers, and then they have theirs."""
    backend, answered = InProcess(), threading.Event()
    program = f"CREATE QUERY slow AS {OF_SPARK} PERIOD 10 SECONDS ANSWERS WITHIN 1 SECOND ROUNDS 50;"
    program += f"CREATE QUERY other AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 1 SECOND, 2 SECONDS ROUNDS 50;"
    real = backend.rows_beside

    def rows_beside(works: Sequence[RowWork], *more: Any) -> RowAnswers:
        assert answered.wait(60), "others wait for these rows"
        return real(works, *more)

    def told(answers: int) -> None:
        if answers == 2:
            answered.set()

    backend.rows_beside = rows_beside  # type: ignore[method-assign]
    found = live(tmp_path, program, 3, SystemClock(), lambda: backend, heard_of=told, tick="100 ms")
    assert [(one["query"], one["number"]) for one in found] == [("other", 0), ("other", 1), ("slow", 0)]
    assert found[2]["rounds"] >= LEAST_ROUNDS


class _Clumsy(Worked):
    """Every time that somebody draws costs five milliseconds, and each round next to nothing."""

    def draw(self, rounds: int) -> None:
        took = 5_000 + rounds
        with self._moving:
            self.at += took
            self.rounds += rounds
        self._mine.us = self.thread_us() + took


def test_the_first_few_rounds_do_not_say_what_all_of_them_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten windows need a quarter of the second that there is: 2,000 rounds in a few times of drawing each."""
    clock = moved_by_rounds(monkeypatch, _Clumsy(START + 1_000 * SECOND))
    monkeypatch.setattr("punctual.kinds.worlds.simulate.rounds_at_once", lambda _rows: 1_000)
    program = "".join(
        f"CREATE QUERY q{number} AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 1 SECOND ROUNDS 2000;"
        for number in range(10)
    )
    backend = InProcess()
    found = live(tmp_path, program, 10, clock, lambda: backend)
    assert len(found) == 10
    assert [one["query"] for one in found if not one["reached"]] == []


def test_confidence_is_reached_by_what_is_drawn_meanwhile(tmp_path: Path) -> None:
    clock = ManualClock(START + 1_000 * SECOND)
    program = f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS {STAGES} CONFIDENCE 95% WITHIN 0.01;"
    found = live(tmp_path, program, 3, clock)
    assert all(one["reached"] for one in found)
    assert all(one["rounds"] >= 5_000 for one in found), "a probability near a half varies that much"


def test_what_is_known_without_worlds_does_not_wait(tmp_path: Path) -> None:
    clock = ManualClock(START + 1_000 * SECOND)
    total = "SELECT EXPECTED(sum(x)) AS total FROM s [RANGE 10 SECONDS]"
    found = live(tmp_path, f"CREATE QUERY q AS {total} PERIOD 10 SECONDS {STAGES};", 3, clock, closed_forms="on")
    assert [(one["rounds"], one["basis"]) for one in found] == [(0, "exact")] * 3
    assert [one["answered"] - one["released"] for one in found] == [0, SECOND, 2 * SECOND]


def test_a_cancelled_instant_is_not_drawn_for(tmp_path: Path) -> None:
    """On the real clock, from another thread, while rounds are drawn."""
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 30 SECONDS ROUNDS 20;"
    engine = Engine(str(tmp_path / "state"), backend=InProcess, options={**OPTIONS, "tick": "20 ms"})
    engine.sql(STREAM + program)
    engine.open()
    engine.feed("s", rows())
    running = threading.Thread(target=engine.run)
    running.start()
    try:
        while engine.cancel("q") == 0:
            pass
    finally:
        engine.request_stop()
        running.join(60)
    assert not running.is_alive()
    assert not list(engine.records())
    engine.close()


@pytest.mark.parametrize("how", ["another query", "cancel of another query"])
def test_what_is_made_ready_is_kept_whatever_else_happens_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The holder has made some of its instants ready, and has said nothing of it yet."""
    others = "CREATE QUERY p AS SELECT PROBABILITY(x > 2) AS p FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS"
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS ANSWERS WITHIN 60 SECONDS ROUNDS 20;"
    halfway, goes_on, made = threading.Event(), threading.Event(), list[WindowDrawing]()
    begin = WindowDrawing.begin

    def begun(one: WindowDrawing, rounds: int) -> None:
        begin(one, rounds)
        made.append(one)
        if len(made) == 3:
            halfway.set()
            assert goes_on.wait(60)

    monkeypatch.setattr(WindowDrawing, "begin", begun)
    monkeypatch.setattr(window_drawing, "MOST_AHEAD", 3 * 500)
    engine, found = Engine(backend=InProcess, options={**OPTIONS, "tick": "20 ms"}), list[dict[str, Any]]()
    engine.listen(
        lambda blocks: found.extend(row for one in blocks if one.query == "q" for row in one.table.to_pylist())
    )
    engine.sql(STREAM + program)
    if how != "another query":
        engine.sql(f"{others} ANSWERS WITHIN 100 SECONDS;")
    engine.open()
    engine.feed("s", rows(end=32))
    running = threading.Thread(target=engine.run)
    running.start()
    try:
        assert halfway.wait(60)
        if how == "another query":
            engine.sql(f"{others};")
        else:
            assert engine.cancel("p")
        goes_on.set()
        while len(found) < 3 and running.is_alive():
            time.sleep(0.01)
    finally:
        goes_on.set()
        engine.request_stop()
        running.join(60)
        engine.close()
    assert [one["rounds"] for one in found] == [500] * 3


def test_the_holder_is_free_again_after_a_few_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 40 milliseconds, and others may have to be answered meanwhile."""
    clock, made, keep = moved_by_rounds(monkeypatch, Worked(START + 1_000 * SECOND)), list[int](), RoundsAhead.keep

    def kept(self: RoundsAhead, ready: MadeReady) -> tuple[dict[tuple[str, int], Drawn], frozenset[str]]:
        made.append(len(ready.drawings))
        return keep(self, ready)

    monkeypatch.setattr(RoundsAhead, "keep", kept)
    program = f"CREATE QUERY q AS {SUMS} PERIOD 1 SECOND ANSWERS WITHIN 4 SECONDS ROUNDS 8;"
    found = live(tmp_path, program, 10, clock)
    assert len(found) >= 10
    assert set(made) <= {1, 2}


# -- drawings -----------------------------------------------------------------------------------------


def drawing(rounds: int = 10, seed: int = 1) -> tuple[Worlds, WindowDrawing]:
    program = compile_program(f"{STREAM} CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS ROUNDS {rounds};", base=".")
    body = program.catalog.queries["q"].body
    assert isinstance(body, Worlds)
    names = body.statement.plain
    assert names is not None
    given = rows()
    columns: dict[str, pa.Array] = {
        "k": pa.array([row[1] for row in given]),
        "x": pa.array([row[2] for row in given]),
        "sd": pa.array([row[3] for row in given]),
    }
    identity = pa.array(np.arange(len(given), dtype=np.int64) * 77)
    values = [columns.get(name, identity) for name in names]
    return body, WindowDrawing(body, values, START, WorldRun(seed, closed_forms=False))


def test_it_does_not_matter_who_draws_which_rounds() -> None:
    body, alone = drawing()
    _body, together = drawing()
    alone.until(20_000)
    threads = [threading.Thread(target=lambda: [together.draw(700) for _turn in range(8)]) for _thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together.rounds == 4 * 8 * 700
    together_said, alone_said = (as_drawn(body.effort, one, 0) for one in (together, alone))
    assert together_said.rounds == 22_400
    alone.until(22_400)
    alone_said = as_drawn(body.effort, alone, 0)
    for one, other in zip(together_said.said.outputs, alone_said.said.outputs):
        assert one.values.equals(other.values)


@pytest.mark.parametrize(
    ("share", "number", "rounds"), [(1.0, 0, 10), (1.0, 2, 30), (0.5, 0, 5), (0.5, 2, 25), (0.0, 0, 1)]
)
def test_a_share_of_the_rounds_that_a_stage_adds(share: float, number: int, rounds: int) -> None:
    body, one = drawing()
    found = settle(body.effort, one, number, share)
    assert (found.rounds, found.reached) == (rounds, share == 1.0)
    assert found.share == pytest.approx(rounds / (10 * (number + 1)))


def test_what_fails_while_it_is_drawn_fails_for_everybody_who_waits() -> None:
    _body, one = drawing()

    def broken(_rounds: range) -> None:
        raise ValueError("out of luck")

    one._groups.part = broken  # type: ignore[method-assign,assignment]
    with pytest.raises(ValueError, match="out of luck"):
        one.draw(5)
    with pytest.raises(ValueError, match="out of luck"):
        one.until(3)
