"""CREATE STREAM and CREATE TABLE: what the columns mean, what a derived column computes, where files are."""

from __future__ import annotations

import os
from typing import cast

from punctual.errors import BindError, PunctualError
from punctual.plan.relation import Column, Stream, Table
from punctual.plan.source import FeedSource, FileSource, Format, RateSource, Source
from punctual.sql.bind_uncertain import bind_laws, bound_column, check_certain
from punctual.sql.bound import CreateStream, CreateTable
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.statement import (
    ColumnSyntax,
    CreateRelationSyntax,
    FeedSyntax,
    FilesSyntax,
    KafkaSyntax,
    RateSyntax,
)
from punctual.sql.syntax.written import Name

EVENT_TIME_EXAMPLE = "for example: ts TIMESTAMP EVENT TIME WATERMARK 5 SECONDS"
EXTENSIONS: dict[str, Format] = {
    ".json": "JSON", ".jsonl": "JSON", ".ndjson": "JSON", ".csv": "CSV", ".parquet": "PARQUET",
}
RATE_COLUMNS = {"ts": "TIMESTAMP", "value": "BIGINT"}


def bind_relation(
    syntax: CreateRelationSyntax, base: str, problems: Problems
) -> CreateStream | CreateTable | None:
    """The stream or table, or None with the reasons in ``problems``."""
    columns = _columns(syntax, problems)
    source: Source | None = None
    with problems.part():
        source = _source(syntax, columns, base, problems)
    spans = tuple(column.name.span for column in syntax.columns)
    if syntax.kind == "table":
        for column in syntax.columns:
            _refuse_roles(column, problems)
        if problems or not isinstance(source, FileSource):
            return None
        return CreateTable(Table(syntax.name.text, columns, source), spans, syntax.span)
    event_time = _one(syntax, "EVENT TIME", "bind.two-event-times", problems)
    probability = _one(syntax, "PROBABILITY", "bind.two-probabilities", problems)
    rule = _one(syntax, "RULE", "bind.two-rules", problems)
    _check_types(syntax, event_time, probability, rule, problems)
    if problems or event_time is None or source is None:
        return None
    stream = Stream(
        name=syntax.name.text,
        columns=columns,
        event_time=event_time.name.text,
        watermark_us=event_time.watermark.us if event_time.watermark else 0,
        source=source,
        keys=tuple(column.name.text for column in syntax.columns if column.role("KEY")),
        probability=probability.name.text if probability else None,
        rule=rule.name.text if rule else None,
    )
    return CreateStream(stream, spans, syntax.span)


def _columns(syntax: CreateRelationSyntax, problems: Problems) -> tuple[Column, ...]:
    seen: dict[str, Name] = {}
    for column in syntax.columns:
        if column.name.text.lower() in seen:
            problems.add(BindError(
                "bind.duplicate-name", f'column "{column.name.text}" is declared twice', span=column.name.span
            ))
        seen.setdefault(column.name.text.lower(), column.name)
    plain = tuple(Column(c.name.text, c.type) for c in syntax.columns if c.derived is None)
    scope = Scope((Relation(syntax.name.text, "stream", syntax.name.text, plain, syntax.name.span),))
    laws = bind_laws(syntax.columns, scope, problems) if syntax.kind == "stream" else {}
    columns = []
    for column in syntax.columns:
        derived = None
        if column.derived is not None:
            derived = row_expression(column.derived, scope, "AS", problems)
            check_certain(column.derived, scope, laws.keys(), problems)
        columns.append(bound_column(column.name.text, column.type, derived, laws.get(column.name.text.lower())))
    return tuple(columns)


def _refuse_roles(column: ColumnSyntax, problems: Problems) -> None:
    for role, span in column.roles:
        if role != "AS":
            problems.add(BindError(
                "bind.role-in-table", f"{role} belongs to a column of a stream, not of a table", span=span,
                detail="a table is the same in all worlds" if role == "~"
                else "a table is read whole, and its rows have no time",
            ))


def _one(syntax: CreateRelationSyntax, role: str, code: str, problems: Problems) -> ColumnSyntax | None:
    having = [column for column in syntax.columns if column.role(role)]
    for column in having[1:]:
        problems.add(BindError(
            code, f'stream "{syntax.name.text}" has two columns with {role}', span=column.role(role),
            detail=f'the other one is "{having[0].name.text}"',
        ))
    return having[0] if having else None


def _check_types(
    syntax: CreateRelationSyntax,
    event_time: ColumnSyntax | None,
    probability: ColumnSyntax | None,
    rule: ColumnSyntax | None,
    problems: Problems,
) -> None:
    if event_time is None:
        problems.add(BindError(
            "bind.missing-event-time", f'stream "{syntax.name.text}" has no event time', span=syntax.name.span,
            detail="windows are cut by the time of the rows, so one column must say it", hint=EVENT_TIME_EXAMPLE,
        ))
    elif event_time.type != "TIMESTAMP":
        problems.add(BindError(
            "bind.bad-event-time-type", f'event time "{event_time.name.text}" must be a TIMESTAMP',
            span=event_time.type_span,
            hint="derive one, for example: ts TIMESTAMP EVENT TIME AS (timestamp_millis(time_ms))",
        ))
    if probability is not None and not probability.type.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        problems.add(BindError(
            "bind.bad-probability-type", f'probability "{probability.name.text}" must be a DOUBLE',
            span=probability.type_span,
        ))
    for column in syntax.columns:
        if column.watermark is not None and not column.role("EVENT TIME"):
            problems.add(BindError(
                "bind.watermark-without-event-time", f'column "{column.name.text}" has a WATERMARK but no EVENT TIME',
                span=column.role("WATERMARK"), hint=EVENT_TIME_EXAMPLE,
            ))
    if rule is not None and probability is None:
        problems.add(BindError(
            "bind.no-probability", f'stream "{syntax.name.text}" has a rule but no probability column',
            span=rule.role("RULE"), detail="rows of one rule exclude each other, so each needs a probability",
            hint="declare one, for example: confidence DOUBLE PROBABILITY",
        ))


def _source(
    syntax: CreateRelationSyntax, columns: tuple[Column, ...], base: str, problems: Problems
) -> Source | None:
    source = syntax.source
    if syntax.kind == "table" and not isinstance(source, FilesSyntax):
        raise BindError(
            "bind.table-source", f"a table is read from FILES, not from {source.kind}", span=source.span
        )
    match source:
        case FeedSyntax():
            return FeedSource()
        case RateSyntax():
            _check_rate(syntax, columns, problems)
            return RateSource(source.rows, source.per_us, source.limit)
        case KafkaSyntax():
            problems.not_yet("FROM KAFKA", source.span, "FROM FILES and FROM FEED are there")
            return None
        case FilesSyntax():
            return bind_files(source, base)


def bind_files(files: FilesSyntax, base: str) -> FileSource:
    """The files that FROM FILES names; relative paths start from ``base``."""
    return FileSource(_path(files.path, base), _format(files), files.options)


def _check_rate(syntax: CreateRelationSyntax, columns: tuple[Column, ...], problems: Problems) -> None:
    for column, bound in zip(syntax.columns, columns):
        if bound.derived is None and RATE_COLUMNS.get(column.name.text.lower()) != column.type:
            problems.add(_not_generated(column))


def _not_generated(column: ColumnSyntax) -> PunctualError:
    return BindError(
        "bind.rate-column", f'RATE gives no column "{column.name.text}" of type {column.type}',
        span=column.name.span, detail="RATE gives ts TIMESTAMP and value BIGINT; other columns are derived from them",
        hint=f"for example: {column.name.text} {column.type} AS (value % 30)",
    )


def _path(written: Name, base: str) -> str:
    path = written.text.removeprefix("file://")
    scheme, address, _ = path.partition("://")
    if address and scheme[:1].isalpha() and all(letter.isalnum() or letter in "+.-" for letter in scheme):
        raise BindError(
            "bind.bad-path", f'"{path}" is not a path of a file system', span=written.span,
            detail="files are read from local or mounted file systems",
        )
    if "\0" in path:
        raise BindError("bind.bad-path", "a path has no NUL character", span=written.span)
    return os.path.abspath(os.path.join(base, path))


def _format(files: FilesSyntax) -> Format:
    if files.format is not None:
        return cast(Format, files.format)
    extension = os.path.splitext(files.path.text)[1].lower()
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    raise BindError(
        "bind.missing-format", "FROM FILES needs a format", span=files.span, hint="FORMAT JSON, CSV or PARQUET"
    )
