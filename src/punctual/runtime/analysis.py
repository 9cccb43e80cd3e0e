"""Functions and types, checked by Spark's analyzer over empty frames: no data is read and no job runs.

All statements of a program are checked in one call: each is a scalar subquery of one SELECT, so the schema that comes
back holds the types of every expression. When the analyzer refuses, its place in our generated text is mapped back to
the user's text, that statement is set aside, and the rest is checked again, so that every error is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException, PySparkTypeError
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    NullType,
    SpatialType,
    StructType,
    UserDefinedType,
    VariantType,
)

from punctual.errors import BindError, PunctualError, Span
from punctual.own_names import joined_column, own, shown
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import INSTANT, NULL, aggregate_name, cast, key_name
from punctual.plan.query import Query
from punctual.plan.relation import Column, Declared, Stream, Table
from punctual.plan.sql_text import quoted
from punctual.plan.united import MEANINGS
from punctual.runtime.backend import QueryTypes, TypeReport, TypeRequest
from punctual.runtime.lower import join_condition

CODES = {
    "UNRESOLVED_ROUTINE": "bind.unknown-function",
    "DATATYPE_MISMATCH": "bind.type-mismatch",
    "WRONG_NUM_ARGS": "bind.wrong-arguments",
    "UNRESOLVED_COLUMN": "bind.unknown-column",
    "UNSUPPORTED_DATATYPE": "bind.bad-type",
    "PARSE_SYNTAX_ERROR": "bind.bad-expression",
}


@dataclass(slots=True)
class PlacedText:
    """Generated SQL, remembering which part of it stands for which place of the program."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    places: list[tuple[int, int, Span | None]] = field(default_factory=list)

    def add(self, text: str, span: Span | None = None) -> PlacedText:
        if span is not None:
            self.places.append((self.length, self.length + len(text), span))
        self.parts.append(text)
        self.length += len(text)
        return self

    def include(self, other: PlacedText) -> PlacedText:
        """Add a text with its places."""
        self.places += [(a + self.length, b + self.length, span) for a, b, span in other.places]
        return self.add(str(other))

    def place(self, start: int) -> Span | None:
        """The place of the program that stands at this position of the text."""
        return next((span for a, b, span in self.places if a <= start < b), None)

    def __str__(self) -> str:
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Frame:
    """An empty relation as Spark SQL, and its columns."""

    text: str
    columns: tuple[str, ...]


def typecheck(
    spark: SparkSession,
    relations: Sequence[Declared],
    requests: Sequence[TypeRequest],
    known: Sequence[Stream | Table] = (),
) -> TypeReport:
    """Check new relations and queries; ``known`` are relations that were checked before and that queries may read."""
    frames = {r.name.lower(): empty_frame(r) for r in (*known, *(d.relation for d in relations))}
    items: list[tuple[str, Span | None, PlacedText]] = []
    for declared in relations:
        items.append((f"r:{declared.relation.name.lower()}", declared.span, _relation_text(declared)))
    shapes: dict[str, str] = {}
    for request in requests:
        query = request.query
        text = _query_text(request, frames)
        key = f"q:{query.name}"
        # Queries that differ only in windows and thresholds are one question to the analyzer.
        first = shapes.setdefault(str(text), key)
        if first == key:
            items.append((key, query.span, text))
    errors: list[PunctualError] = []
    types: dict[str, StructType] = {}
    while items:
        whole = PlacedText().add("SELECT ")
        offsets: list[int] = []
        for number, (_key, _span, text) in enumerate(items):
            whole.add(", (" if number else "(")
            offsets.append(whole.length)
            whole.add(str(text)).add(f") AS i{number}")
        try:
            schema = spark.sql(str(whole)).schema
        except AnalysisException as refusal:
            contexts = refusal.getQueryContext() or []
            start = contexts[0].startIndex() if contexts else -1
            at = max((i for i, offset in enumerate(offsets) if offset <= start), default=-1)
            if at < 0:  # the analyzer does not say where: whoever is refused alone with the same words
                said = str(refusal.getMessage())
                at = next((i for i, item in enumerate(items) if _said(spark, item[2]) == said), 0)
            errors.append(_refusal(refusal, items[at], start - offsets[at]))
            failed = items.pop(at)[0]
            # What reads a refused relation would only repeat the same complaint.
            name = failed.removeprefix("r:")
            if failed.startswith("r:"):
                reads = {f"q:{one.query.name}" for one in requests if name in _relations(one)}
                items = [item for item in items if item[0] not in reads]
            continue
        types = {key: schema[f"i{number}"].dataType for number, (key, _s, _t) in enumerate(items)}
        break
    found: dict[str, QueryTypes] = {}
    for request in requests:
        struct = types.get(shapes[str(_query_text(request, frames))])
        if struct is None:
            continue
        try:
            found[request.query.name] = _types(request, struct)
        except BindError as error:
            errors.append(error)
    return TypeReport(found, tuple(errors))


def _nullable(data_type: pa.DataType) -> pa.DataType:
    """The type without promises that a part is never NULL: Spark makes them, and an empty window breaks them."""
    if pa.types.is_list(data_type):
        return pa.list_(_nullable(data_type.value_type))
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(field.name, _nullable(field.type)) for field in data_type])
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _nullable(data_type.item_type))
    return data_type


def _relations(request: TypeRequest) -> set[str]:
    tables = (join.table.lower() for join in request.rows.joins)
    return {*(name.lower() for name in request.query.streams), *tables}


def _types(request: TypeRequest, struct: StructType) -> QueryTypes:
    def several(letter: str, spans: Sequence[Span | None]) -> tuple[pa.DataType, ...]:
        return tuple(answer_type(struct[own(f"{letter}{i}")].dataType, span) for i, span in enumerate(spans))

    arguments = tuple(
        None if one.argument is None else answer_type(struct[own(f"x{i}")].dataType, one.span)
        for i, one in enumerate(request.aggregates)
    )
    return QueryTypes(
        several("k", [key.span for key in request.rows.keys]),
        several("a", [one.span for one in request.aggregates]),
        several("o", [output.expression.span for output in request.query.outputs]),
        several("s", [order.expression.span for order in request.query.order]),
        arguments,
        several("c", [condition.span for condition in request.conditions]),
        None if request.having is None else answer_type(struct[own("h")].dataType, request.having.span),
    )


def _is_opaque(kind: DataType) -> bool:
    """Whether a part of a type is one that Arrow carries as bytes of Spark's own, or not at all.

    The elements of ``array()`` and ``map()`` have the type of NULL and are never NULL, which Arrow cannot say.
    """
    match kind:
        case ArrayType():
            return _is_opaque(kind.elementType) or _is_nothing(kind.elementType, kind.containsNull)
        case MapType():
            parts = ((kind.keyType, False), (kind.valueType, kind.valueContainsNull))
            return any(_is_opaque(part) or _is_nothing(part, nullable) for part, nullable in parts)
        case StructType():
            return not kind.fields or any(_is_opaque(field.dataType) for field in kind.fields)
        case _:
            return isinstance(kind, VariantType | SpatialType | UserDefinedType)


def _is_nothing(kind: DataType, nullable: bool) -> bool:
    return isinstance(kind, NullType) and not nullable


def answer_type(kind: DataType, span: Span | None) -> pa.DataType:
    """The type that values of this one have in an answer; what has none there is refused at its place."""
    try:
        if _is_opaque(kind):
            raise PySparkTypeError("its values have no form in an answer")
        return _nullable(to_arrow_type(kind, timezone="UTC"))
    except PySparkTypeError:
        raise BindError(
            "bind.bad-type", f"values of type {kind.simpleString().upper()} are not supported", span=span,
            hint="cast it to a type that a column can have, for example: CAST(... AS STRING)",
        ) from None


def empty_frame(relation: Stream | Table) -> Frame:
    """A relation without rows."""
    columns = relation.columns
    derived = "".join(f", {cast(c.derived, c.type).sql} AS {quoted(c.name)}" for c in columns if c.derived is not None)
    text = f"SELECT {_nothing(columns)} WHERE false"
    return Frame(f"SELECT *{derived} FROM ({text})" if derived else text, tuple(c.name for c in columns))


def _relation_text(declared: Declared) -> PlacedText:
    text = PlacedText().add("SELECT struct(")
    columns: tuple[Column, ...] = declared.relation.columns
    spans = declared.spans or (None,) * len(columns)
    for number, (column, span) in enumerate(zip(columns, spans)):
        text.add(", " if number else "")
        text.add(cast(column.derived or NULL, column.type).sql, span)
    return text.add(f") FROM (SELECT {_nothing(columns)} WHERE false)")


def _nothing(columns: Sequence[Column]) -> str:
    """The columns that rows come with, without any row."""
    return ", ".join(f"{cast(NULL, c.type).sql} AS {quoted(c.name)}" for c in columns if c.derived is None)


def _query_text(request: TypeRequest, frames: dict[str, Frame]) -> PlacedText:
    query, rows = request.query, request.rows
    inner = PlacedText().add("SELECT ")
    names: list[str] = []

    def select(text: str, span: Span | None, name: str) -> None:
        inner.add(", " if names else "").add(text, span).add(f" AS {quoted(name)}")
        names.append(quoted(name))

    for number, key in enumerate(rows.keys):
        select(f"({key.sql})", key.span, key_name(number))
    for number, aggregate in enumerate(request.aggregates):
        select(call(aggregate), aggregate.span, aggregate_name(number))
        if aggregate.argument is not None:
            select(f"any_value({aggregate.argument.sql})", aggregate.span, own(f"x{number}"))
    for number, condition in enumerate(request.conditions):
        select(f"any_value({condition.sql})", condition.span, own(f"c{number}"))
    inner.add(f" FROM ({_rows(query, frames)})")
    for join in rows.joins:
        frame = frames[join.table.lower()]
        columns = ", ".join(f"{quoted(name)} AS {quoted(joined_column(join.alias, name))}" for name in frame.columns)
        inner.add(f" {join.how.upper()} JOIN (SELECT {columns} FROM ({frame.text})) ON ")
        inner.add(join_condition(join), query.span)
    if rows.keys:
        inner.add(" GROUP BY " + ", ".join(str(i + 1) for i in range(len(rows.keys))))
    text = PlacedText().add("SELECT struct(" + ", ".join(names))
    answers = [(f"o{number}", output.expression) for number, output in enumerate(query.outputs)]
    answers += [(f"s{number}", order.expression) for number, order in enumerate(query.order)]
    answers += [] if request.having is None else [("h", request.having)]
    for number, (name, expression) in enumerate(answers):
        text.add(", " if names or number else "").add(f"({expression.sql})", expression.span)
        text.add(f" AS {quoted(own(name))}")
    text.add(f") FROM (SELECT *, TIMESTAMP'1970-01-01' AS {quoted(INSTANT)} FROM (")
    return text.include(inner).add("))")


def _rows(query: Query, frames: dict[str, Frame]) -> str:
    """The rows of its streams: united ones have what it may name in common, and what rows mean in each."""
    text = frames[query.streams[0].lower()].text
    if len(query.streams) == 1:
        return text
    meanings = ", ".join(f"{cast(NULL, kind).sql} AS {quoted(name)}" for name, kind in MEANINGS.items())
    return f"SELECT *, {meanings} FROM ({text})"


def call(aggregate: Aggregate) -> str:
    """The aggregate as Spark would write it, for its type."""
    if aggregate.argument is None:
        return f"{aggregate.function}(*)"
    arguments = [f"({aggregate.argument.sql})"]
    for parameter in aggregate.parameters:
        if isinstance(parameter, tuple):
            arguments.append("array(" + ", ".join(repr(p) for p in parameter) + ")")
        else:
            arguments.append(repr(parameter))
    distinct = "DISTINCT " if aggregate.distinct else ""
    return f"{aggregate.function}({distinct}{', '.join(arguments)})"


def _said(spark: SparkSession, text: PlacedText) -> str | None:
    """What the analyzer says against one item alone, None where it says nothing."""
    try:
        spark.sql(str(text))
    except AnalysisException as refusal:
        return str(refusal.getMessage())
    return None


def _refusal(refusal: AnalysisException, item: tuple[str, Span | None, PlacedText], start: int) -> PunctualError:
    """Our error for one of Spark's, at a place of the item's text."""
    contexts = refusal.getQueryContext() or []
    _key, statement, text = item
    code, fact = in_our_words(refusal)
    fragment = contexts[0].fragment() if contexts else None
    return BindError(
        code,
        fact,
        span=text.place(start) or statement,
        detail=f"in {shown(fragment)}" if fragment else None,
        hint="expressions are Spark SQL's: see its function reference" if code == "bind.unknown-function" else None,
    )


def in_our_words(refusal: PySparkException) -> tuple[str, str]:
    """What Spark says against a text: our code for it, and the fact in one line."""
    condition = refusal.getCondition() or ""
    message = shown(refusal.getMessage() or str(refusal))
    fact = message.split("] ", 1)[-1].split(" SQLSTATE")[0].split("\n")[0].strip().rstrip(".")
    if condition.startswith("UNRESOLVED_ROUTINE"):
        named = (refusal.getMessageParameters() or {}).get("routineName", "").replace("`", "")
        fact = f'there is no function "{named}"'
    code = next((ours for theirs, ours in CODES.items() if condition.startswith(theirs)), "bind.refused-by-spark")
    return code, shown(fact[:1].lower() + fact[1:])
