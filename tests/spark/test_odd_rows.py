"""One row or one file stops nothing: times of any year, names of any bytes, headers of any length."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.engine.engine import Engine
from punctual.engine.status import read_dead
from tests.spark.command import lines

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

MOST = 2**63
DAY = 86_400
PROGRAM = """
CREATE STREAM j (ts TIMESTAMP EVENT TIME, x INT) FROM FILES 'j' FORMAT JSON;
CREATE STREAM c (ts TIMESTAMP EVENT TIME, x INT) FROM FILES 'c' FORMAT CSV;
CREATE STREAM p (ts TIMESTAMP EVENT TIME, x INT) FROM FILES 'p' FORMAT PARQUET;
CREATE STREAM d (us BIGINT, x INT, ts TIMESTAMP EVENT TIME AS (timestamp_micros(us))) FROM FILES 'd' FORMAT JSON;
CREATE QUERY qj AS SELECT sum(x) AS s FROM j [RANGE 1 DAY] PERIOD 1 DAY;
CREATE QUERY qc AS SELECT sum(x) AS s FROM c [RANGE 1 DAY] PERIOD 1 DAY;
CREATE QUERY qp AS SELECT sum(x) AS s FROM p [RANGE 1 DAY] PERIOD 1 DAY;
CREATE QUERY qd AS SELECT sum(x) AS s FROM d [RANGE 1 DAY] PERIOD 1 DAY;
CREATE QUERY both AS SELECT sum(x) AS s FROM j [RANGE 1 DAY] UNION ALL d [RANGE 1 DAY] PERIOD 1 DAY;
"""
NO_TIME = "300000-01-01T00:00:00Z"
"""Beyond what 64 bits of microseconds hold."""
GOOD = "1970-01-02T00:00:00Z"
ODD = {
    "+200000-01-01T00:00:00Z": "event time too far ahead",
    "+294247-01-10T04:00:54.775807Z": "event time too far ahead",
    "-290308-12-21T19:59:05.224192Z": "event time before earliest",
    "-0044-03-15T00:00:00Z": "event time before earliest",
    "0000-01-01T00:00:00Z": "event time before earliest",
    "1899-12-31T23:59:59.999999Z": "event time before earliest",
}


def sources(folder: Path) -> None:
    for name in "jcpd":
        (folder / name).mkdir()
    rows = [{"ts": at.removeprefix("+"), "x": 1} for at in (GOOD, *ODD, NO_TIME)]
    (folder / "j" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "c" / "a.csv").write_text("ts,x\n" + "".join(f"{at},1\n" for at in (GOOD, *ODD, NO_TIME)))
    for unit, good in (("us", DAY * 10**6), ("ms", DAY * 10**3), ("ns", DAY * 10**9)):
        for zone in ("UTC", None):
            times = pa.array([good, MOST - 1, -MOST, 1 - MOST], pa.int64()).cast(pa.timestamp(unit, zone))
            table = pa.table({"ts": times, "x": [1, 1, 1, 1]})
            pq.write_table(table, folder / "p" / f"{unit}{zone}.parquet", coerce_timestamps=None)
    days = pa.table({"ts": pa.array([1, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()), "x": [1, 1, 1]})
    pq.write_table(days, folder / "p" / "days.parquet")
    derived = [{"us": us, "x": 1} for us in (DAY * 10**6, MOST - 1, -MOST, -(10**17))]
    (folder / "d" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in derived))


def run(folder: Path) -> list[str]:
    said: list[str] = []
    place = {"out": str(folder / "out"), "base": str(folder)}
    with Engine(str(folder / "state"), live=False, report=said.append, **place) as engine:
        engine.sql(PROGRAM)
        engine.run_once()
        assert engine.stopped() == frozenset()
    return said


def sums(folder: Path) -> dict[str, list[Any]]:
    found = lines(folder / "out")
    return {name: [json.loads(line)["rows"][0]["s"] for line in text.splitlines()] for name, text in found.items()}


def test_rows_of_any_year_are_dead_letters_that_can_be_read(tmp_path: Path) -> None:
    sources(tmp_path)
    assert run(tmp_path) == []
    assert sums(tmp_path) == {"qj": [1], "qc": [1], "qp": [7], "qd": [1], "both": [2]}
    letters = list(read_dead(str(tmp_path / "state"), None))
    for stream in "jc":
        told = {one["event_time"]: one["reason"] for one in letters if one["stream"] == stream}
        assert told == {**ODD, None: 'column "ts" is not TIMESTAMP'}, stream
    derived = {one["event_time"]: one["reason"] for one in letters if one["stream"] == "d"}
    assert derived == {
        "+294247-01-10T04:00:54.775807Z": "event time too far ahead",
        "-290308-12-21T19:59:05.224192Z": "event time before earliest",
        "-1199-02-15T14:13:20Z": "event time before earliest",
    }
    parquet: dict[str, int] = {}
    for one in letters:
        if one["stream"] == "p":
            parquet[one["reason"]] = parquet.get(one["reason"], 0) + 1
    assert parquet == {
        "event time too far ahead": 4, "event time before earliest": 8, 'column "ts" is not TIMESTAMP': 8,
    }  # fmt: skip
    assert run(tmp_path) == [], "and the state resumes"
    assert len(list(read_dead(str(tmp_path / "state"), None))) == len(letters)


def test_files_with_names_of_any_bytes_and_huge_headers_are_dead_letters_once(tmp_path: Path) -> None:
    for name in "jcpd":
        (tmp_path / name).mkdir()
    for name in ("j", "c", "p"):
        with open(os.path.join(os.fsencode(tmp_path / name), b"odd\xff.file"), "wb") as file:
            file.write(b'{"ts":"1970-01-02T00:00:00Z","x":1}\n')
    (tmp_path / "c" / "long.csv").write_bytes(b"x" * (3 << 20))
    (tmp_path / "c" / "wide.csv").write_text(",".join(f"c{number}" for number in range(100_000)) + "\n")
    (tmp_path / "j" / "good.json").write_text('{"ts":"1970-01-02T00:00:00Z","x":2}\n')
    (tmp_path / "c" / "good.csv").write_text("ts,x\n1970-01-02T00:00:00Z,4\n")
    said = run(tmp_path)
    assert len(said) == 5
    for message in said:
        message.encode()
    assert sums(tmp_path) == {"qj": [2], "qc": [4], "qp": [], "qd": [], "both": [2]}
    letters = list(read_dead(str(tmp_path / "state"), None))
    told = sorted((os.path.basename(one["origin"]), one["reason"].removeprefix("unreadable file: ")) for one in letters)
    assert told == [
        ("long.csv", "its header is longer than 1,048,576 bytes"),
        *[("odd\\xff.file", "its path is not UTF-8")] * 3,
        ("wide.csv", "its header has 100,000 columns, and the reader takes 20,480 (maxColumns)"),
    ]
    assert run(tmp_path) == []
    assert len(list(read_dead(str(tmp_path / "state"), None))) == len(letters)
