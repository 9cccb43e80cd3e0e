"""Joblets end: none begins after the last deadline, a cancel or a stop, and the ledger has the core time of all rounds.

Time passes where rounds are drawn, five milliseconds for each, and where nobody works; so a run is the same on any
machine, and cores never draw faster than the clock says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, Micros
from punctual.engine.answers.rounds_ahead import RoundsAhead
from punctual.engine.crew import Call
from punctual.engine.engine import Engine
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.sharing import Draw
from tests.engine.test_rounds_ahead import OPTIONS, START, STREAM, SUMS, rows
from tests.engine.worked_clock import ROUND_US, Worked, moved_by_rounds
from tests.inprocess.backend import InProcess

BEGIN = START + 1_000 * SECOND
LAST_S = 4
WITHIN = "ANSWERS WITHIN 1 SECOND, 2 SECONDS, 4 SECONDS"
PROGRAM = f"{STREAM} CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {WITHIN} ROUNDS 20;"
EPOCHS = {"anytime": "epoch", "epoch": "1 second", "lead": "200 ms"}
MODES = pytest.mark.parametrize("options", [{}, EPOCHS], ids=["online", "epoch"])
PATIENCE_S = 60


@dataclass(eq=False)
class Joblets:
    """All joblets that began: when, and until when they might begin a round; when each ended; how many are at it."""

    began: list[tuple[Micros, Micros]] = field(default_factory=list)
    ended: list[Micros] = field(default_factory=list)
    running: int = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Worked:
    return moved_by_rounds(monkeypatch, Worked(BEGIN))


@pytest.fixture
def joblets(monkeypatch: pytest.MonkeyPatch, clock: Worked) -> Joblets:
    found = Joblets()
    real = RoundsAhead.draw

    def draw(self: RoundsAhead, command: Draw) -> Callable[[], tuple[float, Drawn | None]]:
        work = real(self, command)

        def counted() -> tuple[float, Drawn | None]:
            found.began.append((clock.at, command.until))
            found.running += 1
            try:
                return work()
            finally:
                found.ended.append(clock.at)
                found.running -= 1

        return counted

    monkeypatch.setattr(RoundsAhead, "draw", draw)
    return found


def opened(
    folder: Path,
    clock: ManualClock,
    options: dict[str, str],
    after: Callable[[Engine, int], None] = lambda _engine, _number: None,
) -> tuple[Engine, InProcess]:
    """An engine that does something after each answer, by its number."""
    backend = InProcess()
    said = {**OPTIONS, "tick": "1 second", **options}
    engine = Engine(str(folder / "state"), str(folder / "out"), clock=clock, backend=lambda: backend, options=said)

    def heard(blocks: Sequence[Any]) -> None:
        for block in blocks:
            for number in block.table.column("number").to_pylist():
                after(engine, number)

    engine.listen(heard)
    engine.sql(PROGRAM)
    engine.open()
    return engine, backend


def answers(engine: Engine) -> list[dict[str, Any]]:
    return [row for block in engine.records() for row in block.table.to_pylist()]


def run_for(engine: Engine, clock: ManualClock, seconds: float, halfway: Callable[[], None] = lambda: None) -> None:
    """Until so long after the beginning, and then until nothing is under way any more."""
    real, half = engine._opened()._watch, [halfway]

    def watch() -> None:
        if clock.at >= BEGIN + seconds * SECOND:
            engine.request_stop()
        elif half and clock.at >= BEGIN + seconds / 2 * SECOND:
            half.pop()()
        real()

    engine._opened()._watch = watch
    engine.run()


def is_idle(engine: Engine, joblets: Joblets) -> bool:
    """Whether nobody draws, and nobody was asked to."""
    loop = engine._opened()
    return joblets.running == 0 and loop._crew.joblets._queue.empty() and not loop.state.sharing.given


@MODES
def test_after_the_last_deadline(tmp_path: Path, clock: Worked, joblets: Joblets, options: dict[str, str]) -> None:
    engine, _backend = opened(tmp_path, clock, options)
    engine.feed("s", rows())
    run_for(engine, clock, 300)
    found = answers(engine)
    assert [(one["number"], one["on_time"]) for one in found] == [(0, True), (1, True), (2, True)]
    assert len(joblets.began) > 10, "bonus was drawn"
    last = found[-1]["deadline"]
    assert last == BEGIN + LAST_S * SECOND
    assert all(began < until <= last for began, until in joblets.began)
    assert is_idle(engine, joblets)
    assert clock.rounds == found[-1]["rounds"], "no round was drawn that is in no answer"
    engine.close()


def test_a_joblet_looks_at_its_clock(tmp_path: Path, clock: Worked, joblets: Joblets) -> None:
    """From the second stage on a round takes far longer than anybody has seen."""

    def dearer(_engine: Engine, _number: int) -> None:
        clock.price = 40 * ROUND_US

    engine, _backend = opened(tmp_path, clock, {}, dearer)
    engine.feed("s", rows())
    run_for(engine, clock, 300)
    assert [one["number"] for one in answers(engine)] == [0, 1, 2]
    for (_began, until), ended in zip(joblets.began, joblets.ended):  # one core: one after the other
        assert ended < until + clock.price
    engine.close()


def test_a_joblet_that_is_told_to_end(
    tmp_path: Path, clock: Worked, joblets: Joblets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops after the rounds that it is at, and they count."""
    engine, _backend = opened(tmp_path, clock, {})
    real = clock.draw

    def draw(rounds: int) -> None:
        real(rounds)
        if clock.at > BEGIN + 2 * SECOND:
            ahead = engine._opened().core.ahead
            ahead.end(list(ahead._limits))

    monkeypatch.setattr(clock, "draw", draw)
    engine.feed("s", rows())
    run_for(engine, clock, 300)
    found = answers(engine)
    assert clock.rounds == found[-1]["rounds"]
    took = [ended - began for (began, _until), ended in zip(joblets.began, joblets.ended)]
    before = [some for (began, _until), some in zip(joblets.began, took) if began < BEGIN + 1.9 * SECOND]
    after = [some for (began, _until), some in zip(joblets.began, took) if began > BEGIN + 2 * SECOND]
    assert max(before) > ROUND_US
    assert len(after) > 10
    assert max(after) == ROUND_US
    assert not engine._opened().core.ahead._limits
    engine.close()


@MODES
def test_after_a_cancel(tmp_path: Path, clock: Worked, joblets: Joblets, options: dict[str, str]) -> None:
    """In the middle of the second stage; what is asked of the next instant is drawn for as ever."""
    before: list[int] = []

    def cancel(engine: Engine, number: int) -> None:
        loop = engine._opened()
        if number == 0 and not before:
            loop._crew.inbox.put(Call(lambda: before.extend((loop.cancel("q", None), len(joblets.began)))))

    def next_instant() -> None:
        before.append(len(joblets.began))
        assert is_idle(engine, joblets)
        assert [one["number"] for one in answers(engine)] == [0]
        engine.feed("s", rows(12, 23))

    engine, _backend = opened(tmp_path, clock, options, cancel)
    engine.feed("s", rows())
    run_for(engine, clock, 300, next_instant)
    ended, begun, then = before
    assert ended == 1
    assert 0 < begun <= then <= begun + 1, "one may have been given to its thread by then"
    assert then < len(joblets.began)
    assert [one["number"] for one in answers(engine)] == [0, 0, 1, 2]
    engine.close()


@MODES
def test_after_a_stop(tmp_path: Path, clock: Worked, joblets: Joblets, options: dict[str, str]) -> None:
    """Answers are open then, and the next run has them; this one draws no more for them."""
    begun: list[int] = []

    def stop(engine: Engine, number: int) -> None:
        if number == 1:
            engine.request_stop()
            begun.append(len(joblets.began))

    engine, _backend = opened(tmp_path, clock, options, stop)
    engine.feed("s", rows())
    engine.run()
    assert 0 < begun[0] <= len(joblets.began) <= begun[0] + 1
    assert [one["number"] for one in answers(engine)] == [0, 1]
    assert is_idle(engine, joblets)
    threads = engine._opened()._crew.joblets._threads
    assert threads
    count = len(joblets.began)
    engine.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert len(joblets.began) == count


@MODES
def test_the_ledger_has_the_core_time_of_the_rounds_in_the_log(
    tmp_path: Path, clock: Worked, joblets: Joblets, options: dict[str, str]
) -> None:
    engine, backend = opened(tmp_path, clock, options)
    engine.feed("s", rows(1, 32))
    run_for(engine, clock, 300)
    found = answers(engine)
    assert len({one["at"] for one in found}) == 3
    ledger = engine.ledger()
    engine.close()
    firings = ledger[ledger["record"] == "firing"]
    calls = backend.used["evaluate"] + backend.used["rows"]
    assert firings["used_ms"].sum() * 1_000 == pytest.approx(ROUND_US * clock.rounds + calls)
    last = {one["at"]: one["rounds"] for one in found}  # rounds only grow
    assert sum(last.values()) == clock.rounds
    times = firings["at"].astype("datetime64[us, UTC]").astype("int64")
    for at, rounds in last.items():
        of_instant = firings[times == at]
        assert len(of_instant) == 3
        assert of_instant["used_ms"].sum() * 1_000 == pytest.approx(ROUND_US * rounds + calls / 3, rel=0.05)
