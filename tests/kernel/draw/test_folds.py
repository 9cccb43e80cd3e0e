"""Aggregates of bundles against a plain loop over worlds, with NULLs, rows that do not exist, and odd numbers."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.draw import Function, finished, fold, merged
from punctual.kernel.draw.kept.pane_folds import of_groups

ABSENT = -1e308
"""What stands where there is no value: nobody may look at it."""
FUNCTIONS: tuple[Function, ...] = ("count", "sum", "avg", "min", "max")
VALUES = st.sampled_from([None, 0.1, -2.5, 3.0, -0.0, 0.0, 1e300, -1e300, 7.25, math.nan, math.inf, -math.inf])
WORLDS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(VALUES, min_size=4, max_size=4)), min_size=0, max_size=9
)  # fmt: skip


def in_one_world(function: str, values: list[float]) -> float | None:
    """What Spark says of the values that are there."""
    if function == "count":
        return float(len(values))
    if not values:
        return None
    numbers = [value for value in values if not math.isnan(value)]
    if function == "min":
        return min(numbers, default=math.nan)
    if function == "max":
        return math.nan if len(numbers) < len(values) else max(numbers)
    if len(numbers) < len(values) or {math.inf, -math.inf} <= set(numbers):
        return math.nan
    if math.inf in numbers or -math.inf in numbers:
        return math.inf if math.inf in numbers else -math.inf
    total = math.fsum(numbers)
    return total if function == "sum" else total / len(numbers)


def same(found: float, there: bool, expected: float | None) -> bool:
    if expected is None or not there:
        return expected is None and not there
    return found == pytest.approx(expected, rel=4e-16, abs=0.0) or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("most", [9, 2**53, 2**63 - 1])
@pytest.mark.parametrize("masked", [False, True])
def test_whole_numbers_keep_all_of_their_digits(most: int, masked: bool) -> None:
    """Against whole numbers of Python; sums beyond 64 bits wrap. One part is certain, and one is cells of panes."""
    random = np.random.default_rng(most % 97)
    group, certain_group = random.integers(0, 3, 40), random.integers(0, 3, 20)
    drawn, certain = random.integers(-most, most, (40, 5)), random.integers(-most, most, (20, 1))
    there = random.random(drawn.shape) < 0.7 if masked else None
    parts = fold(FUNCTIONS, group, 4, drawn, there), fold(FUNCTIONS, certain_group, 4, certain)
    panes = of_groups([(parts[0], np.arange(4)), (parts[1], np.arange(4))], 4)
    for whole in (merged(*parts), panes):
        found = {function: finished(function, whole, whole=True) for function in FUNCTIONS}
        for g in range(4):
            for j in range(5):
                own = [int(row[j]) for row, present in zip(drawn[group == g], here(there, group == g)) if present[j]]
                own += [int(row[0]) for row in certain[certain_group == g]]
                assert bool(found["sum"][1][g, j]) == bool(own)
                if own:
                    wrapped = (sum(own) + 2**63) % 2**64 - 2**63
                    expected: dict[Function, int] = {"count": len(own), "sum": wrapped}
                    expected |= {"min": min(own), "max": max(own)}
                    assert {name: int(found[name][0][g, j]) for name in expected} == expected
                    assert float(found["avg"][0][g, j]) == pytest.approx(sum(own) / len(own), rel=1e-15)


def here(there: np.ndarray[Any, Any] | None, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ones((int(rows.sum()), 5), np.bool_) if there is None else there[rows]


@settings(derandomize=True, deadline=None, max_examples=200, database=None)
@given(WORLDS, WORLDS)
def test_folds_are_loops_over_worlds(drawn: list[Any], certain: list[Any]) -> None:
    group, values, present = arrays(drawn, 4)
    other_group, other_values, other_present = arrays([(g, row[:1]) for g, row in certain], 1)
    once = fold(FUNCTIONS, other_group, 3, other_values, other_present)
    whole = merged(fold(FUNCTIONS, group, 3, values, present), once)
    for function in FUNCTIONS:
        found, there = finished(function, whole)
        for g in range(3):
            for j in range(4):
                world = [row[j] for of, row in drawn if of == g] + [row[0] for of, row in certain if of == g]
                expected = in_one_world(function, [value for value in world if value is not None])
                assert same(float(found[g, j]), bool(there[g, j]), expected)


def arrays(rows: list[Any], rounds: int) -> tuple[Any, Any, Any]:
    values = np.array([[ABSENT if v is None else v for v in row] for _g, row in rows]).reshape(len(rows), rounds)
    present = np.array([[v is not None for v in row] for _g, row in rows], np.bool_).reshape(len(rows), rounds)
    return np.array([g for g, _row in rows], np.int64), values, present


def test_without_a_mask_everything_is_there() -> None:
    random = np.random.default_rng(1)
    group, values = random.integers(0, 3, 50), random.normal(0.0, 9.0, (50, 20))
    values[3, 4] = np.nan
    plain, masked = fold(FUNCTIONS, group, 3, values), fold(FUNCTIONS, group, 3, values, np.ones((50, 20), np.bool_))
    for function in FUNCTIONS:
        for one, other in zip(finished(function, plain), finished(function, masked)):
            assert one.tobytes() == other.tobytes()


def test_pieces_orders_and_threads_give_the_same_bytes() -> None:
    random = np.random.default_rng(2)
    n, rounds = 300, 33
    group, values = (
        random.integers(0, 6, n),
        random.normal(0.0, 1.0, (n, rounds)) * 10.0 ** random.integers(-9, 9, (n, 1)),
    )
    present = random.random((n, rounds)) < 0.7
    whole = fold(FUNCTIONS, group, 6, values, present)

    def piece(some: Any) -> Any:
        return fold(FUNCTIONS, group[some], 6, values[some], present[some])

    with ThreadPoolExecutor(4) as threads:
        parts = list(threads.map(piece, np.array_split(random.permutation(n), 9)))
    together = parts[0]
    for part in parts[1:]:
        together = merged(part, together)
    by_rounds = [fold(FUNCTIONS, group, 6, values[:, a:b], present[:, a:b]) for a, b in ((0, 1), (1, 20), (20, 33))]
    for function in FUNCTIONS:
        expected = finished(function, whole)
        beside = [np.concatenate(sides, axis=1) for sides in zip(*(finished(function, part) for part in by_rounds))]
        for found in (finished(function, together), beside):
            assert [side.tobytes() for side in found] == [side.tobytes() for side in expected]


def test_an_order_by_group_that_is_known_does_not_show() -> None:
    random = np.random.default_rng(3)
    group, values = random.integers(0, 5, 200), random.normal(0.0, 9.0, (200, 20))
    values[7, 3], present = np.inf, random.random((200, 20)) < 0.8
    for mask in (None, present):
        alone, told = (fold(FUNCTIONS, group, 5, values, mask, o) for o in (None, np.lexsort((-np.arange(200), group))))
        for function in FUNCTIONS:
            for one, other in zip(finished(function, alone), finished(function, told)):
                assert one.tobytes() == other.tobytes()


def test_only_what_was_asked_for_is_folded() -> None:
    only = fold(["count"], np.zeros(2, np.int64), 1, np.ones((2, 3)))
    assert finished("count", only)[0].tolist() == [[2.0, 2.0, 2.0]]
    for function in ("sum", "avg", "min", "max"):
        with pytest.raises(InternalError):
            finished(function, only)
