"""Row expressions: what is computed from one enriched row, before any aggregate."""

from __future__ import annotations

from punctual.errors import BindError
from punctual.plan.expression import Expression
from punctual.sql.expressions.function_names import is_aggregate, refuse_calls
from punctual.sql.expressions.pieces import Piece, Pieces, render, to_pieces
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ColumnReference, ExpressionSyntax

PLACES = {
    "WHERE": ("bind.aggregate-in-where", "an aggregate cannot stand in WHERE", "write the condition in HAVING"),
    "ON": ("bind.aggregate-in-where", "an aggregate cannot stand in a join condition", None),
    "GROUP BY": ("bind.aggregate-in-group-by", "an aggregate cannot stand in GROUP BY", None),
    "TOP": ("bind.aggregate-in-top", "an aggregate cannot be selected with TOP", "TOP ranks rows, not groups of them"),
    "ORDER BY": ("bind.aggregate-in-top", "an aggregate cannot be a score", "TOP ranks rows, not groups of them"),
    "AS": ("bind.aggregate-in-column", "an aggregate cannot stand in a column's definition", None),
    "aggregate": ("bind.nested-aggregate", "an aggregate cannot stand inside another", None),
    "FILTER": ("bind.nested-aggregate", "an aggregate cannot stand inside another's FILTER", "use HAVING"),
    "PARTITION BY": ("bind.aggregate-in-window", "an aggregate cannot stand in a window", None),
    "MODEL": ("bind.aggregate-in-model", "an aggregate cannot stand in a model", None),
    "IF": ("bind.aggregate-in-column", "an aggregate cannot stand in a column's definition", None),
}


def row_pieces(expression: ExpressionSyntax, scope: Scope, place: str, problems: Problems) -> Pieces:
    """An expression over the enriched row; everything wrong with it is noted in ``problems``.

    Parameters
    ----------
    place : str
        Where it stands, a key of ``PLACES``: it decides what is said about an aggregate.
    """
    code, fact, hint = PLACES[place]
    for error in refuse_calls(expression, scope):
        problems.add(error)
    for call in expression.calls:
        span = expression.place(call.first, call.end)
        if is_aggregate(call.name) or scope.function(call.name) is not None:
            problems.add(BindError(code, fact, span=span, hint=hint))
        elif call.name == "now":
            problems.needs_rows(f"now() in {place}", span)

    def replace(reference: ColumnReference) -> tuple[Piece, ...]:
        with problems.part():
            return scope.pieces(reference, expression)
        return ()

    return to_pieces(expression, replace)


def row_expression(expression: ExpressionSyntax, scope: Scope, place: str, problems: Problems) -> Expression:
    """The same as a value of the plan."""
    return render(row_pieces(expression, scope, place, problems), expression.span)
