"""The rows of a SELECT: joins take their equalities, WHERE is split, GROUP BY gives the keys."""

from __future__ import annotations

from dataclasses import replace

from punctual.errors import BindError
from punctual.plan.expression import Expression
from punctual.plan.rows import GroupedRows
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_join import bind_joins
from punctual.sql.bind_nested import check_names
from punctual.sql.expressions.bind_predicate import bind_predicate, conjuncts
from punctual.sql.expressions.bind_row import row_pieces
from punctual.sql.expressions.function_names import is_aggregate
from punctual.sql.expressions.pieces import Pieces, render
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.select import ItemSyntax, SelectSyntax


def bind_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> tuple[GroupedRows, list[Pieces]]:
    """The rows in their groups, and the pieces of each key, by which answer expressions find it."""
    rows = _filtered(select, bound, problems)
    keys, pieces = _keys(select, bound.scope, problems)
    return replace(rows, keys=keys), pieces


def _filtered(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> GroupedRows:
    """Joins and WHERE."""
    parts = conjuncts(select.where) if select.where is not None else []
    found = bind_joins(bound, parts, problems)
    return GroupedRows(found.joins, *bind_predicate(found.left, bound.scope, problems), same=found.same)


def check_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    """Look up the names of a SELECT that is refused anyway, so that its author sees all that is wrong with it."""
    _filtered(select, bound, problems)
    check_names(select, bound.scope, problems)


def _keys(select: SelectSyntax, scope: Scope, problems: Problems) -> tuple[tuple[Expression, ...], list[Pieces]]:
    keys: dict[Expression, Pieces] = {}
    for group in select.groups:
        expression = group
        with problems.part():
            expression = _group_expression(group, select, scope)
        row = row_pieces(expression, scope, "GROUP BY", problems)
        keys.setdefault(render(row, group.span), row)
    return tuple(keys), list(keys.values())


def _group_expression(group: ExpressionSyntax, select: SelectSyntax, scope: Scope) -> ExpressionSyntax:
    """What GROUP BY 2 and GROUP BY alias stand for, by Spark's rules: a column goes before an alias."""
    item = _ordinal(group, select)
    if item is None and len(group.columns) == 1 and len(group.tokens) == 1 and not scope.find(group.columns[0].parts):
        name = group.columns[0].parts[0].lower()
        item = next((i for i in select.items if i.alias is not None and i.alias.text.lower() == name), None)
    if item is None or item.expression is None:
        return group
    if any(is_aggregate(call.name) for call in item.expression.calls):
        raise BindError(
            "bind.aggregate-in-group-by", "an aggregate cannot stand in GROUP BY", span=group.span,
            detail=f'"{group.text}" stands for {item.expression.text}',
        )
    return item.expression


def _ordinal(expression: ExpressionSyntax, select: SelectSyntax) -> ItemSyntax | None:
    if len(expression.tokens) != 1 or not expression.tokens[0].text.isdecimal():
        return None
    number = int(expression.tokens[0].text)
    if not 1 <= number <= len(select.items):
        raise BindError(
            "bind.bad-ordinal", f"there is no SELECT item {expression.text}", span=expression.span,
            detail=f"SELECT has {len(select.items)} items",
        )
    return select.items[number - 1]
