"""Which types the parts of a query may have: what kernels can add up, put in order and tell apart.

Spark's analyzer lets more pass than panes can keep (the greatest of some arrays, groups by a struct); it is refused
here, before anything runs. Where Spark would cast an argument to DOUBLE by itself, so does :func:`with_casts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from punctual.errors import BindError, PunctualError, Span
from punctual.plan.functions import FUNCTIONS, TOP, SynopsisKind
from punctual.plan.query import Aggregate, WindowQuery
from punctual.runtime.backend import QueryTypes

ANY: frozenset[SynopsisKind] = frozenset(("rows", "count", "first", "last", "world"))
"""Synopses of values of every type."""
NUMBERS: frozenset[SynopsisKind] = frozenset(("sum", "moments"))
"""Synopses that add values up."""
NAMES = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.binary(): "BINARY", pa.date32(): "DATE",
    pa.null(): "NULL", pa.timestamp("us", tz="UTC"): "TIMESTAMP", pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.duration("us"): "INTERVAL", pa.time64("ns"): "TIME",
}


def refusals(query: WindowQuery, types: QueryTypes) -> list[PunctualError]:
    """Everything that a query asks of values of types that cannot do it."""
    return [*_conditions(query, types), *_keys(query, types), *_aggregates(query, types), *_sorted(query, types)]


def with_casts(query: WindowQuery, types: QueryTypes) -> WindowQuery:
    """The query with the casts of arguments that Spark makes without being asked: ``sum`` of a STRING adds DOUBLEs."""
    aggregates = tuple(
        replace(one, argument=f"CAST(({one.argument}) AS DOUBLE)") if _becomes_double(one, argument) else one
        for one, argument in zip(query.aggregates, types.arguments)
    )
    return replace(query, aggregates=aggregates) if aggregates != query.aggregates else query


def _becomes_double(aggregate: Aggregate, argument: pa.DataType | None) -> bool:
    """Whether Spark computes an aggregate of values that are no numbers as one of DOUBLEs."""
    if argument is None or aggregate.function == TOP.name:
        return False
    if argument == pa.timestamp("us", tz="UTC"):
        return aggregate.function in ("sum", "avg")
    numeric = FUNCTIONS[aggregate.function].synopsis in NUMBERS or aggregate.function == "approx_percentile"
    return bool(numeric and (pa.types.is_string(argument) or pa.types.is_null(argument)))


def _fits(aggregate: Aggregate, argument: pa.DataType) -> bool:
    """Whether panes can keep what the aggregate needs of values of a type."""
    if aggregate.function == TOP.name:
        return True
    if aggregate.function == "count_if":
        return bool(pa.types.is_boolean(argument) or pa.types.is_null(argument))
    if aggregate.function == "approx_percentile":
        return _is_number(argument) or bool(pa.types.is_temporal(argument))
    function = FUNCTIONS[aggregate.function]
    if function.synopsis in NUMBERS:
        return _is_number(argument)
    kind = function.distinct if aggregate.distinct else function.synopsis
    return kind in ANY or not pa.types.is_nested(argument)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _conditions(query: WindowQuery, types: QueryTypes) -> Iterator[PunctualError]:
    found: list[tuple[pa.DataType, Span | None]] = [
        (kind, condition.span) for condition, kind in zip(query.row_conditions, types.conditions)
    ]
    if query.having is not None and types.having is not None:
        found.append((types.having, query.having_span))
    for kind, span in found:
        if not pa.types.is_boolean(kind):
            yield BindError(
                "bind.type-mismatch", f"a condition is BOOLEAN, and this is {type_name(kind)}", span=span,
                hint="compare it with something, for example: lane > 0",
            )


def _keys(query: WindowQuery, types: QueryTypes) -> Iterator[PunctualError]:
    for key, kind in zip(query.keys, types.keys):
        if pa.types.is_nested(kind):
            yield BindError(
                "bind.type-mismatch", f"rows cannot be grouped by {type_name(kind)}", span=key.span,
                hint=f"group by a part of it, or by its text: CAST({_plain(key.row)} AS STRING)",
            )


def _aggregates(query: WindowQuery, types: QueryTypes) -> Iterator[PunctualError]:
    for one, argument in zip(query.aggregates, types.arguments):
        if argument is None or _fits(one, argument) or _becomes_double(one, argument):
            continue
        called = f"{one.function}(DISTINCT ...)" if one.distinct else one.function
        text = f"CAST({_plain(one.argument or '')} AS STRING)"
        orders = FUNCTIONS[one.function].synopsis not in NUMBERS and pa.types.is_nested(argument)
        hint = f"aggregate a part of it, or its text: {text}" if orders else "aggregate a number"
        yield BindError(
            "bind.type-mismatch", f"{called} does not take {type_name(argument)}", span=one.span, hint=hint,
        )


def _sorted(query: WindowQuery, types: QueryTypes) -> Iterator[PunctualError]:
    """ORDER BY, and the score of a ranking, which is the field ``s`` of what it ranks."""
    found = [(kind, item.span) for item, kind in zip(query.order, types.order)]
    if query.top is not None and types.arguments[0] is not None:
        found.append((types.arguments[0].field("s").type, query.top.score_span))
    for kind, span in found:
        if pa.types.is_nested(kind):
            yield BindError(
                "bind.type-mismatch", f"rows cannot be put in order by {type_name(kind)}", span=span,
                hint="order by a part of it",
            )


def type_name(kind: pa.DataType) -> str:
    """A type as programs write it.

    >>> type_name(pa.list_(pa.struct([("x", pa.int32())]))), type_name(pa.decimal128(10, 2))
    ('ARRAY<STRUCT<x: INT>>', 'DECIMAL(10,2)')
    """
    if pa.types.is_list(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {type_name(field.type)}' for field in kind)}>"
    if pa.types.is_map(kind):
        return f"MAP<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return NAMES.get(kind, str(kind))


def _plain(row: str) -> str:
    """A row expression as its author would write it."""
    return row.replace("`", "")
