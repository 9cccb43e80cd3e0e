"""Answers over worlds that Spark gives, drawn for by jobs of the data plane until they are due.

How many rounds an answer has depends on the machine. What it says follows from that number, and is compared with a
replay that asks for just so many.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, SystemClock
from punctual.engine.engine import Engine
from punctual.kinds.program import compile_program
from punctual.kinds.worlds.by_rows.row_drawing import RowDrawing
from punctual.plan.worlds import Worlds
from punctual.runtime.backend import Backend, JobLimit, OverdueError, RowAnswers, RowWork
from tests.engine.test_rounds_ahead import OPTIONS, STAGES, START, STREAM, live, replayed, rows, written
from tests.inprocess.backend import InProcess

SPREADS = (
    "SELECT k, EXPECTED(stddev(x)) AS y, INTERVAL(median(x), 90%) AS i FROM s [RANGE 10 SECONDS] GROUP BY k"
)
CHANCE = "SELECT PROBABILITY(stddev(x) > 2.4) AS p FROM s [RANGE 10 SECONDS]"


class Told(InProcess):
    """Tells who asked for what."""

    said: list[tuple[str, str, int, int]]

    def __init__(self) -> None:
        super().__init__()
        self.said = []

    def tell(self, work: Sequence[RowWork]) -> None:
        for one in work:
            rounds = next((window.rounds for window in one.windows if window.rounds is not None), None)
            if rounds is not None:
                self.said.append((threading.current_thread().name, one.query, rounds.first, rounds.count))

    def rows(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Any = None) -> RowAnswers:
        self.tell(work)
        return super().rows(work, tables, until)

    def rows_beside(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit) -> RowAnswers:
        self.tell(work)
        return super().rows_beside(work, tables, limit)


def check_same_as_replayed(
    folder: Path, query: str, select: str, backend: Callable[[], Backend] = InProcess
) -> None:
    for number, one in enumerate(written(folder, query)):
        again = replayed(folder / f"again {query} {number}", select, one["rounds"], backend)
        assert (one["rows"], one["error"]) == (again["rows"], again["error"])


def test_later_answers_have_more_rounds_and_say_what_a_replay_says(tmp_path: Path) -> None:
    """The clock stands still while somebody draws, so as much is drawn as may be; then nobody waits any longer."""
    backend = Told()
    program = f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS {STAGES} ROUNDS 50;"
    found = live(tmp_path, program, 3, ManualClock(START + 1_000 * SECOND), lambda: backend, max_answer_rows="5000")
    assert [one["number"] for one in found] == [0, 1, 2]
    assert all(one["on_time"] and one["quality"] == 1.0 and one["reached"] for one in found)
    counts = [one["rounds"] for one in found]
    assert counts[0] > 50
    assert counts == sorted(counts)
    assert all(one["rounds"] * len(one["rows"]) <= 5_500 for one in found), "so many rows may be on the driver"
    check_same_as_replayed(tmp_path, "q", SPREADS)
    assert {thread for thread, *_rest in backend.said} == {"punctual-jobs"}, "neither the holder nor a tick waits"
    ranges = sorted((first, first + count) for _thread, _query, first, count in backend.said)
    assert all(before[1] == after[0] for before, after in pairwise(ranges)), "no round is drawn twice"


def test_a_real_clock_gives_what_a_replay_of_so_many_rounds_gives(tmp_path: Path) -> None:
    program = (
        f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS ANSWERS WITHIN 400 MILLISECONDS, 900 MILLISECONDS ROUNDS 20;"
        f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS ANSWERS WITHIN 700 MILLISECONDS ROUNDS 20;"
    )
    live(tmp_path, program, 3, SystemClock(), tick="20 ms")
    first, second = written(tmp_path, "q")
    assert 1 <= first["rounds"] <= second["rounds"]
    check_same_as_replayed(tmp_path, "q", SPREADS)
    check_same_as_replayed(tmp_path, "p", CHANCE)


def test_confidence_is_reached_by_what_is_drawn_meanwhile(tmp_path: Path) -> None:
    clock = ManualClock(START + 1_000 * SECOND)
    program = f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS {STAGES} CONFIDENCE 95% WITHIN 0.02;"
    found = live(tmp_path, program, 3, clock, max_answer_rows="20000")
    assert all(one["reached"] for one in found)
    assert all(one["rounds"] > 1_000 for one in found)
    check_same_as_replayed(tmp_path, "p", CHANCE)


class Endless(Told):
    """Jobs beside others take as long as they may, unless somebody ends them."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = threading.Event()
        self.ended = 0

    def rows_beside(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit) -> RowAnswers:
        self.under_way.set()
        limit.wait((limit.until - SystemClock().monotonic()) / SECOND)
        self.ended += limit.ended
        raise OverdueError


@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_jobs_are_ended_by_a_cancel_and_by_a_stop(tmp_path: Path, how: str) -> None:
    """On the real clock, from another thread, while a job runs that would take half an hour."""
    backend = Endless()
    program = f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS ANSWERS WITHIN 30 MINUTES ROUNDS 20;"
    engine = Engine(str(tmp_path / "state"), backend=lambda: backend, options={**OPTIONS, "tick": "20 ms"})
    engine.sql(STREAM + program)
    engine.open()
    engine.feed("s", rows())
    running = threading.Thread(target=engine.run)
    running.start()
    try:
        assert backend.under_way.wait(30)
        if how == "cancel":
            assert engine.cancel("q") == 1
            while not backend.ended:
                time.sleep(0.01)
    finally:
        engine.request_stop()
        running.join(60)
    assert not running.is_alive()
    assert backend.ended
    answers = [row for block in engine.records() for row in block.table.to_pylist()]
    # Who stops does not wait until it is due: the answer has just its own rounds.
    assert [row["rounds"] for row in answers] == ([] if how == "cancel" else [20])
    engine.close()


def test_what_was_ended_does_not_count(tmp_path: Path) -> None:
    """No job is through in time: the answer has the one round that the holder draws."""
    backend = Endless()
    program = f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS ANSWERS WITHIN 300 MILLISECONDS ROUNDS 20;"
    (answer,) = live(tmp_path, program, 1, SystemClock(), lambda: backend, tick="20 ms")
    assert (answer["rounds"], answer["reached"]) == (1, False)
    check_same_as_replayed(tmp_path, "q", SPREADS)


def test_what_jobs_cost_is_known_as_long_as_their_query_is_there() -> None:
    """Who asks once again and again, by other names, leaves nothing behind."""
    program = f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS ANSWERS WITHIN 1 SECOND ROUNDS 20;"
    engine = Engine(clock=ManualClock(START + 1_000 * SECOND), backend=InProcess, options=OPTIONS)
    engine.listen(lambda _blocks: engine.request_stop())
    engine.sql(STREAM + program)
    engine.open()
    engine.feed("s", rows())
    engine.run()
    costs = engine._opened().core.ahead._jobs
    assert costs.keys() == {"q"}
    engine.sql("DROP QUERY q;")
    assert not costs
    engine.close()


class Fails(Told):
    def tell(self, work: Sequence[RowWork]) -> None:
        super().tell(work)
        if any(one.query == "bad" for one in work):
            raise ValueError("out of luck")


def test_a_query_that_fails_stops_alone(tmp_path: Path) -> None:
    backend = Fails()
    program = (
        f"CREATE QUERY bad AS {SPREADS} PERIOD 10 SECONDS {STAGES} ROUNDS 20;"
        f"CREATE QUERY good AS {CHANCE} PERIOD 10 SECONDS {STAGES} ROUNDS 20;"
    )
    found = live(tmp_path, program, 3, ManualClock(START + 1_000 * SECOND), lambda: backend, max_answer_rows="2000")
    assert [(one["query"], one["number"]) for one in found] == [("good", 0), ("good", 1), ("good", 2)]
    assert {query for _thread, query, *_rest in backend.said} == {"bad", "good"}


# -- drawings -----------------------------------------------------------------------------------------


class Rounds:
    """Result rows of rounds: one with the number of the round, and every third round one more."""

    most_rows = 10_000

    def __init__(self) -> None:
        self.asked: list[range] = []
        self.fails = False

    def rows(self, at: int, rounds: range, limit: JobLimit | None = None) -> list[pa.Array]:
        self.asked.append(rounds)
        if self.fails:
            raise OverdueError
        numbers = [one for one in rounds for _row in range(1 + (one % 3 == 0))]
        keys = ["b" if n and numbers[n - 1] == one else "a" for n, one in enumerate(numbers)]
        values = pa.array([float(one % 7) for one in numbers])
        nothing = pa.array([0] * len(numbers), pa.int64())  # neither marked nor rejected
        return [pa.array(numbers, pa.int64()), nothing, nothing, pa.array(keys), values]

    def now(self) -> float:
        return 0.0


def drawing(effort: str = "ROUNDS 10") -> tuple[Rounds, RowDrawing]:
    select = "SELECT k, stddev(x) AS y FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
    body = compile_program(f"{STREAM} CREATE QUERY q AS {select} {effort};", base=".").catalog.queries["q"].body
    assert isinstance(body, Worlds)
    asked = Rounds()
    return asked, RowDrawing(body, START, asked)


def said(one: RowDrawing) -> list[Any]:
    return [column.values.to_pylist() for column in one.said(one.rounds).all().outputs]


def test_it_does_not_matter_in_which_ranges_rounds_are_drawn() -> None:
    _asked, whole = drawing()
    whole.until(60)
    asked, parts = drawing()
    assert [parts.draw(count) for count in (7, 30, 23)] == [7, 30, 23]
    assert asked.asked == [range(7), range(7, 37), range(37, 60)]
    assert parts.rounds == 60
    assert said(parts) == said(whole)


def test_a_range_that_was_ended_is_drawn_by_the_next_one() -> None:
    asked, one = drawing()
    one.draw(10)
    asked.fails = True
    with pytest.raises(OverdueError):
        one.draw(12)
    asked.fails = False
    assert (one.draw(5), one.rounds) == (5, 15)
    assert (one.draw(50), one.rounds) == (7, 22), "no further than the hole goes"
    assert asked.asked[-2:] == [range(10, 15), range(15, 22)]
    _asked, whole = drawing()
    whole.until(22)
    assert said(one) == said(whole)


def test_who_answers_does_not_wait_for_others() -> None:
    """Rounds that two have asked for are the same, and count once."""
    asked, one = drawing()
    late = one._taken(20)
    one.until(5)
    assert asked.asked == [range(5)]
    one._put(late, asked.rows(START, late))
    assert one.rounds == 20
    _asked, whole = drawing()
    whole.until(20)
    assert said(one) == said(whole)


@pytest.mark.parametrize("bound", ["all", "ahead"])
def test_rounds_ahead_are_bound_by_rows(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    asked, one = drawing()
    if bound == "all":
        asked.most_rows = 400
    else:
        monkeypatch.setattr("punctual.kinds.worlds.by_rows.row_drawing.ROWS_AHEAD", 400)
    while one.draw(50):
        pass
    assert one.full
    assert 250 <= one.rounds <= 310, "four rows in three rounds"
    one.until(2_000)
    assert (one.rounds > 1_000) == (bound == "ahead"), "who answers may have more"


def test_confidence_is_looked_at_once_there_are_rounds_enough() -> None:
    asked, one = drawing("CONFIDENCE 95% WITHIN 0.1")
    assert (one.own, one.needed) == (0, 100)
    one.draw(60)
    assert one.needed == 100
    one.draw(60)
    assert one.needed > 120
    assert asked.asked == [range(60), range(60, 120)]
