"""``SELECT *`` and ``SELECT a.*``: the columns that they stand for, as if each had been written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot.tokenizer_core import Token as RawToken

from punctual.errors import Span
from punctual.plan.sql_text import quoted
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.syntax.expression import ExpressionSyntax, parse_expression
from punctual.sql.syntax.select import ItemSyntax, SelectSyntax
from punctual.sql.syntax.tokens import Token, tokenize


def starred(item: ItemSyntax, scope: Scope) -> tuple[Relation, ...]:
    """The FROM items of which a SELECT item wants all columns."""
    if item.expression is not None:
        return ()
    of = None if item.star_of is None else item.star_of.text.lower()
    return tuple(relation for relation in scope.relations if of in (None, relation.alias.lower()))


def with_all_columns(select: SelectSyntax, scope: Scope) -> SelectSyntax:
    """The SELECT with the columns in place of stars; what is wrong with one of them is wrong with the star."""
    items: list[ItemSyntax] = []
    for item in select.items:
        items += _columns(item, scope) if item.expression is None else [item]
    return replace(select, items=tuple(items))


def _columns(item: ItemSyntax, scope: Scope) -> Iterator[ItemSyntax]:
    for relation in starred(item, scope):
        for column in relation.columns:
            alone = len(scope.find((column.name,))) == 1
            text = quoted(column.name) if alone else f"{quoted(relation.alias)}.{quoted(column.name)}"
            yield ItemSyntax(_at(text, item.span), None, item.span)


def _at(text: str, span: Span) -> ExpressionSyntax:
    """A name as an expression whose place is that of the star; in messages it reads as a star."""
    tokens, _broken = tokenize(text)
    moved = [_moved(token, span.start + number) for number, token in enumerate(tokens)]
    moved[-1] = replace(moved[-1], end=max(moved[-1].end, span.end))
    return parse_expression(" " * span.start + "*".ljust(len(text)), tuple(moved))


def _moved(token: Token, start: int) -> Token:
    raw = tuple(RawToken(one.token_type, one.text, one.line, one.col, start, start, []) for one in token.raw)
    return Token(token.kind, token.text, token.value, start, start + 1, raw)
