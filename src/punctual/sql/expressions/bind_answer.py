"""Answer expressions: SELECT, HAVING and ORDER BY over group keys, aggregates and the instant.

Model
-----
An expression is rewritten in three steps: calls become names of aggregates (equal calls share one), ``now()`` the
name of the instant; names become row columns or, by the rules of the clause, what an alias stands for; then whatever
equals a grouping expression becomes the name of that key. A column that is left is neither grouped nor aggregated.

A grouping expression of several tokens counts as found only where it is an operand: ``lane + 1`` is inside
``lane + 1 * 2`` as text, not as meaning. sqlglot decides: brackets around the find must not change the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from punctual.errors import BindError, Span
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import INSTANT, aggregate_name, key_name
from punctual.plan.rows import Predicate
from punctual.sql.expressions.bind_aggregate import bind_aggregate
from punctual.sql.expressions.bind_row import column_names
from punctual.sql.expressions.function_names import is_aggregate, refuse_calls
from punctual.sql.expressions.pieces import Piece, Pieces, bracketed, render, to_pieces
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.expression import ColumnReference, ExpressionSyntax, same_but_for_brackets
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

    def bind(self, expression: ExpressionSyntax, rule: AliasRule, aliases: Mapping[str, Pieces]) -> Pieces:
        """An expression over keys, aggregates and the instant; what is wrong is noted in ``problems``."""
        for error in refuse_calls(expression, column_names(self.scope) | set(aliases)):
            self.problems.add(error)
        calls: dict[int, tuple[int, Pieces]] = {}
        outer_end = 0
        for call in expression.calls:
            span = expression.place(call.first, call.end)
            if call.first < outer_end:
                continue
            if is_aggregate(call.name):
                calls[call.first] = (call.end, (self._aggregate(expression, call.first, span),))
                outer_end = call.end
            elif call.name == "now" and not call.arguments:
                calls[call.first] = (call.end, (Piece(INSTANT, "answer", span),))

        def name(reference: ColumnReference) -> Pieces:
            return self._name(expression, reference, rule, aliases)

        pieces = to_pieces(expression, name, calls)
        for index in sorted(range(len(self.keys)), key=lambda i: -len(self.keys[i])):
            pieces = _replace_key(pieces, self.keys[index], key_name(index))
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

    def _aggregate(self, expression: ExpressionSyntax, first: int, span: Span) -> Piece:
        call = next(call for call in expression.calls if call.first == first)
        aggregate = bind_aggregate(expression, call, self.scope, self.where, self.problems)
        if aggregate is None:
            return Piece("NULL", "source", span)
        index = next((i for i, known in enumerate(self.aggregates) if _same(known, aggregate)), len(self.aggregates))
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


def _same(one: Aggregate, other: Aggregate) -> bool:
    return (
        one.function, one.argument, one.parameters, one.distinct, one.ignore_nulls, one.where
    ) == (other.function, other.argument, other.parameters, other.distinct, other.ignore_nulls, other.where)


def _replace_key(pieces: Pieces, key: Pieces, name: str) -> Pieces:
    wanted = [(piece.kind, piece.text) for piece in key]
    index = 0
    while wanted and index + len(wanted) <= len(pieces):
        end = index + len(wanted)
        here = pieces[index:end]
        same = [(piece.kind, piece.text) for piece in here] == wanted
        if same and (len(wanted) == 1 or _is_operand(pieces, index, end)):
            pieces = (*pieces[:index], Piece(name, "answer", here[0].span), *pieces[end:])
        index += 1
    return pieces


def _is_operand(pieces: Pieces, first: int, end: int) -> bool:
    if first > 0 and end < len(pieces) and (pieces[first - 1].text, pieces[end].text) == ("(", ")"):
        return True  # it is all that the brackets hold
    here = pieces[first].span
    inside = (Piece("(", "symbol", here), *pieces[first:end], Piece(")", "symbol", here))
    return same_but_for_brackets(render(pieces).sql, render((*pieces[:first], *inside, *pieces[end:])).sql)
