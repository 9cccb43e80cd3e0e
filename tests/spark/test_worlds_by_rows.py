"""Spark's way over worlds: what DuckDB says of every world, what kernels say, and the same bytes however it is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.errors import ProgramErrors
from punctual.kinds.worlds import kind
from tests.engine.test_worlds import CASES as KERNEL_CASES
from tests.engine.test_worlds import ROUNDS, SPEED_SQL, TAGS_SQL, answers, by_key, speeds, tags
from tests.engine.test_worlds_by_rows import (
    CASES,
    PERIOD,
    ROW_CASES,
    SUMMARIES,
    UNCERTAIN_ROWS,
    by_spark,
    check,
    check_confidence,
    check_missing_values,
    check_summaries,
    check_uncertain_rows,
)
from tests.spark.backends import Cut, Shared

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("text", "keys"), [*CASES, *ROW_CASES])
def test_answers_are_those_of_every_world(spark: SparkSession, tmp_path: Path, text: str, keys: list[str]) -> None:
    check(tmp_path, text, keys, Shared)


def test_summaries_are_of_the_worlds(spark: SparkSession, tmp_path: Path) -> None:
    check_summaries(tmp_path, Shared)


def test_rows_that_do_not_exist_are_in_no_world(spark: SparkSession, tmp_path: Path) -> None:
    check_uncertain_rows(tmp_path, Shared)


def test_missing_values_are_found_alike(spark: SparkSession, tmp_path: Path) -> None:
    check_missing_values(tmp_path, Shared)


def test_worlds_are_those_of_kernels(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one round and of many: the first world by itself, and all of them together."""
    for rounds in (1, ROUNDS):
        texts = [text.format("speed [RANGE 10 SECONDS]") for text, _keys in KERNEL_CASES]
        program = SPEED_SQL + "".join(
            f"CREATE QUERY q{number} AS {text} PERIOD 10 SECONDS ROUNDS {rounds};" for number, text in enumerate(texts)
        )
        options = {"seed": "5", "closed_forms": "off"}
        kernel = answers(tmp_path / f"kernel {rounds}", program, speeds(), options)
        with monkeypatch.context() as patch:
            patch.setattr(kind, "bind_worlds", by_spark)
            by_rows = answers(tmp_path / f"rows {rounds}", program, speeds(), options, Shared)
        assert len(kernel) == len(KERNEL_CASES)
        for number, (_text, keys) in enumerate(KERNEL_CASES):
            for one, other in zip(kernel[f"q{number}"], by_rows[f"q{number}"], strict=True):
                check_same(one, other, keys)


def test_confidence_asks_for_as_many_rounds_as_kernels_do(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_confidence(tmp_path, monkeypatch, Shared)


def check_same(one: dict[str, Any], other: dict[str, Any], keys: list[str]) -> None:
    """Two answers say the same, but for how sums were rounded."""
    assert (one["basis"], one["rounds"], one["reached"]) == (other["basis"], other["rounds"], other["reached"])
    mine, theirs = by_key(one, *keys), by_key(other, *keys)
    assert list(mine) == list(theirs)
    for key, row in mine.items():
        assert theirs[key]["probability"] == row["probability"]
        assert (row["y"] is None) == (theirs[key]["y"] is None)
        assert row["y"] is None or theirs[key]["y"] == pytest.approx(row["y"], rel=1e-9)


@pytest.mark.parametrize("backend", [Shared, Cut])
def test_the_same_bytes_however_it_is_cut(spark: SparkSession, tmp_path: Path, backend: type[Shared]) -> None:
    window = "speed [RANGE 10 SECONDS]"
    texts = [CASES[0][0], CASES[6][0], CASES[8][0], ROW_CASES[1][0]]
    queries = [f"CREATE QUERY q{n} AS {text.format(*[window] * 2)} {PERIOD}" for n, text in enumerate(texts)]
    program = f"{SPEED_SQL} {' '.join(queries)} CREATE QUERY s AS {SUMMARIES} {PERIOD}"
    found = answers(tmp_path / "cut", program, speeds(), {}, backend)
    assert found == answers(tmp_path / "again", program, speeds(), {}, Shared)
    assert found["q0"] == answers(tmp_path / "alone", SPEED_SQL + queries[0], speeds(), {}, Shared)["q0"]
    assert found["q0"] != answers(tmp_path / "other", SPEED_SQL + queries[0], speeds(), {"seed": "3"}, Shared)["q0"]


def test_uncertain_rows_have_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    program = f"{TAGS_SQL} CREATE QUERY q AS {UNCERTAIN_ROWS} {PERIOD}"
    found = [answers(tmp_path / one.__name__, program, tags(), {}, one) for one in (Shared, Cut)]
    assert found[0] == found[1]


@pytest.mark.parametrize(("select", "code", "place"), [
    ("SELECT k, stddev(x + xx) AS s FROM {} GROUP BY k", "bind.unknown-column", "xx"),
    ("SELECT k, stddvv(x) AS s FROM {} GROUP BY k", "bind.not-in-worlds", "stddvv(x)"),
    ("SELECT k, collect_list(x) AS s FROM {} GROUP BY k", "bind.bad-type", "collect_list(x)"),
    ("SELECT k, HISTOGRAM(stddev(x), 3) + 1 AS s FROM {} GROUP BY k", "bind.bad-type", "HISTOGRAM(stddev(x), 3)"),
])
def test_what_spark_refuses_is_refused_at_its_place(
    spark: SparkSession, tmp_path: Path, select: str, code: str, place: str
) -> None:
    text = f"{SPEED_SQL} CREATE QUERY q AS {select.format('speed [RANGE 10 SECONDS]')} {PERIOD}"
    with pytest.raises(ProgramErrors) as refused:
        answers(tmp_path, text, speeds(10), {}, Shared)
    (error,) = refused.value.errors
    assert error.span is not None
    assert (error.code, text[error.span.start : error.span.end]) == (code, place)


def test_too_many_rows_and_rounds_stop_a_query_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    over = "FROM speed [RANGE 10 SECONDS]"
    program = SPEED_SQL + (
        f"CREATE QUERY large AS SELECT DISTINCT k, floor(x) AS f {over} {PERIOD}"
        f"CREATE QUERY small AS SELECT stddev(x) AS s {over} {PERIOD}"
    )
    found = answers(tmp_path / "run", program, speeds(), {"max_answer_rows": "1000"}, Shared)
    assert len(found["small"]) == 2
    assert not found.get("large")
