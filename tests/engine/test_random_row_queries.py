"""Random row queries in process: what the engine makes of texts, windows and batches. Spark has its own test."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.inprocess.backend import InProcess
from tests.oracles.random_programs import RandomProgram, difference
from tests.oracles.random_queries import random_queries
from tests.oracles.random_rows import random_batches

FORMS = (
    "JOIN", "LEFT JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN",
    "<=>", "WITH", "(WITH", "DISTINCT", "UNION ALL", "UNION SELECT", "EXCEPT SELECT", "INTERSECT SELECT", "EXCEPT ALL",
    "INTERSECT ALL", "NOT EXISTS", " IN (SELECT", "NOT IN (SELECT", "= (SELECT", "GROUP BY", "HAVING", "FILTER",
    "count(DISTINCT", "sum(", "avg(", "min(", "max(", "bool_or(", "row_number()", "rank()", "dense_rank()", "lag(",
    "lead(", "ntile(", "ROWS BETWEEN", "ORDER BY", "LIMIT", "NOW]", "dims AS", "INTERVAL 3 SECONDS",
)  # fmt: skip


def test_the_grammar_says_it_all() -> None:
    """Every form is in several of the three hundred queries that Spark answers, and no query is there twice."""
    texts = [text for seed in range(1, 7) for text in random_queries(seed, 50)]
    assert len(set(texts)) == 300
    assert [form for form in FORMS if sum(form in text for text in texts) < 3] == []


@pytest.mark.parametrize("seed", [11, 12])
def test_answers_are_those_of_duckdb(tmp_path: Path, seed: int) -> None:
    program = RandomProgram(tmp_path, seed, 25)
    batches = random_batches(seed, late=True, silent="p" if seed == 12 else None)
    expected = program.by_duckdb(batches)
    found = program.by_engine(batches, partial(InProcess, partitions=2))
    assert found.said == []
    for name, text in program.queries.items():
        other = difference(found.answers[name], expected[name], ordered=name in found.row_queries)
        assert not other, f"{text}\n{other}"
