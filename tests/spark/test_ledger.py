"""The ledger of real runs: each answer once, what it used is of the order of what the processes used, and kills."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.spark.command import batches, finish, start, until

pytestmark = pytest.mark.spark

START = datetime(2026, 3, 1, tzinfo=UTC)
FILES = 12
PROGRAM = """
SET max_files_per_tick = 1;
CREATE STREAM gps (t TIMESTAMP EVENT TIME, truck STRING, kmh DOUBLE, sure DOUBLE PROBABILITY)
FROM FILES 'gps' FORMAT JSON;
CREATE QUERY mean AS SELECT truck, round(avg(kmh), 3) AS mean FROM gps [RANGE 20 SECONDS] GROUP BY truck
PERIOD 5 SECONDS;
CREATE QUERY fastest AS SELECT TOP 2 truck, kmh FROM gps [RANGE 10 SECONDS] ORDER BY kmh DESC PERIOD 5 SECONDS;
CREATE QUERY pairs AS SELECT a.truck, count(*) AS n
FROM gps [RANGE 5 SECONDS] AS a JOIN gps [RANGE 20 SECONDS] AS b ON a.truck = b.truck AND a.kmh < b.kmh
GROUP BY a.truck PERIOD 10 SECONDS;
"""
SLOWLY = """
import time
import punctual.engine.ledger
from punctual.clock import SECOND
from punctual.engine.batch.ingest import Ingest

punctual.engine.ledger.SEAL_US = SECOND
read = Ingest.read

def slowly(*arguments):
    time.sleep(0.5)
    return read(*arguments)

Ingest.read = slowly
"""
"""Killed processes take their time for a batch and seal often, so that some records are sealed and some are not."""
MEASURED = """
import atexit, psutil
import punctual.runtime.session as session

stop = session.stop

def stopped(spark):
    mine = psutil.Process()
    with open("used.txt", "w") as file:
        for process in [mine, *mine.children(recursive=True)]:
            times = process.cpu_times()
            print(times.user + times.system + times.children_user + times.children_system, file=file)
    stop(spark)

session.stop = stopped
"""
"""Writes down what each process of the tree has used, before they end."""


def written(folder: Path) -> Path:
    (folder / "gps").mkdir()
    for number in range(FILES):
        lines = []
        for place in range(200):
            at = START + timedelta(seconds=5 * number + 5 * place / 200)
            row = {"t": at.isoformat(), "truck": "ABC"[place % 3], "kmh": 50 + place * 7 % 40, "sure": 0.5}
            lines.append(json.dumps(row))
        path = folder / "gps" / f"{number:03d}.json"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (folder / "program.sql").write_text(PROGRAM)
    return folder / "program.sql"


def ledger(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = finish(start("ledger", "--state", folder / "state", *arguments, folder=folder))
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def keys(records: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(one["query"], one["at"], one["number"]) for one in records]


def answered(folder: Path) -> list[tuple[str, str, int]]:
    files = sorted((folder / "out").glob("*.jsonl"))
    return keys([json.loads(line) for path in files for line in path.read_text().splitlines()])


def test_every_answer_has_one_line_and_sums_are_what_processes_used(tmp_path: Path) -> None:
    program = written(tmp_path)
    run = ("run", program, "--once", "--state", tmp_path / "state", "--out", tmp_path / "out")
    code, _out, err = finish(start(*run, folder=tmp_path, before=MEASURED))
    assert code == 0, err
    records = ledger(tmp_path)
    firings = [one for one in records if one["record"] == "firing"]
    assert sorted(keys(firings)) == sorted(answered(tmp_path))
    assert {one["query"] for one in firings} == {"mean", "fastest", "pairs"}
    assert all(one["used_ms"] > 0 for one in firings)
    assert all(one[field] is None for one in firings for field in ("released", "deadline", "answered", "slack_seconds"))
    ticks = [one for one in records if one["record"] == "tick"]
    assert [one["batch"] for one in ticks] == list(range(len(ticks)))
    assert sum(one["rows"] for one in ticks) == FILES * 200
    assert all(one["used_ms"] > 0 for one in ticks if one["rows"])
    used = sum(one["used_ms"] for one in records) / 1000
    processes = sum(map(float, (tmp_path / "used.txt").read_text().split()))
    # A JVM uses most of its time for its start, which is nobody's.
    assert 0.05 * processes < used <= processes
    assert keys(ledger(tmp_path, "--query", "PAIRS")) == [key for key in keys(firings) if key[0] == "pairs"]
    assert ledger(tmp_path, "--since", "2200-01-01") == []

    # A second run over more files goes on, and repeats nothing.
    (tmp_path / "gps" / "100.json").write_text(
        json.dumps({"t": (START + timedelta(seconds=70)).isoformat(), "truck": "A", "kmh": 1.0, "sure": 0.5}) + "\n"
    )
    code, _out, err = finish(start(*run, folder=tmp_path))
    assert code == 0, err
    more = ledger(tmp_path)
    assert more[: len(records)] == records
    assert sorted(keys([one for one in more if one["record"] == "firing"])) == sorted(answered(tmp_path))
    assert len(answered(tmp_path)) > len(firings)


def test_a_kill_leaves_a_ledger_that_is_read_and_goes_on(tmp_path: Path) -> None:
    program = written(tmp_path)
    state = tmp_path / "state"
    run = ("run", program, "--once", "--state", state, "--out", tmp_path / "out")
    process = start(*run, folder=tmp_path, before=SLOWLY)
    until(lambda: batches(state) >= 7 and any(state.glob("ledger/*.parquet")), process)
    there = ledger(tmp_path)  # while it runs
    assert there
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    left = ledger(tmp_path)
    assert left[: len(there)] == there
    code, _out, err = finish(start(*run, folder=tmp_path))
    assert code == 0, err
    records = ledger(tmp_path)
    assert records[: len(left)] == left
    found = keys([one for one in records if one["record"] == "firing"])
    assert len(set(found)) == len(found), "nothing is recorded twice"
    assert set(found) <= set(answered(tmp_path))
    lost = set(answered(tmp_path)) - set(found)
    last = max(one["at"] for one in left if one["record"] == "firing")
    assert all(at >= last for _query, at, _number in lost), "only the unsealed end is lost"
