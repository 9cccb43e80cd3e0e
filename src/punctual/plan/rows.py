"""Which rows a query reads, and in which groups: enrichment, conditions and group keys, with every name resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.plan.expression import Expression

Operator = Literal["<", "<=", "=", ">=", ">", "<>", "in"]
Constant = int | float | str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A declared column against constants, of a type pair that the kernel compares as Spark does.

    ``column`` is a row expression that is one column, or the truth of a condition. Integers are compared with integers
    (a fraction was rounded to the equivalent integer bound), FLOAT and DOUBLE with floats, STRING with strings by = and
    IN only. ``values`` has one constant, or several for ``in``.
    """

    column: Expression
    operator: Operator
    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A conjunction: opaque parts evaluated by Spark, comparisons evaluated in the kernel."""

    opaque: tuple[Expression, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            tuple(sorted({*self.opaque, *other.opaque}, key=lambda condition: condition.sql)),
            tuple(sorted({*self.comparisons, *other.comparisons}, key=_place)),
        )


def _place(comparison: Comparison) -> tuple[str, str, str]:
    """Any order will do, as long as it does not depend on how the program is written."""
    return comparison.column.sql, comparison.operator, repr(comparison.values)


EVERY_ROW = Predicate()


@dataclass(frozen=True, slots=True)
class Join:
    """Enrichment of a row by a static table: ``row_expression = table_column`` for every pair."""

    table: str
    alias: str
    how: Literal["inner", "left"]
    on: tuple[tuple[Expression, str], ...]


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """The rows of a window, enriched by static tables and cut into groups.

    ``where`` decides which rows count, and so which groups exist; ``conditions`` are its opaque parts as written.
    """

    joins: tuple[Join, ...] = ()
    where: Predicate = EVERY_ROW
    conditions: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
