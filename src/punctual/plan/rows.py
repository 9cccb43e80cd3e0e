"""Which rows a query reads, and in which groups: enrichment, conditions and group keys, with every name resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.own_names import joined_column
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
    """Enrichment of a row by a static table: ``row_expression = table_column`` for every pair.

    Where it is ``windowed``, ``table`` is a stream, and a row is joined with the rows of a window of it.
    """

    table: str
    alias: str
    how: Literal["inner", "left"]
    on: tuple[tuple[Expression, str], ...]
    windowed: bool = False


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """The rows of a window, enriched by static tables or joined with other windows, and cut into groups.

    ``where`` decides which rows count, and so which groups exist; ``conditions`` are its opaque parts as written.
    ``same`` has for each window columns, first for the one whose rows they are, then for those that it is joined with:
    in every joined row the first of them are equal, the second ones, and so on.
    """

    joins: tuple[Join, ...] = ()
    where: Predicate = EVERY_ROW
    conditions: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    same: tuple[tuple[str, ...], ...] = ()

    @property
    def windows(self) -> tuple[Join, ...]:
        """The windows that it is joined with."""
        return tuple(join for join in self.joins if join.windowed)

    @property
    def has_whole_keys(self) -> bool:
        """Whether every group has one value of all columns of ``same``: then a sample by them has whole groups."""
        grouped = {key.column for key in self.keys}
        names = ("", *(join.alias for join in self.windows))
        for columns in zip(*self.same):
            equal = {joined_column(name, column) if name else column for name, column in zip(names, columns)}
            for join in self.joins:
                equal |= {joined_column(join.alias, column) for row, column in join.on if row.column in equal}
            if not equal & grouped:
                return False
        return bool(self.same)
