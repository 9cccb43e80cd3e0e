"""FROM: the tree with its names looked up, its windows checked, and what of it this release does not run refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from punctual.catalog import Catalog
from punctual.errors import BindError, Span
from punctual.plan.relation import Column, Stream
from punctual.plan.united import common_columns
from punctual.sql.bind_model import check_model
from punctual.sql.expressions.bind_predicate import conjuncts
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems, RefusedNameError, suggest
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.models import ModelSyntax
from punctual.sql.syntax.select import (
    FromItem,
    FromJoin,
    FromSyntax,
    FromUnion,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SelectSyntax,
    WindowSyntax,
)
from punctual.sql.syntax.written import Name


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A stream in FROM."""

    relation: Relation
    stream: Stream
    syntax: FromItem


@dataclass(frozen=True, slots=True)
class TableItem:
    """A table in FROM. ``left_on`` are the conditions of its LEFT JOIN, None where it is joined by INNER JOIN."""

    relation: Relation
    syntax: FromItem
    left_on: tuple[ExpressionSyntax, ...] | None = None


BoundItem = StreamItem | TableItem


@dataclass(frozen=True, slots=True)
class BoundFrom:
    """The leaves of the FROM tree in the order written, and what the nodes above them say.

    ``conditions`` are those of inner joins: like WHERE, they hold for the row as a whole. ``as_one`` says whether the
    rows are those of one stream: there is one, or all of them are in one UNION ALL. ``joined`` is where a stream is
    joined with the first one, None where none is. ``complete`` is False where an item could not be found: then names in
    expressions mean nothing yet.
    """

    streams: tuple[StreamItem, ...]
    tables: tuple[TableItem, ...]
    scope: Scope
    conditions: tuple[ExpressionSyntax, ...]
    as_one: bool
    complete: bool
    joined: Span | None = None


def bind_from(select: SelectSyntax, catalog: Catalog, failed: frozenset[str], problems: Problems) -> BoundFrom:
    """Look the names of FROM up.

    Raises
    ------
    RefusedNameError
        Where an item is in ``failed``, the names whose statements were refused.
    """
    binder = _FromBinder(catalog, failed, problems)
    items = _told_apart(binder.visit(select.source))
    streams = tuple(item for item in items if isinstance(item, StreamItem))
    tables = tuple(item for item in items if isinstance(item, TableItem))
    relations = tuple(dict.fromkeys(item.relation for item in items))
    as_one = len({item.relation for item in streams}) == 1
    scope = Scope(relations, tuple(catalog.functions.values()))
    bound = BoundFrom(
        streams, tables, scope, tuple(binder.conditions), as_one, binder.complete, binder.joined
    )
    for item in select.items if bound.complete else ():
        if item.star_of is not None:
            check_item_name(item.star_of, bound.scope, problems)
    return bound


def _told_apart(items: list[BoundItem]) -> list[BoundItem]:
    """The items, of which streams that are joined with the first one have columns under names of their own."""
    first = next((item.relation for item in items if isinstance(item, StreamItem)), None)
    return [
        replace(item, relation=replace(item.relation, joined=True))
        if isinstance(item, StreamItem) and item.relation != first
        else item
        for item in items
    ]


def check_item_name(name: Name, scope: Scope, problems: Problems) -> None:
    """A name that must be one of the FROM items."""
    known = [relation.alias for relation in scope.relations]
    if name.text.lower() not in {alias.lower() for alias in known}:
        problems.add(BindError(
            "bind.unknown-stream", f'there is no FROM item "{name.text}"', span=name.span,
            hint=suggest(name.text, known, "FROM items"),
        ))


class _FromBinder:
    """Walks the tree from its leaves up."""

    def __init__(self, catalog: Catalog, failed: frozenset[str], problems: Problems) -> None:
        self.catalog = catalog
        self.failed = failed
        self.problems = problems
        self.conditions: list[ExpressionSyntax] = []
        self.complete = True
        self.joined: Span | None = None
        self._labels: set[str] = set()

    def visit(self, tree: FromSyntax) -> list[BoundItem]:
        """The bound leaves of a subtree."""
        match tree:
            case FromItem():
                self._check_label(tree.label, tree.alias.span if tree.alias else tree.span)
                item = self._item(tree)
                self.complete = self.complete and item is not None
                return [] if item is None else [item]
            case FromJoin():
                return self._join(tree, self.visit(tree.left), self.visit(tree.right))
            case FromUnion():
                items = [item for part in tree.parts for item in self.visit(part)]
                return self._union(tree, items)

    def _check_label(self, label: str, span: Span) -> None:
        if label and label.lower() in self._labels:
            self.problems.add(BindError(
                "bind.duplicate-name", f'"{label}" stands twice in FROM', span=span,
                hint=f"give one of them another name, for example: AS {label}2",
            ))
        self._labels.add(label.lower())

    def _item(self, item: FromItem) -> BoundItem | None:
        if isinstance(item.source, SelectSyntax):
            if item.model is not None:
                self.problems.not_yet("a model over a subquery", item.span)
            else:
                self.problems.needs_rows("a subquery in FROM", item.source.span)
            return None
        name, key = item.source, item.source.text.lower()
        if key in self.catalog.streams:
            return self._stream(item, self.catalog.streams[key])
        if key in self.catalog.tables:
            table = self.catalog.tables[key]
            _check_table(item, table.name, self.problems)
            return TableItem(Relation(item.label, "table", table.name, table.columns, item.span), item)
        if key in self.failed:
            raise RefusedNameError
        if key in self.catalog.queries:
            self.problems.not_yet("a query over a query", name.span)
            return None
        known = [s.name for s in self.catalog.streams.values()] + [t.name for t in self.catalog.tables.values()]
        self.problems.add(BindError(
            "bind.unknown-stream", f'there is no stream or table "{name.text}"', span=name.span,
            hint=suggest(name.text, known, "streams and tables")
            or "declare it before its first use: CREATE STREAM ...",
        ))
        return None

    def _stream(self, item: FromItem, stream: Stream) -> StreamItem:
        columns = stream.columns if item.model is None else _with_modelled(item.model, stream.columns)
        relation = Relation(item.label, "stream", stream.name, columns, item.span)
        if item.model is not None:
            check_model(item.model, relation, stream, self.problems)
        elif item.window is None:
            self.problems.add(BindError(
                "bind.missing-window", f'stream "{stream.name}" needs a window', span=item.span,
                detail="a stream has no end, so a query says which of its rows an answer covers",
                hint=f"for example: {stream.name} [RANGE 20 MINUTES SLIDE 2 MINUTES]",
            ))
        elif isinstance(item.window, RowsWindow):
            for key in item.window.partition:
                row_expression(key, Scope((relation,)), "PARTITION BY", self.problems)
            self.problems.needs_rows("a window by ROWS", item.window.span)
        return StreamItem(relation, stream, item)

    def _join(self, join: FromJoin, left: list[BoundItem], right: list[BoundItem]) -> list[BoundItem]:
        on = conjuncts(join.on) if join.on is not None else []
        if join.kind == "left outer" and not join.natural:
            return [*left, *self._left_join(join, on, left, right)]
        self.conditions += on
        if join.natural or join.kind not in ("comma", "inner"):
            self.problems.needs_rows("this kind of join", join.words)
        elif _streams(left) and _streams(right):
            self.joined = self.joined or _streams(right)[0].syntax.span
            if any(_is_united(one) for one in (left, right)):
                self.problems.needs_rows("a join of united streams", self.joined)
        return [*left, *right]

    def _left_join(
        self, join: FromJoin, on: list[ExpressionSyntax], left: list[BoundItem], right: list[BoundItem]
    ) -> list[BoundItem]:
        """The right side, the table that is joined."""
        if not _streams(right) and len(right) == 1 and isinstance(right[0], TableItem):
            return [replace(right[0], left_on=tuple(on))]
        self.conditions += on
        if _streams(right) and left and not _streams(left):
            self.problems.needs_rows("a LEFT JOIN that keeps the rows of a table", join.words)
        elif _streams(right):
            self.problems.needs_rows("a LEFT JOIN with a stream on its right", join.words)
        elif right:
            self.problems.needs_rows("a LEFT JOIN with a join on its right", join.words)
        return right

    def _union(self, union: FromUnion, items: list[BoundItem]) -> list[BoundItem]:
        """The streams with one relation in place of their own: what they have in common."""
        if union.alias is not None:
            self._check_label(union.alias.text, union.alias.span)
        if any(isinstance(part, FromJoin) for part in union.parts):
            self.problems.not_yet("a UNION ALL of joins", union.span, "unite the streams first, then join the table")
            self.complete = False
            return items
        for item in items:
            if isinstance(item, TableItem):
                self.complete = False
                self.problems.add(BindError(
                    "bind.union-of-table", f'table "{item.relation.name}" cannot stand in a UNION ALL',
                    span=item.syntax.span, detail="UNION ALL unites windowed streams; a table is joined",
                ))
        if not self.complete:
            return items
        streams = _streams(items)
        self._check_parts(streams)
        first, last = streams[0].syntax.alias, streams[-1].syntax.alias
        name = union.alias or first or last
        alias = name.text if name is not None else streams[0].relation.alias
        relation = _common_relation(alias, streams)
        return [replace(item, relation=relation) for item in streams]

    def _check_parts(self, streams: list[StreamItem]) -> None:
        check_united(((item.stream, item.syntax.span) for item in streams), self.problems)
        for item in streams:
            window = item.syntax.window
            if window is not None and _length(window) != _length(streams[0].syntax.window):
                self.problems.needs_rows("a UNION ALL of windows of different lengths", window.span)


def check_united(streams: Iterable[tuple[Stream, Span]], problems: Problems) -> None:
    """A stream stands once in a UNION ALL; each has its place."""
    known: list[Stream] = []
    for stream, span in streams:
        if stream in known:
            problems.add(BindError(
                "bind.duplicate-name", f'stream "{stream.name}" stands twice in UNION ALL', span=span,
                detail="each of its rows would count twice",
            ))
        known.append(stream)


def _streams(items: list[BoundItem]) -> list[StreamItem]:
    return [item for item in items if isinstance(item, StreamItem)]


def _is_united(items: list[BoundItem]) -> bool:
    """Whether some of the streams are those of a UNION ALL."""
    streams = _streams(items)
    return len({item.relation for item in streams}) < len(streams)


def _common_relation(alias: str, streams: list[StreamItem]) -> Relation:
    common = common_columns([item.stream for item in streams])
    every = {column.name.lower() for item in streams for column in item.stream.columns}
    name = '" and "'.join(item.stream.name for item in streams)
    apart = frozenset(every - {column.name.lower() for column in common})
    return Relation(alias, "stream", name, common, streams[0].relation.span, apart)


def _with_modelled(model: ModelSyntax, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    known = {column.name.lower() for column in columns}
    names = [attribute.name.text for attribute in model.attributes]
    return (*columns, *(Column(name, "DOUBLE") for name in names if name.lower() not in known))


def _check_table(item: FromItem, name: str, problems: Problems) -> None:
    for what, part in (("window", item.window), ("model", item.model)):
        if part is not None:
            problems.add(BindError(
                f"bind.{what}-on-table", f'table "{name}" has no {what}', span=part.span,
                detail="a table is read whole, and its rows have no time",
            ))


def _length(window: WindowSyntax | None) -> object:
    """What must be equal of two windows for their rows to be those of one window."""
    if isinstance(window, RangeWindow):
        return window.length.us
    return "now" if isinstance(window, NowWindow) else None
