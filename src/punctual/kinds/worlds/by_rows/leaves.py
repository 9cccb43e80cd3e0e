"""What stands in expressions of answers where Spark has computed everything in every world: columns of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from punctual.errors import BindError
from punctual.kinds.worlds.bind_leaves import EXAMPLES, SUMMARIES, parameter_of, refuse_nested
from punctual.plan.world_expression import CertainColumn, WorldAggregate, WorldExpression, WorldSummary
from punctual.plan.worlds import Folded, Summary, Summed, WorldFunction
from punctual.sql.expressions.bind_world import world_expression
from punctual.sql.expressions.function_names import MONTE_CARLO, is_aggregate
from punctual.sql.problems import not_yet
from punctual.sql.syntax.expression import Call, ExpressionSyntax

FIRST_COLUMN = 3
"""The number of the first column, after the round and both remarks (``lateral_text.py``)."""


def is_over_rows(expression: ExpressionSyntax) -> bool:
    """Whether an aggregate stands in it; a function with OVER is none."""
    return any(
        is_aggregate(call.name) and call.name not in MONTE_CARLO and not _has_over(expression, call)
        for call in expression.calls
    )


def has_over(expression: ExpressionSyntax) -> bool:
    return any(_has_over(expression, call) for call in expression.calls)


def _has_over(expression: ExpressionSyntax, call: Call) -> bool:
    return call.window is not None and expression.text_at(call.window).upper() == "OVER"


@dataclass(slots=True)
class RowLeaves:
    """Gathers the columns that Spark has to give, and what is said of them over all worlds.

    grouped : whether a result row is a group; else rows with the same keys are one
    is_key : whether result rows are told apart by it
    differs : whether it may differ between worlds
    stored : whether a plain aggregate counts rows that do not exist in a world
    """

    grouped: bool
    is_key: Callable[[ExpressionSyntax], bool]
    differs: Callable[[ExpressionSyntax], bool]
    stored: bool
    columns: list[ExpressionSyntax] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    aggregates: list[Folded] = field(default_factory=list)
    summaries: list[Summed] = field(default_factory=list)

    def bind(self, expression: ExpressionSyntax) -> WorldExpression:
        """A column of answers: what it is made of where EXPECTED and the others stand in it, else its expectation."""
        return world_expression(expression, self) if self.has_summary(expression) else self._plain(expression)

    def has_summary(self, expression: ExpressionSyntax) -> bool:
        return any(call.name in MONTE_CARLO for call in expression.calls)

    def number(self, expression: ExpressionSyntax) -> int:
        """The number of a column that Spark gives."""
        said = [token.text.lower() if token.kind == "word" else token.text for token in expression.tokens]
        for number, known in enumerate(self.columns, FIRST_COLUMN):
            if said == [token.text.lower() if token.kind == "word" else token.text for token in known.tokens]:
                return number
        self.columns.append(expression)
        return len(self.columns) - 1 + FIRST_COLUMN

    def _plain(self, part: ExpressionSyntax) -> WorldExpression:
        number = self.number(part)
        if self.is_key(part):
            if number not in self.keys:
                self.keys.append(number)
            return CertainColumn(self.keys.index(number))
        if self.stored and is_over_rows(part):
            raise not_yet(
                f"{part.text} over rows that may not exist, where Spark answers", part.span,
                f"EXPECTED({part.text}) is over the rows that exist in a world",
            )
        if not self.differs(part):
            same = Folded("max", CertainColumn(number), span=part.span)
            return self._summed(Summed("SAME", self._folded(same), span=part.span))
        return self._summed(Summed("EXPECTED", self._value(part), span=part.span))

    def _value(self, part: ExpressionSyntax) -> WorldAggregate:
        """What a result row has in a world."""
        function: WorldFunction = "max" if self.grouped else "value"
        return self._folded(Folded(function, CertainColumn(self.number(part)), span=part.span))

    # -- of expressions that are taken apart --------------------------------------------------------

    def is_certain(self, part: ExpressionSyntax) -> bool:
        return not self.has_summary(part) and (bool(part.columns) or bool(part.calls))

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        return self._plain(part)

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        return self._plain(part)

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        if call.name not in MONTE_CARLO:
            return None
        span, name = part.place(call.first, call.end), call.name
        wanted = 1 if name in ("expected", "probability") else 2
        if len(call.arguments) != wanted:
            raise BindError(
                "bind.bad-argument", f"{name.upper()} takes {wanted} argument{'s' if wanted > 1 else ''}", span=span,
                hint=f"for example: {EXAMPLES[name]}",
            )
        of = part.part(*call.arguments[0])
        refuse_nested(of)
        parameter = parameter_of(part, call, span) if wanted == 2 else 0.0
        summary: Summary = next(one for one in SUMMARIES if one.lower() == name)
        return self._summed(Summed(summary, self._value(of), parameter, span))

    def _folded(self, folded: Folded) -> WorldAggregate:
        if folded not in self.aggregates:
            self.aggregates.append(folded)
        return WorldAggregate(self.aggregates.index(folded))

    def _summed(self, summed: Summed) -> WorldSummary:
        if summed not in self.summaries:
            self.summaries.append(summed)
        return WorldSummary(self.summaries.index(summed))
