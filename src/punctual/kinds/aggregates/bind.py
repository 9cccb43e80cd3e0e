"""SELECT with GROUP BY or aggregates: answer expressions over the keys and aggregates of each group."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.errors import BindError
from punctual.kinds.aggregates.moments import not_estimated
from punctual.plan.aggregates import Aggregates
from punctual.plan.query import Order, Output
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_rows import bind_rows, check_rows
from punctual.sql.body_binder import BoundBody
from punctual.sql.expressions.bind_answer import AnswerBinder, output_name
from punctual.sql.expressions.function_names import is_aggregate
from punctual.sql.expressions.pieces import Pieces, render
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.select import OrderSyntax, SelectSyntax


def aggregates(select: SelectSyntax) -> bool:
    """Whether a SELECT makes groups of rows: it has GROUP BY, or an aggregate somewhere."""
    expressions = [item.expression for item in select.items] + [item.expression for item in select.order]
    calls = [call for e in (*expressions, select.having) if e is not None for call in e.calls]
    return bool(select.groups) or any(is_aggregate(call.name) for call in calls)


def bind_aggregates(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
    """The aggregates of a SELECT with its outputs, HAVING and ORDER BY."""
    if select.distinct is not None:
        problems.needs_rows("SELECT DISTINCT", select.distinct)
    if not bound.complete:
        return None
    if any(item.syntax.model for item in bound.streams):
        check_rows(select, bound, problems)
        return None
    rows, key_pieces = bind_rows(select, bound, problems)
    binder = AnswerBinder(bound.scope, rows.where, key_pieces, problems)
    outputs, aliases, selected = _outputs(select, binder)
    having = None
    if select.having is not None and not _is_probability(select.having, bound.scope, problems):
        having = render(binder.bind(select.having, "grouped columns first", aliases), select.having.span)
    order = tuple(_order(item, binder, aliases, selected) for item in select.order)
    if problems:
        return None
    body = Aggregates(rows, tuple(binder.aggregates), having)
    if rows.windows and not_estimated(body):
        problems.needs_rows("a join of two streams", bound.joined)
        return None
    return BoundBody(body, outputs, order, select.limit)


def _is_probability(having: ExpressionSyntax, scope: Scope, problems: Problems) -> bool:
    """``HAVING PROBABILITY >= 0.8``: the probability of a result row, which is no column."""
    for column in having.columns:
        if column.parts[0].lower() == "probability" and not scope.find(column.parts):
            problems.not_yet("HAVING PROBABILITY", having.span)
            return True
    return False


def _outputs(
    select: SelectSyntax, binder: AnswerBinder
) -> tuple[tuple[Output, ...], Mapping[str, Pieces], list[Pieces]]:
    """The columns of the answer, what their names stand for in other clauses, and their pieces."""
    outputs: list[Output] = []
    aliases: dict[str, Pieces] = {}
    names: set[str] = set()
    selected: list[Pieces] = []
    for item in select.items:
        if item.expression is None:
            binder.problems.needs_rows("SELECT *", item.span)
            selected.append(())
            continue
        pieces = binder.bind(item.expression, "columns first", aliases)
        selected.append(pieces)
        name = output_name(item, names, binder.problems)
        if item.alias is not None:
            aliases[item.alias.text.lower()] = pieces
        outputs.append(Output(name, render(pieces, item.expression.span)))
    return tuple(outputs), aliases, selected


def _order(
    item: OrderSyntax, binder: AnswerBinder, aliases: Mapping[str, Pieces], selected: list[Pieces]
) -> Order:
    nulls_first = item.ascending if item.nulls_first is None else item.nulls_first
    pieces: Pieces = ()
    with binder.problems.part():
        pieces = _ordered(item.expression, binder, aliases, selected)
    return Order(render(pieces, item.expression.span), item.ascending, nulls_first)


def _ordered(
    expression: ExpressionSyntax, binder: AnswerBinder, aliases: Mapping[str, Pieces], selected: list[Pieces]
) -> Pieces:
    if len(expression.tokens) == 1 and expression.tokens[0].text.isdecimal():
        number = int(expression.tokens[0].text)
        if not 1 <= number <= len(selected):
            raise BindError(
                "bind.bad-ordinal", f"there is no SELECT item {number}", span=expression.span,
                detail=f"SELECT has {len(selected)} items",
            )
        return selected[number - 1]
    return binder.bind(expression, "aliases first", aliases)
