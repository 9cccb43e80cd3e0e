"""Deadlines count reading: an engine that is behind says so in its answers, and in its status."""

from __future__ import annotations

import os
from pathlib import Path

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.loop import BatchReport
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
QUERY = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND DEADLINE 2 SECONDS;"
FED = f"CREATE STREAM s (t TIMESTAMP EVENT TIME, x INT) FROM FEED;\n{QUERY}"


def answered(engine: Engine) -> list[tuple[int, int, int, bool]]:
    """Instant, release and answer in seconds, and whether it was on time."""
    return [
        ((row["at"] - START) // SECOND, (row["released"] - START) // SECOND, (row["answered"] - START) // SECOND,
         row["on_time"])
        for block in engine.records()
        for row in block.table.to_pylist()
    ]  # fmt: skip


def test_rows_that_waited_were_released_when_they_came(tmp_path: Path) -> None:
    clock = ManualClock(START)
    with Engine(str(tmp_path), clock=clock, backend=InProcess) as engine:
        engine.sql(FED)
        engine.open()
        engine.feed("s", [(iso(START), 1), (iso(START + 2 * SECOND), 1)])
        clock.sleep(SECOND)
        engine.tick()
        assert answered(engine) == [(0, 0, 1, True), (1, 0, 1, True)]
        engine.feed("s", [(iso(START + 4 * SECOND), 1)])
        clock.sleep(10 * SECOND)
        engine.feed("s", [(iso(START + 6 * SECOND), 1)])
        clock.sleep(SECOND)
        engine.tick()  # one batch reads what came in second 1 and in second 11
        assert answered(engine)[2:] == [
            (2, 1, 12, False), (3, 1, 12, False), (4, 11, 12, True), (5, 11, 12, True),
        ]  # fmt: skip
        assert engine.status()["streams"]["s"]["lag_seconds"] == 11.0
        clock.sleep(7 * SECOND)
        engine.advance({"s": START + 7 * SECOND})  # idle: when it is found idle
        assert answered(engine)[6:] == [(6, 19, 19, True), (7, 19, 19, True)]


def test_what_was_there_at_the_start_came_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for number, second in enumerate((0, 3)):
        path = tmp_path / "s" / f"{number}.json"
        path.write_text(f'{{"t": "{iso(START + second * SECOND)}", "x": 1}}\n')
        os.utime(path, (number, number))
    clock = ManualClock(START + 100 * SECOND)
    with Engine(str(tmp_path / "state"), base=str(tmp_path), clock=clock, backend=InProcess) as engine:
        engine.sql(FED.replace("FROM FEED", "FROM FILES 's' FORMAT JSON"))
        engine.open()
        clock.sleep(SECOND)
        engine.tick()
        assert {(released, now) for _at, released, now, _on in answered(engine)} == {(100, 101)}


def test_under_twice_the_load_answers_are_late_within_seconds(tmp_path: Path) -> None:
    """Reading a second's rows takes two seconds: the lag grows, and answers say that they are late."""
    clock = ManualClock(START)

    class Slow(InProcess):
        def tick(self, tick: object) -> object:  # type: ignore[override]
            rows = sum(len(work.slice.parts) for work in tick.work)  # type: ignore[attr-defined]
            feeding(2 * rows)
            return super().tick(tick)  # type: ignore[arg-type]

    fed = 0

    def feeding(seconds: int) -> None:
        """Time passes, and every second brings a row."""
        nonlocal fed
        for _ in range(seconds):
            clock.sleep(SECOND)
            fed += 1
            engine.feed("s", [(iso(START + fed * SECOND), 1)])

    lags: list[int] = []

    def settled(one: BatchReport) -> None:
        lags.append(one.lag_us // SECOND)
        if fed >= 60:
            engine.request_stop()

    options = {"max_files_per_tick": "2", "tick": "1 second", "idle": "1 hour"}
    with Engine(str(tmp_path), clock=clock, backend=Slow, options=options) as engine:
        engine.sql(FED)
        engine.open()
        feeding(1)
        engine.run(settled)
        late = [(released, on_time) for _at, released, _now, on_time in answered(engine)]
    assert not all(on_time for _released, on_time in late)
    turned = next(released for released, on_time in late if not on_time)
    assert turned <= 10, "it is noticed within seconds"
    assert not any(on_time for released, on_time in late if released > turned)
    assert lags[-1] > lags[len(lags) // 2] > 1
