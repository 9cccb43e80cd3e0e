"""Pane edges, against the enumeration of all edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.panes import layout
from punctual.kernel.panes.layout import Progression, covers, panes_of, progressions_for

WINDOWS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 25)), min_size=1, max_size=8)
PROGRESSIONS = st.lists(
    st.integers(1, 20).flatmap(lambda step: st.tuples(st.just(step), st.integers(0, step - 1))), min_size=1, max_size=5
).map(tuple)


def edges(progressions: tuple[Progression, ...], least: int, most: int) -> set[int]:
    return {e for step, offset in progressions for e in range(least, most + 1) if (e - offset) % step == 0}


@settings(max_examples=80, deadline=None, derandomize=True)
@given(WINDOWS)
def test_the_edges_are_those_of_the_windows_and_no_others(windows: list[tuple[int, int]]) -> None:
    wanted = {e for length, step in windows for at in range(-500, 501, 1) if at % step == 0 for e in (at, at - length)}
    found = edges(progressions_for(windows), -300, 300)
    assert found == {e for e in wanted if -300 <= e <= 300}


@settings(max_examples=80, deadline=None, derandomize=True)
@given(WINDOWS)
def test_no_progression_is_spare(windows: list[tuple[int, int]]) -> None:
    found = progressions_for(windows)
    assert not [p for p in found for q in found if p != q and covers((q,), (p,))]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(PROGRESSIONS, st.lists(st.integers(-150, 150), max_size=30), st.booleans())
def test_a_pane_lies_between_neighbouring_edges(
    progressions: tuple[Progression, ...], times: list[int], many: bool
) -> None:
    """Few progressions are divided, many are swept; both are asked here for the same."""
    all_edges = sorted(edges(progressions, -200, 200))
    before = layout.FEW_PROGRESSIONS
    layout.FEW_PROGRESSIONS = 0 if many else before
    try:
        lo, hi = panes_of(np.array(times, dtype=np.int64), progressions)
    finally:
        layout.FEW_PROGRESSIONS = before
    assert lo.tolist() == [max(e for e in all_edges if e < t) for t in times]
    assert hi.tolist() == [min(e for e in all_edges if e >= t) for t in times]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(PROGRESSIONS, PROGRESSIONS)
def test_covers_is_inclusion_of_edges(layout_: tuple[Progression, ...], needed: tuple[Progression, ...]) -> None:
    period = int(np.lcm.reduce([step for step, _ in (*layout_, *needed)]))
    if period <= 5_000:
        assert covers(layout_, needed) == (edges(needed, 0, period) <= edges(layout_, 0, period))


def test_several_progressions_cover_one_together() -> None:
    assert covers(((6, 0), (6, 2), (6, 4)), ((2, 0),))
    assert not covers(((6, 0), (6, 2)), ((2, 0),))


@pytest.mark.parametrize("kernel", [layout._divide, layout._sweep])
def test_the_work_does_not_depend_on_the_span_between_rows(kernel: object) -> None:
    """Rows of year 1, 1970 and 9999: the interpreted kernels count as many steps as rows, not as edges."""
    times = np.array([-62_135_596_800_000_000, -1, 0, 1, 253_402_300_799_999_999], dtype=np.int64)
    steps, offsets = np.array([7, 10]), np.array([0, 3])
    lo, hi = kernel.py_func(times, steps, offsets)  # type: ignore[attr-defined]
    for t, low, high in zip(times.tolist(), lo.tolist(), hi.tolist()):
        near = sorted(e for e in range(t - 12, t + 13) if e % 7 == 0 or e % 10 == 3)
        assert (low, high) == (max(e for e in near if e < t), min(e for e in near if e >= t))


def test_a_thousand_coprime_windows() -> None:
    """As many edges as a thousand windows need; panes agree with a search among the listed edges."""
    steps = [1_000 + 2 * i + 1 for i in range(1_000)]
    progressions = progressions_for((17 * step + i, step) for i, step in enumerate(steps))
    times = np.random.default_rng(1).integers(0, 50_000, 5_000)
    listed = np.unique(np.concatenate([np.arange(o - s, 60_000, s) for s, o in progressions]))
    place = np.searchsorted(listed, times)
    lo, hi = panes_of(times, progressions)
    np.testing.assert_array_equal(lo, listed[place - 1])
    np.testing.assert_array_equal(hi, listed[place])
