"""The real process over real files, killed again and again: the answers are those of an undisturbed run, byte for byte.

Only the process is killed, so its JVM and workers live on for a moment and the next run meets them. Moments are seeded:
a number of committed batches to wait for and a delay after it. Where exactly a kill hits depends on the machine; that
it must not matter is the point.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.cli.main import main
from punctual.engine.engine import Engine
from tests.spark.command import answers, batches, finish, has_ended, jvm_of, lines, start, until

pytestmark = pytest.mark.spark

FILES = 28
"""A batch each."""
ROWS_A_FILE = 40
SLOW_AND_OFTEN_COMPACTED = """
import time
import punctual.engine.engine
from punctual.engine.batch.ingest import Ingest

punctual.engine.engine.BATCHES_PER_BASE = 5
read = Ingest.read

def slowly(*arguments):
    time.sleep(0.4)
    return read(*arguments)

Ingest.read = slowly
"""
"""The processes that are killed compact their state often, and take their time for a batch, so that they are killed
before they have done everything; the undisturbed run does neither."""
START = datetime(2026, 3, 1, tzinfo=UTC)
PROGRAM = """
SET max_files_per_tick = 1;
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 3 SECONDS, truck STRING KEY, kmh DOUBLE, lane INT)
FROM FILES 'gps' FORMAT JSON;
CREATE TABLE lanes (id INT, name STRING) FROM FILES 'lanes.csv' FORMAT CSV;
CREATE QUERY mean AS SELECT truck, avg(kmh) AS mean, count(*) AS n, round(max(kmh) - min(kmh), 3) AS spread
FROM gps [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY truck;
CREATE QUERY fast AS SELECT count(*) AS n, sum(kmh) AS total FROM gps [RANGE 1 MINUTE] WHERE kmh > 80 PERIOD 7 SECONDS;
CREATE QUERY named AS SELECT l.name, approx_percentile(kmh, 0.9) AS p90, last(truck) AS latest
FROM gps [RANGE 20 SECONDS] AS g, lanes AS l WHERE g.lane = l.id GROUP BY l.name PERIOD 10 SECONDS;
"""


def write_files(folder: Path) -> list[dict[str, Any]]:
    """A program and its files; rows are a little out of order, some too late, some broken. All good rows."""
    (folder / "gps").mkdir()
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "lanes.csv").write_text("id,name\n0,slow\n1,middle\n2,fast\n")
    draw = random.Random(7)
    rows = []
    for number in range(FILES):
        text = []
        for place in range(ROWS_A_FILE):
            second = 5 * number + 5 * place / ROWS_A_FILE - (draw.random() * 4 if draw.random() < 0.3 else 0)
            at = START + timedelta(microseconds=max(0, round(second * 1e6)))
            row = {
                "t": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "truck": draw.choice("ABC"),
                "kmh": round(draw.gauss(75, 12), 2),
                "lane": draw.choice([0, 1, 2, 3, None]),
            }
            rows.append({**row, "at": at, "file": number})
            text.append(json.dumps(row))
        if number % 9 == 0:
            text.append("not a row")
        path = folder / "gps" / f"{number:03}.json"
        path.write_text("\n".join(text))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return rows


def recomputed(rows: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """Count and total of ``fast`` at each of its instants, from all rows that were not late."""
    kept, complete, greatest = [], None, None
    for number in range(FILES):
        batch = [r for r in rows if r["file"] == number]
        kept += [r for r in batch if complete is None or r["at"] > complete]
        greatest = max([r["at"] for r in kept])
        complete = greatest - timedelta(seconds=3, microseconds=1)
    first = min(r["at"] for r in kept)
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for second in range(0, int(START.timestamp()) + 5 * FILES + 7, 7)[-(5 * FILES // 7 + 3) :]:
        at = datetime.fromtimestamp(second, UTC)
        if first <= at <= greatest:
            inside = [r["kmh"] for r in kept if at - timedelta(minutes=1) < r["at"] <= at and r["kmh"] > 80]
            found[at.strftime("%Y-%m-%dT%H:%M:%SZ")] = [(len(inside), round(sum(inside), 6))]
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(program: Path, spark: SparkSession) -> dict[str, str]:
    """What a run without any kill writes; in this process, with the session of all tests."""
    out = program / "undisturbed"
    with Engine(out=str(out), base=str(program), live=False) as engine:
        engine.sql((program / "program.sql").read_text())
        engine.run_once()
    return lines(out)


class Story:
    """One state that many processes run, one after the other."""

    def __init__(self, program: Path, name: str) -> None:
        self.folder = program
        self.state, self.out = program / f"{name}-state", program / f"{name}-out"
        self.arguments = ("run", program / "program.sql", "--once", "--state", self.state, "--out", self.out)

    def start(self) -> subprocess.Popen[str]:
        return start(*self.arguments, folder=self.folder, before=SLOW_AND_OFTEN_COMPACTED)

    def start_until(self, wanted: int, delay: float) -> subprocess.Popen[str]:
        """A process that has come to so many batches and a little further."""
        process = self.start()
        until(lambda: batches(self.state) >= wanted, process)
        time.sleep(delay)
        return process

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()

    def finish(self) -> dict[str, str]:
        code, printed, said = finish(self.start())
        assert (code, printed) == (0, ""), said
        return lines(self.out)


def test_an_undisturbed_run_is_right(program: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    expected = recomputed(write_files(folder))
    found = {
        a["at"]: [(a["rows"][0]["n"], round(a["rows"][0]["total"] or 0, 6))]
        for a in answers(program / "undisturbed")["fast"]
    }
    assert found == expected
    assert len(undisturbed["mean"].splitlines()) == FILES  # a slide is as long as a file


def test_five_kills(program: Path, undisturbed: dict[str, str]) -> None:
    """Killed while starting, in a batch, near the compaction; the JVM alone; asked to stop. Resumed each time."""
    draw = random.Random(1)
    story = Story(program, "five")
    process = story.start()
    time.sleep(draw.uniform(1, 6))
    story.kill(process)

    process = story.start_until(2, draw.random())
    other = finish(story.start())
    assert other[0] == 1
    assert "error[state.locked]" in other[2]
    assert str(process.pid) in other[2]
    assert process.poll() is None
    jvm = jvm_of(story.state)
    assert jvm is not None
    story.kill(process)
    # The next one starts while that JVM may still be there, and is its only survivor.
    story.kill(story.start_until(7, draw.random()))

    process = story.start_until(11, draw.random())
    until(lambda: has_ended(jvm), process)  # it ends by itself, but a busy machine gives it its time
    jvm = jvm_of(story.state)
    assert jvm is not None
    jvm.kill()
    code, printed, said = finish(process)
    assert (code, printed) == (1, "")
    assert "error[run.jvm-died]" in said
    assert "Traceback" not in said
    command = said.split("to resume: ")[1].split()
    assert command == ["punctual", *map(str, story.arguments[:3]), "--out", str(story.out), "--state", str(story.state)]

    process = story.start_until(15, draw.random())
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: the JVM gets it too
    code, printed, said = finish(process)
    assert (code, printed) == (0, ""), said
    assert "stopping after this batch" in said

    process = story.start_until(19, draw.random())
    os.killpg(process.pid, signal.SIGTERM)  # as a service manager stops it: the JVM ends in the middle of a job
    code, printed, said = finish(process)
    assert (code, printed) == (0, ""), said
    assert "Traceback" not in said

    story.kill(story.start_until(24, draw.random()))
    assert story.finish() == undisturbed
    assert story.finish() == undisturbed, "a finished program answered again"
    assert main(["status", "--state", str(story.state)]) == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_twenty_five_kills(program: Path, undisturbed: dict[str, str], seed: int) -> None:
    """Five kills each, anywhere: while starting, recovering, reading, committing, answering, compacting, ending."""
    draw = random.Random(100 + seed)
    story = Story(program, f"seed-{seed}")
    for _kill in range(5):
        if draw.random() < 0.2:
            process = story.start()
            time.sleep(draw.uniform(0, 15))
        else:
            reached = batches(story.state)
            wanted = min(FILES, reached + draw.randrange(1, 10))
            process = story.start()
            while process.poll() is None and batches(story.state) < wanted:
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 1.5))
        story.kill(process)
    assert story.finish() == undisturbed
