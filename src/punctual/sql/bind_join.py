"""Joins with static tables, and with further windows: which equalities enrich a row, and in which order.

Every table needs at least one equality between one of its columns and an expression over what is already there (the
stream, and tables joined before). Tables may be reached in another order than written, so a table may stand before
the stream; a LEFT JOIN waits for what its own condition names. The window of another stream is joined like a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from punctual.errors import BindError
from punctual.plan.rows import Join
from punctual.sql.bind_from import BoundFrom, StreamItem, TableItem
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Resolved, Scope
from punctual.sql.problems import Problems
from punctual.sql.same_columns import same_columns
from punctual.sql.syntax.expression import ExpressionSyntax, top_level

Joined = StreamItem | TableItem


@dataclass(frozen=True, slots=True)
class _Equality:
    """``column = other``: a way to join the table of the column once the tables of the other side are there."""

    table: Relation
    column: str
    other: ExpressionSyntax
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct and the equalities that it can be read as: none, or one for each side that is a column.

    ``pairs`` has both columns where it is an equality of two.
    """

    expression: ExpressionSyntax
    equalities: tuple[_Equality, ...]
    pairs: tuple[tuple[Resolved, Resolved], ...] = ()

    def joins(self, table: Relation, there: set[str]) -> _Equality | None:
        return next((e for e in self.equalities if e.table == table and e.needs <= there), None)


@dataclass(frozen=True, slots=True)
class BoundJoins:
    """The joins in an order that works, the conditions that are left for WHERE, and `GroupedRows.same`."""

    joins: tuple[Join, ...]
    left: list[ExpressionSyntax]
    same: tuple[tuple[str, ...], ...] = ()


def bind_joins(bound: BoundFrom, where: list[ExpressionSyntax], problems: Problems) -> BoundJoins:
    """What FROM and WHERE join."""
    if not bound.streams or (not bound.as_one and bound.joined is None):
        return BoundJoins((), [*where, *bound.conditions])
    stream, scope = bound.streams[0].relation, bound.scope
    conditions = every = [_read(condition, scope) for condition in (*where, *bound.conditions)]
    joins: list[Join] = []
    there = {stream.alias.lower()}
    windows = [item for item in bound.streams if item.relation.joined]
    waiting: list[tuple[Joined, list[_Condition] | None]] = [(item, None) for item in windows]
    waiting += [
        (item, None if item.left_on is None else [_read(condition, scope) for condition in item.left_on])
        for item in bound.tables
    ]
    while (ready := _first_ready(waiting, conditions, there)) is not None:
        index, pairs, rest = ready
        item, left_on = waiting.pop(index)
        conditions = rest if left_on is None else conditions
        on = tuple((row_expression(pair.other, scope, "ON", problems), pair.column) for pair in pairs)
        how: Literal["inner", "left"] = "inner" if left_on is None else "left"
        joins.append(Join(item.relation.name, item.relation.alias, how, on, isinstance(item, StreamItem)))
        there.add(item.relation.alias.lower())
    for item, left_on in waiting:
        pairs, rest = _equalities(item.relation, left_on or [], there)
        for condition in rest:
            row_expression(condition.expression, scope, "ON", problems)
            what = "a LEFT JOIN on anything but equalities with columns of its table"
            problems.needs_rows(what, condition.expression.span)
        if isinstance(item, StreamItem):
            problems.needs_rows("a join of streams by no equality", item.syntax.span)
        elif not pairs and not rest:
            if any(_names(condition.expression, item.relation, scope) for condition in conditions):
                problems.needs_rows("a join of a table by no equality", item.syntax.span)
            else:
                problems.add(_no_equality(item, stream))
    named = {item.relation.alias: item.relation for item in windows}
    joined = [stream, *(named[join.alias] for join in joins if join.windowed)]
    same = same_columns(joined, [pair for one in every for pair in one.pairs]) if windows else ()
    return BoundJoins(tuple(joins), [condition.expression for condition in conditions], same)


def _first_ready(
    waiting: list[tuple[Joined, list[_Condition] | None]], conditions: list[_Condition], there: set[str]
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
    if sides is None:
        return _Condition(condition, ())
    equalities = []
    columns = [_plain_column(side, scope) for side in sides]
    for column, other in zip(columns, sides[::-1]):
        used = [scope.find(one.parts) for one in other.columns]
        if column is not None and used and all(len(choices) == 1 for choices in used):
            needs = frozenset(choices[0].relation.alias.lower() for choices in used)
            equalities.append(_Equality(column.relation, column.column.name, other, needs))
    left, right = columns
    pairs = ((left, right),) if left is not None and right is not None else ()
    return _Condition(condition, tuple(equalities), pairs)


def _plain_column(side: ExpressionSyntax, scope: Scope) -> Resolved | None:
    """The column that a side of an equality is, None where it is anything else."""
    if len(side.columns) != 1 or side.columns[0].end - side.columns[0].first != len(side.tokens):
        return None
    found = scope.find(side.columns[0].parts)
    return found[0] if len(found) == 1 and found[0].used == len(side.columns[0].parts) else None


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
