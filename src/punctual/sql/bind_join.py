"""Joins with static tables: which equalities enrich a row, and in which order.

Every table needs at least one equality between one of its columns and an expression over what is already there (the
stream, and tables joined before). Tables may be reached in another order than written, so a table may stand before
the stream; a LEFT JOIN waits for what its own condition names.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from punctual.errors import BindError
from punctual.plan.rows import Join
from punctual.sql.bind_from import BoundFrom, TableItem
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ExpressionSyntax, top_level


@dataclass(frozen=True, slots=True)
class _Equality:
    """``column = other``: a way to join the table of the column once the tables of the other side are there."""

    table: Relation
    column: str
    other: ExpressionSyntax
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct and the equalities that it can be read as: none, or one for each side that is a table's column."""

    expression: ExpressionSyntax
    equalities: tuple[_Equality, ...]

    def joins(self, table: Relation, there: set[str]) -> _Equality | None:
        return next((e for e in self.equalities if e.table == table and e.needs <= there), None)


def bind_joins(
    bound: BoundFrom, where: list[ExpressionSyntax], problems: Problems
) -> tuple[tuple[Join, ...], list[ExpressionSyntax]]:
    """The joins in an order that works, and the conditions that are left for WHERE."""
    if not bound.as_one:
        return (), [*where, *bound.conditions]
    stream, scope = bound.streams[0].relation, bound.scope
    conditions = [_read(condition, scope) for condition in (*where, *bound.conditions)]
    joins: list[Join] = []
    there = {stream.alias.lower()}
    waiting = [
        (item, None if item.left_on is None else [_read(condition, scope) for condition in item.left_on])
        for item in bound.tables
    ]
    while (ready := _first_ready(waiting, conditions, there)) is not None:
        index, pairs, rest = ready
        item, left_on = waiting.pop(index)
        conditions = rest if left_on is None else conditions
        on = tuple((row_expression(pair.other, scope, "ON", problems), pair.column) for pair in pairs)
        joins.append(Join(item.relation.name, item.relation.alias, "inner" if left_on is None else "left", on))
        there.add(item.relation.alias.lower())
    for item, left_on in waiting:
        pairs, rest = _equalities(item.relation, left_on or [], there)
        for condition in rest:
            row_expression(condition.expression, scope, "ON", problems)
            what = "a LEFT JOIN on anything but equalities with columns of its table"
            problems.needs_rows(what, condition.expression.span)
        if not pairs and not rest:
            if any(_names(condition.expression, item.relation, scope) for condition in conditions):
                problems.needs_rows("a join of a table by no equality", item.syntax.span)
            else:
                problems.add(_no_equality(item, stream))
    return tuple(joins), [condition.expression for condition in conditions]


def _first_ready(
    waiting: list[tuple[TableItem, list[_Condition] | None]], conditions: list[_Condition], there: set[str]
) -> tuple[int, list[_Equality], list[_Condition]] | None:
    """The index of the first table that can be joined with what is there, how, and the conditions that are left."""
    for index, (item, left_on) in enumerate(waiting):
        pairs, rest = _equalities(item.relation, conditions if left_on is None else left_on, there)
        if pairs and (left_on is None or not rest):
            return index, pairs, rest
    return None


def _equalities(
    table: Relation, conditions: list[_Condition], there: set[str]
) -> tuple[list[_Equality], list[_Condition]]:
    """Those that join the table, and the conditions that are left."""
    pairs, rest = [], []
    for condition in conditions:
        pair = condition.joins(table, there)
        if pair is None:
            rest.append(condition)
        else:
            pairs.append(pair)
    return pairs, rest


def _read(condition: ExpressionSyntax, scope: Scope) -> _Condition:
    sides = _sides(condition)
    equalities = []
    for mine, other in (sides, sides[::-1]) if sides is not None else ():
        if len(mine.columns) != 1 or mine.columns[0].end - mine.columns[0].first != len(mine.tokens):
            continue
        columns = scope.find(mine.columns[0].parts)
        if len(columns) != 1 or columns[0].used != len(mine.columns[0].parts):
            continue
        used = [scope.find(column.parts) for column in other.columns]
        if used and all(len(choices) == 1 for choices in used):
            needs = frozenset(choices[0].relation.alias.lower() for choices in used)
            equalities.append(_Equality(columns[0].relation, columns[0].column.name, other, needs))
    return _Condition(condition, tuple(equalities))


def _sides(condition: ExpressionSyntax) -> tuple[ExpressionSyntax, ExpressionSyntax] | None:
    """Both sides of ``a = b``."""
    if not isinstance(condition.tree, exp.EQ):
        return None
    equals = [index for index, word in top_level(condition.tokens) if word in ("=", "==")]
    if len(equals) != 1:
        return None
    return condition.part(0, equals[0]), condition.part(equals[0] + 1, len(condition.tokens))


def _names(condition: ExpressionSyntax, table: Relation, scope: Scope) -> bool:
    """Whether a condition names a column of the table."""
    return any(found.relation == table for column in condition.columns for found in scope.find(column.parts))


def _no_equality(item: TableItem, stream: Relation) -> BindError:
    table = item.relation
    return BindError(
        "bind.no-join-condition",
        f'table "{table.name}" is joined by no equality of one of its columns',
        span=item.syntax.span,
        detail="a row is enriched by the rows of a table that equal it in some column",
        hint=f"for example: {stream.alias}.{stream.columns[0].name} = {table.alias}.{table.columns[0].name}",
    )
