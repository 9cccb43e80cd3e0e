"""A call of an aggregate function: its argument as a row expression, its constants, its FILTER."""

from __future__ import annotations

from dataclasses import replace

from punctual.errors import BindError, Span
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import Expression
from punctual.plan.functions import FUNCTIONS, canonical
from punctual.plan.rows import Constant, Predicate
from punctual.sql.expressions.bind_predicate import bind_filter
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.function_names import refuse_aggregate
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import Call, ExpressionSyntax, NeedsRowsError, split_commas
from punctual.sql.syntax.tokens import Token

Parameter = Constant | tuple[Constant, ...]


def bind_aggregate(
    expression: ExpressionSyntax, call: Call, scope: Scope, where: Predicate, problems: Problems
) -> Aggregate | None:
    """The aggregate that a call means, or None with the reason noted in ``problems``."""
    before = len(problems.errors)
    refusal = refuse_aggregate(expression, call)
    if refusal is not None:
        for first, end in call.arguments:
            _check_names(expression.part(first, end), scope, problems)
        problems.add(refusal)
        return None
    conditions: tuple[Expression, ...] = ()
    if call.where is not None:
        own, conditions = bind_filter(expression.part(*call.where), scope, problems)
        where = where & own
    aggregate = None
    with problems.part():
        aggregate = _aggregate(expression, call, scope, problems)
    if aggregate is None or len(problems.errors) > before:
        return None
    return replace(aggregate, where=where, conditions=conditions)


def _aggregate(expression: ExpressionSyntax, call: Call, scope: Scope, problems: Problems) -> Aggregate:
    name = canonical(call.name)
    assert name is not None
    function, span = FUNCTIONS[name], expression.place(call.first, call.end)
    arguments, ignore_nulls = call.arguments, call.ignore_nulls
    if not arguments:
        raise _wrong(f"{call.name} needs an argument", span, "count(*) counts rows" if name == "count" else None)
    if name in ("first", "last"):
        # any_value(x, true) and first(x, true) are the older way to write IGNORE NULLS
        if len(arguments) == 2 and _word(expression, arguments[1]) in ("TRUE", "FALSE"):
            ignore_nulls = ignore_nulls or _word(expression, arguments[1]) == "TRUE"
            arguments = arguments[:1]
    elif ignore_nulls:
        raise _wrong(f"IGNORE NULLS does not fit {call.name}", span)
    if call.distinct and function.distinct is None:
        raise NeedsRowsError(f"{call.name}(DISTINCT ...)", span)
    if name == "count" and len(arguments) > 1:
        raise NeedsRowsError("count of several columns", span)
    fewest, most = function.parameters
    given = len(arguments) - 1
    if not fewest <= given <= most:
        wanted = f"{fewest + 1}" if fewest == most else f"{fewest + 1} to {most + 1}"
        raise _wrong(f"{call.name} takes {wanted} argument{'s' if most else ''}, not {given + 1}", span)
    parameters = tuple(_parameter(expression, part) for part in arguments[1:])
    _check_parameters(name, parameters, span)
    argument: Expression | None = None
    tokens = expression.tokens[slice(*arguments[0])]
    if tokens[0].word == "*" and len(tokens) == 1:
        if name != "count" or call.distinct:
            raise _wrong(f"{call.name} needs a column, not *", span)
    elif not (name == "count" and not call.distinct and len(tokens) == 1 and tokens[0].kind in ("number", "string")):
        argument = row_expression(expression.part(*arguments[0]), scope, "aggregate", problems)
    # the least and the greatest of the distinct values are those of all values
    distinct = call.distinct and function.distinct != function.synopsis
    return Aggregate(name, argument, parameters, distinct, ignore_nulls, span=span)


def _check_parameters(name: str, parameters: tuple[Parameter, ...], span: Span) -> None:
    if name == "approx_percentile":
        shares = parameters[0] if isinstance(parameters[0], tuple) else (parameters[0],)
        if not shares or not all(isinstance(s, int | float) and 0 <= s <= 1 for s in shares):
            raise _wrong("a percentage is a number from 0 to 1", span, "for example: approx_percentile(x, 0.95)")
        if len(parameters) > 1 and not (isinstance(parameters[1], int) and 0 < parameters[1] < 2**31):
            raise _wrong("an accuracy is a whole number above 0", span)
    elif name == "approx_count_distinct" and parameters:
        share = parameters[0]
        if not (isinstance(share, int | float) and 0 < share < 1):
            raise _wrong("a relative standard deviation is a number between 0 and 1", span)


def _parameter(expression: ExpressionSyntax, part: tuple[int, int]) -> Parameter:
    first, end = part
    tokens = expression.tokens[first:end]
    if len(tokens) > 2 and tokens[0].word == "ARRAY" and tokens[1].word == "(":
        inner = split_commas(expression.tokens, first + 2, end - 1)
        return tuple(_constant(expression.tokens[slice(*item)], expression, item) for item in inner)
    return _constant(tokens, expression, part)


def _constant(tokens: tuple[Token, ...], expression: ExpressionSyntax, part: tuple[int, int]) -> Constant:
    sign = -1 if tokens and tokens[0].word == "-" else 1
    rest = tokens[1:] if sign < 0 else tokens
    if len(rest) != 1 or rest[0].kind != "number":
        span = expression.place(*part) if part[0] < part[1] else expression.span
        raise _wrong("this must be a plain number", span)
    text = rest[0].text.rstrip("DdLlBb")
    try:
        return sign * (int(text) if text.isdecimal() else float(text))
    except ValueError:
        raise _wrong("this must be a plain number", rest[0].span) from None


def _check_names(expression: ExpressionSyntax, scope: Scope, problems: Problems) -> None:
    for column in expression.columns:
        with problems.part():
            scope.resolve(column, expression)


def _word(expression: ExpressionSyntax, part: tuple[int, int]) -> str:
    return expression.tokens[part[0]].word if part[1] - part[0] == 1 else ""


def _wrong(fact: str, span: Span, hint: str | None = None) -> BindError:
    return BindError("bind.bad-argument", fact, span=span, hint=hint)
