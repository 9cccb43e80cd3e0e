"""JSON lines as tasks read them against Spark's own reader: the table of cases, and lines made at random.

``python -m tests.spark.test_json_lines`` asks Spark about every line of the table and writes its answers into it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.own_names import RAW, REASON
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import list_files
from punctual.runtime import session
from punctual.scan.block import Columns
from tests.scan import json_fuzz
from tests.scan.json_cases import Answer, differences, line_of, plain, read_lines, table, write_table

pytestmark = pytest.mark.spark

TRADES = [("ts", "TIMESTAMP"), ("sym", "STRING"), ("px", "DOUBLE"), ("qty", "INT")]
# How Java writes a fraction as a string depends on its version.
SCALARS = [
    ("b", "BOOLEAN"), ("t", "TINYINT"), ("h", "SMALLINT"), ("i", "INT"), ("l", "BIGINT"), ("f", "FLOAT"),
    ("d", "DOUBLE"), ("a", "DATE"), ("z", "TIMESTAMP"), ("n", "TIMESTAMP_NTZ"), ("c", "DECIMAL(10,2)"),
    ("e", "DECIMAL(38,18)"), ("g", "DECIMAL(5,0)"),
]  # fmt: skip
BINARY = [("y", "BINARY"), ("i", "INT"), ("s", "STRING")]


def asked(spark: SparkSession, columns: Columns, lines: Sequence[bytes], path: Path) -> list[Answer]:
    """What Spark makes of lines, none of which is blank."""
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = FileReader(columns, "JSON").read(spark, list_files(str(path))).toArrow()
    values = [plain(found.column(place).combine_chunks()) for place in range(len(columns))]
    texts = plain(found.column(RAW).combine_chunks())
    return list(zip(zip(*values), found.column(REASON).to_pylist(), texts))


def test_the_table_says_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    for group in table():
        assert differences(group.lines, group.answers, asked(spark, group.columns, group.lines, tmp_path / "a")) == []


@pytest.mark.parametrize("seed", range(2))
def test_lines_at_random_are_read_as_spark_reads_them(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    broken = list(json_fuzz.broken_lines(rng, 5_000))
    values = [*json_fuzz.numbers(rng, 500), *json_fuzz.times(rng, 700)]
    for columns, lines in (
        (TRADES, broken),
        (SCALARS, [line_of(value, SCALARS) for value in values]),
        (BINARY, list(json_fuzz.binaries(rng, 1_000))),
    ):
        ours = read_lines(columns, lines, tmp_path / "ours.json")
        assert differences(lines, ours, asked(spark, columns, lines, tmp_path / "asked.json")) == []


def main() -> None:
    """Write the table with what Spark says now."""
    spark = session.start("local[1]", "cases", {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        groups = [replace(group, answers=asked(spark, group.columns, group.lines, path)) for group in table()]
    write_table(groups)
    session.stop(spark)


if __name__ == "__main__":
    main()
