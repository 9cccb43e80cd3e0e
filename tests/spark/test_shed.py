"""Streams that are shed at ingest, on Spark: the same lines are kept, whoever projects their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from punctual.clock import iso
from punctual.engine.batch.progress import BatchRecord
from punctual.runtime.spark import SparkBackend
from tests.engine.test_shed import DERIVED, PLAIN, START, TWICE, check_cells, opened, store, tables

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.parametrize(
    "program", [PLAIN, DERIVED, PLAIN + TWICE], ids=["in the task", "through a projection", "both ways"]
)
def test_cells_are_those_of_the_kept_lines(program: str, tmp_path: Path) -> None:
    check_cells(tmp_path, program, SparkBackend())


def test_what_spark_reads_itself_is_not_shed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    row = {"t": iso(START), "cab": "a", "fare": 1, "stops": [1, 2]}
    (tmp_path / "in" / "0.json").write_text((json.dumps(row) + "\n") * 100)
    program = PLAIN.replace("fare INT)", "fare INT, stops ARRAY<INT>)")
    engine = opened(tmp_path, program, "30%", SparkBackend())
    engine.tick()
    said = engine.explain("EXPLAIN SHARING")
    engine.close()
    assert "not shed at ingest: Spark's reader reads it: column stops is ARRAY<INT>" in said
    (record,) = (manifest.read(BatchRecord) for manifest in store(tmp_path).manifests())
    assert (record.shares, record.progress["trips"].accepted) == ({}, 100)
    assert not tables(tmp_path), "its query samples windows of rows instead, and makes no cells"
