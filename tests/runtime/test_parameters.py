"""Constants become columns only where that cannot change the meaning."""

from __future__ import annotations

import pyarrow as pa
import pytest

from punctual.own_names import own
from punctual.runtime.backend import Question
from punctual.runtime.parameters import parametrised
from punctual.sql.expressions.pieces import Piece, render, to_pieces
from punctual.sql.syntax.expression import ColumnReference, parse_expression
from punctual.sql.syntax.tokens import tokenize

INTS = {"a0": pa.array([1, 2, 3])}
DOUBLES = {"a0": pa.array([1.0, 2.0]), "a1": pa.array([0.5, 0.25])}


def ask(text: str, columns: dict[str, pa.Array]) -> Question:
    expression = parse_expression(text, tokenize(text)[0])

    def column(reference: ColumnReference) -> tuple[Piece, ...]:
        return (Piece(reference.parts[0], "answer", expression.place(reference.first, reference.end)),)

    return parametrised(Question((render(to_pieces(expression, column)),), (pa.bool_(),), columns))


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("a0 > 5", INTS, "a0 > p0"),
        ("a0 > 5 AND NOT a0 < 3", INTS, "a0 > p0 and not a0 < p1"),
        ("(a0 * 2)", DOUBLES, "(a0 * p0)"),
        ("a0 > 2.5", DOUBLES, "a0 > p0"),
        ("a0 > 1e3", DOUBLES, "a0 > p0"),
    ],
)
def test_plain_expressions(text: str, columns: dict[str, pa.Array], expected: str) -> None:
    assert ask(text, columns).expressions[0].written == expected


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("round(a0, 2)", DOUBLES),
        ("a0 > 2.5", INTS),  # Spark compares as decimals
        ("a0 > 3000000000", INTS),  # a BIGINT literal
        ("a0 > 0.1 + 0.2", DOUBLES),  # decimal arithmetic of constants
        ("k0 = 'x5'", {"k0": pa.array(["x5"])}),
        ("a0 > 5", {"a0": pa.array([None], pa.decimal128(10, 2))}),
        ("case when a0 > 5 then 1 end", INTS),
        ("round(a0, 2) > 5 and a0 > 2", DOUBLES),
        ("a0 || 5", INTS),
        ("a0 > 5L", INTS),
        ("a0 > 1.5BD", DOUBLES),
        ("(1) * (2) > a0", INTS),
    ],
)
def test_what_stays_as_it_is(text: str, columns: dict[str, pa.Array]) -> None:
    assert ask(text, columns).expressions[0].written == text


def test_values_and_types_of_the_columns() -> None:
    asked = ask("a0 > 5 AND a1 < 0.25", DOUBLES)
    assert asked.columns[own("p0")].to_pylist() == [5, 5]
    assert asked.columns[own("p0")].type == pa.int32()
    assert asked.columns[own("p1")].to_pylist() == [0.25, 0.25]
