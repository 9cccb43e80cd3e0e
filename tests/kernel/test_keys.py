"""Group keys: codes against dictionaries of Python values, order against Spark's rules, shards against themselves."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.panes import keys as keys_module
from punctual.kernel.panes.keys import dense, dense_values, encode, order, shard_of

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(1969, 12, 31, 12, tzinfo=datetime.UTC)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), ["", "a", "ab", "b", "ä", "😀"]),
    "large_string": (pa.large_string(), ["", "a", "ab", "ﬀ", "😀"]),
    "int8": (pa.int8(), [-128, 0, 127]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1]),
    "float32": (pa.float32(), [-math.inf, -0.0, 0.0, 0.5, math.inf, math.nan]),
    "float64": (pa.float64(), [-math.inf, -5e-324, -0.0, 0.0, 0.1, math.inf, math.nan]),
    "bool": (pa.bool_(), [True, False]),
    "decimal": (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("99999999.99")]),
    "date": (pa.date32(), [DAY, datetime.date(1900, 1, 1)]),
    "timestamp": (pa.timestamp("us", "UTC"), [NOON, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff"]),
    "null": (pa.null(), []),
}


def plain(value: Any) -> Any:
    """What Spark groups by: one NaN, no -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def spark_rank(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, value.encode() if isinstance(value, str) else value)


@st.composite
def key_columns(draw: st.DrawFn) -> list[pa.Array]:
    rows = draw(st.integers(0, 20))
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3))
    made = []
    for name in names:
        kind, values = COLUMNS[name]
        choice = st.sampled_from([None, *values])
        made.append(pa.array(draw(st.lists(choice, min_size=rows, max_size=rows)), kind))
    return made


def key_rows(columns: list[pa.Array]) -> list[tuple[Any, ...]]:
    return [tuple(plain(value) for value in row) for row in zip(*(column.to_pylist() for column in columns))]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(key_columns(), st.booleans())
def test_codes_number_keys_by_first_appearance(columns: list[pa.Array], hashed: bool) -> None:
    rows = key_rows(columns)
    wanted = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    before = keys_module.DIRECT_CODES
    keys_module.DIRECT_CODES = 0 if hashed else before
    try:
        codes, keys = encode(columns, len(rows))
    finally:
        keys_module.DIRECT_CODES = before
    assert codes.tolist() == [wanted[row] for row in rows]
    assert key_rows(keys) == list(wanted)
    assert [key.type for key in keys] == [column.type for column in columns]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(key_columns())
def test_order_is_that_of_spark(columns: list[pa.Array]) -> None:
    _, keys = encode(columns, len(columns[0]))
    rows = [tuple(spark_rank(value) for value in row) for row in zip(*(key.to_pylist() for key in keys))]
    by_rank = sorted(rows)
    assert [by_rank[rank] for rank in order(keys)] == rows


@settings(max_examples=80, deadline=None, derandomize=True)
@given(key_columns(), st.integers(1, 40))
def test_a_shard_depends_on_the_values_alone(columns: list[pa.Array], shards: int) -> None:
    whole = shard_of(columns, shards)
    assert ((whole >= 0) & (whole < shards)).all()
    rows = key_rows(columns)
    seen: dict[tuple[Any, ...], int] = {}
    for row, shard in zip(rows, whole.tolist()):
        assert seen.setdefault(row, shard) == shard
    one_by_one = [int(shard_of([column.slice(i, 1) for column in columns], shards)[0]) for i in range(len(rows))]
    assert one_by_one == whole.tolist()
    encodable = [c if pa.types.is_null(c.type) else c.dictionary_encode() for c in columns]
    assert shard_of(encodable, shards).tolist() == whole.tolist()


def test_shards_are_fixed_for_good() -> None:
    """State on disk relies on these numbers."""
    assert shard_of([pa.array(["a", "b", None, "sensor-17"])], 16).tolist() == [1, 14, 13, 12]
    assert shard_of([pa.array([0, 1, -1, 2**40]), pa.array([1.5, None, 0.0, -0.0])], 16).tolist() == [12, 4, 7, 9]
    assert shard_of([], 16).tolist() == [0]


def test_widths_of_integers_and_strings_make_no_difference() -> None:
    small, large = pa.array([1, None, -3], pa.int8()), pa.array([1, None, -3], pa.int64())
    assert shard_of([small], 97).tolist() == shard_of([large], 97).tolist()
    short, long = pa.array(["x", "yy"], pa.string()), pa.array(["x", "yy"], pa.large_string())
    assert shard_of([short], 97).tolist() == shard_of([long], 97).tolist()


def test_shards_are_even() -> None:
    for column in (pa.array(np.arange(100_000)), pa.array([f"sensor-{i}" for i in range(100_000)])):
        counts = np.bincount(shard_of([column], 16), minlength=16)
        assert abs(counts - 6_250).max() < 5 * math.sqrt(6_250)


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(InternalError, match="no hash"):
        shard_of([pa.array([[1]])], 4)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)))
def test_dense_codes(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    codes, found = dense_values(array)
    assert found.tolist() == sorted(set(values))
    assert found[codes].tolist() == values
    renumbered, first = dense(codes, max(1, found.size))
    assert array[first][renumbered].tolist() == values
    assert first.tolist() == [values.index(value) for value in dict.fromkeys(values)]


def test_many_distinct_values_outgrow_the_first_table() -> None:
    values = np.random.default_rng(3).permutation(np.repeat(np.arange(10_000) * 2**40, 2))
    codes, found = dense_values(values)
    np.testing.assert_array_equal(found[codes], values)
    assert found.size == 10_000
