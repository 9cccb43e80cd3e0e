"""Answers as pandas has them: times of any year can be held, compared and shown."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, instant_us, iso
from punctual.engine.dataframe import to_pandas
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess

ZONED, DAY = pa.timestamp("us", tz="UTC"), pa.date32()
YEAR_10000 = instant_us("9999-12-31T23:59:59.999999") + 1
FIRST = instant_us("0001-01-01")
DAY_US = 86_400 * SECOND
PROGRAM = """
SET max_ahead = 4000000 days;
SET earliest = '0001-01-01';
CREATE STREAM s (t TIMESTAMP EVENT TIME) FROM FEED;
CREATE QUERY q AS SELECT max(t) AS newest, CAST(max(t) AS DATE) AS day FROM s [RANGE 1 DAY] PERIOD 1 SECOND;
"""


@pytest.mark.parametrize("at", ["9998-12-31T23:59:50", "2263-01-01T00:00:00", "1901-02-03T04:05:06"])
def test_instants_that_nanoseconds_do_not_hold(tmp_path: Path, at: str) -> None:
    frame = answers(tmp_path, instant_us(at))
    assert frame["at"].dtype == frame["newest"].dtype == pd.DatetimeTZDtype("us", "UTC")
    time = datetime.fromisoformat(at).replace(tzinfo=UTC)
    (row,) = frame[["at", "from", "newest", "day"]].to_dict("records")
    assert row == {"at": time, "from": time - timedelta(days=1), "newest": time, "day": time.date()}


@pytest.mark.parametrize(("at", "field", "us"), [(YEAR_10000 - 1, "at", YEAR_10000), (FIRST, "from", FIRST - DAY_US)])
def test_windows_that_reach_beyond_the_years_of_python(tmp_path: Path, at: int, field: str, us: int) -> None:
    frame = answers(tmp_path, at)
    assert field in repr(frame)
    assert frame[field].dtype == "datetime64[us]"
    assert frame[field].astype("int64").tolist() == [us]


def answers(folder: Path, at: int) -> pd.DataFrame:
    with Engine(base=str(folder), clock=ManualClock(SECOND), backend=InProcess, live=False) as engine:
        engine.sql(PROGRAM)
        engine.open()
        engine.feed("s", [(iso(at),)])
        engine.tick()
        engine.advance({"s": -(-at // SECOND) * SECOND})
        return engine.answers("q")


@pytest.mark.parametrize("us", [YEAR_10000, FIRST - 1, 2**62, -(2**62)])
def test_types_of_columns_that_python_has_no_times_for(us: int) -> None:
    day, moment = us // DAY_US, iso(us)
    columns: dict[str, tuple[pa.DataType, Any, Any]] = {
        "zoned": (ZONED, us, None),
        "day": (DAY, day, None),
        "list": (pa.list_(ZONED), [0, us], ["1970-01-01T00:00:00Z", moment]),
        "struct": (pa.struct([("a", ZONED), ("b", pa.int32())]), {"a": us, "b": 1}, {"a": moment, "b": 1}),
        "map": (pa.map_(pa.string(), pa.list_(DAY)), [("a", [day])], {"a": [moment.partition("T")[0]]}),
        "self": (pa.struct([("a", pa.timestamp("us"))]), {"a": us}, {"a": moment}),
    }
    table = pa.table({name: pa.array([value, None], kind) for name, (kind, value, _shown) in columns.items()})
    frame = to_pandas(table)
    assert list(frame.columns) == list(columns)
    assert len(repr(frame.to_dict("records"))) > len(repr(frame)) > 0
    assert frame.iloc[1].isna().all()
    for name in ("list", "struct", "map", "self"):
        assert frame[name].iloc[0] == columns[name][2]
    assert frame["zoned"].astype("int64").iloc[0] == us
    assert frame["day"].dtype == "datetime64[s]"
    assert frame["day"].astype("int64").iloc[0] == day * 86_400


def test_years_that_python_has_keep_their_types() -> None:
    us = [FIRST, YEAR_10000 - 1]
    table = pa.table(
        {
            "zoned": pa.array(us, ZONED),
            "day": pa.array([one // DAY_US for one in us], DAY),
            "struct": pa.array([{"a": one} for one in us], pa.struct([("a", ZONED)])),
        }
    )
    frame = to_pandas(table)
    assert frame["zoned"].dtype == pd.DatetimeTZDtype("us", "UTC")
    assert frame["day"].tolist() == [date.min, date.max]
    assert [one["a"] for one in frame["struct"]] == [one.replace(tzinfo=UTC) for one in (datetime.min, datetime.max)]
