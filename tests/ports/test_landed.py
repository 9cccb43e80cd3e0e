"""Rows from Python as files: what is written, what is refused, and that nothing half written is ever seen."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.errors import FeedError
from punctual.ports.feeds import landed
from punctual.ports.feeds.landed import LandedFeed, write_rows

COLUMNS = [("ts", "TIMESTAMP"), ("x", "DOUBLE"), ("s", "STRING")]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_become_lines(tmp_path: Path) -> None:
    berlin = timezone(timedelta(hours=2))
    path = write_rows(
        tmp_path, 7,
        [
            {"ts": datetime(2012, 4, 21, 9, 20), "X": Decimal("1.50"), "s": "é\n"},
            {"ts": datetime(2012, 4, 21, 11, 20, tzinfo=berlin), "x": np.float32(0.5), "s": b"\x01"},
            {"ts": pd.NaT, "x": float("inf"), "s": 2**70},
            (None, np.int64(3), None),
        ],
        COLUMNS,
    )  # fmt: skip
    assert path == tmp_path / "000000000007.json"
    first, second, third, fourth = lines(path)
    assert first == {"ts": "2012-04-21T09:20:00Z", "x": "1.50", "s": "é\n"}
    assert datetime.fromisoformat(second["ts"]) == datetime(2012, 4, 21, 9, 20, tzinfo=UTC)
    assert (second["x"], second["s"]) == (0.5, "AQ==")
    assert third == {"ts": None, "x": float("inf"), "s": 2**70}
    assert fourth == {"ts": None, "x": 3, "s": None}


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"ts": None}, {"speed": 1}], "feed.unknown-column"),
        ([(1, 2)], "feed.wrong-width"),
        ([{"x": object()}], "feed.bad-value"),
        (["text"], "feed.bad-value"),
        ("text", "feed.bad-value"),
        (5, "feed.bad-value"),
        (None, "feed.bad-value"),
        (pd.DataFrame({"speed": [1]}), "feed.unknown-column"),
        (pa.table({"speed": [1]}), "feed.unknown-column"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_lands(tmp_path: Path, rows: Any, code: str) -> None:
    with pytest.raises(FeedError) as failed:
        write_rows(tmp_path, 0, rows, COLUMNS)
    assert failed.value.code == code
    assert os.listdir(tmp_path) == []


def test_one_dict_is_one_row(tmp_path: Path) -> None:
    assert lines(write_rows(tmp_path, 0, {"X": 1.5, "s": "a"}, COLUMNS)) == [{"x": 1.5, "s": "a"}]


def test_tables_become_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"X": [1.0, None], "ts": pd.to_datetime(["2012-04-21", None])})
    path = write_rows(tmp_path, 3, frame, COLUMNS)
    assert path.name == "000000000003.parquet"
    assert pq.read_table(path).column_names == ["x", "ts"]


def test_a_crash_while_writing_leaves_nothing_that_a_feed_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_args: object) -> None:
        raise OSError("the disk is full")

    feed = LandedFeed("s", COLUMNS, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(landed.os, "replace", crash)
        with pytest.raises(OSError, match="disk is full"):
            write_rows(tmp_path, 0, [(None, 1.0, "a")], COLUMNS)
    assert feed.plan(set(), max_files=9) is None
    write_rows(tmp_path, 0, [(None, 1.0, "a")], COLUMNS)
    planned = feed.plan(set(), max_files=9)
    assert planned is not None
    assert [os.path.basename(ref.path) for ref in planned.files] == ["000000000000.json"]


def test_landed_files_come_by_number_whatever_their_times(tmp_path: Path) -> None:
    for number in (3, 1, 2):
        path = write_rows(tmp_path, number, [(None, float(number), "a")], COLUMNS)
        os.utime(path, ns=(100 - number, 100 - number))
    feed = LandedFeed("s", COLUMNS, tmp_path)
    first = feed.plan(set(), max_files=2)
    assert first is not None
    assert [int(os.path.basename(ref.path)[:12]) for ref in first.files] == [1, 2]
    small = feed.plan(set(), max_files=9, max_bytes=1)
    assert small is not None
    assert len(small.files) == 1
