"""Which types the parts of any query may have: what kernels can put in order and tell apart.

Spark's analyzer lets more pass than panes can keep (groups by a struct, say); it is refused here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from punctual.errors import BindError, PunctualError, Span
from punctual.runtime.backend import QueryTypes, TypeRequest

NAMES = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.binary(): "BINARY", pa.date32(): "DATE",
    pa.null(): "NULL", pa.timestamp("us", tz="UTC"): "TIMESTAMP", pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.duration("us"): "INTERVAL", pa.time64("ns"): "TIME",
}


def common_refusals(request: TypeRequest, types: QueryTypes) -> list[PunctualError]:
    """Conditions that are none, and keys and orders of types without order."""
    ordered = [(kind, item.expression.span) for item, kind in zip(request.query.order, types.order)]
    return [*_conditions(request, types), *_keys(request, types), *unordered(ordered)]


def _conditions(request: TypeRequest, types: QueryTypes) -> Iterator[PunctualError]:
    found: list[tuple[pa.DataType, Span | None]] = [
        (kind, condition.span) for condition, kind in zip(request.conditions, types.conditions)
    ]
    if request.having is not None and types.having is not None:
        found.append((types.having, request.having.span))
    for kind, span in found:
        if not pa.types.is_boolean(kind):
            yield BindError(
                "bind.type-mismatch", f"a condition is BOOLEAN, and this is {type_name(kind)}", span=span,
                hint="compare it with something, for example: lane > 0",
            )


def _keys(request: TypeRequest, types: QueryTypes) -> Iterator[PunctualError]:
    for key, kind in zip(request.rows.keys, types.keys):
        if pa.types.is_nested(kind):
            yield BindError(
                "bind.type-mismatch", f"rows cannot be grouped by {type_name(kind)}", span=key.span,
                hint=f"group by a part of it, or by its text: CAST({key.written} AS STRING)",
            )


def unordered(found: Sequence[tuple[pa.DataType, Span | None]]) -> Iterator[PunctualError]:
    """What is put in order and has a type that has none."""
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
