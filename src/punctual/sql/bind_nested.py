"""SELECTs that do not run yet, such as subqueries: their names and clauses are checked all the same."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.catalog import Catalog
from punctual.sql.bind_clauses import check_clauses
from punctual.sql.bind_from import bind_from
from punctual.sql.body_binder import BodyBinder, binder_of
from punctual.sql.expressions.function_names import refuse_calls
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax, leaves


def refuse_nested(
    select: SelectSyntax,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    problems: Problems,
) -> None:
    """Subqueries of FROM (FROM itself refuses those), and the SELECT after UNION ALL."""
    for item in leaves(select.source):
        if isinstance(item.source, SelectSyntax):
            _check(item.source, catalog, failed, binders, problems)
    if select.union is not None:
        problems.needs_rows("UNION ALL", select.union_span)
        _check(select.union, catalog, failed, binders, problems)


def check_names(select: SelectSyntax, scope: Scope, problems: Problems) -> None:
    """The columns and calls of SELECT, GROUP BY, HAVING and ORDER BY."""
    aliases = {item.alias.text.lower() for item in select.items if item.alias is not None}
    selected = [item.expression for item in select.items]
    ordered = [item.expression for item in select.order]
    for expression in (*selected, *select.groups, select.having, *ordered):
        if expression is None:
            continue
        for column in expression.columns:
            if not (column.parts[0].lower() in aliases and len(column.parts) == 1):
                with problems.part():
                    scope.resolve(column, expression)
        for error in refuse_calls(expression, scope):
            problems.add(error)


def _check(
    select: SelectSyntax,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    problems: Problems,
) -> None:
    bound = bind_from(select, catalog, failed, problems)
    check_clauses(select, bound, binder_of(select, bound, binders), problems)
    if bound.complete:
        check_names(select, bound.scope, problems)
        for condition in (*bound.conditions, *([select.where] if select.where is not None else ())):
            for column in condition.columns:
                with problems.part():
                    bound.scope.resolve(column, condition)
    refuse_nested(select, catalog, failed, binders, problems)
