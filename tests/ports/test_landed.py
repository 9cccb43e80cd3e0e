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
from punctual.ports.feeds import landing
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.landing import write_rows
from punctual.ports.feeds.slices import FileRef, FileSlice

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

    feed = LandedFeed(COLUMNS, str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(landing.os, "replace", crash)
        with pytest.raises(OSError, match="disk is full"):
            write_rows(tmp_path, 0, [(None, 1.0, "a")], COLUMNS)
    assert planned(feed) == []
    write_rows(tmp_path, 0, [(None, 1.0, "a")], COLUMNS)
    assert planned(feed) == [0]


def planned(feed: LandedFeed, limit: int | None = None) -> list[int]:
    feed.look(0)
    some = feed.plan(limit)
    return [] if some is None else [int(os.path.basename(path)[:12]) for path in some.parts]


def test_landed_files_come_by_number_whatever_their_times(tmp_path: Path) -> None:
    for number in (3, 1, 2):
        path = write_rows(tmp_path, number, [(None, float(number), "a")], COLUMNS)
        os.utime(path, ns=(100 - number, 100 - number))
    (tmp_path / "notes.txt").write_text("not landed")
    feed = LandedFeed(COLUMNS, str(tmp_path))
    assert planned(feed, 2) == [1, 2]
    assert planned(feed) == [1, 2, 3]


def test_numbers_that_were_taken_never_come_again(tmp_path: Path) -> None:
    feed = LandedFeed(COLUMNS, str(tmp_path))
    for _ in range(3):
        feed.put([(None, 1.0, "a")], 7)
    feed.look(9)
    some = feed.plan(2)
    assert some is not None
    feed.taken(some)
    left_over = some.files[0].path
    feed.finish(FileSlice(some.files[1:]))
    again = LandedFeed(COLUMNS, str(tmp_path))
    again.taken(feed.everything_taken())
    assert planned(again) == [2]
    assert not os.path.exists(left_over), "its batch was committed"
    again.put([(None, 2.0, "b")], 8)
    assert planned(again) == [2, 3]
    again.taken(FileSlice((FileRef(str(tmp_path / "000000000041.json"), 0, 0),)))
    again.put([(None, 2.0, "b")], 8)
    assert planned(again) == [42]
