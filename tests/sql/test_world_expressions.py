"""Expressions over worlds are split as Spark's grammar says, and what is certain is left whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from punctual.errors import BindError, ParseError
from punctual.kernel.draw import bundle_values
from punctual.plan.world_expression import (
    OPERATIONS,
    CertainColumn,
    Constant,
    DrawnAttribute,
    Operation,
    WorldAggregate,
    WorldExpression,
)
from punctual.sql.expressions.bind_world import CASTS, FUNCTIONS, MOST_DIGITS, world_expression
from punctual.sql.syntax.expression import Call, ExpressionSyntax, parse_expression
from punctual.sql.syntax.tokens import tokenize

AGGREGATES = ("sum", "count")


@dataclass
class Toy:
    """Columns that begin with u are uncertain, and so are aggregates."""

    certains: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    aggregates: list[str] = field(default_factory=list)

    def is_certain(self, part: ExpressionSyntax) -> bool:
        drawn = any(column.parts[-1].startswith("u") for column in part.columns)
        return not drawn and not any(call.name in AGGREGATES for call in part.calls)

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        self.certains.append(part.text)
        return CertainColumn(len(self.certains) - 1)

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        self.attributes.append(part.text)
        return DrawnAttribute(len(self.attributes) - 1)

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        assert (call.first, call.end) == (0, len(part.tokens))
        if call.name not in AGGREGATES:
            return None
        self.aggregates.append(part.text)
        return WorldAggregate(len(self.aggregates) - 1)


def parsed(text: str) -> ExpressionSyntax:
    tokens, broken = tokenize(text)
    assert broken is None
    return parse_expression(text, tokens)


def bound(text: str, toy: Toy | None = None) -> WorldExpression:
    return world_expression(parsed(text), toy or Toy())


def shown(expression: WorldExpression, toy: Toy) -> str:
    """In prefix form: what is certain in square brackets, constants in angles."""
    match expression:
        case Constant(value):
            return f"<{value!r}>"
        case CertainColumn(number):
            return f"[{toy.certains[number]}]"
        case DrawnAttribute(number):
            return toy.attributes[number]
        case WorldAggregate(number):
            return toy.aggregates[number]
        case Operation(name, arguments):
            return f"({' '.join([name, *(shown(argument, toy) for argument in arguments)])})"
    raise AssertionError(expression)


def read(text: str) -> str:
    toy = Toy()
    return shown(bound(text, toy), toy)


def operations(expression: WorldExpression) -> Iterator[Operation]:
    if isinstance(expression, Operation):
        yield expression
        for argument in expression.arguments:
            yield from operations(argument)


@pytest.mark.parametrize(("text", "expected"), [
    ("u OR v AND NOT u = 1", "(or u (and [v] (not (= u <1>))))"),
    ("NOT u AND u", "(and (not u) u)"), ("NOT NOT u", "(not (not u))"), ("! u OR u", "(or (not u) u)"),
    ("u AND u AND u OR u", "(or (and u u u) u)"),
    ("u BETWEEN 1 AND 2 AND u", "(and (and (>= u <1>) (<= u <2>)) u)"),
    ("NOT u BETWEEN 1 AND 2 OR u", "(or (not (and (>= u <1>) (<= u <2>))) u)"),
    ("u AND u BETWEEN 1 AND 2 AND u NOT BETWEEN a AND u + 1",
     "(and u (and (>= u <1>) (<= u <2>)) (not (and (>= u [a]) (<= u (+ u <1>)))))"),
    ("u = u IS NULL", "(is null (= u u))"), ("u + 1 IS NOT NULL", "(not (is null (+ u <1>)))"),
    ("NOT u IS NULL", "(not (is null u))"), ("u < u = u", "(= (< u u) u)"),
    ("u == 1 <> u != 2", "(<> (<> (= u <1>) u) <2>)"),
    ("u <=> 1", "(<=> u <1>)"), ("u <= 1 >= u", "(>= (<= u <1>) u)"),
    ("u IS TRUE", "(<=> u <True>)"), ("u IS NOT FALSE", "(not (<=> u <False>))"), ("u IS UNKNOWN", "(is null u)"),
    ("u IS NOT DISTINCT FROM a + u", "(<=> u (+ [a] u))"), ("u IS DISTINCT FROM 1", "(not (<=> u <1>))"),
    ("u IN (1, a, u + 1)", "(in u <1> [a] (+ u <1>))"), ("u + 1 NOT IN (2)", "(not (in (+ u <1>) <2>))"),
    ("u + u - u", "(- (+ u u) u)"), ("u - (u - u)", "(- u (- u u))"), ("u + u * u", "(+ u (* u u))"),
    ("u * u / u % u DIV u", "(div (% (/ (* u u) u) u) u)"), ("- u * u", "(* (negative u) u)"),
    ("u + 1 < a - u", "(< (+ u <1>) (- [a] u))"),
    ("u - -u", "(- u (negative u))"), ("u * -2", "(* u <-2>)"), ("+u", "u"), ("- -u", "(negative (negative u))"),
    ("-(u)", "(negative u)"), ("((u))", "u"), ("u>-1", "(> u <-1>)"),
    ("CASE WHEN u THEN 1 WHEN a THEN u ELSE 3 END + 1", "(+ (case u <1> [a] u <3>) <1>)"),
    ("CASE u WHEN 1 THEN 'x' WHEN u + 1 THEN 'y' END", "(case (= u <1>) <'x'> (= u (+ u <1>)) <'y'>)"),
    ("CASE WHEN u OR a AND u THEN CASE WHEN u THEN u END ELSE CASE a WHEN 1 THEN u END END",
     "(case (or u (and [a] u)) (case u u) (case (= [a] <1>) u))"),
    ("IF(u, 1, 2)", "(case u <1> <2>)"), ("ifnull(u, 0) + NVL(u, 1)", "(+ (coalesce u <0>) (coalesce u <1>))"),
    ("round(u)", "(round u)"), ("round(u + 1, 2)", "(round (+ u <1>) <2>)"), ("log(u)", "(ln u)"),
    ("CAST(u AS DOUBLE)", "(double u)"), ("cast(u + 1 AS INT) * 2", "(* (int (+ u <1>)) <2>)"),
    ("CAST(CAST(u AS double) AS bigint)", "(whole (double u))"),
    ("sum(u) FILTER (WHERE u > 1) / count(*)", "(/ sum(u) FILTER (WHERE u > 1) count(*))"),
    ("abs(sum(a) - 1)", "(abs (- sum(a) <1>))"), ("s.u + `u`", "(+ s.u `u`)"), ("s.u = s.and", "(= s.u [s.and])"),
])  # fmt: skip
def test_forms(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("a + b * 2", "[a + b * 2]"), ("a + b + u", "(+ [a + b] u)"), ("u + a + b", "(+ (+ u [a]) [b])"),
    ("a + b - c + u * (a - b)", "(+ [a + b - c] (* u [(a - b)]))"),
    ("a AND upper(b) = 'x' AND u", "(and [a AND upper(b) = 'x'] u)"),
    ("u AND (a OR b)", "(and u [(a OR b)])"), ("1 + 2", "[1 + 2]"), ("u + 1 + 2", "(+ (+ u <1>) <2>)"),
    ("u = upper(a) || 'x'", "(= u [upper(a) || 'x'])"), ("u > DATE '2024-01-01'", "(> u [DATE '2024-01-01'])"),
    ("u = 'it''s'", "(= u ['it''s'])"), ("u = 'a\\nb'", "(= u ['a\\nb'])"), ("u = r'x'", "(= u [r'x'])"),
    ("u = 0.1F", "(= u [0.1F])"), ("u = 128Y", "(= u [128Y])"), ("u = arr[1]", "(= u [arr[1]])"),
    ("a LIKE 'x%' OR u", "(or [a LIKE 'x%'] u)"), ("greatest(u, a + 1)", "(greatest u [a + 1])"),
])  # fmt: skip
def test_the_largest_certain_parts_are_left_whole(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(("text", "value"), [
    ("1", 1), ("(1)", 1), ("-1", -1), ("+ 1", 1), ("2L", 2), ("3S", 3), ("-128Y", -128), ("1.5", 1.5), (".5", 0.5),
    ("-.5", -0.5), ("5.", 5.0), ("1e3", 1000.0), ("-1.5E-3", -0.0015), ("2D", 2.0), ("1.5BD", 1.5), ("2e1D", 20.0),
    ("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1), ("9223372036854775808", 2.0**63),
    ("'a b'", "a b"), ('"q"', "q"), ("''", ""), ("TRUE", True), ("(false)", False), ("null", None),
])  # fmt: skip
def test_literals(text: str, value: object) -> None:
    expression = bound(text)
    assert isinstance(expression, Constant)
    assert (type(expression.value), expression.value) == (type(value), value)


def test_only_a_double_has_a_negative_zero() -> None:
    assert [read(text) for text in ("-0.0", "-0.0D", "-0e0")] == ["<0.0>", "<-0.0>", "<-0.0>"]


@pytest.mark.parametrize(("text", "place"), [
    ("1 + upper(u)", "upper(u)"), ("u || 'x' = 'y'", "u || 'x'"), ("a AND u LIKE 'x%'", "u LIKE 'x%'"),
    ("u NOT RLIKE 'x'", "u NOT RLIKE 'x'"), ("1 + log(2, u)", "log(2, u)"), ("floor(u, 1)", "floor(u, 1)"),
    ("round(u, -1)", "round(u, -1)"), ("round(u, 21)", "round(u, 21)"), ("round(u, u)", "round(u, u)"),
    ("round(u, a)", "round(u, a)"), ("pow(u)", "pow(u)"), ("least(u)", "least(u)"), ("if(u, 1)", "if(u, 1)"),
    ("2 * CAST(u AS DECIMAL(10, 2))", "CAST(u AS DECIMAL(10, 2))"), ("cast(u AS STRING)", "cast(u AS STRING)"),
    ("try_cast(u AS INT)", "try_cast(u AS INT)"), ("u::INT + 1", "u::INT"), ("u & 1 = 1", "u & 1"),
    ("a + ~u", "a + ~u"),
    ("u >> 2", "u >> 2"), ("1 + u[0]", "u[0]"), ("(u, 1) = a", "(u, 1)"), ("abs(DISTINCT u)", "abs(DISTINCT u)"),
    ("abs(u) FILTER (WHERE a)", "abs(u) FILTER (WHERE a)"),
    ("abs(u) OVER (ORDER BY a) > 1", "abs(u) OVER (ORDER BY a)"),
    ("transform(a, x -> x + u)", "transform(a, x -> x + u)"), ("u IS NULL IS NULL", "u IS NULL IS NULL"),
])  # fmt: skip
def test_what_no_world_knows_is_refused_at_its_place(text: str, place: str) -> None:
    with pytest.raises(BindError) as raised:
        bound(f"  {text}")
    error = raised.value
    assert error.code == "bind.not-in-worlds"
    assert error.span is not None
    assert f"  {text}"[error.span.start : error.span.end] == place
    assert error.fact == f'"{place}" cannot be computed in every world'
    assert error.detail


def test_what_is_said_of_a_refusal() -> None:
    with pytest.raises(BindError) as raised:
        bound("ceilling(u)")
    assert raised.value.hint == "did you mean ceiling or ceil?"
    assert raised.value.detail == (
        "Spark functions that are not known here may only be given certain values; functions of Python are registered"
        ' first: engine.world_function("ceilling", ...)'
    )
    for text, detail in (
        ("pow(u)", "pow takes 2 arguments here"), ("least(u)", "least takes 2 or more arguments here"),
        ("round(u, 1, 2)", "round takes 1 or 2 arguments here"), ("sin(u, 1)", "sin takes 1 argument here"),
        ("round(u, 99)", "a number is rounded to a constant number of digits, 0 to 20"),
        ("cast(u AS DATE)", "uncertain values are cast to DOUBLE, BIGINT and INT"),
    ):  # fmt: skip
        with pytest.raises(BindError) as raised:
            bound(text)
        assert raised.value.detail == detail


def test_an_operation_knows_its_place() -> None:
    text = "u + 1 < a AND NOT u IN (1, 2) OR CASE u WHEN abs( u ) THEN TRUE END"
    places = {(found.name, text[found.span.start : found.span.end]) for found in operations(bound(text)) if found.span}
    assert places == {
        ("or", text), ("and", "u + 1 < a AND NOT u IN (1, 2)"), ("<", "u + 1 < a"), ("+", "u + 1"),
        ("not", "NOT u IN (1, 2)"), ("in", "u IN (1, 2)"), ("case", "CASE u WHEN abs( u ) THEN TRUE END"),
        ("=", "abs( u )"), ("abs", "abs( u )"),
    }  # fmt: skip


def test_a_chain_grows_to_the_right() -> None:
    text = "u - 1 - 2 + 3"
    places = [text[found.span.start : found.span.end] for found in operations(bound(text)) if found.span]
    assert places == ["u - 1 - 2 + 3", "u - 1 - 2", "u - 1"]


def test_what_is_compared_with_several_values_is_one_part() -> None:
    """So it is evaluated once (`kinds/worlds/evaluate.py`)."""
    for text in ("u + 1 BETWEEN 1 AND 2", "CASE u + 1 WHEN 1 THEN 2 WHEN 3 THEN 4 END"):
        found = [one for one in operations(bound(text)) if one.name == "+"]
        assert len(found) == 2
        assert found[0] is found[1]


def test_what_is_nested_too_deep_is_an_error() -> None:
    for text in (f"{'abs(' * 90}{'NOT ' * 400}u{')' * 90}", f"{'- ' * 400}u"):
        with pytest.raises(ParseError, match="deep"):
            bound(text)


def test_names_agree() -> None:
    assert MOST_DIGITS == bundle_values.MOST_DIGITS
    assert {name for name, _fewest, _most in FUNCTIONS.values()} | set(CASTS.values()) <= OPERATIONS


# Printed with as few brackets as Spark's grammar allows, an expression reads as it does with all of them.

RANKS: dict[str, tuple[int, int, int]] = {
    "OR": (1, 1, 2), "AND": (2, 2, 3), "=": (5, 5, 6), "<": (5, 5, 6), "<=>": (5, 5, 6), "+": (6, 6, 7), "-": (6, 6, 7),
    "*": (7, 7, 8), "/": (7, 7, 8), "%": (7, 7, 8), "DIV": (7, 7, 8),
}  # fmt: skip
"""Of the operator, and what its left and right sides need at least."""


def random_texts(pick: random.Random, depth: int) -> tuple[str, str, int]:
    """An expression with few brackets and with all; and how tight its loosest operator binds."""
    if depth == 0:
        name = pick.choice(("u", "u2", "a", "1", "2.5"))
        return name, name, 9

    def side(needed: int, less: int = 1) -> tuple[str, str]:
        few, full, rank = random_texts(pick, depth - less)
        return (few if rank >= needed else f"({few})"), f"({full})"

    form = pick.randrange(16)
    if form < 10:
        operator = pick.choice(list(RANKS))
        rank, left, right = RANKS[operator]
        (one, one_full), (other, other_full) = side(left), side(right)
        return f"{one} {operator} {other}", f"{one_full} {operator} {other_full}", rank
    negation = pick.choice(("", "NOT "))
    few, full = side(5)
    if form == 10:
        few, full = side(3)
        return f"NOT {few}", f"NOT {full}", 3
    if form == 11:
        few, full = side(8)
        return f"- {few}", f"- {full}", 8
    if form == 12:
        end = f" IS {negation}{pick.choice(('NULL', 'TRUE'))}"
        return f"{few}{end}", f"{full}{end}", 4
    if form == 13:
        (low, low_full), (high, high_full) = side(6), side(6)  # sqlglot takes no comparison there
        return f"{few} {negation}BETWEEN {low} AND {high}", f"{full} {negation}BETWEEN {low_full} AND {high_full}", 4
    if form == 14:
        item, item_full = side(0)
        return f"{few} {negation}IN ({item}, u)", f"{full} {negation}IN ({item_full}, u)", 4
    (when, when_full), (then, then_full) = side(0), side(0)
    return f"CASE WHEN {when} THEN {then} END", f"CASE WHEN {when_full} THEN {then_full} END", 9


@pytest.mark.parametrize("seed", range(300))
def test_brackets_that_are_not_needed_change_nothing(seed: int) -> None:
    pick = random.Random(seed)
    few, full, _rank = random_texts(pick, pick.randint(1, 4))

    class NothingCertain(Toy):
        def is_certain(self, part: ExpressionSyntax) -> bool:
            return False

    one, other = NothingCertain(), NothingCertain()
    assert shown(flat(bound(few, one)), one) == shown(flat(bound(full, other)), other), few


def flat(expression: WorldExpression) -> WorldExpression:
    """``(a AND b) AND c`` as ``a AND b AND c``, and ``- (1)`` as ``-1``."""
    if not isinstance(expression, Operation):
        return expression
    arguments: list[WorldExpression] = []
    for argument in map(flat, expression.arguments):
        nested = isinstance(argument, Operation) and argument.name == expression.name in ("and", "or")
        arguments += argument.arguments if nested and isinstance(argument, Operation) else (argument,)
    first = arguments[0]
    if expression.name == "negative" and isinstance(first, Constant) and isinstance(first.value, int | float):
        return Constant(-first.value)
    return Operation(expression.name, tuple(arguments))
