"""Row groups read in tasks are the rows that Spark's reader gives: values to the bit, reasons, texts.

A file has, for each of its own types, one column for every declared type to which that can become here.
"""

from __future__ import annotations

import decimal
import json
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from punctual.own_names import RAW, REASON
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.parquet_rows import castable, spark_type
from punctual.scan.parquet.exact_cast import exact_cast
from punctual.scan.parquet.groups import read_parquet
from punctual.scan.parquet.kinds import flat_kind, supported
from punctual.scan.parts import ParquetPart

pytestmark = pytest.mark.spark

ROWS = 400
DECLARED = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,0)",
    "DECIMAL(38,18)", "DECIMAL(5,5)", "DECIMAL(18,3)", "DECIMAL(38,38)", "STRING", "BINARY", "DATE", "TIMESTAMP",
    "TIMESTAMP_NTZ",
]  # fmt: skip
LIMITS = [sign * (2**bits + more) for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for sign in (1, -1) for more in
          (-1, 0, 1)]  # fmt: skip
DOUBLES = [
    0.0, -0.0, 0.5, 127.9, 128.0, -128.9, -129.0, 32767.9, -32769.0, 2147483647.5, 2147483648.0, -2147483648.9, 2.0**63,
    -(2.0**63), 9.3e18, math.nan, math.inf, -math.inf, 5e-324, 1e-323, 1e-45, 3.5e38, 1e23, 1e7, 1e-3, 9.99e-4, 1e300,
]  # fmt: skip
PIECES = ["a", '"', "\\", "\n", "\x02", "/", "ä", "€", "😀", " "]
BAD_PIECES = [b"a", b"\xed", b"\xa0", b"\x80", b"\xe2", b"\x82", b"\xf0", b"\x9f", b"\xc3", b"\xf4", b"\xff", b"\xe0"]


def integers(rng: random.Random, least: int, most: int) -> list[int]:
    drawn = [0, 1, -1, least, most, *LIMITS, *(rng.randrange(-(2 ** rng.randrange(1, 65)), 2**63) for _ in range(ROWS))]
    drawn += [rng.randrange(-(2**b), 2**b) for b in range(1, 65) for _ in range(8)]
    return [number for number in drawn if least <= number <= most]


def doubles(rng: random.Random) -> np.ndarray[Any, np.dtype[np.float64]]:
    anything = np.frombuffer(rng.randbytes(8 * 100))
    return np.concatenate([DOUBLES, anything, [round(rng.uniform(-1e5, 1e5), rng.randrange(5)) for _ in range(300)]])


def decimals(rng: random.Random, precision: int, scale: int) -> list[Decimal]:
    # The last one is nearer to the double after it than to the largest INT.
    drawn = [0, 1, -1, 5, 15, 25, 4999, 5000, 49999, 50000, 10**precision - 1, 2147483647_999999999999999999]
    drawn += [rng.randrange(10 ** rng.randrange(1, precision + 1)) * rng.choice((1, -1)) for _ in range(ROWS)]
    with decimal.localcontext(prec=60):
        return [Decimal(number).scaleb(-scale) for number in drawn if abs(number) < 10**precision]


def columns_of(seed: int) -> dict[str, pa.Array]:
    """Columns of every own type, with values at the limits and others."""
    rng = random.Random(seed)
    sizes = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
    sizes |= {f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)}
    found = {name: pa.array(integers(rng, *limits), getattr(pa, name)()) for name, limits in sizes.items()}
    with np.errstate(over="ignore", invalid="ignore"):
        found |= {"float64": pa.array(doubles(rng)), "float32": pa.array(doubles(rng).astype(np.float32))}
    for precision, scale in [(10, 2), (5, 5), (18, 0), (38, 0), (38, 18), (38, 38), (9, 4), (20, 0), (16, 12)]:
        values = pa.array(decimals(rng, precision, scale), pa.decimal128(precision, scale))
        found[f"decimal{precision}_{scale}"] = values
    moments = pa.array(integers(rng, -(2**63), 2**63 - 1))
    for unit in ("us", "ms", "ns"):
        found |= {unit: moments.view(pa.timestamp(unit)), f"{unit}_utc": moments.view(pa.timestamp(unit, tz="UTC"))}
    found["zoned"] = moments.view(pa.timestamp("us", tz="Europe/Berlin"))
    found["day"] = pa.array(integers(rng, -(2**31), 2**31 - 1), pa.int32()).view(pa.date32())
    texts = pa.array(["".join(rng.choices(PIECES, k=rng.randrange(8))) for _ in range(ROWS)])
    bad = pa.array([b"".join(rng.choices(BAD_PIECES, k=rng.randrange(8))) for _ in range(ROWS)], pa.binary())
    found |= {"text": texts, "large": texts.cast(pa.large_string()), "words": texts.dictionary_encode(), "bytes": bad}
    found["bad_text"] = pa.Array.from_buffers(pa.string(), len(bad), bad.buffers())
    found |= {"truth": pa.array([True, False]), "nothing": pa.nulls(3), "four": pa.array([b"abcd"], pa.binary(4))}
    return found


def families(seed: int) -> Iterator[tuple[list[tuple[str, str]], pa.Table]]:
    """Files: some own types each, so that rows have more than one column that does not fit."""
    owns = list(columns_of(seed).items())
    rng = random.Random(seed)
    for first in range(0, len(owns), 5):
        columns: list[tuple[str, str]] = [("gone", "DATE")]
        data: dict[str, pa.Array] = {}
        for name, values in owns[first : first + 5]:
            kind = flat_kind(values.type, "")
            assert kind == spark_type(values.type)
            assert kind is not None
            places = pa.array([None if rng.random() < 0.05 else i % len(values) for i in range(ROWS)], pa.int64())
            for declared in DECLARED:
                if exact_cast(kind, declared) is not None:
                    assert castable(kind, declared)
                    columns.append((f"{name} {declared}", declared))
                    data[f"{name} {declared}"] = values.take(places)
        yield columns, pa.table(data)


def exact(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values by their bits: all NaN are one, zero has a sign, texts are bytes."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_floating(whole.type):
        return [None if number is None else repr(number) for number in whole.to_pylist()]
    if pa.types.is_temporal(whole.type):
        whole = whole.view(pa.int32() if pa.types.is_date32(whole.type) else pa.int64())
    if pa.types.is_string(whole.type):
        whole = whole.view(pa.binary())
    listed: list[Any] = whole.to_pylist()
    return listed


def read_here(path: Path, columns: list[tuple[str, str]]) -> dict[str, list[Any]]:
    metadata = pq.read_metadata(path)
    held = set(metadata.schema.to_arrow_schema().names)
    names = tuple(name if name in held else None for name, _kind in columns)
    assert supported(metadata, names, columns)
    found: dict[str, list[Any]] = {name: [] for name in (*(name for name, _kind in columns), REASON, RAW)}
    for block in read_parquet(ParquetPart(str(path), 0, metadata.num_row_groups, names), columns, frozenset()):
        reasons, texts = [None] * block.rows, [None] * block.rows
        if block.faults is not None:
            for row, reason, text in zip(block.faults.rows, block.faults.reasons, block.faults.texts):
                reasons[row], texts[row] = reason.as_py(), text.as_py()
        for name, _kind in columns:
            found[name] += exact(block.column(name))
        found[REASON] += reasons
        found[RAW] += texts
    return found


def read_by_spark(spark: SparkSession, path: Path, columns: list[tuple[str, str]]) -> dict[str, list[Any]]:
    rows = FileReader(columns, "PARQUET").read(spark, list_files(str(path))).toArrow()
    return {
        **{name: exact(rows[name]) for name, _kind in columns},
        **{name: rows[name].to_pylist() for name in (REASON, RAW)},
    }


def with_shortest_digits(text: str | None) -> Any:
    """A row's text with the fewest digits for each float: Java had more before version 19."""
    if text is None:
        return None
    row = json.loads(text, parse_int=str)
    for name, value in row.items():
        if name.startswith("float32") and isinstance(value, float):
            row[name] = str(np.float32(value))
    return row


@pytest.mark.parametrize("seed", range(2))
def test_every_type_as_every_other(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    version = spark._jvm.java.lang.System.getProperty("java.version")
    for number, (columns, table) in enumerate(families(seed)):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=150)
        here, there = read_here(path, columns), read_by_spark(spark, path, columns)
        if int(version.split(".")[0]) < 19:
            for rows in (here, there):
                rows[RAW] = [with_shortest_digits(text) for text in rows[RAW]]
        for name in there:
            assert here[name] == there[name], (number, name)


def test_files_that_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    micros = [0, -1, -1001, 1_335_000_000_123_456, -62_167_219_200_000_001, 253_402_300_800_000_000, 2**62]
    micros += [-12_219_292_800_000_001, -2_208_988_800_000_001, -200_000_000_000_000_000]
    frame = spark.createDataFrame([(i,) for i in micros], "i BIGINT").selectExpr(
        "i", "timestamp_micros(i) a", "CAST(timestamp_micros(i) AS TIMESTAMP_NTZ) b",
        "CAST(timestamp_micros(i) AS DATE) d", "CAST(i % 100 AS TINYINT) y", "CAST(i % 9999 / 100 AS DECIMAL(9,2)) p",
        "CAST(i AS DECIMAL(38,10)) q", "CAST(i AS FLOAT) f", "CAST(i AS STRING) s", "CAST('x' AS BINARY) x",
    )  # fmt: skip
    columns = [
        ("i", "INT"), ("a", "TIMESTAMP"), ("b", "TIMESTAMP_NTZ"), ("d", "TIMESTAMP"), ("y", "DOUBLE"),
        ("p", "DECIMAL(4,1)"), ("q", "BIGINT"), ("s", "STRING"), ("x", "STRING"),
    ]  # fmt: skip
    for kind in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        try:
            frame.coalesce(1).write.parquet(str(tmp_path / kind))
        finally:
            spark.conf.unset("spark.sql.parquet.outputTimestampType")
        [path] = (tmp_path / kind).glob("*.parquet")
        here, there = read_here(path, columns), read_by_spark(spark, path, columns)
        for name in there:
            assert here[name] == there[name], (kind, name)


def test_files_of_the_old_calendar_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    mode = "spark.sql.parquet.datetimeRebaseModeInWrite"
    spark.conf.set(mode, "LEGACY")
    try:
        spark.sql("SELECT DATE'1500-01-01' AS d").write.parquet(str(tmp_path / "old"))
    finally:
        spark.conf.unset(mode)
    [path] = (tmp_path / "old").glob("*.parquet")
    assert not supported(pq.read_metadata(path), ["d"], [("d", "DATE")])
