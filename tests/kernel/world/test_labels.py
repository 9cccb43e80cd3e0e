"""Labels are equal where Python says so, whatever they come in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel import world
from punctual.kernel.world.input.labels import numbered, small_numbers

NAN = float("nan")
UTC = dt.UTC
DAY, MIDNIGHT = dt.date(2025, 1, 1), dt.datetime(2025, 1, 1)
NANOSECONDS = [pd.Timestamp(1), pd.Timestamp(2), pd.Timestamp(1), None]
TWICE = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 3], pa.uint8()), pa.array(["a", "b", "a", None]))
CHUNKS = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", "a", None]).dictionary_encode()])

SAME: dict[str, tuple[Any, list[int]]] = {
    "missing of several kinds": (pd.Series([np.nan, np.nan, 1, "B"]), [-1, -1, 0, 1]),
    "missing beside tuples": ([pd.NA, pd.NaT, np.datetime64("NaT"), ("a",)], [-1, -1, -1, 0]),
    "missing decimals": ([Decimal("NaN"), Decimal(1), 1, Fraction(1)], [-1, 0, 0, 0]),
    "large ints": ([2**63, 2**63, 1, 2**70], [0, 0, 1, 2]),
    "no unicode": (["\ud800", "\ud800", "a", None], [0, 0, 1, -1]),
    "no unicode in numpy": (np.array(["\ud800", "\ud800", "a", "a"]), [0, 0, 1, 1]),
    "text and bytes": (["a", b"a", "a", b"a"], [0, 1, 0, 1]),
    "nanoseconds": (NANOSECONDS, [0, 1, 0, -1]),
    "nanoseconds in pandas": (pd.Series(NANOSECONDS), [0, 1, 0, -1]),
    "with a zone in pandas": (pd.to_datetime(pd.Series(["2025", "2026", "2025", None]), utc=True), [0, 1, 0, -1]),
    "dates and datetimes": ([DAY, MIDNIGHT, DAY, MIDNIGHT], [0, 1, 0, 1]),
    "with and without a zone": ([MIDNIGHT, MIDNIGHT.replace(tzinfo=UTC)] * 2, [0, 1, 0, 1]),
    "two zeros": ([0.0, -0.0, NAN, 1.5], [0, 0, -1, 1]),
    "two zeros in numpy": (np.array([0.0, -0.0, np.nan, 1.5], np.float32), [0, 0, -1, 1]),
    "two zeros in arrow": (pa.array([0.0, -0.0, None, NAN]), [0, 0, -1, -1]),
    "a dictionary with a value twice": (TWICE, [0, 0, 1, -1]),
    "dictionaries that differ": (CHUNKS, [0, 1, 0, -1]),
    "categories": (pd.Series(["b", "a", "b", None], dtype="category"), [0, 1, 0, -1]),
    "nullable ints": (pd.Series([2**62 + 1, pd.NA, 2**62, 2**62 + 1], dtype="Int64"), [0, -1, 1, 0]),
    "instants in numpy": (np.array(["2025", "NaT", "2025", "2026"], "M8[s]"), [0, -1, 0, 1]),
    "masked": (np.ma.masked_array([7, 7, 8, 8], [False, True, False, False]), [0, -1, 1, 1]),
    "another byte order": (np.array([1, 2, 1, 2], ">i4"), [0, 1, 0, 1]),
    "numbers that are equal": ([1, True, 1.0, Decimal(1)], [0, 0, 0, 0]),
    "structs": (pa.array([{"a": 1}, {"a": 1}, None, {"a": 2}]), [0, 0, -1, 1]),
    "a generator": ((letter for letter in "abab"), [0, 1, 0, 1]),
    "nothing": (pa.chunked_array([], pa.string()), []),
}


@pytest.mark.parametrize("case", SAME)
def test_labels_are_equal_where_python_says_so(case: str) -> None:
    labels, numbers = SAME[case]
    assert numbered(labels).tolist() == numbers


HASHABLE: st.SearchStrategy[Hashable] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([2**53, 2**63, 2**64, 2**53 + 1])
    | st.sampled_from([0.0, -0.0, 1.0, 2.0**53, 2.0**63]) | st.sampled_from(["a", "\ud800", b"a", "1"])
    | st.sampled_from([DAY, MIDNIGHT, MIDNIGHT.replace(tzinfo=UTC), Decimal(1), Fraction(1, 2)]),
    lambda inner: st.tuples(inner, inner),
    max_leaves=3,
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(HASHABLE, max_size=8))
def test_any_mix_is_numbered_as_a_dictionary_does(labels: list[Hashable]) -> None:
    numbers: dict[Hashable, int] = {}
    expected = [-1 if label is None else numbers.setdefault(label, len(numbers)) for label in labels]
    assert numbered(labels).tolist() == expected
    assert numbered(np.array([*labels, None], object)[:-1]).tolist() == expected


def test_missing_labels_are_no_rule() -> None:
    assert world.topk_probabilities([3, 2, 1, 0], [0.5] * 4, SAME["missing of several kinds"][0], k=1).tolist() == [
        0.5, 0.25, 0.125, 0.0625,
    ]  # fmt: skip


@pytest.mark.parametrize("labels", [[[1], [2]], [{1}, 2], ["a", np.zeros(2)]], ids=str)
def test_what_has_no_hash_is_refused(labels: Any) -> None:
    with pytest.raises(world.WorldError, match=r"world.bad-label\] of rules row \d has .*no hash"):
        world.pk_topk([2, 1], [0.5, 0.5], labels, k=1)
    with pytest.raises(world.WorldError, match=r"world.bad-label\] of keys row"):
        world.topk_streams([2, 1], [0.5, 0.5], labels, k=1)


@pytest.mark.parametrize("labels", ["ab", b"ab", 5, {1: 2}, {1, 2}, pd.DataFrame({"a": [1, 2]})], ids=repr)
def test_what_is_no_column_is_refused(labels: Any) -> None:
    with pytest.raises(world.WorldError, match=r"world.bad-label\] rules (are|have) "):
        world.pk_topk([2, 1], [0.5, 0.5], labels, k=1)


WHOLE: list[Any] = [
    [7, -1, 7, -9], np.array([2**62, -1, 2**62, -5]), np.array([7, -1, 7, -2], np.int8), [2**70, -1, 2**70, -(2**70)],
    pa.array([2**40, -1, 2**40, -1]),
]  # fmt: skip


@pytest.mark.parametrize("numbers", WHOLE, ids=str)
def test_numbers_of_any_size_can_be_counted_by(numbers: Any) -> None:
    small = small_numbers(numbers, 4, "rules")
    assert small[0] == small[2] >= 0
    assert small.max() < 100
    assert small[[1, 3]].tolist() == [-1, -1]
    assert small.dtype == np.int64


def test_numbers_beyond_signed_ones() -> None:
    assert small_numbers(np.array([2**63, 1, 2**63], np.uint64), 3, "rules").tolist() == [1, 0, 1]
