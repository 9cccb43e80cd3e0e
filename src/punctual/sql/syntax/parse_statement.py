"""One statement: which kind it is, then its own parser. A name is remembered even where the rest is wrong."""

from __future__ import annotations

from typing import Literal

from punctual.errors import ParseError, Span
from punctual.own_names import is_printable
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.parse_from import reject_leftover
from punctual.sql.syntax.parse_model import parse_create_model
from punctual.sql.syntax.parse_query import parse_create_query
from punctual.sql.syntax.parse_relation import parse_create_relation
from punctual.sql.syntax.statement import (
    CreateQuerySyntax,
    CreateRelationSyntax,
    CreateSyntax,
    DropSyntax,
    ExplainSyntax,
    FilesSyntax,
    KafkaSyntax,
    SetSyntax,
    StatementSyntax,
)
from punctual.sql.syntax.tokens import Token
from punctual.sql.syntax.written import Name

KINDS = ("STREAM", "TABLE", "MODEL", "QUERY")
DROPPED = ("QUERY", "MODEL")
AFTER_FILES = "what may follow: FORMAT JSON, CSV or PARQUET, and OPTIONS (key 'value')"


def parse_statement(source: str, tokens: tuple[Token, ...]) -> StatementSyntax:
    """The statement that some tokens form."""
    for token in tokens:
        if token.kind in ("word", "quoted") and not is_printable(token.value):
            raise ParseError("parse.bad-name", "a name cannot have control characters", span=token.span)
    cursor = Cursor(source, tokens)
    statement: StatementSyntax
    if cursor.at("SELECT"):
        raise cursor.wrong("a statement", hint="a query stands under a name: CREATE QUERY name AS SELECT ...")
    word = cursor.choice(("CREATE", "DROP", "SET", "EXPLAIN"), "a statement")
    if word == "CREATE":
        statement = _create(cursor)
    elif word == "DROP":
        kind: Literal["query", "model"] = "model" if cursor.choice(DROPPED, "QUERY or MODEL") == "MODEL" else "query"
        statement = DropSyntax(kind, cursor.name(f"the name of a {kind}"), cursor.since(0))
    elif word == "SET":
        statement = _set(cursor)
    else:
        statement = _explain(cursor)
    if not cursor.done:
        raise _leftover(cursor, statement)
    return statement


def _leftover(cursor: Cursor, statement: StatementSyntax) -> ParseError:
    """What to say when a statement goes on where it should have ended."""
    if isinstance(statement, CreateQuerySyntax):
        return reject_leftover(cursor)
    files = isinstance(statement, CreateRelationSyntax) and isinstance(statement.source, FilesSyntax | KafkaSyntax)
    return cursor.wrong("the end of the statement", hint=AFTER_FILES if files else None)


def created_name(tokens: tuple[Token, ...]) -> str | None:
    """The name that a statement would have given to something, had it been right."""
    if len(tokens) > 2 and tokens[0].word == "CREATE" and tokens[1].word in KINDS:
        return tokens[2].value.lower()
    return None


def _create(cursor: Cursor) -> CreateSyntax:
    kind = cursor.choice(KINDS, "STREAM, TABLE, MODEL or QUERY")
    if kind == "QUERY":
        return parse_create_query(cursor)
    if kind == "MODEL":
        return parse_create_model(cursor)
    return parse_create_relation(cursor, "stream" if kind == "STREAM" else "table")


def _set(cursor: Cursor) -> SetSyntax:
    name = cursor.name("the name of an option")
    cursor.expect("=")
    first = cursor.index
    if cursor.done:
        raise cursor.wrong("a value")
    if cursor.peek().kind == "string" and cursor.peek(1).kind == "end":
        token = cursor.next()
        return SetSyntax(name, Name(token.value, token.span), cursor.since(0))
    cursor.index = len(cursor.tokens)
    span: Span = cursor.since(first)
    return SetSyntax(name, Name(cursor.source[span.start : span.end], span), cursor.since(0))


def _explain(cursor: Cursor) -> ExplainSyntax:
    if cursor.peek(1).kind == "end":
        if cursor.accept("SHARING"):
            return ExplainSyntax("sharing", None, cursor.since(0))
        if cursor.accept("SCHEDULE"):
            return ExplainSyntax("schedule", None, cursor.since(0))
    if cursor.at("SELECT") or cursor.at("CREATE"):
        raise cursor.wrong("the name of a query", hint="create the query first, then: EXPLAIN name")
    if cursor.peek(1).kind != "end":
        cursor.accept("QUERY")
    return ExplainSyntax("query", cursor.name("the name of a query"), cursor.since(0))
