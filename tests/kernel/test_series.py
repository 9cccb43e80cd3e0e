"""Levels of a series are merged when that is less work than what they cost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from punctual.kernel.panes.series import Level, Series

HERE = ((10, 0),)
ELSEWHERE = ((7, 0),)


def level(panes: list[int], layout: tuple[tuple[int, int], ...] = HERE) -> Level:
    lo = np.array(panes)
    zeros = np.zeros_like(lo)
    return Level(layout, zeros, zeros, lo, lo + 10, {"n": pa.array(panes)})


def pushed(*levels: Level) -> Series:
    series = Series()
    for one in levels:
        series.push(one, before=0)
    return series


def test_many_windows_make_one_level_of_several() -> None:
    series = pushed(level([0, 10]), level([30]), level([20, 40, 50]))
    series.condense(windows=6, before=0)
    (one,) = series.levels
    assert one.lo.tolist() == one.state["n"].to_pylist() == [0, 10, 20, 30, 40, 50]


def test_few_windows_leave_large_levels_alone() -> None:
    series = pushed(level([0, 10]), level([30]), level([20, 40, 50]))
    series.condense(windows=5, before=0)
    assert sorted(one.lo.size for one in series.levels) == [3, 3]
    series.condense(windows=0, before=0)
    assert len(series.levels) == 2


def test_levels_of_another_layout_are_kept_apart_and_dropped_panes_go() -> None:
    series = pushed(level([0, 10]), level([30]), level([7], ELSEWHERE))
    series.condense(windows=1_000, before=15)
    assert sorted(one.lo.tolist() for one in series.levels) == [[7], [10, 30]]
