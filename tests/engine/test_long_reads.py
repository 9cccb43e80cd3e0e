"""Anytime answers while a file is read that takes longer than their deadlines, as who reads the files of answers sees
them.

Time is the test's: each round takes five milliseconds of it, and else it stands still while anybody works, but for the
one read that is held until five seconds have passed. So what is checked is who waits for whom, on any machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, Micros, iso
from punctual.engine.answers.rounds_ahead import RoundsAhead
from punctual.engine.engine import Engine
from punctual.runtime.backend import Tick
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.sharing import Draw
from tests.engine.test_rounds_ahead import OPTIONS, START, STREAM, SUMS, rows
from tests.engine.worked_clock import Worked, moved_by_rounds
from tests.inprocess.backend import InProcess

PATIENCE_S = 60
READ_S = 5.0
LARGE = "CREATE STREAM large (t TIMESTAMP EVENT TIME, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE) FROM FEED;"
TOTAL = "SELECT EXPECTED(sum(x)) AS total FROM large [RANGE 10 SECONDS]"
WITHIN = "ANSWERS WITHIN 1 SECOND, 2 SECONDS, 4 SECONDS ROUNDS 50"
EPOCHS = {"anytime": "epoch", "epoch": "1 second", "lead": "200 ms"}
BEGIN = START + 1_000 * SECOND


class Reader(Worked):
    """The clock of who reads the files of answers: before it moves he looks at them.

    It moves where nobody works, or only somebody who is ``held`` until a certain time.
    """

    def __init__(self, folder: Path, held: Callable[[], bool]) -> None:
        super().__init__(BEGIN)
        self._folder = folder
        self._held = held
        self.let_go: Callable[[Micros], None] = lambda _at: None
        self.saw: dict[str, dict[int, Micros]] = {}
        """By query, when each of its answers was there."""

    def receive(self, inbox: SimpleQueue[Any], within: Micros | None, *, expected: bool) -> Any:
        while True:
            try:
                return inbox.get(timeout=0.005)
            except Empty:
                if not expected or self._held():
                    break
        self._look()
        self.sleep(within or 0)
        self.let_go(self.at)
        return None

    def _look(self) -> None:
        for path in self._folder.glob("*.jsonl"):
            for line in path.read_text().splitlines():
                self.saw.setdefault(path.stem, {}).setdefault(json.loads(line)["number"], self.at)


class Slow(InProcess):
    """What comes by the stream ``large`` is read until somebody lets it go."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go_on = threading.Event(), threading.Event()
        self.first: Callable[[], None] = lambda: None
        self.began: Micros | None = None

    def tick(self, tick: Tick) -> pa.Table:
        if any(work.stream == "large" for work in tick.work):
            self.reading.set()
            assert self.go_on.wait(PATIENCE_S)
            self.reading.clear()
        else:
            self.first()
        return super().tick(tick)


def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, options: dict[str, str]
) -> tuple[Reader, Slow, Engine]:
    """Rows of ``s`` are read at once, those of ``large`` come while that is done and are held; until it is stopped."""
    backend = Slow()
    said = {**OPTIONS, "tick": "100 ms", **options}

    def held() -> bool:
        """Whether nobody does anything but read what is held."""
        return backend.reading.is_set() and engine._opened()._under_way == 1

    clock = moved_by_rounds(monkeypatch, Reader(folder / "out", held))
    engine = Engine(str(folder / "state"), str(folder / "out"), clock=clock, backend=lambda: backend, options=said)
    engine.sql(STREAM + LARGE + program)
    engine.open()
    large = [(iso(START + second * SECOND), 1.0, 2.0) for second in range(1, 12)]
    backend.first = lambda: engine.feed("large", large)

    def let_go(at: Micros) -> None:
        if backend.reading.is_set() and backend.began is None:
            backend.began = at
        if backend.began is not None and at >= backend.began + READ_S * SECOND:
            backend.go_on.set()
        if at >= BEGIN + 20 * SECOND:
            engine.request_stop()

    clock.let_go = let_go
    engine.feed("s", rows())
    watch = threading.Timer(PATIENCE_S, backend.go_on.set)
    watch.start()
    engine.run()
    watch.cancel()
    assert backend.began is not None, "nothing was held"
    return clock, backend, engine


@pytest.mark.parametrize("options", [{}, EPOCHS], ids=["online", "epoch"])
def test_others_are_answered_by_their_deadlines_while_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    real, drawn_for = RoundsAhead.draw, set[int]()

    def draw(self: RoundsAhead, command: Draw) -> Callable[[], tuple[float, Drawn | None]]:
        drawn_for.add(command.stage.number)
        return real(self, command)

    monkeypatch.setattr(RoundsAhead, "draw", draw)
    program = f"CREATE QUERY q AS {SUMS} PERIOD 10 SECONDS {WITHIN};"
    program += f"CREATE QUERY big AS {TOTAL} PERIOD 10 SECONDS ROUNDS 20;"
    clock, backend, engine = run(tmp_path, monkeypatch, program, options)
    found = [json.loads(line) for line in (tmp_path / "out" / "q.jsonl").read_text().splitlines()]
    engine.close()
    assert [one["number"] for one in found] == [0, 1, 2]
    assert all(one["on_time"] for one in found)
    first, second, third = (one["rounds"] for one in found)
    assert first >= (8 if options else 50), "no plan knew of it, and where files are read there is no bonus"
    assert second - first >= 50, "what is essential is drawn also then"
    assert third - second >= 50
    assert drawn_for == {0, 1, 2}, "cores draw also while a file is read"
    seen = clock.saw["q"]
    for number, within in enumerate((1, 2, 4)):
        assert seen[number] <= BEGIN + within * SECOND
    assert backend.began is not None
    assert seen[2] < backend.began + READ_S * SECOND <= clock.saw["big"][0], "the read went on all the time"


def test_what_is_read_so_slowly_is_answered_at_its_next_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deadlines count from when it could have been read: the first two have passed by then."""
    within = "ANSWERS WITHIN 1 SECOND, 4 SECONDS, 8 SECONDS ROUNDS 50"
    program = f"CREATE QUERY big AS {TOTAL} PERIOD 10 SECONDS {within};"
    clock, _backend, engine = run(tmp_path, monkeypatch, program, {})
    found = [json.loads(line) for line in (tmp_path / "out" / "big.jsonl").read_text().splitlines()]
    engine.close()
    assert [(one["number"], one["on_time"]) for one in found] == [(0, False), (1, False), (2, True)]
    assert clock.saw["big"][2] <= BEGIN + 8 * SECOND
