"""Row queries over what is odd: names that need quotes, extreme values of every type, queries that come and go."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from punctual.engine.engine import Engine
from tests.spark.backends import Shared
from tests.spark.command import answers

pytestmark = pytest.mark.spark

TIMES = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 2, 6)]
STAMP = pa.timestamp("us", tz="UTC")
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)
COLUMNS = {
    "ntz": ("TIMESTAMP_NTZ", pa.array([datetime(2026, 1, 1), datetime(1, 1, 1), None], pa.timestamp("us"))),
    "d": ("DATE", pa.array([date(1, 1, 1), date(9999, 12, 31), None])),
    "bin": ("BINARY", pa.array([b"\x00\xff", b"", None])),
    "arr": ("ARRAY<INT>", pa.array([[1, None], [], None], pa.list_(pa.int32()))),
    "st": ("STRUCT<p: INT, q: STRING>", pa.array([{"p": 1, "q": "x"}, {"p": None, "q": None}, None],
                                               pa.struct([("p", pa.int32()), ("q", pa.string())]))),
    "num": ("DECIMAL(38,18)", pa.array([Decimal("12345678901234567890.123456789012345678"), Decimal("-1E-18"), None],
                                       pa.decimal128(38, 18))),
    "f": ("DOUBLE", pa.array([math.nan, -0.0, None])),
    "far": ("TIMESTAMP", pa.array([FIRST, LAST, None], STAMP)),
    "e": ("STRING", pa.array(["", "é" * 100_000, None])),
    "truth": ("BOOLEAN", pa.array([True, False, None])),
}  # fmt: skip
"""A column of each type: two values that differ, and NULL."""


def run(folder: Path, program: str) -> dict[str, list[dict[str, Any]]]:
    """The answers of a program whose files are in the folder."""
    said: list[str] = []
    out = folder / "out"
    with Engine(out=str(out), base=str(folder), live=False, backend=Shared, report=said.append) as engine:
        engine.sql(program)
        engine.run_once()
    assert said == []
    return answers(out)


def test_values_of_every_type_are_joined_made_distinct_and_shown(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "y").mkdir()
    maps = pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int32()))
    whole = {"t": pa.array(TIMES, STAMP), "mp": maps, **{name: array for name, (_type, array) in COLUMNS.items()}}
    pq.write_table(pa.table(whole), tmp_path / "y" / "a.parquet")
    declared = ", ".join(f"{name} {kind}" for name, (kind, _array) in COLUMNS.items())
    program = f"""
        CREATE STREAM y (t TIMESTAMP EVENT TIME, mp MAP<STRING,INT>, {declared}) FROM FILES 'y' FORMAT PARQUET;
        CREATE QUERY all_of AS SELECT * FROM y [RANGE 9 SECONDS] PERIOD 6 SECONDS;
        CREATE QUERY first_of AS SELECT * FROM y [RANGE 9 SECONDS] ORDER BY f DESC LIMIT 1 PERIOD 6 SECONDS;
        CREATE QUERY inside AS SELECT mp['a'] AS v, map_keys(mp) AS ks, explode(arr) AS one, st.q AS q
        FROM y [RANGE 9 SECONDS] PERIOD 6 SECONDS;
    """
    for name in COLUMNS:
        program += f"""
            CREATE QUERY distinct_{name} AS
            SELECT DISTINCT {name}
            FROM (SELECT {name} FROM y [RANGE 9 SECONDS] UNION ALL SELECT {name} FROM y [RANGE 8 SECONDS])
            PERIOD 6 SECONDS;
            CREATE QUERY joined_{name} AS SELECT a.{name}, b.t FROM y [RANGE 9 SECONDS] AS a
            JOIN y [RANGE 9 SECONDS] AS b ON a.{name} = b.{name} PERIOD 6 SECONDS;
        """
    found = {query: some[0]["rows"] for query, some in run(tmp_path, program).items()}
    shown = {row["t"]: row for row in found["all_of"]}
    assert sorted(shown) == ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:06Z"]
    first, second, last = (shown[at] for at in sorted(shown))
    assert (first["d"], first["ntz"], first["far"]) == ("0001-01-01", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z")
    assert (second["d"], second["far"]) == ("9999-12-31", "9999-12-31T23:59:59.999999Z")
    assert first["st"] == {"p": 1, "q": "x"}
    assert second["mp"] == {}
    assert all(last[name] is None for name in COLUMNS)
    assert found["first_of"] == [first]
    assert found["inside"] == [{"v": 1, "ks": ["a"], "one": None, "q": "x"}, {"v": 1, "ks": ["a"], "one": 1, "q": "x"}]
    for name in COLUMNS:
        values = sorted(repr(row[name]).replace("-0.0", "0.0") for row in shown.values())
        assert sorted(repr(row[name]) for row in found[f"distinct_{name}"]) == values, name
        assert len(found[f"joined_{name}"]) == 2, name


def test_names_that_need_quotes(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    values = {"a.b": "x", "back`tick": 1, "select": 2, "größe": 0.5, "Case": 3, "[x]": 4}
    rows = [{"when it was": f"2026-01-01T00:00:0{second}Z", **values} for second in (1, 2, 6)]
    (tmp_path / "o" / "a.json").write_text("\n".join(map(json.dumps, rows)))
    program = """
        CREATE STREAM `odd stream` (
            `when it was` TIMESTAMP EVENT TIME, `a.b` STRING, `back``tick` INT, `select` INT, `größe` DOUBLE,
            `Case` INT, `[x]` INT
        ) FROM FILES 'o' FORMAT JSON;
        CREATE QUERY named AS SELECT o.`a.b`, o.`back``tick`, o.`SELECT`, o.`größe`, o.`case`, o.`[x]`, o.`when it was`
        FROM `odd stream` [RANGE 4 SECONDS] AS o PERIOD 5 SECONDS;
        CREATE QUERY star AS SELECT * FROM `odd stream` [RANGE 4 SECONDS] PERIOD 5 SECONDS;
        CREATE QUERY own AS SELECT DISTINCT `odd stream`.`a.b` AS `out put.1`, `größe` AS `ü[RANGE 5]`
        FROM `odd stream` [RANGE 9 SECONDS] PERIOD 5 SECONDS;
        CREATE QUERY literal AS SELECT DISTINCT '[RANGE 1 SECOND]' AS a, "s [NOW]" AS b
        FROM `odd stream` [RANGE 9 SECONDS] WHERE `a.b` <> 'PERIOD 5 SECONDS' PERIOD 5 SECONDS;
    """
    found = {query: some[0]["rows"] for query, some in run(tmp_path, program).items()}
    assert [list(row.values()) for row in found["named"]] == [[*values.values(), "2026-01-01T00:00:02Z"]]
    assert found["star"] == [{"when it was": "2026-01-01T00:00:02Z", **values}]
    assert found["own"] == [{"out put.1": "x", "ü[RANGE 5]": 0.5}]
    assert found["literal"] == [{"a": "[RANGE 1 SECOND]", "b": "s [NOW]"}]


STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x INT) FROM FEED;"
QUERY = "CREATE QUERY {} AS SELECT DISTINCT {} FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;"


def rows_between(first: int, last: int) -> Iterator[dict[str, Any]]:
    for second in range(first, last):
        yield {"t": f"2026-01-01T00:00:{second:02}Z", "k": "ab"[second % 2], "x": second}


def test_a_query_goes_another_comes_and_two_engines_share_a_session(spark: SparkSession, tmp_path: Path) -> None:
    def engine(name: str) -> Engine:
        return Engine(str(tmp_path / name), live=False, backend=Shared)

    with engine("one") as one, engine("two") as two:
        for each, column in ((one, "k"), (two, "x")):  # one name, other queries, the same views
            each.sql(STREAM + QUERY.format("q", column) + QUERY.format("stays", "k, x"))
            each.open()
        for each in (one, two):
            each.feed("s", list(rows_between(0, 7)))
            each.tick()
        one.sql("DROP QUERY q;")
        one.sql(QUERY.format("later", "x"))
        for each in (two, one):
            each.feed("s", list(rows_between(7, 17)))
            each.tick()
            each.end()
        texts = [[f"{block.query} {at} {rows}" for block in each.records() for at, rows in _answers(block)]
                 for each in (one, two)]  # fmt: skip
    assert [text.split()[0] for text in texts[0]].count("q") == 2  # at 0 and 5 seconds
    assert [text.split()[0] for text in texts[1]].count("q") == 4
    assert [text for text in texts[0] if text.startswith("stays")] == [
        text for text in texts[1] if text.startswith("stays")
    ]
    assert any(text.startswith("later") and text.endswith("(15,)]") for text in texts[0])
    assert not any("'a'" in text for text in texts[1] if text.startswith("q "))


def _answers(block: Any) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    for at, rows in zip(block.table.column("at").to_pylist(), block.table.column("rows").to_pylist(), strict=True):
        yield at, [tuple(row.values()) for row in rows]
