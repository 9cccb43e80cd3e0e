"""Row queries on a file system that dies: whenever it dies, each answer is there once, and its rows are those.

Tasks write retained rows to the file system that dies as well, and windows are read from it, so a file that was lost
or torn in the crash is missed here. Batches are compacted all the time.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.engine import engine
from punctual.runtime.operators import row_files, window_rows
from tests.engine import test_crash
from tests.engine.test_crash import Story, _resumed
from tests.inprocess.backend import InProcess
from tests.store.dying import Crash, DyingFiles

PROGRAM = """
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, truck STRING KEY, kmh DOUBLE) FROM FEED;
CREATE QUERY pairs AS SELECT a.truck, a.kmh, b.kmh AS other FROM gps [RANGE 4 SECONDS] AS a
JOIN gps [RANGE 9 SECONDS] AS b ON a.truck = b.truck AND a.t >= b.t PERIOD 2 SECONDS;
CREATE QUERY lost AS
SELECT truck FROM gps [RANGE 8 SECONDS] EXCEPT SELECT truck FROM gps [RANGE 3 SECONDS] PERIOD 3 SECONDS;
CREATE QUERY steps AS SELECT truck, kmh - lag(kmh) OVER (PARTITION BY truck ORDER BY t, kmh) AS step
FROM gps [RANGE 6 SECONDS SLIDE 3 SECONDS];
CREATE QUERY panes AS SELECT truck, count(*) AS n FROM gps [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY truck;
"""
BATCHES = (
    [(1.0, "A", 20.0), (2.0, "B", 30.5), (3.0, "A", 5.0)],
    [(5.0, "C", 40.0), (2.5, "A", 0.1), (0.5, "late", 99.0)],
    [(9.0, "B", 0.25), (8.5, "B", 70.0)],
    [(12.0, "A", 0.5)],
    [(12.5, "A", 0.5), (13.0, "C", 7.0)],
    [(16.0, "A", 3.0), (20.0, "B", 80.0)],
)


class RowStory(Story):
    """A story whose tasks write to the files of the story, and read from them."""

    files_now: DyingFiles

    def live(self) -> None:
        RowStory.files_now = self.files
        super().live()


def write_payload(folder: str, payload: pa.Buffer) -> str:
    path = os.path.join(folder, f"{uuid.uuid4().hex}.arrow")
    RowStory.files_now.write_new(path, [payload])
    return path


def section(path: str, offset: int, length: int) -> pa.Buffer:
    return RowStory.files_now.map(path).slice(offset, length)


@pytest.fixture(autouse=True, scope="module")
def dying_tasks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_files, "write_payload", write_payload)
        patch.setattr(window_rows, "_section", section)
        patch.setattr(engine, "BATCHES_PER_BASE", 2)
        patch.setattr(test_crash, "PROGRAM", PROGRAM)
        patch.setattr(test_crash, "BATCHES", BATCHES)
        patch.setattr(test_crash, "Story", RowStory)
        yield


@pytest.fixture(scope="module")
def undisturbed(dying_tasks: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    backend = InProcess(partitions=2)
    story = RowStory(tmp_path_factory.mktemp("rows"), DyingFiles(), backend)
    story.live()
    yield story
    backend.close()


def kept_files(story: Story) -> list[str]:
    """Files of retained rows."""
    return [path for path in story.files.names if path.endswith(".arrow") and "/incoming/" in path]


def crashed(undisturbed: Story, folder: Path, step: int) -> None:
    resumed = _resumed(undisturbed.backend, folder, step)
    assert resumed.lines == undisturbed.lines
    assert resumed.written() == undisturbed.written()
    assert len(kept_files(resumed)) <= len(kept_files(undisturbed)) + 1


def test_the_story_answers_and_compacts(undisturbed: Story) -> None:
    assert len(undisturbed.lines) == len(set(undisturbed.lines)) > 25
    assert set(undisturbed.written()) == {f"{name}.jsonl" for name in ("pairs", "lost", "steps", "panes")}
    removed = [path for path in undisturbed.files.paths if path.endswith(".arrow")]
    assert len(set(removed)) > 2 * len(kept_files(undisturbed))  # files were merged, and their sources removed
    assert any(path.rpartition("/")[0].endswith("base") for path in undisturbed.files.names)


def test_crash_at_some_steps(undisturbed: Story, tmp_path: Path) -> None:
    for step in range(3, undisturbed.files.steps, 31):
        crashed(undisturbed, tmp_path / str(step), step)


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_crash_at_every_step(undisturbed: Story, tmp_path: Path, part: int) -> None:
    for step in range(1 + part, undisturbed.files.steps, 4):
        crashed(undisturbed, tmp_path / str(step), step)


def test_crash_while_resuming(undisturbed: Story, tmp_path: Path) -> None:
    for first in range(90, undisturbed.files.steps, 110):
        folder = tmp_path / str(first)
        dead = RowStory(folder, DyingFiles(die_at=first), undisturbed.backend)
        with pytest.raises(Crash):
            dead.live()
        disk = next(iter(dead.files.after_crash()))
        disk.die_at = 1 + first % 40
        again = RowStory(folder, disk, undisturbed.backend, dead.fed)
        with pytest.raises(Crash):
            again.live()
        resumed = RowStory(folder, next(iter(again.files.after_crash())), undisturbed.backend, again.fed)
        resumed.live()
        assert resumed.written() == undisturbed.written()
