"""Rows that a tick retains on Spark, both ways; merged by a job, and read as a window."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.own_names import TIME
from punctual.runtime.operators.in_worker import AsJob, packed
from punctual.runtime.operators.merge_rows import MergeRows, MergeWork
from punctual.runtime.operators.window_rows import WindowOrder, window_rows
from punctual.runtime.tick import Jobs, bare_job
from punctual.store.products import Produced, RetainedRows, outputs, to_ipc, without_times
from tests.runtime.retaining import DERIVED, PLAIN, branches_of, compiled, ticked, write
from tests.runtime.test_merge_rows import retained_files

pytestmark = pytest.mark.spark

STAMP = pa.timestamp("us", tz="UTC")
NESTED = """
CREATE STREAM s (
    ts TIMESTAMP EVENT TIME, n INT, tags ARRAY<STRING>, at STRUCT<x: INT, y: DOUBLE>, price DECIMAL(10,2),
    seen TIMESTAMP, twice INT AS (n * 2)
) FROM FILES 'in' FORMAT JSON;
"""
ROWS = [
    {"ts": f"2026-01-01T00:00:0{n}Z", "n": n, "k": "a", "tags": ["x", None][: n % 3], "at": {"x": n, "y": -0.0},
     "price": "1.25", "seen": "2026-01-01T00:00:00.000001Z"}
    for n in range(1, 7)
]  # fmt: skip
TYPES = {
    "n": pa.int32(), "k": pa.string(), "price": pa.decimal128(10, 2), "seen": STAMP, "twice": pa.int32(),
    "tags": pa.list_(pa.string()), "at": pa.struct([("x", pa.int32()), ("y", pa.float64())]),
}  # fmt: skip


def retained(several: list[Produced]) -> list[Produced]:
    return [one for one in several if isinstance(one.product, RetainedRows)]


@pytest.mark.parametrize(
    ("text", "names", "direct"),
    [
        (PLAIN, ("n", "k", "price", "seen"), True),
        (DERIVED, ("n", "twice", "seen"), False),
        (NESTED, ("n", "tags", "at", "price", "seen", "twice"), False),
    ],
    ids=["direct", "derived", "nested"],
)
def test_a_tick_retains_rows(
    spark: SparkSession, tmp_path: Path, text: str, names: tuple[str, ...], direct: bool
) -> None:
    program = compiled(text, tmp_path)
    several = branches_of(program, ("ts", *names))
    assert [branch.direct is not None for branch in several] == [direct]
    jobs = Jobs(spark, 2)
    folders = [tmp_path / "first", tmp_path / "second"]
    found: list[Produced] = []
    write(tmp_path, "a.json", ROWS)
    for folder in folders:  # the second time by the order alone, where the job is kept
        folder.mkdir()
        found = retained(ticked(jobs.run, program, several, folder))
        assert sum(one.rows for one in found) == len(ROWS)
        assert all(str(one.data).startswith(str(folder)) for one in found)
    for one in found:
        table = one.table()
        assert table.column_names == [TIME, *names]
        columns = [(name, table.column(name).type) for name in names]
        assert [kind for name, kind in columns if name not in ("tags", "at")] == [
            TYPES[name] for name in names if name not in ("tags", "at")
        ]
    asked = [("ts", STAMP), *((name, TYPES[name]) for name in names)]
    files = retained_files(found)
    whole = WindowOrder(files, 0, max(file.greatest for file in files))
    rows = sorted(window_rows(whole, asked, "ts").to_pylist(), key=lambda row: row["n"])
    assert [row["n"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["ts"].second for row in rows] == [1, 2, 3, 4, 5, 6]
    if "twice" in names:
        assert [row["twice"] for row in rows] == [2, 4, 6, 8, 10, 12]
    if "tags" in names:
        assert [row["tags"] for row in rows] == [row["tags"] for row in ROWS]
        assert [row["at"] for row in rows] == [row["at"] for row in ROWS]
    _merge(spark, whole, asked, tmp_path)


def _merge(spark: SparkSession, whole: WindowOrder, asked: list[tuple[str, pa.DataType]], folder: Path) -> None:
    """Files merged by a job give the same window, to the byte."""
    operator = MergeRows((MergeWork("s", whole.files, 0, str(folder)),))
    merged, _core_us = without_times(bare_job(spark, AsJob(packed(operator), ordered=False), 1)())
    found = list(outputs(merged))
    assert len(found) == 1
    one, other = (
        window_rows(WindowOrder(files, whole.after, whole.through), asked, "ts")
        for files in (whole.files, retained_files(found))
    )
    assert to_ipc(one).to_pybytes() == to_ipc(other).to_pybytes()
