"""The order of rows: the same for the same rows, however they came, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.arrays import row_order as row_order_module
from punctual.kernel.arrays.row_hashes import row_hashes
from punctual.kernel.arrays.row_order import row_order
from tests.kernel.test_keys import COLUMNS

NESTED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "list": (pa.list_(pa.int32()), [[], [1], [1, None]]),
    "struct": (pa.struct([("a", pa.string()), ("b", pa.float64())]), [{"a": "x", "b": None}, {"a": None, "b": 1.5}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[], [("a", 1)], [("a", 2), ("b", 1)]]),
}
KINDS = COLUMNS | NESTED
ODD_BITS = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000, 0, 1 << 63], np.uint64)
"""NaNs of three kinds, 0.0 and -0.0."""


def bits(table: pa.Table) -> list[tuple[object, ...]]:
    """Rows by what shows of them; floats by their bits, NaNs and zeros apart."""
    columns = []
    for column in table.columns:
        whole = column.combine_chunks()
        if pa.types.is_floating(whole.type):
            whole = whole.view(pa.int32() if whole.type.bit_width == 32 else pa.int64())
        columns.append([repr(value) for value in whole.to_pylist()])
    return list(zip(*columns))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 12))
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    columns = []
    for name in names:
        kind, values = KINDS[name]
        columns.append(pa.array(draw(st.lists(st.sampled_from([None, *values]), min_size=rows, max_size=rows)), kind))
    odd = draw(st.lists(st.sampled_from(ODD_BITS.tolist()), min_size=rows, max_size=rows))
    columns.append(pa.array(np.array(odd, np.uint64).view(np.float64)))
    return pa.Table.from_arrays(columns, names=[str(n) for n in range(len(columns))])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tables(), st.randoms(use_true_random=False), st.booleans())
def test_the_same_rows_are_in_the_same_order(table: pa.Table, random: Any, alike: bool) -> None:
    """Also where every row has the same hash."""
    times = np.array([random.randint(0, 2) for _ in range(table.num_rows)], np.int64)
    shuffled = np.array(random.sample(range(table.num_rows), table.num_rows), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        if alike:
            patch.setattr(row_order_module, "row_hashes", lambda columns, rows: np.zeros(rows, np.uint64))
        first = row_order(table.columns, times)
        second = row_order(table.take(pa.array(shuffled)).columns, times[shuffled])
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(table.num_rows))
    assert bits(table.take(pa.array(first))) == bits(table.take(pa.array(shuffled)).take(pa.array(second)))


def test_rows_that_share_a_hash_are_sorted_by_time_and_then_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_order_module, "row_hashes", lambda columns, rows: np.zeros(rows, np.uint64))
    columns = [pa.array(["b", "a", None, "c"]), pa.array([1, 2, 3, 4])]
    assert row_order(columns, np.array([5, 5, 5, 3])).tolist() == [3, 2, 1, 0]


def test_only_rows_of_one_hash_change_places(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = np.array([7, 1, 7, 1, 9], np.uint64)
    monkeypatch.setattr(row_order_module, "row_hashes", lambda columns, rows: hashes)
    found = row_order([pa.array(["d", "b", "c", "b", "a"])], np.zeros(5, np.int64)).tolist()
    assert (sorted(found[:2]), found[2:]) == ([1, 3], [2, 0, 4])


def test_a_hash_follows_from_values_alone() -> None:
    plain = pa.array(["a", None, "a", "bc"])
    chunked = pa.chunked_array([plain.slice(0, 1), plain.slice(1)])
    expected = row_hashes([plain], 4).tolist()
    assert len(set(expected)) == 3
    for other in (plain.dictionary_encode(), chunked, plain.cast(pa.large_string())):
        assert row_hashes([other], 4).tolist() == expected
    odd = row_hashes([pa.array(ODD_BITS.view(np.float64))], 5)
    assert odd[0] == odd[1] == odd[2] != odd[3] == odd[4]


def test_an_encoded_column_is_ordered_like_a_plain_one() -> None:
    values = pa.array([2.5, None, -0.0, 0.0, 2.5, 7.0])
    times = np.arange(6)
    assert row_order([values.dictionary_encode()], times).tolist() == row_order([values], times).tolist()
