"""A query that panes cannot answer: its windows, cadence and clauses are bound here, its text is left to Spark.

Which columns of a stream it may name follows from the words of its text, so a column may be kept that the query does
not read; none is missed. What is wrong with the text itself, Spark's analyzer says (``runtime/row_analysis.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.errors import BindError
from punctual.plan.quality import Quality
from punctual.plan.query import Cadence, Input, Period, Query
from punctual.plan.relation import Stream, Table
from punctual.plan.row_query import RowStatement, RowWindow
from punctual.plan.united import common_columns
from punctual.sql.bind_cadence import asked_once, bind_range, cadence_of, check_slides, no_cadence
from punctual.sql.bind_clauses import check_row_clauses, stages_of
from punctual.sql.bind_from import check_united
from punctual.sql.bind_quality import bind_deadline, bind_quality
from punctual.sql.body_binder import BodyBinder, BoundBody, RowBody, WrittenRows
from punctual.sql.bound import CreateQuery
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.function_names import MONTE_CARLO, NOT_REPEATABLE, WITHOUT_BRACKETS, not_repeatable
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.parse_rows import RowsSyntax, WindowedName, parse_rows
from punctual.sql.problems import Problems, RefusedNameError, suggest
from punctual.sql.row_texts import RowTexts, StreamUnion, stream_unions
from punctual.sql.syntax.clauses import AnswersClause
from punctual.sql.syntax.select import RowsWindow, WindowSyntax
from punctual.sql.syntax.statement import CreateQuerySyntax
from punctual.sql.syntax.tokens import Token as Written

BEFORE_STAR = frozenset(("SELECT", "DISTINCT", "ALL", ",", ".", "("))
"""What stands before a star that means all columns, and no product."""
WHOLE_ROWS = frozenset(("NATURAL", "PIVOT", "UNPIVOT", "TABLE", "|>"))
"""Words of queries that read columns without naming them."""
NESTED = ("ARRAY", "MAP", "STRUCT")
"""How types begin whose values have no order."""

WORLDS = MONTE_CARLO - {"interval"}
"""Functions of possible worlds that nothing else is called by: Spark has INTERVAL."""


def bind_row_query(
    syntax: CreateQuerySyntax,
    text: str,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    row_body: RowBody,
    problems: Problems,
) -> CreateQuery | None:
    """The query, or None with the reasons in ``problems``."""
    rows = parse_rows(text, syntax.tokens)
    streams = [_stream(one, catalog, failed, problems) for one in rows.windows]
    known = [stream for stream in streams if stream is not None]
    binder = next((one for one in binders if one.claims_rows(rows, known)), None)
    check_row_clauses(rows.clauses, binder, problems)
    windows = [*(one.window for one in rows.windows), *(one.window for one in rows.subqueries)]
    windows.sort(key=lambda window: window.span.start)
    check_slides(windows, problems)
    cadence = _cadence(rows, windows, problems)
    _check_subqueries(rows, problems)
    if cadence is None and windows:
        problems.add(no_cadence(windows[0].span))
    deadline_us = bind_deadline(rows.clauses, cadence, problems)
    quality = bind_quality(rows.clauses, [_label(rows, one) for one in rows.windows], problems)
    _check_calls(rows.tokens, _names(catalog), binder is not None, problems)
    if not rows.windows:
        _no_window(rows, catalog, problems)
    if problems or cadence is None:
        return None
    written = _written(rows, text, known, catalog, cadence, problems)
    bound: BoundBody | None = None
    with problems.part():
        if binder is not None:
            bound = binder.bind_rows(written, problems)
        else:
            bound = BoundBody(row_body(_statement(written, quality)), ())
    if problems or bound is None:
        return None
    query = Query(
        name=syntax.name.text,
        inputs=_inputs(written.windows(), cadence),
        cadence=cadence,
        outputs=bound.outputs,
        body=bound.body,
        order=bound.order,
        limit=bound.limit,
        deadline_us=deadline_us,
        quality=quality,
        stages=stages_of(rows.clauses),
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _written(
    rows: RowsSyntax, text: str, streams: Sequence[Stream], catalog: Catalog, cadence: Cadence, problems: Problems
) -> WrittenRows:
    """A query over these streams, of which the text may name some columns."""
    columns = [_columns(rows.tokens, stream) for stream in streams]
    united: dict[StreamUnion, tuple[str, ...]] = {}
    for union in stream_unions(rows):
        united[union] = _unite([streams[number] for number in union.windows], rows, union, columns, problems)
    texts = RowTexts(rows, [bind_range(one.window, cadence) for one in rows.subqueries], cadence.us, united)

    def windows() -> tuple[RowWindow, ...]:
        return tuple(
            _window(rows.windows[number].window, streams[number], columns[number], cadence, back_us)
            for number, back_us in texts.places
        )

    return WrittenRows(text, rows, tuple(streams), texts, windows, _tables(rows.tokens, catalog))


def _statement(written: WrittenRows, quality: Quality | None) -> RowStatement:
    """The text as it is: the SELECT, what follows ORDER BY, and what begins with LIMIT or OFFSET."""
    rows, texts = written.rows, written.texts
    start = rows.order + (rows.order < rows.tail)
    select, order = texts.text(0, rows.order), texts.text(start, rows.tail)
    tail = texts.text(rows.tail, len(rows.tokens))
    named = (_label(rows, rows.windows[number]) for number, _back_us in texts.places)
    names = () if quality is None else tuple(named)
    return RowStatement(select, written.windows(), written.tables, order, tail, names)


def _cadence(rows: RowsSyntax, windows: Sequence[WindowSyntax], problems: Problems) -> Cadence | None:
    """When the query answers; None where nothing says it."""
    answers = next((clause for clause in rows.clauses if isinstance(clause, AnswersClause)), None)
    cadence = cadence_of(windows, rows.clauses, problems)
    if cadence is None and answers is not None:
        return asked_once(answers, windows, problems)
    if cadence is not None and rows.subqueries:
        # A subquery is answered at the multiples of the step: were instants moved, no window would fit them.
        return Period(cadence.us, cadence.span)
    return cadence


def _stream(item: WindowedName, catalog: Catalog, failed: frozenset[str], problems: Problems) -> Stream | None:
    key = item.name.text.lower()
    if key in failed:
        raise RefusedNameError
    if key in catalog.streams:
        if isinstance(item.window, RowsWindow):
            _check_keys(item, item.window, catalog.streams[key], problems)
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


def _label(rows: RowsSyntax, window: WindowedName) -> str:
    """What the query calls a window: its alias, or the name of its stream."""
    after = rows.tokens[window.index + 1 : window.index + 3] if window.has_alias else ()
    return next((token.value for token in after if token.word != "AS"), window.name.text)


def _check_subqueries(rows: RowsSyntax, problems: Problems) -> None:
    """Windows over subqueries are by time."""
    for one in rows.subqueries:
        if isinstance(one.window, RowsWindow):
            problems.not_yet("a window by ROWS over a subquery", one.window.span, "for example: [RANGE 20 MINUTES]")


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


def _window(
    window: WindowSyntax, stream: Stream, columns: tuple[str, ...], cadence: Cadence, back_us: Micros
) -> RowWindow:
    """A window of a stream, of which the text may name these columns."""
    if not isinstance(window, RowsWindow):
        return RowWindow(stream.name, bind_range(window, cadence), columns, back_us)
    keys = {key.columns[0].parts[-1].lower() for key in window.partition}
    named = {name.lower() for name in columns} | keys
    kept, by = (tuple(c.name for c in stream.columns if c.name.lower() in some) for some in (named, keys))
    return RowWindow(stream.name, None, kept, back_us, window.rows, by)


def _inputs(windows: Sequence[RowWindow], cadence: Cadence) -> tuple[Input, ...]:
    """The windows as a header has them.

    One by rows has no beginning: its late rows are those of the longest other one, or since the previous instant.
    """
    reach = [one.reach_us for one in windows if one.range_us is not None]
    longest = max(reach or [cadence.us + one.back_us for one in windows])
    return tuple(
        dict.fromkeys(Input(one.stream, longest if one.range_us is None else one.reach_us) for one in windows)
    )


def _check_keys(item: WindowedName, window: RowsWindow, stream: Stream, problems: Problems) -> None:
    """The keys of a window by rows are columns of the stream."""
    scope = Scope((Relation(item.name.text, "stream", stream.name, stream.columns, item.name.span),))
    for key in window.partition:
        row_expression(key, scope, "PARTITION BY", problems)
        whole = [one for one in key.columns if one.end - one.first == len(key.tokens)]
        found = [column for one in whole for column in scope.find(one.parts) if column.used == len(one.parts)]
        if not found and not (whole and not scope.find(whole[0].parts)):
            problems.not_yet("an expression as the key of a window", key.span, "declare it as a column of the stream")
        elif found and found[0].column.uncertain is not None:
            problems.not_yet("an uncertain attribute as the key of a window", key.span)
        elif found and found[0].column.type.upper().startswith(NESTED):
            problems.not_yet(f"a key of type {found[0].column.type} of a window", key.span)


def _unite(
    streams: Sequence[Stream],
    rows: RowsSyntax,
    union: StreamUnion,
    columns: list[tuple[str, ...]],
    problems: Problems,
) -> tuple[str, ...]:
    """The columns that united streams have, of those that the text may name; ``columns`` keeps these of each."""
    check_united(zip(streams, (rows.windows[number].name.span for number in union.windows)), problems)
    common = {column.name.lower() for column in common_columns(streams)}
    for number, stream in zip(union.windows, streams):
        columns[number] = tuple(name for name in columns[number] if name.lower() in common) or (stream.event_time,)
    return tuple(name for name in columns[union.windows[0]] if name.lower() in common)


def _columns(tokens: Sequence[Written], stream: Stream) -> tuple[str, ...]:
    """The columns of a stream that a text may name; at least one, as every row has its time."""
    names = {token.value.lower() for token in tokens if token.kind in ("word", "quoted")}
    if any(whole_rows(tokens)):
        return tuple(column.name for column in stream.columns)
    named = tuple(column.name for column in stream.columns if column.name.lower() in names)
    return named or (stream.event_time,)


def whole_rows(tokens: Sequence[Written]) -> Iterator[Written]:
    """What reads columns without naming them: ``SELECT *``, ``a.*``, ``struct(*)``, and not ``count(*)``."""
    yield from (token for token in tokens if token.word in WHOLE_ROWS)
    for index, (before, token) in enumerate(pairwise(tokens)):
        if token.word == "*" and before.word in BEFORE_STAR:
            counts = before.word == "(" and index > 0 and tokens[index - 1].word == "COUNT"
            if not counts:
                yield token


def _check_calls(tokens: Sequence[Written], names: frozenset[str], claimed: bool, problems: Problems) -> None:
    """Functions that do not repeat, wherever they stand; and those of possible worlds, where no kind has any."""
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
        elif called and name in WORLDS and not claimed:
            problems.add(BindError(
                "bind.nothing-uncertain",
                f"{token.word} is for queries over uncertain attributes, and nothing here is uncertain",
                span=token.span, hint="declare one in CREATE STREAM, for example: kmh DOUBLE ~ NORMAL(kmh, kmh_sd)",
            ))  # fmt: skip


def _tables(tokens: Sequence[Written], catalog: Catalog) -> tuple[str, ...]:
    """The tables that a text may name."""
    words = {token.value.lower() for token in tokens if token.kind in ("word", "quoted")}
    return tuple(name for name in catalog.tables if name in words)


def _names(catalog: Catalog) -> frozenset[str]:
    """The names of all columns, in lower case."""
    relations: list[Stream | Table] = [*catalog.streams.values(), *catalog.tables.values()]
    return frozenset(column.name.lower() for relation in relations for column in relation.columns)
