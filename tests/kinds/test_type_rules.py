"""Every aggregate with every type: what is let through the kernels can do, and the rest is refused with its place."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from punctual.errors import PunctualError, Span
from punctual.kernel.panes.keys import encode, order, shard_of
from punctual.kernel.synopses.synopsis import make
from punctual.kinds.registry import kind_of
from punctual.kinds.type_rules import type_name
from punctual.plan.aggregates import Aggregate, Aggregates
from punctual.plan.expression import aggregate_name, cast, column_of, key_name, struct
from punctual.plan.functions import FUNCTIONS
from punctual.plan.query import Body, Input, Order, Output, Period, Query
from punctual.plan.ranking import Ranking
from punctual.plan.rows import GroupedRows
from punctual.runtime.backend import QueryTypes

VALUES: dict[str, pa.Array] = {
    "BOOLEAN": pa.array([True, False, None, True]),
    "TINYINT": pa.array([1, 2, None, 1], pa.int8()),
    "INT": pa.array([1, 2, None, 1], pa.int32()),
    "BIGINT": pa.array([1, 2, None, 1], pa.int64()),
    "FLOAT": pa.array([1.5, 2.5, None, 1.5], pa.float32()),
    "DOUBLE": pa.array([1.5, 2.5, None, 1.5], pa.float64()),
    "DECIMAL(10,2)": pa.array([Decimal("1.50"), Decimal("2.50"), None, Decimal("1.50")], pa.decimal128(10, 2)),
    "DECIMAL(38,2)": pa.array([Decimal("1.50"), Decimal("2.50"), None, Decimal("1.50")], pa.decimal128(38, 2)),
    "STRING": pa.array(["a", "b", None, "a"]),
    "BINARY": pa.array([b"a", b"b", None, b"a"]),
    "DATE": pa.array([1, 2, None, 1], pa.int32()).cast(pa.date32()),
    "TIMESTAMP": pa.array([1, 2, None, 1], pa.timestamp("us", tz="UTC")),
    "TIMESTAMP_NTZ": pa.array([1, 2, None, 1], pa.timestamp("us")),
    "INTERVAL": pa.array([1, 2, None, 1], pa.duration("us")),
    "TIME": pa.array([1000, 2000, None, 1000]).cast(pa.time64("ns")),
    "NULL": pa.nulls(4),
    "ARRAY<INT>": pa.array([[1], [2], None, [1]], pa.list_(pa.int32())),
    "STRUCT<x: INT>": pa.array([{"x": 1}, {"x": 2}, None, {"x": 1}], pa.struct([("x", pa.int32())])),
    "MAP<STRING, INT>": pa.array([[("a", 1)], [("b", 2)], None, [("a", 1)]], pa.map_(pa.string(), pa.int32())),
}
NESTED = {"ARRAY<INT>", "STRUCT<x: INT>", "MAP<STRING, INT>"}
NUMBERS = {"TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,2)"}
TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL", "TIME"}
ATOMIC = set(VALUES) - NESTED
CALLS = [(name, False) for name in FUNCTIONS] + [(name, True) for name, f in FUNCTIONS.items() if f.distinct]
PARAMETERS = {"approx_percentile": (0.5,)}
SYNOPSIS_PARAMETERS: dict[str, tuple[int, ...]] = {"values": (1,), "distinct": (9,)}
TAKES = {
    "count": set(VALUES), "count_if": {"BOOLEAN", "NULL"}, "first": set(VALUES), "last": set(VALUES), "min": ATOMIC,
    "max": ATOMIC, "approx_count_distinct": ATOMIC, "approx_percentile": NUMBERS | TIMES,
    "sum": NUMBERS, "avg": NUMBERS, "stddev_samp": NUMBERS, "stddev_pop": NUMBERS, "var_samp": NUMBERS,
    "var_pop": NUMBERS,
}
"""What each function takes as it is; the rest is refused, or becomes DOUBLE."""
BECOMES_DOUBLE = {
    "sum": {"STRING", "TIMESTAMP", "NULL"}, "avg": {"STRING", "TIMESTAMP", "NULL"}, "stddev_samp": {"STRING", "NULL"},
    "stddev_pop": {"STRING", "NULL"}, "var_samp": {"STRING", "NULL"}, "var_pop": {"STRING", "NULL"},
    "approx_percentile": {"STRING", "NULL"},
}
"""What Spark's analyzer casts to DOUBLE by itself."""


def query_of(body: Body, order: tuple[Order, ...] = ()) -> Query:
    return Query("q", (Input("s", 60),), Period(60), (Output("o", column_of(aggregate_name(0))),), body, order)


def refusals(query: Query, types: QueryTypes) -> list[PunctualError]:
    return kind_of(query).refusals(query, types)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(("name", "distinct"), CALLS)
def test_an_aggregate_of_a_type_works_or_is_refused(name: str, distinct: bool, kind: str) -> None:
    function, array, span = FUNCTIONS[name], VALUES[kind], Span(3, 9)
    call = Aggregate(name, column_of("x"), PARAMETERS.get(name, ()), distinct, span=span)
    query = query_of(Aggregates(GroupedRows(), (call,)))
    types = QueryTypes((), (array.type,), (array.type,), (), (array.type,))
    errors = refusals(query, types)
    body = kind_of(query).with_casts(query, types).body
    assert isinstance(body, Aggregates)
    argument = body.calls[0].argument
    takes = ATOMIC if name == "count" and distinct else TAKES[name]
    if kind in BECOMES_DOUBLE.get(name, ()):
        assert (errors, argument) == ([], cast(column_of("x"), "DOUBLE"))
        return
    assert argument == column_of("x")
    if kind not in takes:
        (error,) = errors
        assert (error.code, error.span) == ("bind.type-mismatch", span)
        assert kind in error.fact
        assert error.hint
        return
    assert errors == []
    synopsis_kind = function.distinct if distinct else function.synopsis
    assert synopsis_kind is not None
    parameters = (None,) if distinct and synopsis_kind == "values" else SYNOPSIS_PARAMETERS.get(synopsis_kind, ())
    synopsis = make(synopsis_kind, parameters)
    state = synopsis.lift(np.array([0, 0, 0, 1]), 2, array, np.arange(4), ())
    merged = synopsis.combine(state, np.array([0, 0]), np.array([2, 1]))
    assert len(synopsis.finish(name, PARAMETERS.get(name, ()), merged, None)[0]) == 2


@pytest.mark.parametrize("kind", VALUES)
def test_rows_are_grouped_and_sorted_by_a_type_or_it_is_refused(kind: str) -> None:
    array = VALUES[kind]
    body = Aggregates(GroupedRows(keys=(column_of("x", Span(1, 2)),)), ())
    query = query_of(body, (Order(column_of(key_name(0), Span(7, 8)), True, True),))
    errors = refusals(query, QueryTypes((array.type,), (), (), (array.type,), ()))
    if kind in NESTED:
        assert [(e.code, e.span, kind in e.fact) for e in errors] == [
            ("bind.type-mismatch", Span(1, 2), True), ("bind.type-mismatch", Span(7, 8), True),
        ]
    else:
        codes, keys = encode([array], 4)
        assert (errors, codes.tolist(), order(keys).size, shard_of(keys, 4).size) == (
            [], [0, 0, 0, 0] if kind == "NULL" else [0, 1, 2, 0], len(keys[0]), len(keys[0]),
        )


@pytest.mark.parametrize("kind", VALUES)
def test_a_condition_is_boolean(kind: str) -> None:
    of, condition = VALUES[kind].type, column_of("x", Span(1, 2))
    count = Aggregate("count", None, conditions=(column_of("y", Span(3, 4)),))
    having = column_of(aggregate_name(0), Span(5, 6))
    query = query_of(Aggregates(GroupedRows(conditions=(condition,)), (count,), having))
    errors = refusals(query, QueryTypes((), (pa.int64(),), (), (), (None,), (of, of), of))
    places = [] if kind == "BOOLEAN" else [Span(1, 2), Span(3, 4), Span(5, 6)]
    assert [error.span for error in errors] == places
    assert all(error.fact == f"a condition is BOOLEAN, and this is {kind}" for error in errors)


@pytest.mark.parametrize("kind", VALUES)
def test_a_score_has_an_order(kind: str) -> None:
    row = pa.struct([("s", VALUES[kind].type), ("p", pa.float64()), ("r", pa.string())])
    query = query_of(Ranking(GroupedRows(), 2, "PK", column_of("x", Span(1, 2)), struct(()), struct(()), ()))
    errors = refusals(query, QueryTypes((), (pa.list_(row),), (), (), (row,)))
    assert [error.span for error in errors] == ([Span(1, 2)] if kind in NESTED else [])


@pytest.mark.parametrize("kind", VALUES)
def test_types_are_named_as_programs_write_them(kind: str) -> None:
    assert type_name(VALUES[kind].type) == kind
