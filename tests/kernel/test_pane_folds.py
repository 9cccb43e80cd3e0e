"""Folds of panes come to what a fold of all rows comes to, to the last byte."""

from __future__ import annotations

import numpy as np
import pytest

from punctual.kernel.draw import Fold, Function, finished, fold
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kernel.draw.kept.pane_folds import cells_of, fold_bytes, in_turn, of_groups, pane_of, rounds_of

FUNCTIONS: tuple[Function, ...] = ("count", "sum", "avg", "min", "max")
ROWS, ROUNDS, GROUPS, PANES = 200, 9, 5, 4


def same(one: Fold, other: Fold) -> None:
    for function in FUNCTIONS:
        for mine, theirs in zip(finished(function, one), finished(function, other)):
            assert mine.shape == theirs.shape
            assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_panes_in_any_order_come_to_all_rows(odd: bool, masked: bool) -> None:
    random = np.random.default_rng([odd, masked])
    values = random.normal(0.0, 1.0, (ROWS, ROUNDS)) * 10.0 ** random.integers(-30, 30, (ROWS, 1))
    if odd:
        values[random.random(values.shape) < 0.02] = np.nan
        values[random.random(values.shape) < 0.02] = np.inf
        values[random.random(values.shape) < 0.02] = -np.inf
    present = random.random(values.shape) < 0.3 if masked else None
    group, pane = random.integers(0, GROUPS - 1, ROWS), random.integers(0, PANES, ROWS)  # one group has no rows
    pane[group == 1] = 2  # and one is in one pane alone
    parts = []
    for number in random.permutation(PANES):
        chosen = pane == number
        groups, cell = np.unique(group[chosen], return_inverse=True)
        some = None if present is None else present[chosen]
        parts.append((fold(FUNCTIONS, cell, groups.size, values[chosen], some), groups))
    whole = fold(FUNCTIONS, group, GROUPS, values, present)
    same(of_groups(parts, GROUPS), whole)
    first = [(rounds_of(one, 0, 4), groups) for one, groups in parts]
    then = [(rounds_of(one, 4, ROUNDS), groups) for one, groups in parts]
    same(in_turn(of_groups(first, GROUPS), 4, of_groups(then, GROUPS), ROUNDS - 4), whole)
    some_cells = of_groups([(cells_of(whole, 2, 4), np.arange(2))], 2)
    same(some_cells, fold(
        FUNCTIONS, group[(group > 1) & (group < 4)] - 2, 2, values[(group > 1) & (group < 4)],
        None if present is None else present[(group > 1) & (group < 4)],
    ))  # fmt: skip


def test_rounds_that_are_alike_are_one() -> None:
    alike = fold(FUNCTIONS, np.array([0, 1, 0]), 2, np.array([[1.0], [2.0], [4.0]]))
    drawn = fold(FUNCTIONS, np.array([0, 1]), 2, np.array([[1.0, 7.0, 3.0], [2.0, 8.0, 0.5]]))
    assert in_turn(alike, 3, alike, 2).count.shape == (2, 1)
    assert in_turn(alike, 3, alike, 1).count.shape == (2, 4), "one round alone may be like no other"
    both = in_turn(alike, 2, drawn, 3)
    assert finished("sum", both)[0].tolist() == [[5.0, 5.0, 1.0, 7.0, 3.0], [2.0, 2.0, 2.0, 8.0, 0.5]]
    every = of_groups([(alike, np.array([1, 0])), (drawn, np.array([0, 1]))], 2)
    assert finished("max", every)[0].tolist() == [[2.0, 7.0, 3.0], [4.0, 8.0, 4.0]]
    assert finished("sum", every)[0].tolist() == [[3.0, 9.0, 5.0], [7.0, 13.0, 5.5]]


@pytest.mark.parametrize(("range_us", "period_us"), [(10, 1), (10, 3), (10, 4), (10, 5), (7, 7), (12, 8), (9, 20)])
def test_a_window_has_panes_as_a_whole(range_us: int, period_us: int) -> None:
    """A pane of one window is a pane of the next, or in no part of it: no edge is inside of a pane."""
    times = np.arange(-60, 61)

    def panes(at: int) -> set[frozenset[int]]:
        inside = times[(times > at - range_us) & (times <= at)]
        number = pane_of(at - inside, range_us, period_us)
        return {frozenset(inside[number == one].tolist()) for one in set(number.tolist())}

    for steps in range(1, 5):
        early, late = panes(0), panes(steps * period_us)
        inside = set(range(steps * period_us - range_us + 1, 1))
        assert {pane for pane in early if pane & inside} == {pane for pane in late if pane & inside}
        assert len(early) <= 2 * -(-range_us // period_us)


# -- what is kept -------------------------------------------------------------------------------------


def one_fold(rounds: range, cells: int = 1) -> Fold:
    values = np.arange(rounds.start, rounds.stop, dtype=np.float64)
    return fold(["sum"], np.arange(cells), cells, np.tile(values, (cells, 1)))


def kept_sums(kept: KeptFolds, owner: str, rounds: range, name: bytes = b"a") -> list[float] | None:
    found = kept.get(owner, (b"q", name), rounds)
    return None if found is None else finished("sum", found)[0][0].tolist()


def test_rounds_go_on_where_those_end_that_are_kept() -> None:
    kept = KeptFolds(64)
    for rounds in (range(3, 5), range(3), range(4, 6), range(2, 6), range(4), range(6, 9)):
        kept.put("q", (b"q", b"a"), rounds, one_fold(rounds), 0)
    assert kept_sums(kept, "q", range(9)) == [float(one) for one in range(9)]
    assert kept_sums(kept, "q", range(4, 7)) == [4.0, 5.0, 6.0]
    assert kept_sums(kept, "q", range(10)) is None
    assert kept_sums(kept, "p", range(9)) is None
    assert kept_sums(kept, "q", range(9), b"b") is None


def test_what_no_window_has_any_more_is_dropped() -> None:
    kept = KeptFolds(64)
    for until in (10, 20):
        kept.put("q", (b"q", bytes([until])), range(8), one_fold(range(8)), until)
    kept.put("p", (b"q", b"a"), range(8), one_fold(range(8)), 10)
    each = fold_bytes(one_fold(range(8)))
    assert kept.bytes == 3 * each
    kept.begin("q", 20)
    assert (kept_sums(kept, "q", range(8), bytes([10])), kept.bytes) == (None, 2 * each)
    assert kept_sums(kept, "q", range(8), bytes([20])) is not None
    assert kept_sums(kept, "p", range(8)) is not None, "it belongs to another query, which may be at an earlier instant"
    kept.only(frozenset({"q"}))
    assert (kept_sums(kept, "p", range(8)), kept.bytes) == (None, each)


def test_memory_is_bounded_and_who_was_not_here_for_long_makes_room() -> None:
    each = fold_bytes(one_fold(range(8)))
    kept = KeptFolds(64, 2 * each)
    for owner in ("p", "q"):
        kept.begin(owner, 0)
        kept.put(owner, (b"q", b"a"), range(8), one_fold(range(8)), 0)
    kept.begin("p", 0)
    kept.put("p", (b"q", b"b"), range(8), one_fold(range(8)), 0)
    assert kept_sums(kept, "q", range(8)) is None
    assert None not in (kept_sums(kept, "p", range(8)), kept_sums(kept, "p", range(8), b"b"))
    kept.put("p", (b"q", b"c"), range(8), one_fold(range(8)), 0)
    assert kept_sums(kept, "p", range(8), b"c") is None, "nobody drops what it needs itself"
    assert kept.bytes == 2 * each
