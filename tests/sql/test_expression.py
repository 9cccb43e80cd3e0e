"""Expressions reach Spark as they were written: found columns, one spelling, and the same values.

The last test runs every expression twice on Spark, as written and as the compiler hands it on, and compares.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.sql.expressions.pieces import Piece, render, to_pieces
from punctual.sql.expressions.shapes import Shapes
from punctual.sql.syntax.expression import ColumnReference, ExpressionSyntax, parse_expression
from punctual.sql.syntax.tokens import tokenize

ROW = (
    "SELECT 7 AS a, 3 AS b, 2.5D AS x, 'it\\'s a Test' AS s, timestamp '2024-02-29 13:14:15.5' AS ts, "
    "array(3, 1, 2) AS arr, map('k', 1, 'j', 2) AS m, named_struct('F', 1, 'g', 'y') AS st, CAST(NULL AS INT) AS n, "
    "array('p', 'q') AS words, 12.34BD AS d"
)
COLUMNS = ("a", "b", "x", "s", "ts", "arr", "m", "st", "n", "words", "d")

EACH = (Path(__file__).parent / "expressions.txt").read_text().splitlines()
"""One expression a line, over the columns above."""


def parsed(text: str) -> ExpressionSyntax:
    tokens, broken = tokenize(text)
    assert broken is None
    return parse_expression(text, tokens)


def handed_on(text: str) -> str:
    """The expression with every column quoted, as the binder hands it to Spark."""
    expression = parsed(text)

    def quote(reference: ColumnReference) -> tuple[Piece, ...]:
        span = expression.place(reference.first, reference.end)
        column, *fields = (Piece(part, "field", span) for part in reference.parts)
        return (column, *(piece for field in fields for piece in (Piece(".", "symbol", span), field)))

    return render(to_pieces(expression, quote)).sql


@pytest.mark.parametrize("text", EACH)
def test_columns_are_found_and_nothing_else(text: str) -> None:
    names = {column.parts[0].lower() for column in parsed(text).columns}
    assert names <= set(COLUMNS)


@pytest.mark.parametrize(("text", "names"), [
    ("transform(arr, v -> v + a)", ["arr", "a"]),
    ("aggregate(arr, x, (acc, v) -> acc + v + b)", ["arr", "x", "b"]),
    ("to_char(d, s)", ["d", "s"]), ("date_sub(ts, b)", ["ts", "b"]), ("count(a, b, x)", ["a", "b", "x"]),
    ("round(a, b, x)", ["a", "b", "x"]), ("struct(a AS k, b)", ["a", "b"]), ("timestampdiff(DAY, a, b)", ["a", "b"]),
    ("sum(a) FILTER (WHERE b > x)", ["a", "b", "x"]), ("first(a) IGNORE NULLS", ["a"]), ("a.b.c[x].d", ["a.b.c", "x"]),
    ("extract(DAY FROM ts)", ["ts"]), ("cast(a AS STRUCT<b: INT>)", ["a"]), ("make_interval(days => a)", ["a"]),
    ("interval(a, 95%)", ["a"]), ("period + error", ["period", "error"]),
])
def test_columns(text: str, names: list[str]) -> None:
    assert [".".join(column.parts) for column in parsed(text).columns] == names


@pytest.mark.parametrize(("one", "other"), [
    ("AVG( a )", "avg(a)"), ("a+b", "a  +  b"), ("CASE WHEN a THEN b END", "case when a then b end"),
    ("a\n-- why\n+ b", "a + b"), ("CAST(a AS INT)", "cast(a as int)"), ("f(a,b)[0].c", "F(a, b) [ 0 ] . c"),
])
def test_one_spelling(one: str, other: str) -> None:
    assert handed_on(one) == handed_on(other)


def test_what_names_a_field_keeps_its_case() -> None:
    assert handed_on("struct(a AS Foo)") == "struct(`a` as Foo)"
    assert handed_on("named_struct('Foo', a).Foo") == "named_struct('Foo', `a`).Foo"


@pytest.mark.parametrize(("one", "other", "same"), [
    ("a + b * c", "a + (b * c)", True), ("a + b * c", "(a + b) * c", False), ("f((a))", "f(a)", True),
    ("a - b - c", "a - (b - c)", False), ("NOT a = b", "NOT (a = b)", True), ("a AND b OR c", "a AND (b OR c)", False),
])
def test_brackets(one: str, other: str, same: bool) -> None:
    shapes, names = Shapes(), {"a": 0, "b": 1, "c": 2}
    whole = [shapes.of(text, names, "abc")[-1] for text in (one, other)]
    assert (whole[0] == whole[1]) is same


@pytest.mark.spark
def test_spark_gives_the_same_values(spark: SparkSession) -> None:
    """As written and as handed on: both in one row, so that one job compares them all."""
    pairs = [(text, handed_on(text)) for text in EACH]
    both = [f"({sql}) AS {side}{i}" for i, pair in enumerate(pairs) for side, sql in zip("wh", pair)]
    values = spark.sql(ROW).selectExpr(*both).collect()[0]
    differing = [pair for i, pair in enumerate(pairs) if repr(values[f"w{i}"]) != repr(values[f"h{i}"])]
    assert differing == []
