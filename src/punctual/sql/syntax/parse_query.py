"""SELECT with everything that may follow it, in any order, each at most once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from punctual.errors import ParseError, Span
from punctual.sql.syntax.clauses import Clause
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.expression import NeedsRowsError
from punctual.sql.syntax.expression_extent import take_expression, take_expressions
from punctual.sql.syntax.parse_clause import CLAUSES, parse_clause
from punctual.sql.syntax.parse_from import ENDS_EXPRESSION, parse_from, reject_leftover
from punctual.sql.syntax.parse_number import signed_number, whole_number
from punctual.sql.syntax.select import ItemSyntax, OrderSyntax, SelectSyntax, TopSyntax
from punctual.sql.syntax.statement import CreateQuerySyntax
from punctual.sql.syntax.tokens import Token

SEMANTICS = ("PK", "U_TOPK", "U_KRANKS", "PT", "GLOBAL", "EXPECTED_RANK", "PRF", "PRFE")
PARAMETERS = {"PT": 1, "PRFE": 1, "PRF": 10**6}
"""The most numbers in brackets after a semantics."""
MORE_THAN_SELECT = frozenset((
    "WITH", "LATERAL", "PIVOT", "UNPIVOT", "EXCEPT", "INTERSECT", "MINUS", "UNION", "USING", "OVER", "OFFSET",
    "EXISTS", "WINDOW", "VALUES", "TABLESAMPLE", "ROLLUP", "CUBE", "GROUPING", "GROUPING SETS", "NATURAL", "SEMI",
    "ANTI", "QUALIFY", "|>",
))
"""Words of queries that we leave to Spark, where they do not parse as a SELECT of ours."""
MOST_SELECTS = 200
"""More in one query are refused: they are read by recursion, here or by Spark."""
ENDS_ORDER = ENDS_EXPRESSION | {"ASC", "DESC", "NULLS"}


def parse_create_query(cursor: Cursor) -> CreateQuerySyntax:
    """After CREATE QUERY."""
    name = cursor.name("the name of the query")
    cursor.expect("AS")
    tokens = tuple(cursor.tokens[cursor.index :])
    selects = [token for token in tokens if token.word == "SELECT"]
    if len(selects) > MOST_SELECTS:
        span = selects[MOST_SELECTS].span
        raise ParseError("parse.syntax", f"a query has more than {MOST_SELECTS} SELECTs", span=span)
    select = _select_alone(cursor, tokens)
    cursor.index = len(cursor.tokens)
    return CreateQuerySyntax(name, select, tokens, cursor.since(0))


def _select_alone(cursor: Cursor, tokens: tuple[Token, ...]) -> SelectSyntax | None:
    """A SELECT that ends with the statement; None where the query is more than that, which only Spark can read."""
    if cursor.peek().word in ("WITH", "FROM", "("):
        return None
    try:
        select = parse_select(cursor)
        if not cursor.done:
            raise reject_leftover(cursor)
    except NeedsRowsError:
        return None
    except ParseError as problem:
        if problem.code == "parse.syntax" and _is_more(tokens):
            return None
        raise
    return select


def _is_more(tokens: tuple[Token, ...]) -> bool:
    """Whether there are words of queries that we leave to Spark.

    ORDER BY ALL, several names after AS, and functions in FROM are among them.
    """
    words = [token.word for token in tokens]
    by_all = any(before in ("ORDER BY", "GROUP BY") and word == "ALL" for before, word in pairwise(words))
    names = ("AS", "(") in pairwise(words)
    function = any(
        before in ("FROM", "JOIN") and token.kind == "word" and after == "("
        for before, token, after in zip(words, tokens[1:], words[2:])
    )
    return by_all or names or function or not MORE_THAN_SELECT.isdisjoint(words)


def parse_select(cursor: Cursor) -> SelectSyntax:
    """SELECT ... up to the end of the statement, a closing bracket, or a UNION ALL and what follows it."""
    first = cursor.index
    cursor.expect("SELECT")
    distinct = cursor.peek(-1).span if cursor.accept("DISTINCT") else None
    top = _top(cursor) if cursor.at("TOP") and cursor.peek(1).kind == "number" else None
    if distinct is None and cursor.accept("DISTINCT"):
        distinct = cursor.peek(-1).span
    items = cursor.several(parse_item)
    if not cursor.at("FROM") and top is None and cursor.tokens[first + 1].word == "TOP":
        raise missing_k(cursor.tokens[first + 1].span)
    cursor.expect("FROM")
    select = SelectSyntax(items, parse_from(cursor, parse_select), cursor.since(first), distinct, top)
    select = _rest(cursor, select)
    return replace(select, span=cursor.since(first))


def missing_k(span: Span) -> ParseError:
    """What to say of TOP without a number after it, where it is no column."""
    return ParseError(
        "parse.syntax", "TOP needs k, a whole number of at least 1, after it", span=span,
        hint="for example: SELECT TOP 3 sensor FROM ... ORDER BY kmh DESC",
    )


def _rest(cursor: Cursor, select: SelectSyntax) -> SelectSyntax:
    seen: set[str] = set()
    clauses: tuple[Clause, ...] = ()
    while not cursor.done and not cursor.at(")"):
        first = cursor.index
        word = cursor.peek().word
        if word in CLAUSES:
            clauses = (*clauses, parse_clause(cursor, clauses))
            continue
        if word not in ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION"):
            raise reject_leftover(cursor)
        cursor.next()
        if word in seen:
            raise ParseError("parse.duplicate-clause", f"{word} is there twice", span=cursor.since(first))
        seen.add(word)
        if word == "WHERE":
            select = replace(select, where=take_expression(cursor, "a condition", ENDS_EXPRESSION))
        elif word == "GROUP BY":
            select = replace(select, groups=take_expressions(cursor, "an expression", ENDS_EXPRESSION))
        elif word == "HAVING":
            select = replace(select, having=take_expression(cursor, "a condition", ENDS_EXPRESSION))
        elif word == "ORDER BY":
            select = replace(select, order=cursor.several(parse_order))
        elif word == "LIMIT":
            select = replace(select, limit=whole_number(cursor, "LIMIT", code="bind.bad-limit"))
        else:
            cursor.expect("ALL")
            union_span = cursor.since(first)
            with cursor.nested():
                select = replace(select, union=parse_select(cursor), union_span=union_span)
    return replace(select, clauses=clauses)


def parse_item(cursor: Cursor) -> ItemSyntax:
    """An item of SELECT."""
    first = cursor.index
    if cursor.accept("*"):
        return ItemSyntax(None, None, cursor.since(first))
    if cursor.peek(1).word == "." and cursor.peek(2).word == "*":
        star_of = cursor.name("a FROM item")
        cursor.expect(".", "*")
        return ItemSyntax(None, None, cursor.since(first), star_of)
    expression = take_expression(cursor, "an expression", frozenset(("AS",)))
    alias = None
    if cursor.accept("AS") or (cursor.peek().kind in ("word", "quoted") and not cursor.at("FROM")):
        alias = cursor.name("an alias")
    return ItemSyntax(expression, alias, cursor.since(first))


def parse_order(cursor: Cursor) -> OrderSyntax:
    """An item of ORDER BY."""
    expression = take_expression(cursor, "an expression", ENDS_ORDER)
    ascending = not cursor.accept("DESC")
    if ascending:
        cursor.accept("ASC")
    nulls_first = None
    if cursor.accept("NULLS"):
        nulls_first = cursor.choice(("FIRST", "LAST"), "FIRST or LAST") == "FIRST"
    return OrderSyntax(expression, ascending, nulls_first)


def _top(cursor: Cursor) -> TopSyntax:
    first = cursor.index
    cursor.expect("TOP")
    k = whole_number(cursor, "k")
    span = cursor.since(first)
    semantics = "PK"
    parameters: list[float] = []
    numbers: Span | None = None
    if cursor.accept("BY"):
        semantics = cursor.choice(SEMANTICS, "a semantics of top-k")
        if semantics in PARAMETERS:
            cursor.expect("(")
            opened = cursor.index
            parameters.append(signed_number(cursor, "a number"))
            while len(parameters) < PARAMETERS[semantics] and cursor.accept(","):
                parameters.append(signed_number(cursor, "a number"))
            numbers = cursor.since(opened)
            cursor.expect(")")
        elif cursor.at("("):
            raise ParseError(
                "parse.syntax", f"{semantics} takes no numbers", span=cursor.peek().span,
                hint=f"write BY {semantics} without brackets; the first column cannot begin with one here",
            )
    streams = cursor.accept("STREAMS")
    exclusive = streams and cursor.accept("EXCLUSIVE")
    return TopSyntax(k, semantics, tuple(parameters), streams, exclusive, span, numbers)
