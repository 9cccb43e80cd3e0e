"""Bands and comparisons, against the comparison of each value with each constant."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.panes.bands import (
    GRID_SHIFT,
    bands_of,
    conjunction,
    digits,
    grids_from_json,
    grids_to_json,
    rebase,
    size,
    truth,
)
from punctual.kernel.panes.spec import Band, Comparison, Grid

TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt, "<>": operator.ne,
}  # fmt: skip
INTEGERS = st.sampled_from([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1])
CUTS = st.sampled_from([-(2**70), -(2**63), 0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**64])
FLOATS = st.sampled_from([math.nan, -math.inf, -1.5, -0.0, 0.0, 0.1, 2.0, math.inf])


def spark_holds(value: Any, op: str, constant: Any) -> bool:
    if value is None:
        return False
    if isinstance(value, float) and math.isnan(value):
        return op in (">", ">=", "<>")
    return TESTS[op](value, constant)


def check(band: Band, column: pa.Array, op: str, constant: Any) -> None:
    held = truth(band, Comparison(op, (constant,)))[bands_of([band], {band.column: column}, len(column))]  # type: ignore[arg-type]
    wanted = [spark_holds(value, op, constant) for value in column.to_pylist()]
    if constant in band.cuts:
        assert held.tolist() == wanted
    else:  # undecided is never selected, and whatever is selected is right
        assert all(want or not hold for want, hold in zip(wanted, held))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), INTEGERS)), st.sets(CUTS), CUTS, st.sampled_from(list(TESTS)))
def test_integers_are_compared_exactly(values: list[int | None], cuts: set[int], constant: int, op: str) -> None:
    check(Band("x", "number", tuple(sorted(cuts))), pa.array(values, pa.int64()), op, constant)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.none(), FLOATS)),
    st.sets(FLOATS.filter(lambda f: not math.isnan(f))),
    FLOATS.filter(lambda f: not math.isnan(f)),
    st.sampled_from(list(TESTS)),
    st.sampled_from([pa.float32(), pa.float64()]),
)
def test_floats_and_nan(
    values: list[float | None], cuts: set[float], constant: float, op: str, kind: pa.DataType
) -> None:
    check(Band("x", "number", tuple(sorted(cuts))), pa.array(values, kind), op, constant)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([None, "", "a", "b", "ä"])), st.sets(st.sampled_from(["", "a", "ä"])),
    st.sampled_from(["", "a", "b", "ä"]), st.sampled_from(["=", "<>"]), st.booleans(),
)  # fmt: skip
def test_labels(values: list[str | None], cuts: set[str], constant: str, op: str, as_dictionary: bool) -> None:
    column = pa.array(values, pa.string())
    band = Band("x", "label", tuple(sorted(cuts)))
    check(band, column, op, constant)
    if as_dictionary:
        check(band, column.dictionary_encode(), op, constant)


def test_a_label_that_was_no_cut_is_undecided_among_the_others_only() -> None:
    band = Band("x", "label", ("a",))
    assert truth(band, Comparison("<>", ("new",))).tolist() == [False, False, True]


def test_booleans_dates_and_timestamps() -> None:
    flags = pa.array([True, False, None])
    assert bands_of([Band("x", "label", (0, 1))], {"x": flags}, 3).tolist() == [3, 2, 0]
    days = pa.array([0, 5, None], pa.date32())
    assert bands_of([Band("x", "number", (5,))], {"x": days}, 3).tolist() == [1, 2, 0]
    times = pa.array([4, 6], pa.timestamp("us", "UTC"))
    assert bands_of([Band("x", "number", (5,))], {"x": times}, 2).tolist() == [1, 3]


def test_in_and_conjunctions() -> None:
    band = Band("x", "number", (1, 2, 3))
    assert truth(band, Comparison("in", (1, 3))).nonzero()[0].tolist() == [2, 6]
    between = [Comparison(">", (1,)), Comparison("<", (3,))]
    assert conjunction(band, between).nonzero()[0].tolist() == [3, 4, 5]
    assert conjunction(band, []).all()  # NULL too


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", None])), min_size=1))
def test_several_columns_make_one_number(rows: list[tuple[int, str | None]]) -> None:
    bands = [Band("x", "number", (2, 5)), Band("y", "label", ("a",))]
    columns = {"x": pa.array([x for x, _ in rows]), "y": pa.array([y for _, y in rows], pa.string())}
    numbers = bands_of(bands, columns, len(rows))
    assert numbers.max() < size(bands[0]) * size(bands[1])
    for band, digit in zip(bands, digits(bands, numbers)):
        assert digit.tolist() == bands_of([band], columns, len(rows)).tolist()


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(InternalError, match="no number bands"):
        bands_of([Band("x", "number", (1,))], {"x": pa.array(["a"])}, 1)
    with pytest.raises(InternalError, match="is cut by"):
        bands_of([Band("x", "number", (1.5,))], {"x": pa.array([1])}, 1)
    wide = [Band(f"x{i}", "number", tuple(range(10_000))) for i in range(4)]
    with pytest.raises(InternalError, match="too many bands"):
        bands_of(wide, {f"x{i}": pa.array([1]) for i in range(4)}, 1)


def test_grids_survive_the_metadata_and_a_new_order() -> None:
    one = Grid(((5, 0), (5, 2)), (Band("x", "number", (-(2**63), 0.5, math.inf)), Band("y", "label", ("\\", "ä"))))
    other = Grid(((7, 1),), ())
    assert grids_from_json(grids_to_json([one, other])) == (one, other)
    band = np.array([3, (1 << GRID_SHIFT) + 9], dtype=np.int64)
    assert rebase(band, [one, other], [other, one]).tolist() == [(1 << GRID_SHIFT) + 3, 9]
