"""Expressions of certain columns alone that kernels compute as Spark would: nobody has to ask Spark for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from punctual.errors import BindError, ParseError
from punctual.plan.world_expression import CertainColumn, OfColumns, WorldExpression
from punctual.sql.expressions.bind_predicate import INTEGERS
from punctual.sql.expressions.bind_world import world_expression
from punctual.sql.expressions.scope import Scope
from punctual.sql.syntax.expression import Call, ExpressionSyntax

RECKONED = (*INTEGERS, "FLOAT", "DOUBLE", "BOOLEAN", "STRING")
"""Types of columns that can be reckoned with in every world; others are Spark's."""


def is_column(part: ExpressionSyntax) -> bool:
    """Whether it is the name of a column, or of a field of one."""
    return len(part.columns) == 1 and part.columns[0].end - part.columns[0].first == len(part.tokens)


def known(part: ExpressionSyntax, scope: Scope) -> OfColumns | None:
    """What it is of the columns that it names; None for what only Spark knows.

    Whole numbers with decimals are DECIMAL in Spark, and here they would be doubles.
    """
    found = (scope.find(reference.parts) for reference in part.columns)
    whole = any(one.column.type in INTEGERS for several in found for one in several)
    if whole and any(token.kind == "number" and "." in token.text for token in part.tokens):
        return None
    columns = _Columns(scope)
    try:
        expression = world_expression(part, columns)
    except (BindError, ParseError):
        return None
    return OfColumns(expression, tuple(columns.numbers))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Leaves that are columns as they are, by number."""

    scope: Scope
    numbers: dict[str, int] = field(default_factory=dict)

    def is_certain(self, part: ExpressionSyntax) -> bool:
        found = self.scope.find(part.columns[0].parts) if is_column(part) else []
        return bool(found) and all(
            one.used == len(part.columns[0].parts) and one.column.type in RECKONED for one in found
        )

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        name = self.scope.find(part.columns[0].parts)[0].name
        return CertainColumn(self.numbers.setdefault(name, len(self.numbers)))

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        raise BindError("bind.not-in-worlds", "a field, or a type that is Spark's", span=part.span)

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        return None
