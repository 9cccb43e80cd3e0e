"""Which rows a query reads, and in which groups: enrichment, conditions and group keys, with every name resolved.

*Row expressions* are Spark SQL text over the columns of the enriched row: a stream's column ``c`` as `` `c` ``, a
column ``c`` of a joined table with alias ``t`` as the one identifier `` `t.c` ``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.errors import Span

Operator = Literal["<", "<=", "=", ">=", ">", "<>", "in"]
Constant = int | float | str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A declared column against constants, of a type pair that the kernel compares as Spark does.

    ``column`` is a row expression that is one column, or the truth of a condition. Integers are compared with integers
    (a fraction was rounded to the equivalent integer bound), FLOAT and DOUBLE with floats, STRING with strings by = and
    IN only. ``values`` has one constant, or several for ``in``.
    """

    column: str
    operator: Operator
    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A conjunction: opaque parts evaluated by Spark, comparisons evaluated in the kernel."""

    opaque: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            tuple(sorted({*self.opaque, *other.opaque})),
            tuple(sorted({*self.comparisons, *other.comparisons}, key=repr)),
        )


EVERY_ROW = Predicate()


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct of WHERE or FILTER that Spark has to judge: a row expression, and its place in the program."""

    row: str
    span: Span | None = None

    @property
    def truth(self) -> str:
        """The row expression that is 1 where the condition holds, and 0 or NULL elsewhere."""
        return f"CAST(({self.row}) AS INT)"


@dataclass(frozen=True, slots=True)
class Join:
    """Enrichment of a row by a static table: ``row_expression = table_column`` for every pair."""

    table: str
    alias: str
    how: Literal["inner", "left"]
    on: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping expression."""

    row: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """The rows of a window, enriched by static tables and cut into groups.

    ``where`` decides which rows count, and so which groups exist; ``conditions`` are its opaque parts with their
    places.
    """

    joins: tuple[Join, ...] = ()
    where: Predicate = EVERY_ROW
    conditions: tuple[Condition, ...] = ()
    keys: tuple[Key, ...] = ()
