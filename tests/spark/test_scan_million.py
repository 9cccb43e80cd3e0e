"""A million rows of every format and every declared type, one of fifty odd: by tasks as by Spark's own readers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from punctual.own_names import RAW, REASON
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import list_files
from punctual.scan.block import arrow_type
from punctual.scan.open_part import open_part

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = 1_000_000
COLUMNS = [
    ("b", "BOOLEAN"), ("t", "TINYINT"), ("h", "SMALLINT"), ("i", "INT"), ("l", "BIGINT"), ("f", "FLOAT"),
    ("d", "DOUBLE"), ("c", "DECIMAL(12,3)"), ("s", "STRING"), ("a", "DATE"), ("z", "TIMESTAMP"), ("n", "TIMESTAMP_NTZ"),
]  # fmt: skip
ODD: list[Any] = [
    None, "", "x", "12x", 1.5, -1, 300, 2**31, 2**63, 1e300, "NaN", "Infinity", True, "2012", "2012-4-1", "é😀", "\x01",
    "2012-04-21 09:20:00 Europe/Berlin", "0012-01-01", "+12345-06-07T08:09:10Z", [1, 2], {"x": 1}, "1e3", " 7 ",
]  # fmt: skip


def ordinary(rng: np.random.Generator) -> dict[str, list[Any]]:
    micros = rng.integers(-(2**50), 2**51, ROWS)
    times = pa.array(micros, pa.timestamp("us"))
    return {
        "b": (rng.random(ROWS) < 0.5).tolist(),
        "t": rng.integers(-128, 128, ROWS).tolist(),
        "h": rng.integers(-(2**15), 2**15, ROWS).tolist(),
        "i": rng.integers(-(2**31), 2**31, ROWS).tolist(),
        "l": rng.integers(-(2**63), 2**63 - 1, ROWS).tolist(),
        "f": np.round(rng.normal(0, 1e4, ROWS), 2).tolist(),
        "d": rng.normal(0, 1e6, ROWS).tolist(),
        "c": np.round(rng.normal(0, 1e6, ROWS), 3).tolist(),
        "s": [f"name {n}" for n in rng.integers(0, 5_000, ROWS)],
        "a": times.cast(pa.date32()).cast(pa.string()).to_pylist(),
        "z": pc.strftime(times, "%Y-%m-%dT%H:%M:%SZ").to_pylist(),
        "n": pc.strftime(times, "%Y-%m-%d %H:%M:%S").to_pylist(),
    }


def with_odd_ones(columns: dict[str, list[Any]], seed: int) -> dict[str, list[Any]]:
    rng = random.Random(seed)
    for _ in range(ROWS // 50):
        columns[rng.choice(COLUMNS)[0]][rng.randrange(ROWS)] = rng.choice(ODD)
    return columns


def write(path: Path, kind: str, columns: dict[str, list[Any]]) -> None:
    rows = zip(*columns.values())
    if kind == "JSON":
        path.write_bytes(b"".join(orjson.dumps(dict(zip(columns, row))) + b"\n" for row in rows))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for row in rows:
            texts = ("" if value is None else str(value) for value in row)
            file.write(",".join(f'"{text}"' if "," in text else text for text in texts) + "\n")


def compared(spark: SparkSession, path: Path, kind: str) -> None:
    reader = FileReader(COLUMNS, kind)
    files = list_files(str(path))
    expected = reader.read(spark, files).toArrow()
    parts = reader.parts(files)
    assert parts is not None
    names = [name for name, _kind in COLUMNS]
    schema = pa.schema([(name, arrow_type(declared)) for name, declared in COLUMNS])
    batches, reasons, texts = [], [], []
    for part, _size in parts:
        for block in open_part(part, reader.reading, frozenset(names)):
            batches.append(pa.RecordBatch.from_arrays([block.column(name) for name in names], schema=schema))
            place = np.full(block.rows, -1)
            if block.faults is not None:
                place[block.faults.rows] = np.arange(block.faults.rows.size)
                chosen = pa.array(place, mask=place < 0)
                reasons.append(block.faults.reasons.take(chosen))
                texts.append(block.faults.texts.take(chosen))
            else:
                reasons.append(pa.nulls(block.rows, pa.string()))
                texts.append(pa.nulls(block.rows, pa.string()))
    found = pa.Table.from_batches(batches, schema)
    assert found.num_rows == expected.num_rows == ROWS
    for name in names:
        ours, theirs = found.column(name).combine_chunks(), expected.column(name).combine_chunks()
        if pa.types.is_floating(ours.type):  # NaN is itself here
            ours, theirs = (pc.if_else(pc.is_nan(one), -7.25, one) for one in (ours, theirs))
        assert ours.equals(theirs.cast(ours.type)), name
    assert pa.chunked_array(reasons).combine_chunks().equals(expected.column(REASON).combine_chunks())
    assert pa.chunked_array(texts).combine_chunks().equals(expected.column(RAW).combine_chunks())
    assert expected.column(REASON).null_count < ROWS, "some rows are odd"


@pytest.mark.parametrize("kind", ["JSON", "CSV"])
def test_a_million_lines(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lines"
    write(path, kind, with_odd_ones(ordinary(np.random.default_rng(1)), 2))
    compared(spark, path, kind)


def test_a_million_rows_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    times = rng.integers(-(2**50), 2**51, ROWS)
    table = pa.table({
        "b": rng.random(ROWS) < 0.5,
        "t": pa.array(rng.integers(-200, 200, ROWS), pa.int32()),
        "h": pa.array(rng.integers(-(2**15), 2**15, ROWS), pa.int16()),
        "i": rng.integers(-(2**31) - 1_000_000, 2**31, ROWS),
        "l": rng.integers(-(2**63), 2**63 - 1, ROWS),
        # Few digits: how Java 17 writes others in the text of a misfit is not how later ones do.
        "f": np.round(rng.normal(0, 1e4, ROWS), 2),
        "d": np.round(rng.normal(0, 1e4, ROWS), 3),
        "c": pa.array(rng.integers(-(10**9), 10**9, ROWS)).cast(pa.decimal128(20, 0)).cast(pa.decimal128(26, 3)),
        "s": [f"name {n}" for n in rng.integers(0, 5_000, ROWS)],
        "a": pa.array(times // 86_400_000_000, pa.int64()).cast(pa.int32()).cast(pa.date32()),
        "z": pa.array(times * 1000 // 8, pa.timestamp("ns", tz="UTC")),
        "n": pa.array(times // 1000, pa.timestamp("ms")),
    })  # fmt: skip
    path = tmp_path / "rows"
    pq.write_table(table, path, row_group_size=100_000)
    compared(spark, path, "PARQUET")
