"""The engine on a file system that dies: whenever it dies, the resumed run's answers are those of an undisturbed one.

The whole program runs in process (parser, planner, kernels, store, answer log, sink) over ``tests/store/dying.py``. A
crash loses or tears what was not synced; then a new engine on what is left finishes the story. Every answer must be
there once, in the log and in the sink's file, byte for byte.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, Micros
from punctual.engine.engine import Engine
from punctual.ports.answers import AnswerBlock
from punctual.store.records import RecordLog
from tests.cqt.play import NOW_US
from tests.inprocess.backend import InProcess
from tests.store.dying import Crash, DyingFiles

PROGRAM = """
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, truck STRING KEY, kmh DOUBLE) FROM FEED;
CREATE QUERY fast AS
SELECT truck, count(*) AS n, avg(kmh) AS mean FROM gps [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE kmh > 10 GROUP BY truck;
CREATE QUERY whole AS SELECT sum(kmh) / count(*) AS each, last(kmh) AS l FROM gps [RANGE 6 SECONDS SLIDE 3 SECONDS];
CREATE QUERY longer AS SELECT last(kmh) AS l, sum(kmh) AS s, count(*) AS n FROM gps [RANGE 8 SECONDS SLIDE 4 SECONDS];
CREATE QUERY stable AS SELECT TOP 2 STREAMS EXCLUSIVE truck FROM gps [RANGE 6 SECONDS]
GROUP BY kmh > 10 ORDER BY kmh DESC PERIOD 1 SECOND STABLE 60%;
CREATE QUERY unstable AS SELECT TOP 2 STREAMS EXCLUSIVE truck FROM gps [RANGE 6 SECONDS]
GROUP BY kmh > 10 ORDER BY kmh DESC PERIOD 1 SECOND;
SET cadence = exact;
"""
BATCHES = (
    [(1.0, "A", 20.0), (2.0, "B", 30.5), (3.0, "A", 5.0)],
    [(5.0, "C", 40.0), (2.5, "A", 0.1), (0.5, "late", 99.0)],
    [(9.0, "B", 0.2), (8.5, "B", 70.0)],
    [(12.0, "A", 0.3), (12.5, "A", 0.3), (20.0, "B", 80.0)],
)
ADVANCE_US = 25_000_000


@dataclass(slots=True)
class Story:
    """The life of one state: batches are fed and ticked in order, then the stream is advanced and ended.

    What happens outside (rows are landed) is remembered, so that a resumed run goes on where the dead one stopped.
    """

    folder: Path
    files: DyingFiles
    backend: InProcess
    fed: int = 0
    advanced: bool = False
    lines: list[str] = field(default_factory=list)

    def live(self) -> None:
        """Run to the end, or to the crash."""
        # Rows are landed on the real disk, outside the file system that dies.
        (self.folder / "state" / "feeds" / "gps").mkdir(parents=True, exist_ok=True)
        engine = Engine(
            state=str(self.folder / "state"),
            out=str(self.folder / "out"),
            live=False,
            clock=ManualClock(NOW_US),
            backend=lambda: _Kept(self.backend),
            files=self.files,
        )
        try:
            engine.sql(PROGRAM)
            engine.open()
            while engine.tick() is not None:
                pass
            while self.fed < len(BATCHES):
                engine.feed("gps", [{"t": at, "truck": truck, "kmh": kmh} for at, truck, kmh in _rows(self.fed)])
                self.fed += 1
                engine.tick()
            engine.advance({"gps": ADVANCE_US})
            engine.end()
            self.lines = [repr((block.query, row)) for block in engine.records() for row in _rows_of(block)]
            engine.close()
        except Crash:
            with contextlib.suppress(Crash):
                engine.close()
            raise

    def written(self) -> dict[str, bytes]:
        """What the sink's files hold."""
        out = str(self.folder / "out")
        return {name: self.files.read(f"{out}/{name}") for name in self.files.listing(out) if name.endswith(".jsonl")}


class _Kept:
    """One data plane for many engines: closing it is nobody's business here."""

    def __init__(self, backend: InProcess) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def close(self) -> None:
        pass


def _rows(batch: int) -> Iterator[tuple[str, str, float]]:
    for seconds, truck, kmh in BATCHES[batch]:
        yield f"1970-01-01T00:00:{seconds:06.3f}Z", truck, kmh


def _rows_of(block: AnswerBlock) -> list[dict[str, Any]]:
    return list(block.table.to_pylist())


@pytest.fixture(scope="module")
def backend() -> Iterator[InProcess]:
    backend = InProcess(partitions=2)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def undisturbed(backend: InProcess, tmp_path_factory: pytest.TempPathFactory) -> Story:
    # The same paths in every story, so that everything but the crash is the same.
    story = Story(tmp_path_factory.mktemp("life"), DyingFiles(), backend)
    story.live()
    return story


def _resumed(backend: InProcess, folder: Path, step: int) -> Story:
    """Die at that step of the file system, and live on from one of the disks that it may have left."""
    dead = Story(folder, DyingFiles(die_at=step), backend)
    with pytest.raises(Crash):
        dead.live()
    disks = list(dead.files.after_crash())
    resumed = Story(folder, disks[step % len(disks)], backend, dead.fed)
    resumed.live()
    return resumed


def _crashed(undisturbed: Story, folder: Path, step: int) -> None:
    resumed = _resumed(undisturbed.backend, folder, step)
    assert resumed.lines == undisturbed.lines
    assert resumed.written() == undisturbed.written()


def test_the_story_answers(undisturbed: Story) -> None:
    assert len(undisturbed.lines) == len(set(undisturbed.lines)) > 15
    queries = ("fast", "whole", "longer", "stable", "unstable")
    assert set(undisturbed.written()) == {f"{name}.jsonl" for name in queries}
    stable, unstable = (
        [line.partition(b'"rows":')[2].partition(b"]")[0] for line in undisturbed.written()[name].splitlines()]
        for name in ("stable.jsonl", "unstable.jsonl")
    )
    assert sum(a != b for a, b in zip(stable, unstable, strict=True)) > 2  # what is displayed depends on what was
    assert "journal" in undisturbed.files.listing(str(undisturbed.folder / "state"))  # it holds the cadence plan
    assert sum(text.count(b"\n") for text in undisturbed.written().values()) == len(undisturbed.lines)


def test_crash_at_some_steps(undisturbed: Story, tmp_path: Path) -> None:
    for step in range(2, undisturbed.files.steps, 7):
        _crashed(undisturbed, tmp_path / str(step), step)


@pytest.mark.long
def test_crash_at_every_step(undisturbed: Story, tmp_path: Path) -> None:
    for step in range(1, undisturbed.files.steps):
        _crashed(undisturbed, tmp_path / str(step), step)


def test_crash_while_resuming(undisturbed: Story, tmp_path: Path) -> None:
    """A second crash, during recovery from the first."""
    for first in range(40, undisturbed.files.steps, 60):
        folder = tmp_path / str(first)
        dead = Story(folder, DyingFiles(die_at=first), undisturbed.backend)
        with pytest.raises(Crash):
            dead.live()
        for second in (2, 9, 23):
            disk = next(iter(dead.files.after_crash()))
            disk.die_at = second
            again = Story(folder, disk, undisturbed.backend, dead.fed)
            with pytest.raises(Crash):
                again.live()
            dead = again
        resumed = Story(folder, next(iter(dead.files.after_crash())), undisturbed.backend, dead.fed)
        resumed.live()
        assert resumed.lines == undisturbed.lines
        assert resumed.written() == undisturbed.written()


class _Passing(ManualClock):
    """A clock that goes on whenever somebody looks."""

    def now(self) -> Micros:
        self.sleep(SECOND)
        return super().now()


def test_crash_when_the_log_forgets(undisturbed: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankings that are stable go on from answers that the log has no more."""
    monkeypatch.setitem(RecordLog.__init__.__kwdefaults__, "segment_bytes", 1)
    monkeypatch.setattr(f"{__name__}.ManualClock", _Passing)
    monkeypatch.setattr("punctual.engine.answers.delivery.CHECKPOINT_US", 0)
    program = PROGRAM.replace("PERIOD 1 SECOND STABLE", "PERIOD 3 SECONDS STABLE") + "SET keep_answers = '1 second';"
    monkeypatch.setattr(f"{__name__}.PROGRAM", program)
    monkeypatch.setattr(f"{__name__}.BATCHES", tuple([row] for batch in BATCHES for row in batch))
    whole = Story(tmp_path / "whole", DyingFiles(), undisturbed.backend)
    whole.live()
    assert "displayed" in whole.files.listing(str(whole.folder / "state"))
    assert len(whole.lines) < len(undisturbed.lines) / 2
    for step in range(3, whole.files.steps, 43):
        resumed = _resumed(undisturbed.backend, tmp_path / str(step), step)
        assert resumed.written() == whole.written()


RULED = """
CREATE STREAM gps (
    t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, truck STRING KEY, kmh DOUBLE,
    p DOUBLE PROBABILITY AS (0.4), seen STRING RULE AS (truck)
) FROM FEED;
CREATE QUERY best AS SELECT TOP 2 truck, kmh FROM gps [RANGE 8 SECONDS] ORDER BY kmh DESC PERIOD 2 SECONDS;
CREATE QUERY longer AS SELECT TOP 1 truck FROM gps [RANGE 20 SECONDS] ORDER BY kmh DESC PERIOD 2 SECONDS;
"""


def _broken(story: Story) -> list[str]:
    """Rows among the dead letters because of their rule."""
    folder = str(story.folder / "state" / "dead")
    letters = [
        json.loads(line)
        for name in story.files.listing(folder)
        if name.endswith(".jsonl")
        for line in story.files.read(f"{folder}/{name}").splitlines()
    ]
    return sorted(letter["row"] for letter in letters if letter["reason"].startswith("rule"))


def test_crash_while_rules_break(undisturbed: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose rule breaks are dead letters once, whenever the engine dies."""
    monkeypatch.setattr(f"{__name__}.PROGRAM", RULED)
    whole = Story(tmp_path / "whole", DyingFiles(), undisturbed.backend)
    whole.live()
    assert len(_broken(whole)) == len(set(_broken(whole))) > 3
    assert b'"rejected":3' in whole.written()["best.jsonl"]
    for step in range(3, whole.files.steps, 11):
        resumed = _resumed(undisturbed.backend, tmp_path / str(step), step)
        assert resumed.written() == whole.written()
        assert _broken(resumed) == _broken(whole)
