"""WHERE and FILTER split into conjuncts: comparisons that the kernel evaluates, and the rest for Spark.

A comparison goes to the kernel only where its type pair is compared there exactly as Spark would: integers with
integers (a fraction moves the bound to the next integer), floating point with numbers that are exact in the type in
which Spark compares, strings by equality. When in doubt a conjunct stays opaque; that is slower, never wrong.
A conjunct that is NULL drops the row just as one that is false does, so NULL needs no care here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from punctual.plan.expression import Expression, column_of, compose, truth
from punctual.plan.rows import Comparison, Constant, Operator, Predicate
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ExpressionSyntax, matching, top_level

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
INT64 = 2**63
NUMBER = re.compile(r"(?=\.?[0-9])[0-9]{0,38}\.?[0-9]{0,38}(e[+-]?[0-9]{1,2})?")
EXACT_DOUBLE = 2**53
EXACT_FLOAT = 2**24


def conjuncts(expression: ExpressionSyntax) -> list[ExpressionSyntax]:
    """The parts of a condition that AND holds together; brackets around a conjunction are opened."""
    tokens = expression.tokens
    if tokens[0].word == "(" and matching(tokens, 0) == len(tokens) - 1:
        return conjuncts(expression.part(1, len(tokens) - 1)) if len(tokens) > 2 else [expression]
    cuts = _top_level_ands(expression)
    if not cuts:
        return [expression]
    bounds = zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(tokens)])
    return [part for first, end in bounds for part in conjuncts(expression.part(first, end))]


def bind_predicate(
    parts: list[ExpressionSyntax], scope: Scope, problems: Problems
) -> tuple[Predicate, tuple[Expression, ...]]:
    """WHERE: comparisons and opaque conditions; the latter once more in the order written."""
    comparisons, conditions = _split(parts, scope, "WHERE", problems)
    return Predicate(conditions, comparisons) & Predicate(), conditions


def bind_filter(
    expression: ExpressionSyntax, scope: Scope, problems: Problems
) -> tuple[Predicate, tuple[Expression, ...]]:
    """FILTER: comparisons only; a condition that is none becomes one on its own truth."""
    comparisons, conditions = _split(conjuncts(expression), scope, "FILTER", problems)
    truths = tuple(Comparison(truth(condition), "=", (1,)) for condition in conditions)
    return Predicate((), (*comparisons, *truths)) & Predicate(), conditions


def _split(
    parts: list[ExpressionSyntax], scope: Scope, place: str, problems: Problems
) -> tuple[tuple[Comparison, ...], tuple[Expression, ...]]:
    found: list[Comparison] = []
    conditions: list[Expression] = []
    for part in parts:
        comparisons = kernel_comparisons(part, scope)
        condition = _condition(part, scope, place, problems)
        if comparisons is None:
            conditions.append(condition)
        else:
            found += comparisons
    return tuple(found), tuple(conditions)


def kernel_comparisons(part: ExpressionSyntax, scope: Scope) -> list[Comparison] | None:
    """The comparisons that a conjunct is, or None where Spark must evaluate it."""
    tree = part.tree
    sides: list[tuple[Operator, list[exp.Expression]]]
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        column, sides = tree.this, [(">=", [tree.args["low"]]), ("<=", [tree.args["high"]])]
    elif isinstance(tree, exp.In) and tree.expressions and not (tree.args.get("query") or tree.args.get("unnest")):
        column, sides = tree.this, [("in", tree.expressions)]
    elif type(tree) in OPERATORS:
        operator, column, other = OPERATORS[type(tree)], tree.this, tree.expression
        if not isinstance(column, exp.Column):
            operator, column, other = MIRRORED[operator], other, column
        sides = [(operator, [other])]
    else:
        return None
    if not isinstance(column, exp.Column) or len(part.columns) != 1:
        return None
    found = scope.find(part.columns[0].parts)
    if len(found) != 1 or found[0].used != len(part.columns[0].parts):
        return None
    resolved = found[0]
    comparisons = []
    for operator, literals in sides:
        values = [_literal(literal, part) for literal in literals]
        if any(value is None for value in values):
            return None
        known = [value for value in values if value is not None]
        comparison = _compare(column_of(resolved.name), resolved.column.type, operator, known)
        if comparison is None:
            return None
        comparisons.append(comparison)
    return comparisons


def _condition(part: ExpressionSyntax, scope: Scope, place: str, problems: Problems) -> Expression:
    condition = row_expression(part, scope, place, problems)
    return compose("(", condition, ")", span=part.span) if isinstance(part.tree, exp.Or) else condition


def _top_level_ands(expression: ExpressionSyntax) -> list[int]:
    """Indices of the ANDs that hold the whole expression together; none under an OR, a BETWEEN or a CASE."""
    if not isinstance(expression.tree, exp.And):
        return []
    cuts, between = [], 0
    for index, word in top_level(expression.tokens):
        between += word == "BETWEEN"
        if word == "AND" and between:
            between -= 1
        elif word == "AND":
            cuts.append(index)
    return cuts


_Value = tuple[str, Fraction | str]
"""``("string", text)``, ``("exact", number)`` for integers and decimals, ``("double", number)``."""


def _literal(tree: exp.Expression, part: ExpressionSyntax) -> _Value | None:
    sign = 1
    while isinstance(tree, exp.Paren | exp.Neg):
        sign, tree = (-sign if isinstance(tree, exp.Neg) else sign), tree.this
    if not isinstance(tree, exp.Literal):
        return None
    if tree.is_string:
        # An escape means what Spark says it means.
        plain = sign == 1 and not any("\\" in t.text or len(t.raw) > 1 for t in part.tokens if t.kind == "string")
        return ("string", tree.name) if plain else None
    text = tree.name.lower()
    if not NUMBER.fullmatch(text):
        return None
    number = Fraction(text) * sign
    if "e" in text:
        return ("double", Fraction(float(number)))
    digits = len(text.replace(".", ""))
    return ("exact", number) if digits <= (18 if "." in text else 38) else None


def _compare(column: Expression, declared: str, operator: Operator, values: list[_Value]) -> Comparison | None:
    kinds = {kind for kind, _ in values}
    if declared == "STRING":
        if kinds != {"string"} or operator not in ("=", "<>", "in"):
            return None
        return Comparison(column, operator, _constants(str(value) for _, value in values))
    if "string" in kinds:
        return None
    numbers = [(kind, value) for kind, value in values if isinstance(value, Fraction)]
    if declared in INTEGERS:
        return _compare_integers(column, operator, numbers)
    if declared in ("FLOAT", "DOUBLE"):
        return _compare_floats(column, declared, operator, numbers)
    return None


def _compare_integers(column: Expression, operator: Operator, values: list[tuple[str, Fraction]]) -> Comparison | None:
    mixed = len({kind for kind, _ in values}) > 1
    if mixed or any(abs(v) >= (EXACT_DOUBLE if kind == "double" else INT64) for kind, v in values):
        return None
    if operator in ("in", "="):
        whole = _constants(int(v) for _, v in values if v.denominator == 1)
        if operator == "=" and whole:
            return Comparison(column, "=", whole)
        return Comparison(column, "in", whole)
    (value,) = (v for _, v in values)
    if value.denominator == 1:
        return Comparison(column, operator, (int(value),))
    if operator == "<>":
        return None
    if operator in (">", ">="):
        return Comparison(column, ">=", (ceil(value),))
    return Comparison(column, "<=", (floor(value),))


def _compare_floats(
    column: Expression, declared: str, operator: Operator, values: list[tuple[str, Fraction]]
) -> Comparison | None:
    """Spark compares DOUBLE with any number as doubles; FLOAT with an integer as floats, with the others as doubles."""
    if declared == "FLOAT" and any(v.denominator == 1 and abs(v) > EXACT_FLOAT for _, v in values):
        return None
    return Comparison(column, operator, _constants(float(v) for _, v in values))


def _constants(values: object) -> tuple[Constant, ...]:
    """In order and once each, so that two ways of writing a list are one comparison."""
    return tuple(sorted(set(values)))  # type: ignore[call-overload]
