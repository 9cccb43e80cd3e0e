"""Every type that Spark gives to a column of an answer: written, read back and resumed, or refused by ``check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.explain.look import look_at
from punctual.ports.sinks.parquet import ParquetSink
from punctual.ports.storage import PosixFiles

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAM = "CREATE STREAM s (ts TIMESTAMP EVENT TIME, x INT, word STRING) FROM FILES 's' FORMAT JSON;\n"
FROM = "FROM s [RANGE 10 SECONDS]"

TYPES: dict[str, tuple[str, Any]] = {
    "void": ("NULL", None),
    "truth": ("{x} > 0", True),
    "tiny": ("CAST({x} AS TINYINT)", 1),
    "small": ("CAST({x} AS SMALLINT)", 1),
    "whole": ("CAST({x} AS INT)", 1),
    "big": ("CAST({x} AS BIGINT) * 9007199254740993", 9007199254740993),
    "float": ("CAST({x} / 2 AS FLOAT)", 0.5),
    "double": ("CAST({x} AS DOUBLE) / 10", 0.1),
    "infinite": ("CAST({x} AS DOUBLE) * double('-infinity')", "-Infinity"),
    "no_number": ("CAST({x} AS DOUBLE) * double('NaN')", "NaN"),
    "price": ("CAST({x} AS DECIMAL(5,2))", "1.00"),
    "long_decimal": ("CAST({x} AS DECIMAL(38,0)) * CAST('99999999999999999999' AS DECIMAL(20,0))", "9" * 20),
    "fine_decimal": ("CAST({x} AS DECIMAL(38,18)) / 8", None),
    "text": ("concat({word}, '\"\\n')", 'w"\n'),
    "fixed_text": ("CAST({word} AS CHAR(3))", "w"),
    "varied_text": ("CAST({word} AS VARCHAR(3))", "w"),
    "bytes": ("CAST({word} AS BINARY)", "dw=="),
    "day": ("date_add(DATE'2024-02-28', {x})", "2024-02-29"),
    "early_day": ("date_add(DATE'0001-01-01', -{x})", "0000-12-31"),
    "late_day": ("date_add(DATE'+10000-01-01', {x})", "+10000-01-02"),
    "moment": ("timestamp_micros({x})", "1970-01-01T00:00:00.000001Z"),
    "late_moment": ("timestamp_seconds(253402300799 + {x})", "+10000-01-01T00:00:00Z"),
    "local_moment": ("TIMESTAMP_NTZ'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, {x})", "2024-01-01T00:00:01Z"),
    "lasting": ("make_dt_interval(0, 0, 0, {x})", 1_000_000),
    "list": ("array({x}, NULL)", [1, None]),
    "list_of_nothing": ("array(NULL)", [None]),
    "empty_list": ("CAST(array() AS ARRAY<INT>)", []),
    "days": ("array(date_add(DATE'1970-01-01', {x}))", ["1970-01-02"]),
    "struct": ("named_struct('a', {x}, 'b', NULL, 'c', timestamp_micros({x}))",
               {"a": 1, "b": None, "c": "1970-01-01T00:00:00.000001Z"}),
    "map": ("map({word}, {x})", {"w": 1}),
    "map_of_numbers": ("map({x}, array({word}))", {"1": ["w"]}),
    "map_of_days": ("map(date_add(DATE'1970-01-01', {x}), 1.5)", {"1970-01-02": "1.5"}),
    "map_of_structs": ("map(named_struct('a', {x}), NULL)", {'{"a":1}': None}),
    "deep": ("array(named_struct('m', map({word}, array(NULL)), 'd', make_dt_interval(0, 0, 0, {x})))",
             [{"m": {"w": [None]}, "d": 1_000_000}]),
}  # fmt: skip

REFUSED = {
    "parse_json('1')": "VARIANT",
    "array(parse_json('1'))": "ARRAY<VARIANT>",
    "make_ym_interval(1, 2)": "INTERVAL YEAR TO MONTH",
    "make_interval(1, 2)": "INTERVAL",
    "struct()": "STRUCT<>",
    "array()": "ARRAY<VOID>",
    "map()": "MAP<VOID,VOID>",
    "named_struct('a', struct())": "STRUCT<A:STRUCT<>>",
}


def queries() -> str:
    """Each type from an expression over an aggregate, from an aggregate, and as a group key where it can be one."""
    texts = []
    for name, (expression, _expected) in TYPES.items():
        over = expression.format(x="max(x)", word="max(word)")
        row = expression.format(x="x", word="word")
        texts.append(f"CREATE QUERY {name} AS SELECT {over} AS o, count(*) AS n {FROM} PERIOD 5 SECONDS;")
        texts.append(f"CREATE QUERY {name}_last AS SELECT last({row}) AS o {FROM} PERIOD 5 SECONDS;")
        if not isinstance(_expected, list | dict):
            texts.append(f"CREATE QUERY {name}_key AS SELECT {row} AS o {FROM} GROUP BY {row} PERIOD 5 SECONDS;")
    return "\n".join(texts)


def run(folder: Path) -> dict[str, list[Any]]:
    said: list[str] = []
    engine = Engine(
        out=str(folder / "out"), state=str(folder / "state"), base=str(folder), live=False, report=said.append
    )
    engine.add_sink("parquet", ParquetSink(PosixFiles(), str(folder / "parquet")))
    with engine:
        engine.sql(STREAM + queries())
        engine.run_once()
        assert engine.stopped() == frozenset(), said
        engine.answers("void")
    return {
        path.stem: [row["o"] for line in path.read_text().splitlines() for row in json.loads(line)["rows"]]
        for path in (folder / "out").glob("*.jsonl")
    }


def test_every_type_is_written_read_back_and_resumed(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for number in (1, 2):
        row = {"ts": f"1970-01-01T00:00:{5 * number:02d}Z", "x": 1, "word": "w"}
        (tmp_path / "s" / f"{number}.json").write_text(json.dumps(row) + "\n")
        found = run(tmp_path)  # the second run reads what the first has logged, and goes on
        for name, (_expression, expected) in TYPES.items():
            for query in (name, f"{name}_last", f"{name}_key"):
                if query in found:
                    shown = found[query]
                    if name == "fine_decimal":
                        assert {float(one) for one in shown} == {0.125}
                    else:
                        assert shown == [expected] * number, query
    (tmp_path / "out" / "deep.jsonl").unlink()
    assert run(tmp_path) == found, "also from the log alone"
    for name in TYPES:
        assert pq.read_table(tmp_path / "parquet" / name).num_rows == 2, name


def test_what_cannot_be_written_is_refused_by_check(tmp_path: Path) -> None:
    text = STREAM + "\n".join(
        f"CREATE QUERY q{number} AS SELECT {expression} AS o, count(*) AS n {FROM} PERIOD 5 SECONDS;"
        for number, expression in enumerate(REFUSED)
    )
    with pytest.raises(ProgramErrors) as refused:
        look_at(text, str(tmp_path), {}, types=True)
    told = {text[error.span.start : error.span.end]: error for error in refused.value.errors if error.span is not None}
    assert set(told) == set(REFUSED)
    for expression, error in told.items():
        assert error.code == "bind.bad-type"
        assert REFUSED[expression] in error.fact
