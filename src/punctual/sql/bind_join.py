"""Joins with static tables: which equalities enrich a row, and in which order.

Every table needs at least one equality between one of its columns and an expression over what is already there (the
stream, and tables joined before). Tables may be reached in another order than written, so a table may stand before
the stream; a LEFT JOIN waits for what its own condition names.
"""

from __future__ import annotations

from sqlglot import exp

from punctual.errors import BindError
from punctual.plan.query import Join
from punctual.sql.bind_from import BoundFrom, TableItem
from punctual.sql.bind_row import row_sql
from punctual.sql.problems import Problems
from punctual.sql.scope import Relation, Scope
from punctual.sql.syntax.expression import Expression, matching


def bind_joins(
    bound: BoundFrom, where: list[Expression], problems: Problems
) -> tuple[tuple[Join, ...], list[Expression]]:
    """The joins in an order that works, and the conditions that are left for WHERE."""
    conditions = [*where, *bound.conditions]
    if not bound.as_one:
        return (), conditions
    stream, scope = bound.streams[0].relation, bound.scope
    joins: list[Join] = []
    there = {stream.alias.lower()}
    waiting = list(bound.tables)
    while waiting:
        for item in waiting:
            left = item.left_on is not None
            usable = conditions if item.left_on is None else list(item.left_on)
            pairs, rest = _equalities(item.relation, usable, there, scope, problems)
            if pairs and not (left and rest):
                break
        else:
            break
        conditions = conditions if left else rest
        joins.append(Join(item.relation.name, item.relation.alias, "left" if left else "inner", tuple(pairs)))
        there.add(item.relation.alias.lower())
        waiting.remove(item)
    for item in waiting:
        _refuse(item, stream, there, scope, problems)
    return tuple(joins), conditions


def _refuse(item: TableItem, stream: Relation, there: set[str], scope: Scope, problems: Problems) -> None:
    """Say what keeps a table from being joined."""
    if item.left_on is None:
        problems.add(_no_equality(item, stream))
        return
    pairs, rest = _equalities(item.relation, list(item.left_on), there, scope, problems)
    for condition in rest:
        row_sql(condition, scope, "ON", problems)
        problems.not_yet("a LEFT JOIN on anything but equalities with columns of its table", condition.span)
    if not pairs and not rest:
        problems.add(_no_equality(item, stream))


def _equalities(
    table: Relation, conditions: list[Expression], there: set[str], scope: Scope, problems: Problems
) -> tuple[list[tuple[str, str]], list[Expression]]:
    pairs, rest = [], []
    for condition in conditions:
        pair = _equality(table, condition, there, scope, problems)
        if pair is None:
            rest.append(condition)
        else:
            pairs.append(pair)
    return pairs, rest


def _equality(
    table: Relation, condition: Expression, there: set[str], scope: Scope, problems: Problems
) -> tuple[str, str] | None:
    sides = _sides(condition)
    if sides is None:
        return None
    for mine, other in (sides, sides[::-1]):
        if len(mine.columns) != 1 or mine.columns[0].end - mine.columns[0].first != len(mine.tokens):
            continue
        columns = scope.find(mine.columns[0].parts)
        if len(columns) != 1 or columns[0].relation != table or columns[0].used != len(mine.columns[0].parts):
            continue
        used = [scope.find(column.parts) for column in other.columns]
        if used and all(len(f) == 1 and f[0].relation.alias.lower() in there for f in used):
            return row_sql(other, scope, "ON", problems), columns[0].column.name
    return None


def _sides(condition: Expression) -> tuple[Expression, Expression] | None:
    """Both sides of ``a = b``."""
    if not isinstance(condition.tree, exp.EQ):
        return None
    equals, index, cases = [], 0, 0
    while index < len(condition.tokens):
        word = condition.tokens[index].word
        if word in ("(", "["):
            index = matching(condition.tokens, index)
        cases += (word == "CASE") - (word == "END")
        if cases == 0 and word in ("=", "=="):
            equals.append(index)
        index += 1
    if len(equals) != 1:
        return None
    return condition.part(0, equals[0]), condition.part(equals[0] + 1, len(condition.tokens))


def _no_equality(item: TableItem, stream: Relation) -> BindError:
    table = item.relation
    return BindError(
        "bind.no-join-condition",
        f'table "{table.name}" is joined by no equality of one of its columns',
        span=item.syntax.span,
        detail="a row is enriched by the rows of a table that equal it in some column",
        hint=f"for example: {stream.alias}.{stream.columns[0].name} = {table.alias}.{table.columns[0].name}",
    )
