"""The body of a query whose answer has a row for each group: aggregates over the group's rows of the window."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.query import Body
from punctual.plan.rows import EVERY_ROW, Constant, GroupedRows, Predicate


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One call of an aggregate function over a row expression.

    ``function`` is a name of ``plan.functions.FUNCTIONS``; ``argument`` is None for ``count(*)``;
    ``parameters`` are constants after the argument (percentages, accuracy), ``ignore_nulls`` is for first and last;
    ``where`` is the query's WHERE together with the call's FILTER; ``conditions`` are those of the FILTER that are in
    it by their truth; ``span`` is its place in the program.
    """

    function: str
    argument: Expression | None
    parameters: tuple[Constant | tuple[Constant, ...], ...] = ()
    distinct: bool = False
    ignore_nulls: bool = False
    where: Predicate = EVERY_ROW
    conditions: tuple[Expression, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Aggregates(Body):
    """Calls over the rows of each group; ``having`` is an answer expression, and decides which groups are answered."""

    rows: GroupedRows
    calls: tuple[Aggregate, ...]
    having: Expression | None = None

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """What WHERE and FILTERs leave to Spark."""
        return (*self.rows.conditions, *(condition for call in self.calls for condition in call.conditions))
