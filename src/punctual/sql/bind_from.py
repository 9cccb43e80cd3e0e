"""FROM: what its items are, their windows, and what of it this release does not run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.errors import BindError
from punctual.plan.relation import Column, Stream
from punctual.plan.united import common_columns
from punctual.sql.bind_join import TableItem
from punctual.sql.bind_row import row_sql
from punctual.sql.problems import Problems, suggest
from punctual.sql.scope import Relation, Scope
from punctual.sql.syntax.statement import FromSyntax, ModelSyntax, Name, SelectSyntax, WindowSyntax


class AlreadyToldError(Exception):
    """A name whose own statement was wrong: that was said already, and nothing more can be known."""


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A stream in FROM."""

    relation: Relation
    stream: Stream
    syntax: FromSyntax


@dataclass(frozen=True, slots=True)
class BoundFrom:
    """The streams and tables of FROM in the order written, and the scope that they form."""

    streams: tuple[StreamItem, ...]
    tables: tuple[TableItem, ...]
    scope: Scope
    complete: bool
    """False where an item could not be found: then names in expressions mean nothing yet."""

    @property
    def as_one(self) -> bool:
        """Whether its rows are those of one stream: there is one, or all of them are united."""
        return bool(self.streams) and all(item.syntax.how == "union" for item in self.streams[1:])


def bind_from(select: SelectSyntax, catalog: Catalog, failed: frozenset[str], problems: Problems) -> BoundFrom:
    """Look the FROM items up.

    Raises
    ------
    AlreadyToldError
        Where an item is in ``failed``, the names whose statements were refused.
    """
    streams: list[StreamItem] = []
    tables: list[TableItem] = []
    relations: list[Relation] = []
    aliases: set[str] = set()
    complete = True
    for item in select.sources:
        label = item.label
        if label and label.lower() in aliases:
            span = item.alias.span if item.alias else item.span
            problems.add(BindError(
                "bind.duplicate-name", f'"{label}" stands twice in FROM', span=span,
                hint=f"give one of them another name, for example: AS {label}2",
            ))
        aliases.add(label.lower())
        _refuse_joins(item, problems)
        if isinstance(item.source, SelectSyntax):
            problems.not_yet("a subquery in FROM", item.source.span)
            complete = False
            continue
        relation, stream = _relation(item, item.source, catalog, failed, problems)
        if relation is None:
            complete = False
            continue
        relations.append(relation)
        if stream is not None:
            streams.append(StreamItem(relation, stream, item))
        else:
            tables.append(TableItem(relation, item))
    if complete:
        streams, relations = _united(streams, relations, problems)
    bound = BoundFrom(tuple(streams), tuple(tables), Scope(tuple(relations)), complete)
    _check_windows(bound, problems)
    return bound


def _united(
    streams: list[StreamItem], relations: list[Relation], problems: Problems
) -> tuple[list[StreamItem], list[Relation]]:
    """With one relation in place of the streams of a UNION ALL: what they have in common."""
    union = [item for item in streams if item.syntax.how == "union"]
    if not union or streams[0] is union[0]:
        return streams, relations
    parts = [streams[0], *union]
    for place, item in enumerate(parts):
        if item.stream in (other.stream for other in parts[:place]):
            problems.add(BindError(
                "bind.duplicate-name", f'stream "{item.stream.name}" stands twice in UNION ALL', span=item.syntax.span,
                detail="each of its rows would count twice",
            ))
    common = common_columns([item.stream for item in parts])
    every = {column.name.lower() for item in parts for column in item.stream.columns}
    first = streams[0].relation
    name = '" and "'.join(item.stream.name for item in parts)
    apart = frozenset(every - {column.name.lower() for column in common})
    one = Relation(first.alias, "stream", name, common, first.span, apart)
    gone = [item.relation for item in union]
    together = [one if relation is first else relation for relation in relations if relation not in gone]
    return [replace(item, relation=one) if item in parts else item for item in streams], together


def _relation(
    item: FromSyntax, name: Name, catalog: Catalog, failed: frozenset[str], problems: Problems
) -> tuple[Relation | None, Stream | None]:
    key = name.text.lower()
    if key in catalog.streams:
        stream = catalog.streams[key]
        columns = stream.columns
        if item.model is not None:
            columns = _with_modelled(item.model, columns)
        return Relation(item.label, "stream", stream.name, columns, item.span), stream
    if key in catalog.tables:
        table = catalog.tables[key]
        return Relation(item.label, "table", table.name, table.columns, item.span), None
    if key in failed:
        raise AlreadyToldError
    if key in catalog.queries:
        problems.not_yet("a query over a query", name.span)
        return None, None
    known = [s.name for s in catalog.streams.values()] + [t.name for t in catalog.tables.values()]
    problems.add(BindError(
        "bind.unknown-stream", f'there is no stream or table "{name.text}"', span=name.span,
        hint=suggest(name.text, known, "streams and tables") or "declare it before its first use: CREATE STREAM ...",
    ))
    return None, None


def _with_modelled(model: ModelSyntax, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    known = {column.name.lower() for column in columns}
    return (*columns, *(Column(a.text, "DOUBLE") for a in model.attributes if a.text.lower() not in known))


def _refuse_joins(item: FromSyntax, problems: Problems) -> None:
    if item.how == "other":
        problems.not_yet("this kind of join", item.how_span, "INNER JOIN and LEFT JOIN are there")


def _check_windows(bound: BoundFrom, problems: Problems) -> None:
    slides: list[WindowSyntax] = []
    for item in bound.streams:
        window, model = item.syntax.window, item.syntax.model
        if model is not None:
            _bind_model(model, item, problems)
        elif window is None:
            problems.add(BindError(
                "bind.missing-window", f'stream "{item.stream.name}" needs a window', span=item.syntax.span,
                detail="a stream has no end, so a query says which of its rows an answer covers",
                hint=f"for example: {item.stream.name} [RANGE 20 MINUTES SLIDE 2 MINUTES]",
            ))
        elif window.kind in ("ROWS", "PARTITION BY"):
            for key in window.partition:
                row_sql(key, Scope((item.relation,)), "PARTITION BY", problems)
            problems.not_yet(f"a window by {window.kind}", window.span, "for example: [RANGE 20 MINUTES]")
        elif window.slide is not None:
            slides.append(window)
    for window in slides[1:]:
        problems.add(BindError(
            "bind.two-slides", "only one window of a query may have SLIDE", span=window.slide_span,
            detail="all windows of a query end at the same instant",
        ))
    for table in bound.tables:
        if table.syntax.window is not None:
            problems.add(BindError(
                "bind.window-on-table", f'table "{table.relation.name}" has no window', span=table.syntax.window.span,
                detail="a table is read whole, and its rows have no time",
            ))
    for one in bound.streams[1:]:
        own = one.syntax.window
        if own is not None and one.syntax.how == "union" and _length(own) != _length(bound.streams[0].syntax.window):
            problems.not_yet("a UNION ALL of windows of different lengths", own.span, "give them one RANGE")
    united = any(item.syntax.how == "union" for item in bound.streams)
    for table in bound.tables:
        if table.syntax.how == "union" or (table.syntax.how == "first" and united):
            problems.add(BindError(
                "bind.union-of-table", f'table "{table.relation.name}" cannot stand in a UNION ALL',
                span=table.syntax.span, detail="UNION ALL unites windowed streams; a table is joined",
            ))
    for left in bound.streams:
        if left.syntax.how == "left":
            problems.not_yet("a LEFT JOIN with a stream on its right", left.syntax.how_span)
    for second in bound.streams[1:]:
        if second.syntax.how not in ("union", "left", "other"):
            problems.not_yet("a join of two streams", second.syntax.span)


def _length(window: WindowSyntax | None) -> tuple[str, Micros | None] | None:
    return None if window is None else (window.kind, None if window.range is None else window.range.us)


def _bind_model(model: ModelSyntax, item: StreamItem, problems: Problems) -> None:
    """``t`` is the time since the row's event time; the rest are the row's own columns."""
    columns = (*item.relation.columns, Column("t", "DOUBLE"))
    scope = Scope((Relation(item.relation.alias, "stream", item.relation.name, columns, item.relation.span),))
    for expression in model.expressions:
        row_sql(expression, scope, "MODEL", problems)
    for name in model.columns:
        if item.stream.column(name.text) is None:
            problems.add(BindError(
                "bind.unknown-column", f'there is no column "{name.text}" of stream "{item.stream.name}"',
                span=name.span, hint=suggest(name.text, [c.name for c in item.stream.columns], "columns"),
            ))
    problems.not_yet("MODEL", model.span)
