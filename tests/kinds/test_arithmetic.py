"""Which expressions are plain arithmetic, and what they are worth: against DuckDB."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from punctual.kinds.aggregates.arithmetic import computed, is_arithmetic
from punctual.plan.expression import Expression, Part, Term, compose


def read(text: str) -> Expression:
    """An expression with the columns a, b and c; ``#`` stands before a number that is marked as one."""
    parts: list[Part] = []
    for word in text.split():
        if word in ("a", "b", "c"):
            parts.append(Term("column", word))
        elif word.startswith("#"):
            parts.append(Term("number", word[1:]))
        else:
            parts.append(f" {word} ")
    return compose(*parts)


@pytest.mark.parametrize("text", [
    "a / b", "100.0 * a / b", "( a - b ) / ( a + b )", "- a + - - b", "a - b - c", "a / b / c", "a - ( b - c )",
    "a * #1e3 / c", "+ a * ( - #2.5 + b )", "2 * a - 3", "a * - b",
])  # fmt: skip
def test_it_is_worth_what_sql_says(text: str) -> None:
    random = np.random.default_rng(28)
    columns = {name: random.normal(0.0, 3.0, 20) for name in "abc"}
    expression = read(text)
    assert is_arithmetic(expression)
    numbers = pa.table(columns)  # noqa: F841 - DuckDB reads it by its name
    expected = duckdb.sql(f"SELECT ({expression.sql.replace('`', '')})::DOUBLE AS found FROM numbers")
    assert computed(expression, columns) == pytest.approx(np.array(expected.fetchnumpy()["found"]), rel=1e-12)


@pytest.mark.parametrize("text", [
    "round( a )", "a % b", "a div b", "coalesce( a , b )", "CASE WHEN a > 0 THEN a END", "a * ' 2 '", "a ** b",
    "a // b", "a - -- b", "a b", "a ( b )", "a /* b */", "CAST( a AS DOUBLE) / b", "a > b", "a * #2L", "( a", "",
    "a , b", "1e3 * a",
])  # fmt: skip
def test_what_else_there_is_is_left_to_catalyst(text: str) -> None:
    assert not is_arithmetic(read(text))


def test_a_long_text_or_a_deep_one_is_left_to_catalyst() -> None:
    assert not is_arithmetic(read("a" + " + a" * 2_000))
    assert not is_arithmetic(read("(" * 900 + " a " + ")" * 900))


def test_shapes_go_together_and_zero_divides_nothing() -> None:
    columns = {"a": np.ones((2, 3)), "b": np.array([[2.0], [0.0]])}
    found = computed(read("a / b"), columns)
    assert found[0].tolist() == [0.5] * 3
    assert not np.isfinite(found[1]).any()
