"""Answer expressions: SELECT, HAVING and ORDER BY over group keys, aggregates and the instant.

Model
-----
An expression is rewritten in three steps: calls become names of aggregates (equal calls share one), ``now()`` the
name of the instant; names become row columns or, by the rules of the clause, what an alias stands for; then whatever
equals a grouping expression becomes the name of that key (:mod:`punctual.sql.expressions.grouping`). A column that is
left is neither grouped nor aggregated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from punctual.errors import BindError, Span
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import INSTANT, aggregate_name
from punctual.plan.rows import Predicate
from punctual.sql.expressions.bind_aggregate import bind_aggregate
from punctual.sql.expressions.function_names import is_aggregate, refuse_calls
from punctual.sql.expressions.grouping import Grouping
from punctual.sql.expressions.pieces import Piece, Pieces, bracketed, to_pieces
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import Call, ColumnReference, ExpressionSyntax
from punctual.sql.syntax.select import ItemSyntax

AliasRule = Literal["columns first", "grouped columns first", "aliases first"]
"""Spark's order of looking names up: in SELECT, in HAVING, in ORDER BY."""


@dataclass(slots=True)
class AnswerBinder:
    """Binds the answer expressions of one query and gathers the aggregates that they need."""

    scope: Scope
    where: Predicate
    keys: Sequence[Pieces]
    problems: Problems
    aggregates: list[Aggregate] = field(default_factory=list)
    _grouping: Grouping = field(init=False)
    _numbers: dict[Aggregate, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._grouping = Grouping(self.keys)

    def bind(self, expression: ExpressionSyntax, rule: AliasRule, aliases: Mapping[str, Pieces]) -> Pieces:
        """An expression over keys, aggregates and the instant; what is wrong is noted in ``problems``."""
        for error in refuse_calls(expression, self.scope, aliases):
            self.problems.add(error)
        calls: dict[int, tuple[int, Pieces]] = {}
        outer_end = 0
        for call in expression.calls:
            span = expression.place(call.first, call.end)
            if call.first < outer_end:
                continue
            if is_aggregate(call.name):
                calls[call.first] = (call.end, (self._aggregate(expression, call, span),))
                outer_end = call.end
            elif call.name == "now" and not call.arguments:
                calls[call.first] = (call.end, (Piece(INSTANT, "answer", span),))

        def name(reference: ColumnReference) -> Pieces:
            return self._name(expression, reference, rule, aliases)

        pieces = self._grouping.with_keys(to_pieces(expression, name, calls))
        for piece in pieces:
            if piece.kind == "column":
                written = expression.text_at(piece.span)
                self.problems.add(BindError(
                    "bind.not-grouped",
                    f'column "{written}" is neither grouped nor aggregated',
                    span=piece.span,
                    hint=f"add {written} to GROUP BY, or aggregate it, for example: max({written})",
                ))
        return pieces

    def _aggregate(self, expression: ExpressionSyntax, call: Call, span: Span) -> Piece:
        aggregate = bind_aggregate(expression, call, self.scope, self.where, self.problems)
        if aggregate is None:
            return Piece("NULL", "source", span)
        # What the call is made of counts, not where it stands and how its FILTER is written.
        index = self._numbers.setdefault(replace(aggregate, conditions=(), span=None), len(self.aggregates))
        if index == len(self.aggregates):
            self.aggregates.append(aggregate)
        return Piece(aggregate_name(index), "answer", span)

    def _name(
        self, expression: ExpressionSyntax, reference: ColumnReference, rule: AliasRule, aliases: Mapping[str, Pieces]
    ) -> Pieces:
        alias = aliases.get(reference.parts[0].lower()) if len(reference.parts) == 1 else None
        if alias is not None:
            found = self.scope.find(reference.parts)
            names = {one.name for one in found}
            grouped = any(len(key) == 1 and key[0].kind == "column" and key[0].text in names for key in self.keys)
            if rule == "aliases first" or not found or (rule == "grouped columns first" and not grouped):
                return bracketed(alias, expression.place(reference.first, reference.end))
        with self.problems.part():
            return self.scope.pieces(reference, expression)
        return (Piece("NULL", "source", expression.place(reference.first, reference.end)),)


def output_name(item: ItemSyntax, taken: set[str], problems: Problems) -> str:
    """What a selected expression is called in the answer; ``taken`` are the names so far, in lower case."""
    expression = item.expression
    assert expression is not None
    column = expression.columns[0] if expression.columns else None
    if item.alias is not None:
        name = item.alias.text
    elif column is not None and column.end - column.first == len(expression.tokens):
        name = column.parts[-1]
    else:
        name = expression.text
    if name.lower() in taken:
        problems.add(BindError(
            "bind.duplicate-name", f'the answer has two columns "{name}"',
            span=item.alias.span if item.alias else item.span,
            hint=f"rename one of them: AS {name}_2" if item.alias else "rename one of them with AS",
        ))
    taken.add(name.lower())
    return name
