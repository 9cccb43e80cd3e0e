"""A query that panes cannot answer: its windows, cadence and clauses are bound here, its text is left to Spark.

Which columns of a stream it may name follows from the words of its text, so a column may be kept that the query does
not read; none is missed. What is wrong with the text itself, Spark's analyzer says (``runtime/row_analysis.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.errors import BindError, Span
from punctual.plan.query import Cadence, Input, Query
from punctual.plan.relation import Stream, Table
from punctual.plan.row_query import InstantPlace, RowStatement, RowWindow, SparkText, Token, WindowPlace, Word
from punctual.plan.sql_text import quoted
from punctual.sql.bind_cadence import cadence_of, check_slides, no_cadence
from punctual.sql.bind_clauses import RUNS, refuse_clause
from punctual.sql.body_binder import RowBody
from punctual.sql.bound import CreateQuery
from punctual.sql.expressions.function_names import NOT_REPEATABLE, WITHOUT_BRACKETS, not_repeatable
from punctual.sql.parse_rows import RowsSyntax, WindowedName, parse_rows
from punctual.sql.problems import Problems, RefusedNameError, suggest
from punctual.sql.syntax.clauses import DeadlineClause
from punctual.sql.syntax.select import NowWindow, RangeWindow
from punctual.sql.syntax.statement import CreateQuerySyntax
from punctual.sql.syntax.tokens import Token as Written

BEFORE_STAR = frozenset(("SELECT", "DISTINCT", "ALL", ",", ".", "("))
"""What stands before a star that means all columns, and no product."""
WHOLE_ROWS = frozenset(("NATURAL", "PIVOT", "UNPIVOT", "TABLE", "|>"))
"""Words of queries that read columns without naming them."""
WORLDS = frozenset(("EXPECTED", "PROBABILITY", "HISTOGRAM"))


def bind_row_query(
    syntax: CreateQuerySyntax,
    text: str,
    catalog: Catalog,
    failed: frozenset[str],
    row_body: RowBody,
    problems: Problems,
) -> CreateQuery | None:
    """The query, or None with the reasons in ``problems``."""
    rows = parse_rows(text, syntax.tokens)
    for clause in rows.clauses:
        if not isinstance(clause, RUNS):
            refuse_clause(clause, problems)
    streams = [_stream(one, catalog, failed, problems) for one in rows.windows]
    windows = [one.window for one in rows.windows]
    check_slides(windows, problems)
    cadence = cadence_of(windows, rows.clauses, problems)
    if cadence is None and windows:
        problems.add(no_cadence(windows[0].span))
    _check_calls(rows.tokens, _names(catalog), problems)
    if not rows.windows:
        _no_window(rows, catalog, problems)
    if problems or cadence is None:
        return None
    found = [
        RowWindow(stream.name, _range(one, cadence), _columns(rows.tokens, stream))
        for one, stream in zip(rows.windows, streams)
        if stream is not None
    ]
    words = {token.value.lower() for token in rows.tokens if token.kind in ("word", "quoted")}
    tables = tuple(name for name in catalog.tables if name in words)
    select, order, tail = _texts(rows)
    statement = RowStatement(select, tuple(found), tables, order, tail)
    deadline = next((clause for clause in rows.clauses if isinstance(clause, DeadlineClause)), None)
    query = Query(
        name=syntax.name.text,
        inputs=tuple(Input(one.stream, one.range_us) for one in found),
        cadence=cadence,
        outputs=(),
        body=row_body(statement),
        deadline_us=deadline.duration.us if deadline else None,
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _stream(item: WindowedName, catalog: Catalog, failed: frozenset[str], problems: Problems) -> Stream | None:
    key = item.name.text.lower()
    if key in failed:
        raise RefusedNameError
    if not isinstance(item.window, RangeWindow | NowWindow):
        problems.not_yet("a window by ROWS", item.window.span, "for example: [RANGE 20 MINUTES]")
    if key in catalog.streams:
        return catalog.streams[key]
    if key in catalog.tables:
        problems.add(BindError(
            "bind.window-on-table", f'table "{catalog.tables[key].name}" has no window', span=item.window.span,
            detail="a table is read whole, and its rows have no time",
        ))
    elif key in catalog.queries:
        problems.not_yet("a query over a query", item.name.span)
    else:
        known = [stream.name for stream in catalog.streams.values()]
        problems.add(BindError(
            "bind.unknown-stream", f'there is no stream "{item.name.text}"', span=item.name.span,
            hint=suggest(item.name.text, known, "streams") or "declare it before its first use: CREATE STREAM ...",
        ))
    return None


def _no_window(rows: RowsSyntax, catalog: Catalog, problems: Problems) -> None:
    """A query without any window: which stream lacks it, if there is one."""
    for token in rows.tokens:
        stream = catalog.streams.get(token.value.lower()) if token.kind in ("word", "quoted") else None
        if stream is not None:
            problems.add(BindError(
                "bind.missing-window", f'stream "{stream.name}" needs a window', span=token.span,
                detail="a stream has no end, so a query says which of its rows an answer covers",
                hint=f"for example: {stream.name} [RANGE 20 MINUTES SLIDE 2 MINUTES]",
            ))
            return
    problems.not_yet("a query without a stream", rows.span)


def _range(item: WindowedName, cadence: Cadence) -> Micros:
    """The length of a window; [NOW] covers what came since the previous instant."""
    return item.window.length.us if isinstance(item.window, RangeWindow) else cadence.us


def _columns(tokens: Sequence[Written], stream: Stream) -> tuple[str, ...]:
    """The columns of a stream that a text may name; at least one, as every row has its time."""
    names = {token.value.lower() for token in tokens if token.kind in ("word", "quoted")}
    if any(token.word in WHOLE_ROWS for token in tokens) or _has_star(tokens):
        return tuple(column.name for column in stream.columns)
    named = tuple(column.name for column in stream.columns if column.name.lower() in names)
    return named or (stream.event_time,)


def _has_star(tokens: Sequence[Written]) -> bool:
    """Whether a star means all columns: ``SELECT *``, ``a.*``, ``struct(*)``, and not ``count(*)``."""
    for index, (before, token) in enumerate(pairwise(tokens)):
        if token.word == "*" and before.word in BEFORE_STAR:
            counts = before.word == "(" and index > 0 and tokens[index - 1].word == "COUNT"
            if not counts:
                return True
    return False


def _check_calls(tokens: Sequence[Written], names: frozenset[str], problems: Problems) -> None:
    """Functions that do not repeat, wherever they stand, and those of possible worlds."""
    for index, token in enumerate(tokens):
        if token.kind != "word" or (index > 0 and tokens[index - 1].word in (".", "AS")):
            continue
        name = token.word.lower()
        after = tokens[index + 1].word if index + 1 < len(tokens) else ""
        called = after == "("
        bare = name in WITHOUT_BRACKETS and not called and name not in names
        alone = name == "unix_timestamp" and called and tokens[index + 2].word == ")"
        if bare or alone or (called and name in NOT_REPEATABLE):
            problems.add(not_repeatable(name, token.span))
        elif called and token.word in WORLDS:
            problems.not_yet(f"{token.word}(...)", token.span)


def _names(catalog: Catalog) -> frozenset[str]:
    """The names of all columns, in lower case."""
    relations: list[Stream | Table] = [*catalog.streams.values(), *catalog.tables.values()]
    return frozenset(column.name.lower() for relation in relations for column in relation.columns)


def _texts(rows: RowsSyntax) -> tuple[SparkText, SparkText, SparkText]:
    """The SELECT, what follows ORDER BY, and what begins with LIMIT or OFFSET."""
    order = rows.order + (rows.order < rows.tail)
    return _text(rows, 0, rows.order), _text(rows, order, rows.tail), _text(rows, rows.tail, len(rows.tokens))


def _text(rows: RowsSyntax, first: int, end: int) -> SparkText:
    windows = {one.index: (number, one) for number, one in enumerate(rows.windows)}
    found: list[Token] = []
    spans: list[Span] = []
    index = first
    while index < end:
        token = rows.tokens[index]
        if index in windows:
            number, one = windows[index]
            found.append(WindowPlace(number, "" if one.has_alias else quoted(one.name.text)))
        elif _is_now(rows.tokens, index):
            index += 2
            found.append(InstantPlace())
        else:
            gap = index == 0 or rows.tokens[index - 1].end < token.start
            if index - 1 in windows:
                gap = token.kind != "symbol"
            found.append(Word(token.text, gap))
        spans.append(Span(token.start, rows.tokens[index].end))
        index += 1
    return SparkText(tuple(found), tuple(spans))


def _is_now(tokens: Sequence[Written], index: int) -> bool:
    """Whether ``now()`` begins here."""
    words = [token.word for token in tokens[index : index + 3]]
    return words == ["NOW", "(", ")"] and (index == 0 or tokens[index - 1].word != ".")
