"""Three hundred random row queries on Spark: every answer is DuckDB's over the query's own text.

Six programs of fifty queries, each over rows of its own. One has a stream without any row; one is also fed in other
batches, and writes the same bytes. Two of them are always run, all in `make test-long`.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.oracles.random_programs import RandomProgram, difference
from tests.oracles.random_rows import Batch, random_batches
from tests.spark.backends import Shared
from tests.spark.command import lines

pytestmark = pytest.mark.spark

QUERIES = 50
SILENT = {5: "r"}
"""The seed of a program in which a stream has no row, and which stream."""
WITHOUT_LATE_ROWS = 6


@pytest.mark.parametrize("seed", [1, 5, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4, 6))])
def test_answers_are_those_of_duckdb(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    program = RandomProgram(tmp_path, seed, QUERIES)
    batches = random_batches(seed, late=seed != WITHOUT_LATE_ROWS, silent=SILENT.get(seed))
    expected = program.by_duckdb(batches)
    found = program.by_engine(batches, Shared)
    assert found.said == []
    wrong = {
        name: f"{text}\n{other}"
        for name, text in program.queries.items()
        if (other := difference(found.answers[name], expected[name], ordered=name in found.row_queries))
    }
    assert not wrong, "\n\n".join(wrong.values())
    assert len(found.row_queries) > 0.9 * QUERIES
    with_rows = sum(any(answer.rows for answer in expected[name]) for name in expected)
    assert with_rows > QUERIES / (4 if seed in SILENT else 2)
    late = sum(answer.late_rows for name in expected for answer in expected[name])
    assert (late > 0) == (seed != WITHOUT_LATE_ROWS)


def test_rows_in_other_batches_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    program = RandomProgram(tmp_path, WITHOUT_LATE_ROWS, 16)
    batches = random_batches(WITHOUT_LATE_ROWS, late=False)
    written = []
    for name, cut in (("as they are", batches), ("other", other_batches(batches))):
        assert program.by_engine(cut, Shared, tmp_path / name).said == []
        written.append(lines(tmp_path / name))
    assert written[0] == written[1]
    assert len(written[0]) == 16
    assert sum(map(len, written[0].values())) > 5_000


def other_batches(batches: list[Batch]) -> list[Batch]:
    """The same rows in fewer batches, each of them in another order."""
    found = []
    for first in range(0, len(batches), 2):
        both: Batch = {}
        for batch in batches[first : first + 2]:
            for stream, rows in batch.items():
                both.setdefault(stream, []).extend(rows)
        for rows in both.values():
            Random(1).shuffle(rows)
        found.append(both)
    return found
