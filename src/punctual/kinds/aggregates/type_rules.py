"""Which types aggregates take: what panes can add up, put in order and tell apart.

Spark's analyzer lets more pass than panes can keep (the greatest of some arrays); it is refused here, before anything
runs. Where Spark would cast an argument to DOUBLE by itself, so does :func:`with_casts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from punctual.errors import BindError, PunctualError
from punctual.kinds.type_rules import type_name
from punctual.plan.aggregates import Aggregate, Aggregates
from punctual.plan.expression import cast
from punctual.plan.functions import FUNCTIONS, SynopsisKind
from punctual.runtime.backend import QueryTypes

ANY: frozenset[SynopsisKind] = frozenset(("rows", "count", "first", "last"))
"""Synopses of values of every type."""
NUMBERS: frozenset[SynopsisKind] = frozenset(("sum", "moments"))
"""Synopses that add values up."""


def with_casts(body: Aggregates, types: QueryTypes) -> Aggregates:
    """The body with the casts of arguments that Spark makes without being asked: ``sum`` of a STRING adds DOUBLEs."""
    calls = tuple(
        replace(one, argument=cast(one.argument, "DOUBLE")) if one.argument and _becomes_double(one, kind) else one
        for one, kind in zip(body.calls, types.arguments)
    )
    return replace(body, calls=calls) if calls != body.calls else body


def _becomes_double(aggregate: Aggregate, argument: pa.DataType | None) -> bool:
    """Whether Spark computes an aggregate of values that are no numbers as one of DOUBLEs."""
    if argument is None:
        return False
    if argument == pa.timestamp("us", tz="UTC"):
        return aggregate.function in ("sum", "avg")
    numeric = FUNCTIONS[aggregate.function].synopsis in NUMBERS or aggregate.function == "approx_percentile"
    return bool(numeric and (pa.types.is_string(argument) or pa.types.is_null(argument)))


def _fits(aggregate: Aggregate, argument: pa.DataType) -> bool:
    """Whether panes can keep what the aggregate needs of values of a type."""
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


def refused_calls(body: Aggregates, types: QueryTypes) -> Iterator[PunctualError]:
    """Calls over values of types that they do not take."""
    for one, argument in zip(body.calls, types.arguments):
        if argument is None or one.argument is None or _fits(one, argument) or _becomes_double(one, argument):
            continue
        called = f"{one.function}(DISTINCT ...)" if one.distinct else one.function
        text = f"CAST({one.argument.written} AS STRING)"
        orders = FUNCTIONS[one.function].synopsis not in NUMBERS and pa.types.is_nested(argument)
        hint = f"aggregate a part of it, or its text: {text}" if orders else "aggregate a number"
        yield BindError(
            "bind.type-mismatch", f"{called} does not take {type_name(argument)}", span=one.span, hint=hint,
        )
