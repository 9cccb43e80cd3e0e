"""Where missing values are found: against plain loops over all rows, in any order of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.draw import anywhere, draw_places, empirical, interpolated, nearest, source
from tests.kernel.draw.plain import identities

some = settings(derandomize=True, deadline=None, max_examples=150, database=None)
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.booleans()), min_size=1, max_size=14)


def columns(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [np.array(column) for column in zip(*rows)]


def members(among: Any, i: int) -> list[int]:
    return [int(row) for row in among.pool[among.starts[i] : among.starts[i] + among.sizes[i]]]


@some
@given(ROWS)
def test_empirical_is_the_group_or_everybody(rows: list[tuple[int, int, bool]]) -> None:
    group, value, observed = columns(rows)
    asked = np.flatnonzero(~observed)
    among, found = empirical(group, observed, value, asked)
    for i, row in enumerate(asked.tolist()):
        own = [r for r in range(len(rows)) if observed[r] and group[r] == group[row]]
        every = [r for r in range(len(rows)) if observed[r]]
        assert found[i] == bool(own)
        assert sorted(members(among, i)) == (own or every)
        values = [int(value[r]) for r in members(among, i)]
        assert values == sorted(values)
    everybody = anywhere(observed, value, 2)
    assert sorted(members(everybody, 1)) == np.flatnonzero(observed).tolist()


@some
@given(ROWS, st.integers(0, 8))
def test_interpolated_is_between_the_neighbours_in_time(rows: list[tuple[int, int, bool]], within: int) -> None:
    key, time, observed = columns(rows)
    rank = np.random.default_rng(1).permutation(len(rows))
    asked = np.flatnonzero(~observed)
    between, found = interpolated(key, time, observed, rank, asked, within)
    for i, row in enumerate(asked.tolist()):
        t = int(time[row])
        near = [r for r in range(len(rows)) if observed[r] and key[r] == key[row] and abs(time[r] - t) <= within]
        before = min((r for r in near if time[r] <= t), key=lambda r: (-time[r], rank[r]), default=None)
        after = min((r for r in near if time[r] > t), key=lambda r: (time[r], rank[r]), default=None)
        assert found[i] == (before is not None or after is not None)
        if before is None and after is None:
            assert (between.earlier[i], between.later[i]) == (-1, -1)
        elif before is None or after is None:
            only = after if before is None else before
            assert (between.earlier[i], between.later[i]) == (only, only)
        else:
            assert (between.earlier[i], between.later[i]) == (before, after)
            assert between.share[i] == (time[after] - t) / (time[after] - time[before])


def test_interpolated_values_lie_on_the_line_on_average() -> None:
    time, observed = np.array([0, 10, 30, 40]), np.array([True, False, False, True])
    values = np.array([100.0, np.nan, np.nan, 200.0])
    between, _found = interpolated(np.zeros(4, np.int64), time, observed, np.arange(4), np.array([1, 2]), 40)
    drawn = values[draw_places(source(1, "a", "x"), identities(2), between, range(20_000))]
    assert set(np.unique(drawn).tolist()) == {100.0, 200.0}
    assert np.abs(drawn.mean(axis=1) - [125.0, 175.0]).max() < 4 * 50 / math.sqrt(20_000)


NUMBERS = st.sampled_from([0.0, 1.0, 1.0, 2.0, -1.5, 3.0, math.nan, math.inf])
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3), st.booleans()), min_size=1, max_size=16)


@some
@given(POINTS, st.integers(1, 5))
def test_nearest_are_those_of_a_sorted_list(rows: list[tuple[float, float, int, bool]], n: int) -> None:
    x, y, time, observed = columns(rows)
    rank = np.random.default_rng(2).permutation(len(rows))
    asked = np.flatnonzero(~observed)
    among, found = nearest(np.column_stack([x, y]), time, observed, rank, asked, n)
    for i, row in enumerate(asked.tolist()):

        def far(r: int, row: int = row) -> Any:
            return (x[r] - x[row]) ** 2 + (y[r] - y[row]) ** 2, time[r], rank[r]

        known = [r for r in range(len(rows)) if math.isfinite(x[r]) and math.isfinite(y[r])]
        candidates = [r for r in known if observed[r]] if row in known else []
        assert members(among, i) == sorted(candidates, key=far)[:n]
        assert found[i] == bool(candidates)


def test_nearest_of_many_points_in_three_columns() -> None:
    random = np.random.default_rng(3)
    points, time, rank = random.normal(0.0, [1.0, 5.0, 2.0], (3_000, 3)), random.integers(0, 9, 3_000), np.arange(3_000)
    observed = random.random(3_000) < 0.9
    asked = np.flatnonzero(~observed)
    among, found = nearest(points, time, observed, rank, asked, 10)
    assert found.all()
    rows = np.flatnonzero(observed)
    for i in range(0, asked.size, 7):
        far = ((points[rows] - points[asked[i]]) ** 2).sum(axis=1)
        assert members(among, i) == rows[np.argsort(far, kind="stable")[:10]].tolist()


@pytest.mark.parametrize("way", ["empirical", "interpolated", "nearest"])
def test_the_order_of_rows_does_not_show(way: str) -> None:
    random = np.random.default_rng(4)
    n = 200
    group, time, value = random.integers(0, 9, n), random.integers(0, 60, n), random.integers(0, 30, n)
    points, observed, rank = random.integers(0, 5, (n, 2)) * 1.0, random.random(n) < 0.6, random.permutation(n)
    rows, drawn_from = identities(n), source(1, "a", "x")

    def drawn(order: Any) -> dict[int, list[float]]:
        """The values that each missing row has, by the row's identity."""
        asked = np.flatnonzero(~observed[order])
        g, t, v, o, r = group[order], time[order], value[order], observed[order], rank[order]
        choice: Any = None
        if way == "empirical":
            choice, _found = empirical(g, o, v, asked)
        elif way == "interpolated":
            choice, _found = interpolated(g, t, o, r, asked, 20)
        else:
            choice, _found = nearest(points[order], t, o, r, asked, 4)
        places = draw_places(drawn_from, rows[order][asked], choice, range(40))
        values = np.append(v.astype(float), -1.0)[places]
        return {int(row): values[i].tolist() for i, row in enumerate(rows[order][asked])}

    straight = drawn(np.arange(n))
    assert drawn(random.permutation(n)) == straight
    assert len(straight) == int((~observed).sum())


def test_nothing_was_observed() -> None:
    none, asked = np.zeros(3, np.bool_), np.arange(3)
    group = np.array([0, 1, 1])
    assert empirical(group, none, asked, asked)[0].sizes.tolist() == [0, 0, 0]
    assert interpolated(group, asked, none, asked, asked, 5)[1].tolist() == [False] * 3
    assert nearest(np.zeros((3, 2)), asked, none, asked, asked, 2)[1].tolist() == [False] * 3
