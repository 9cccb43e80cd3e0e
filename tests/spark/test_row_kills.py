"""The real process with row queries, killed while it reads, merges files of rows or answers: nothing is lost or double.

Two streams of files; a join of both, EXCEPT, a window function and, beside them, a query over panes. The state is
compacted every few batches. Afterwards nothing lies in the state that no manifest names.
"""

from __future__ import annotations

import json
import os
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.engine.engine import Engine
from tests.spark.command import answers, batches, lines
from tests.spark.test_kills import Story

pytestmark = pytest.mark.spark

FILES = 16
"""Of each stream; a batch each."""
SECONDS_A_FILE = 5
START = datetime(2026, 3, 1, tzinfo=UTC)
PROGRAM = """
SET max_files_per_tick = 1;
CREATE STREAM trades (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, sym STRING, price INT)
FROM FILES 'trades' FORMAT JSON;
CREATE STREAM quotes (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, sym STRING, bid INT)
FROM FILES 'quotes' FORMAT JSON;
CREATE QUERY above AS SELECT a.sym, a.price, b.bid FROM trades [RANGE 5 SECONDS] AS a
JOIN quotes [RANGE 20 SECONDS] AS b ON a.sym = b.sym AND a.price > b.bid PERIOD 5 SECONDS;
CREATE QUERY silent AS
SELECT sym FROM quotes [RANGE 20 SECONDS] EXCEPT SELECT sym FROM trades [RANGE 5 SECONDS] PERIOD 10 SECONDS;
CREATE QUERY best AS SELECT sym, price FROM (
    SELECT sym, price, rank() OVER (PARTITION BY sym ORDER BY price DESC) AS place FROM trades [RANGE 10 SECONDS]
) AS ranked WHERE place = 1 PERIOD 5 SECONDS;
CREATE QUERY beside AS SELECT sym, count(*) AS n FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY sym;
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("row-kills")
    (folder / "program.sql").write_text(PROGRAM)
    draw = random.Random(3)
    for stream, value in (("trades", "price"), ("quotes", "bid")):
        (folder / stream).mkdir()
        for number in range(FILES):
            rows = []
            for place in range(8):
                second = SECONDS_A_FILE * (number + place / 8) - (draw.random() * 3 if draw.random() < 0.3 else 0)
                at = START + timedelta(microseconds=max(0, round(second * 1e6)))
                symbol = draw.choice(["A", "B", "C", "D", None])
                rows.append({"t": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "sym": symbol, value: draw.randrange(50)})
            path = folder / stream / f"{number:03}.json"
            path.write_text("\n".join(map(json.dumps, rows)))
            os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return folder


@pytest.fixture(scope="module")
def undisturbed(program: Path, spark: SparkSession) -> dict[str, str]:
    """What one run without any kill writes."""
    out = program / "undisturbed"
    with Engine(out=str(out), base=str(program), live=False) as engine:
        engine.sql(PROGRAM)
        engine.run_once()
    assert {name: len(some) >= FILES // 2 - 1 for name, some in answers(out).items()} == dict.fromkeys(
        ("above", "beside", "best", "silent"), True
    )
    return lines(out)


def row_files(state: Path) -> set[str]:
    """Files of rows, relative to the state."""
    return {str(path.relative_to(state)) for path in (state / "incoming").rglob("*.arrow")}


def finished(story: Story, undisturbed: dict[str, str]) -> None:
    """Run to the end: the same bytes, each answer once, and no file of rows that nothing names."""
    assert story.finish() == undisturbed
    for some in answers(story.out).values():
        assert len({answer["at"] for answer in some}) == len(some)
    manifests = [*story.state.glob("batches/*.json"), *story.state.glob("base/*.json")]
    named = "".join(path.read_text() for path in manifests)
    kept = row_files(story.state)
    assert kept
    assert all(file in named for file in kept)
    assert len(kept) < 2 * FILES, "rows that no window reaches are kept"


def test_one_kill(program: Path, undisturbed: dict[str, str]) -> None:
    story = Story(program, "one")
    story.kill(story.start_until(8, 0.3))  # the first base is made, some windows reach back to it
    assert any(story.state.glob("base/*.json"))
    finished(story, undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_five_kills_each(program: Path, undisturbed: dict[str, str], seed: int) -> None:
    draw = random.Random(seed)
    story = Story(program, f"seed-{seed}")
    for _kill in range(5):
        wanted = min(FILES, batches(story.state) + draw.randrange(1, 5))
        process = story.start()
        while process.poll() is None and batches(story.state) < wanted:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 1.5))
        story.kill(process)
    finished(story, undisturbed)
