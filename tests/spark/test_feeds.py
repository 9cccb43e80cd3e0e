"""Feeds on Spark: what every format makes of good, bad and odd files, and what reading costs."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from punctual.errors import FeedError
from punctual.own_names import ORIGIN, RAW, REASON
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.landing import land, write_rows
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.parquet_rows import castable
from punctual.ports.feeds.static_tables import TableFiles
from tests.spark.counting import counting

pytestmark = pytest.mark.spark

TRADES = [("ts", "TIMESTAMP"), ("sym", "STRING"), ("qty", "INT"), ("px", "DOUBLE")]
NINE = datetime(2012, 4, 21, 9, 20)


def feed_rows(
    spark: SparkSession, path: Path, kind: str, columns: list[tuple[str, str]], *options: tuple[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str]]]:
    """Good rows (declared columns), bad rows (reason and raw), unreadable files."""
    reader = FileReader(columns, kind, options)
    files = list_files(str(path))
    frame = reader.read(spark, files)
    assert frame.columns == [*(name for name, _ in columns), REASON, RAW, ORIGIN]
    expected = spark.createDataFrame([], ", ".join(f"`{n}` {t}" for n, t in columns)).schema
    assert [f.dataType for f in frame.schema][: len(columns)] == [f.dataType for f in expected]
    rows = [row.asDict() for row in frame.collect()]
    good = [{n: r[n] for n, _ in columns} for r in rows if r[REASON] is None]
    assert all(r[RAW] is None for r in rows if r[REASON] is None)
    bad = [{"reason": r[REASON], "raw": r[RAW]} for r in rows if r[REASON] is not None]
    paths = {ref.path for ref in files}
    assert all(r[ORIGIN] in paths for r in rows)
    return good, bad, reader.unreadable(files)


def naive(value: datetime) -> datetime:
    """Spark hands timestamps out in the machine's zone; tests speak UTC."""
    return value.astimezone(UTC).replace(tzinfo=None)


def test_json_rows_good_bad_and_blank(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"ts":"2012-04-21T09:20:00Z","sym":"A","qty":1,"px":1.5}\n\n'
        '{"ts":"2012-04-21 09:20:00","sym":"B","qty":2,"px":2}\n'
        '{"ts":1335000000,"sym":"C"}\n'
        '{"ts":"2012-04-21T09:20:00Z","sym":"D","qty":"many","px":1}\n'
        '{"ts":"yesterday","sym":"E"}\n'
        "not json\n"
        '{"ts":"2012-04-21T11:20:00+02:00","sym":"F","qty":3000000000}\n'
    )
    good, bad, unreadable = feed_rows(spark, tmp_path, "JSON", TRADES)
    assert [r["sym"] for r in good] == ["A", "B", "C"]
    assert [naive(r["ts"]) for r in good[:3]] == [NINE, NINE, datetime(2012, 4, 21, 9, 20)]
    assert (good[0]["qty"], good[0]["px"], good[2]["qty"]) == (1, 1.5, None)
    assert [b["reason"] for b in bad] == [
        'column "qty" is not INT',
        'column "ts" is not TIMESTAMP',
        "not one JSON object",
        'column "qty" is not INT',
    ]
    assert bad[2]["raw"] == "not json"
    assert json.loads(bad[0]["raw"])["qty"] == "many"
    assert unreadable == []


def test_a_line_is_one_json_object_or_malformed(spark: SparkSession, tmp_path: Path) -> None:
    row = '{"sym":"A","qty":1}'
    bad_lines = [
        row + row, f"{row},{row}", f"{row} {row}", f"{row},", f"{row},{{}}", f"{row} trailing", row + "}", row + "]",
        row + "//", row[:-1], f'{row}],"z":[{row}', f'{row},"sym":"B"', row + "]}", "[]", f"[{row}]", f"[{row},{row}]",
        "1", '"A"', "null", "-", ",",
    ]  # fmt: skip
    blank = ["", "   ", "\t", "\r"]
    good_lines = [row, f"  {row}\t", '{"sym":"B","qty":2,"more":{"a":[1,{}]}}', "{}"]
    (tmp_path / "a.json").write_text("\n".join(bad_lines + blank + good_lines))
    with open(tmp_path / "b.json", "wb") as file:
        file.write(row.encode() + b"\xff\xfe\n" + row.encode() + b"\n\xff\n")
    good, bad, _ = feed_rows(spark, tmp_path, "JSON", TRADES)
    assert sorted((r["sym"], r["qty"]) for r in good if r["sym"]) == [("A", 1)] * 3 + [("B", 2)]
    assert len(good) == 5, "an object without a field is a row"
    assert [b["raw"] for b in bad] == [*bad_lines, row + "\ufffd\ufffd", "\ufffd"]
    assert {b["reason"] for b in bad} == {"not one JSON object"}


def test_json_options_of_lines_and_of_whole_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{'ts':'21.04.2012 09:20','qty':1} // a note\n{'ts':'2012','qty':2}\n")
    chosen = (("timestampFormat", "dd.MM.yyyy HH:mm"), ("allowComments", "true"), ("mode", "FAILFAST"))
    good, bad, _ = feed_rows(spark, tmp_path, "JSON", TRADES, *chosen)
    assert [(naive(r["ts"]), r["qty"]) for r in good] == [(NINE, 1)]
    assert [b["reason"] for b in bad] == ['column "ts" is not TIMESTAMP']
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "a.json").write_text('[{"sym":"A",\n"qty":1},\n{"sym":"B","qty":2}]')
    (whole / "b.json").write_text('{"sym":"C",\n"qty":"many"}')
    good, bad, _ = feed_rows(spark, whole, "JSON", TRADES, ("multiLine", "true"))
    assert [(r["sym"], r["qty"]) for r in good] == [("A", 1), ("B", 2)]
    assert [b["reason"] for b in bad] == ['column "qty" is not INT']
    wide = tmp_path / "wide"
    wide.mkdir()
    (wide / "a.json").write_text('{"sym":"é"}\n', encoding="latin-1")
    latin = (("encoding", "ISO-8859-1"), ("lineSep", "\n"))
    assert [r["sym"] for r in feed_rows(spark, wide, "JSON", TRADES, *latin)[0]] == ["é"]


def test_a_json_record_is_malformed_whatever_is_read_of_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"sym":"A","qty":"many"}\n{"sym":"B","qty":1}\n')
    frame = FileReader(TRADES, "JSON").read(spark, list_files(str(tmp_path)))
    assert [r.sym for r in frame.where(f"`{REASON}` IS NULL").select("sym").collect()] == ["B"]


def test_csv_columns_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('qty,sym,ts,px,extra\n1,"A, or ""a""",2012-04-21 09:20:00,1.5,x\n2,B,,,\n')
    (tmp_path / "b.csv").write_text("\ufeffSYM , ts\nC,2012-04-21T09:20:00Z\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("other,names\n1,2\n")
    (tmp_path / "d.csv").write_text("")
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"px,sym\n9.25,E\n"))
    good, bad, unreadable = feed_rows(spark, tmp_path, "CSV", TRADES)
    rows = {r["sym"]: r for r in good}
    assert set(rows) == {'A, or "a"', "B", "C", "E"}
    first = rows['A, or "a"']
    assert (naive(first["ts"]), first["qty"], first["px"]) == (NINE, 1, 1.5)
    assert rows["B"] == {"ts": None, "sym": "B", "qty": 2, "px": None}
    assert (naive(rows["C"]["ts"]), rows["C"]["qty"]) == (NINE, None)
    assert rows["E"]["px"] == 9.25
    assert bad == []
    assert [(os.path.basename(p), "none of the declared" in r) for p, r in unreadable] == [("c.csv", True)]


def test_csv_malformed_rows_say_why(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "ts,sym,qty,px\n2012-04-21 09:20:00,A,1.5,2\nnever,B,x,2\n2012-04-21,C,1\n"
        "2012-04-21,D,1,2,3\n2012-04-21,E,1,2\n"
    )
    good, bad, _ = feed_rows(spark, tmp_path, "CSV", TRADES)
    assert [r["sym"] for r in good] == ["E"]
    assert [b["reason"] for b in bad] == [
        'column "qty" is not INT',
        'column "ts" is not TIMESTAMP; column "qty" is not INT',
        "not a record of 4 fields",
        "not a record of 4 fields",
    ]
    assert json.loads(bad[1]["raw"]) == {"ts": "never", "sym": "B", "qty": "x", "px": "2"}
    assert bad[2]["raw"] == "2012-04-21,C,1"


def test_csv_field_counts_are_seen_whatever_is_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,sym,qty,px\n2012-04-21,C,1\n2012-04-21,E,1,2\n")
    frame = FileReader(TRADES, "CSV").read(spark, list_files(str(tmp_path)))
    assert [r.sym for r in frame.where(f"`{REASON}` IS NULL").select("sym").collect()] == ["E"]


def test_csv_options(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("sym", "STRING"), ("at", "TIMESTAMP"), ("xs", "ARRAY<DOUBLE>")]
    (tmp_path / "a.csv").write_text("A;21.04.2012 09:20;[1,2.5]\nB;2012;[1]\nC;;\n")
    good, bad, _ = feed_rows(
        spark, tmp_path, "CSV", columns, ("header", "false"), ("sep", ";"), ("timestampFormat", "dd.MM.yyyy HH:mm")
    )
    assert [r["sym"] for r in good] == ["A", "C"]
    assert naive(good[0]["at"]) == NINE
    assert (good[0]["xs"], good[1]["xs"]) == ([1.0, 2.5], None)
    assert [b["reason"] for b in bad] == ['column "at" is not TIMESTAMP']


def test_parquet_types_of_the_file(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("ts", "TIMESTAMP"), ("x", "DOUBLE"), ("n", "INT"), ("s", "STRING"), ("d", "DECIMAL(10,2)")]
    at = [datetime(2012, 4, 21, 9, 20, 0, 123456), datetime(1969, 12, 31, 23, 59, 59, 999999)]
    kinds = [pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ns", "UTC")]
    for number, kind in enumerate(kinds):
        table = pa.table(
            {
                "TS": pa.array(at, pa.timestamp("us")).cast(pa.timestamp("us", kind.tz)).cast(kind),
                "x": pa.array([1, 2], pa.int64()),
                "n": pa.array([number, None], pa.int64()),
                "s": pa.array([5, 6], pa.int32()),
                "d": pa.array([1.25, 2.5], pa.float64()),
            }
        )
        pq.write_table(table, tmp_path / f"{number}.parquet")
    whole = pa.table({"ts": pa.array([NINE], pa.timestamp("ms")), "x": [1.0], "n": [4], "s": ["5"], "d": [1.25]})
    pq.write_table(whole, tmp_path / "milliseconds.parquet")
    good, bad, unreadable = feed_rows(spark, tmp_path, "PARQUET", columns)
    assert (bad, unreadable) == ([], [])
    assert sorted(naive(r["ts"]) for r in good) == sorted(at * 4 + [NINE])
    assert sorted(r["n"] for r in good if r["n"] is not None) == [0, 1, 2, 3, 4]
    assert {(r["x"], r["s"], r["d"]) for r in good} == {(1.0, "5", Decimal("1.25")), (2.0, "6", Decimal("2.50"))}


def test_parquet_misfits_missing_columns_and_broken_files(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("n", "INT"), ("s", "STRING")]
    pq.write_table(pa.table({"n": pa.array([1, 2**40], pa.int64()), "z": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": pa.array(["7", "seven"])}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"z": [1]}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"n": pa.array([[1]])}), tmp_path / "d.parquet")
    (tmp_path / "e.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    (tmp_path / "f.parquet").write_bytes(b"")
    good, bad, unreadable = feed_rows(spark, tmp_path, "PARQUET", columns)
    assert sorted(r["n"] for r in good) == [1, 7]
    assert {r["s"] for r in good} == {None}
    assert sorted(b["raw"] for b in bad) == ['{"n":"seven"}', '{"n":1099511627776}']
    assert {b["reason"] for b in bad} == {'column "n" is not INT'}
    assert [os.path.basename(p) for p, _ in unreadable] == ["c.parquet", "d.parquet", "e.parquet", "f.parquet"]


def test_parquet_columns_of_nulls_and_of_dictionaries(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("ts", "TIMESTAMP"), ("s", "STRING"), ("n", "BIGINT"), ("xs", "ARRAY<DOUBLE>")]
    at = pa.array([NINE, NINE], pa.timestamp("us", "UTC"))
    nothing = pa.table({"ts": at, "s": pa.nulls(2), "n": pa.nulls(2), "xs": pa.array([[], [None]])})
    pq.write_table(nothing, tmp_path / "a.parquet")
    words, numbers = pa.array(["a", None]).dictionary_encode(), pa.array([1, 2]).dictionary_encode()
    pq.write_table(pa.table({"ts": pa.nulls(2), "s": words, "n": numbers}), tmp_path / "b.parquet")
    write_rows(tmp_path, 1, pd.DataFrame({"ts": [NINE], "s": pd.Categorical(["c"]), "n": [None]}), columns)
    good, bad, unreadable = feed_rows(spark, tmp_path, "PARQUET", columns)
    assert (bad, unreadable) == ([], [])
    found = [(r["s"], r["n"], r["xs"], r["ts"] is None) for r in good]
    assert sorted(found, key=str) == sorted(
        [(None, None, [], False), (None, None, [None], False), ("a", 1, None, True), (None, 2, None, True),
         ("c", None, None, False)], key=str,
    )  # fmt: skip


def test_what_is_called_castable_spark_can_cast(spark: SparkSession) -> None:
    kinds = ["VOID", "TINYINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(20,0)", "BOOLEAN", "STRING", "BINARY",
             "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "ARRAY<VOID>", "ARRAY<INT>", "ARRAY<STRING>",
             "ARRAY<TIMESTAMP>"]  # fmt: skip
    pairs = [(a, b) for a, b in itertools.product(kinds, kinds) if castable(a, b)]
    casts = ", ".join(f"try_cast(CAST(NULL AS {a}) AS {b})" for a, b in pairs)
    assert len(spark.sql(f"SELECT {casts}").columns) == len(pairs) > 60


@pytest.mark.parametrize("kind", ["JSON", "CSV", "PARQUET"])
def test_odd_names_are_read_once_each(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    odd = ["plain", "with space", "50%", "%20", "a+b", "x[1]", "x[2]", "{b,c}", "what?", "all*", "back\\slash", "k=v",
           "09:20:00", "日本", "é", "a,b", "#1", "it's", 'say "so"', "new\nline"]  # fmt: skip
    for number, name in enumerate(odd):
        path = tmp_path / name
        match kind:
            case "JSON":
                path.write_text(json.dumps({"n": number}) + "\n")
            case "CSV":
                path.write_text(f"n\n{number}\n")
            case _:
                pq.write_table(pa.table({"n": [number]}), path)
    (tmp_path / "_hidden").write_text("{}")
    (tmp_path / ".hidden").write_text("{}")
    good, bad, unreadable = feed_rows(spark, tmp_path, kind, [("n", "BIGINT")])
    assert sorted(r["n"] for r in good) == list(range(len(odd)))
    assert (bad, unreadable) == ([], [])


def test_a_colon_beside_a_wildcard_is_unreadable_with_a_reason(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a:[b].json").write_text('{"n":1}\n')
    good, _, unreadable = feed_rows(spark, tmp_path, "JSON", [("n", "BIGINT")])
    assert good == []
    assert "colon" in unreadable[0][1]


@pytest.mark.parametrize("kind", ["JSON", "CSV", "PARQUET"])
def test_reading_runs_no_job_and_calls_do_not_grow_with_files(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    for number in range(1_000):
        path = tmp_path / f"{number}"
        match kind:
            case "JSON":
                path.write_text(json.dumps({"sym": "A", "qty": number}) + "\n")
            case "CSV":
                path.write_text(f"sym,qty\nA,{number}\n")
            case _:
                pq.write_table(pa.table({"sym": ["A"], "qty": pa.array([number], pa.int32())}), path)
    reader = FileReader(TRADES, kind)
    many = list_files(str(tmp_path))
    assert len(many) == 1_000
    with counting(spark) as small:
        reader.read(spark, many[:2])
    with counting(spark) as large:
        frame = reader.read(spark, many)
    assert (small.jobs, large.jobs) == (0, 0)
    assert small.calls == large.calls < 40
    with counting(spark) as reading:
        total = frame.coalesce(2).selectExpr("sum(qty) AS s").collect()[0].s
    assert total == sum(range(1_000))
    assert reading.jobs == 1


def test_counting_sees_jobs_and_calls(spark: SparkSession) -> None:
    with counting(spark) as count:
        spark.range(3).collect()
        spark.range(3).collect()
    assert count.jobs == 2
    assert count.calls > 2


def test_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "lanes.csv").write_text("id,name\n1,left\n2,right\n")
    columns = [("id", "INT"), ("name", "STRING")]
    files = TableFiles(columns, str(tmp_path / "lanes.csv"), "CSV")
    rows = files.read(spark).collect()
    scanned = files.scanned()
    assert scanned is not None
    assert scanned.to_pylist() == [{name: row[name] for name, _kind in columns} for row in rows]
    assert [(r.id, r.name) for r in rows] == [(1, "left"), (2, "right")]
    (tmp_path / "lanes.csv").write_text("other\n1\n")
    with pytest.raises(FeedError, match="cannot be read"):
        TableFiles(columns, str(tmp_path), "CSV")


def test_rows_given_from_python(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("ts", "TIMESTAMP"), ("day", "DATE"), ("d", "DECIMAL(20,3)"), ("x", "DOUBLE"), ("n", "BIGINT"),
               ("b", "BINARY"), ("xs", "ARRAY<DOUBLE>")]  # fmt: skip
    aware = datetime(2012, 4, 21, 9, 20, tzinfo=UTC)
    write_rows(
        tmp_path, 1,
        [
            {"TS": NINE, "day": date(2012, 4, 21), "d": Decimal("12345678901234.567"), "x": float("nan"), "n": 1},
            {"ts": aware, "x": np.float64(2.5), "n": np.int64(2), "b": b"\x00\xff", "xs": np.array([1.0, 2.0])},
            {"ts": np.datetime64("2012-04-21T09:20:00", "ns"), "x": float("-inf"), "n": 3},
            (NINE, None, 1, 1.5, 4, None, [0.5]),
            {"n": "four"},
        ],
        columns,
    )  # fmt: skip
    write_rows(tmp_path, 2, pd.DataFrame({"ts": [NINE], "n": [5], "x": [np.nan]}), columns)
    write_rows(tmp_path, 10, pa.table({"N": [6], "ts": [NINE]}), columns)
    feed = LandedFeed(columns, str(tmp_path))
    feed.look(0)
    planned = feed.plan()
    assert planned is not None
    assert [os.path.basename(ref.path) for ref in planned.files] == [
        "000000000001.json", "000000000002.parquet", "000000000010.parquet",
    ]  # fmt: skip
    assert feed.check(planned) == (planned, [])
    rows = feed.read(spark, planned).collect()
    bad = [r for r in rows if r[REASON] is not None]
    assert [r[REASON] for r in bad] == ['column "n" is not BIGINT']
    good = {r.n: r for r in rows if r[REASON] is None}
    assert sorted(good) == [1, 2, 3, 4, 5, 6]
    assert {naive(r.ts) for r in good.values()} == {NINE}
    assert (good[1].day, good[1].d) == (date(2012, 4, 21), Decimal("12345678901234.567"))
    assert np.isnan(good[1].x)
    assert (good[2].x, bytes(good[2].b), good[2].xs) == (2.5, b"\x00\xff", [1.0, 2.0])
    assert good[3].x == float("-inf")
    assert good[4].d == Decimal("1.000")


def test_a_streaming_frame_lands_once_per_batch(spark: SparkSession, tmp_path: Path) -> None:
    source, landed, checkpoint = tmp_path / "in", tmp_path / "landed", tmp_path / "checkpoint"
    source.mkdir()
    columns = [("n", "BIGINT")]

    def drain() -> None:
        frame: DataFrame = spark.readStream.schema("n BIGINT").option("maxFilesPerTrigger", "1").json(str(source))
        query = land(frame, landed, checkpoint)
        query.processAllAvailable()
        query.stop()

    for number in range(3):
        (source / f"{number}.json").write_text(f'{{"n":{number}}}\n')
    drain()
    names = sorted(os.listdir(landed))
    assert names == [f"{number:012d}.parquet" for number in range(3)]
    before = {name: (landed / name).read_bytes() for name in names}
    # The last batch is forgotten by Spark, as after a crash between landing and its commit: it is run again.
    commits = checkpoint / "commits"
    for left in commits.glob("*2*"):
        left.unlink()
    (source / "3.json").write_text('{"n":3}\n')
    drain()
    assert {name: (landed / name).read_bytes() for name in names} == before
    feed = LandedFeed(columns, str(landed))
    feed.look(0)
    planned = feed.plan()
    assert planned is not None
    assert sorted(r.n for r in feed.read(spark, planned).collect()) == [0, 1, 2, 3]
