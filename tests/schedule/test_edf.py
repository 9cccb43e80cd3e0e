"""The next pass against the rules spelt out one by one, and what they promise against simulated runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.schedule.edf import Pending, PendingColumns, next_pass

# Whole numbers of microseconds, few of them: ties are frequent and sums of floats exact.
EXECUTIONS = st.builds(
    Pending,
    name=st.sampled_from("abc"),
    at=st.integers(0, 5),
    deadline=st.integers(-30, 400),
    work_us=st.integers(0, 60).map(float),
    bounded=st.booleans(),
)
BACKLOGS = st.lists(EXECUTIONS, max_size=14)
FIXED = st.integers(0, 50).map(float)
checked = settings(derandomize=True, deadline=None, max_examples=200)


def in_order(pending: Sequence[Pending]) -> list[int]:
    return sorted(range(len(pending)), key=lambda i: (pending[i].deadline, pending[i].at, pending[i].name, i))


def one_by_one(pending: Sequence[Pending], now: float, fixed: float) -> dict[int, float]:
    """When each execution ends if each has a pass of its own."""
    order = in_order(pending)
    ends = accumulate((fixed + pending[i].work_us for i in order), initial=float(now))
    return dict(zip(order, list(ends)[1:]))


def in_passes(
    pending: Sequence[Pending], now: float, fixed: float, *, late_pending: bool
) -> tuple[dict[int, float], list[tuple[int, ...]]]:
    """When each execution ends if the passes are run one after the other, until nothing is left; and the passes."""
    left, ends, passes = list(range(len(pending))), {}, []
    while left:
        chosen = next_pass([pending[i] for i in left], int(now), fixed, late_pending=late_pending)
        assert chosen, "a pass without executions would be repeated for ever"
        passes.append(tuple(left[place] for place in chosen))
        now += fixed + sum(pending[i].work_us for i in passes[-1])
        for i in passes[-1]:
            assert i not in ends, "an execution ran twice"
            ends[i] = now
        left = [i for i in left if i not in ends]
    return ends, passes


def spelt_out(pending: Sequence[Pending], now: int, fixed: float, late_pending: bool) -> tuple[int, ...]:
    """The rules as they are told, execution by execution."""
    order = in_order(pending)
    if not order:
        return ()
    head = order[0]
    spent = now + fixed + pending[head].work_us
    if spent <= pending[head].deadline:
        chosen = [head]
        for i in order[1:]:
            spent += pending[i].work_us
            if spent > pending[head].deadline:
                break
            chosen.append(i)
        return tuple(chosen)
    if not late_pending:
        return (head,)
    alone = one_by_one(pending, now, fixed)
    kept = {i for i in order if not pending[i].bounded and alone[i] <= pending[i].deadline}
    dear = {i for i in order[1:] if not pending[i].bounded and i not in kept and pending[i].work_us > fixed}
    inside, promised, end = [], math.inf, now + fixed
    for i in order:
        if i in kept:
            promised = min(promised, pending[i].deadline)
        if i in dear:
            continue
        if end + pending[i].work_us > promised:
            break
        end += pending[i].work_us
        inside.append(i)
    chosen, after = [], end
    for i in order:
        if i in kept or i in dear:
            after += fixed + pending[i].work_us
        if i in inside and not (i in kept and after <= pending[i].deadline):
            chosen.append(i)
    return tuple(chosen)


@checked
@given(BACKLOGS, st.integers(-20, 200), FIXED, st.booleans())
def test_the_rules_spelt_out_choose_the_same(
    pending: list[Pending], now: int, fixed: float, late_pending: bool
) -> None:
    expected = spelt_out(pending, now, fixed, late_pending)
    assert next_pass(pending, now, fixed, late_pending=late_pending) == expected
    assert next_pass(PendingColumns.of(pending), now, fixed, late_pending=late_pending) == expected


@checked
@given(BACKLOGS.filter(bool), st.integers(-20, 200), FIXED, st.booleans())
def test_the_head_is_in_and_the_order_is_kept(
    pending: list[Pending], now: int, fixed: float, late_pending: bool
) -> None:
    chosen = next_pass(pending, now, fixed, late_pending=late_pending)
    order = in_order(pending)
    assert chosen[0] == order[0]
    assert list(chosen) == [i for i in order if i in set(chosen)]


@checked
@given(BACKLOGS, st.integers(-20, 200), FIXED, st.booleans())
def test_everything_runs_exactly_once(pending: list[Pending], now: int, fixed: float, late_pending: bool) -> None:
    ends, passes = in_passes(pending, now, fixed, late_pending=late_pending)
    assert sorted(ends) == list(range(len(pending)))
    assert sum(map(len, passes)) == len(pending)


@checked
@given(BACKLOGS.filter(bool), FIXED)
def test_a_late_head_runs_alone_without_late_pending(pending: list[Pending], fixed: float) -> None:
    head = pending[in_order(pending)[0]]
    now = int(head.deadline - fixed - head.work_us) + 1
    assert next_pass(pending, now, fixed, late_pending=False) == (in_order(pending)[0],)


@checked
@given(BACKLOGS.filter(bool), FIXED)
def test_a_late_head_takes_every_bounded_execution_along(pending: list[Pending], fixed: float) -> None:
    bounded = [Pending(p.name, p.at, p.deadline, p.work_us, True) for p in pending]
    head = bounded[in_order(bounded)[0]]
    now = int(head.deadline - fixed - head.work_us) + 1
    assert next_pass(bounded, now, fixed) == tuple(in_order(bounded))


@checked
@given(BACKLOGS.filter(bool), st.integers(-20, 200), FIXED, st.booleans())
def test_a_feasible_set_stays_feasible(pending: list[Pending], now: int, fixed: float, late_pending: bool) -> None:
    some_order = one_by_one(pending, now, fixed)
    feasible = [
        Pending(p.name, p.at, max(p.deadline, int(some_order[i])), p.work_us, p.bounded) for i, p in enumerate(pending)
    ]
    # The deadlines are met in the old order, so they are in the order of the new ones (Jackson).
    alone = one_by_one(feasible, now, fixed)
    assert all(alone[i] <= p.deadline for i, p in enumerate(feasible))
    shared, _passes = in_passes(feasible, now, fixed, late_pending=late_pending)
    assert all(shared[i] <= p.deadline for i, p in enumerate(feasible))
    assert max(shared.values()) <= max(alone.values())


@settings(checked, max_examples=800)
@given(BACKLOGS, st.integers(-20, 60), FIXED)
def test_a_period_execution_in_time_one_by_one_stays_in_time(pending: list[Pending], now: int, fixed: float) -> None:
    alone = one_by_one(pending, now, fixed)
    shared, _passes = in_passes(pending, now, fixed, late_pending=True)
    for i, p in enumerate(pending):
        if not p.bounded and alone[i] <= p.deadline:
            assert shared[i] <= p.deadline


@checked
@given(st.lists(EXECUTIONS, min_size=1, max_size=14), st.integers(1, 50))
def test_late_together_is_less_late_where_work_is_below_the_fixed_cost(pending: list[Pending], fixed: int) -> None:
    light = [Pending(p.name, p.at, p.deadline, p.work_us % (fixed + 1), p.bounded) for p in pending]
    now = 500  # every deadline is over
    alone = one_by_one(light, now, fixed)
    shared, passes = in_passes(light, now, float(fixed), late_pending=True)
    assert len(passes) == 1
    places = in_order(light)
    # The header's formula, to the microsecond.
    change = sum(place * (light[i].work_us - fixed) for place, i in enumerate(places))
    assert sum(shared.values()) - sum(alone.values()) == change <= 0


def test_a_dear_late_period_execution_waits_and_is_next() -> None:
    dear = Pending("dear", 1, 20, 500.0, False)
    pending = [Pending("a", 0, 10, 5.0, True), dear, Pending("b", 1, 900, 5.0, True)]
    _ends, passes = in_passes(pending, 100, 80.0, late_pending=True)
    assert passes == [(0, 2), (1,)]
    # Bounded work as dear as that joins.
    pending[1] = Pending("dear", 1, 20, 500.0, True)
    assert next_pass(pending, 100, 80.0) == (0, 1, 2)


def test_bounded_executions_do_not_push_a_period_one_over_its_deadline() -> None:
    #   head late . period due by 300 . bounded, 40 us each, due at leisure
    leisure = [Pending(f"c{i}", 0, 1_000, 40.0, True) for i in range(9)]
    pending = [Pending("a", 0, 0, 10.0, True), Pending("p", 0, 300, 10.0, False), *leisure]
    chosen = next_pass(pending, 0, 80.0)
    assert chosen == (0, 1, 2, 3, 4, 5, 6)  # 80 + 10 + 10 + 5 * 40 = 300
    # One by one it would end at 80 + 10 + 80 + 10, just in time: no less protected.
    pending[1] = Pending("p", 0, 180, 10.0, False)
    assert next_pass(pending, 0, 80.0) == (0, 1, 2, 3)
    # With time to spare it waits, and everything bounded goes first.
    pending[1] = Pending("p", 0, 900, 10.0, False)
    assert next_pass(pending, 0, 80.0) == (0, *range(2, 11))


def test_what_stays_out_takes_no_room_in_the_pass() -> None:
    # The dear one is late and waits; the other PERIOD one would end after it, at 760, just in time.
    leisure = [Pending(f"c{i}", 0, 1_000, 40.0, True) for i in range(30)]
    pending = [Pending("a", 0, 0, 10.0, True), Pending("dear", 0, 20, 500.0, False), Pending("p", 0, 760, 10.0, False)]
    chosen = next_pass([*pending, *leisure], 0, 80.0)
    assert chosen[:2] == (0, 2)
    assert len(chosen) == 2 + 16  # 80 + 10 + 10 + 16 * 40 = 740


def test_an_execution_is_never_overtaken_for_ever() -> None:
    # Each pass is followed by new releases: always more than can be run in time, all with short bounds.
    old = Pending("old", 0, 1_000, 500.0, False)
    pending, now, passes = [old], 0, 0
    while old in pending:
        pending += [Pending(f"n{i}", now, now + 50, 30.0, True) for i in range(4)]
        chosen = next_pass(pending, now, 80.0)
        now += 80 + int(sum(pending[i].work_us for i in chosen))
        pending = [p for i, p in enumerate(pending) if i not in chosen]
        passes += 1
        assert passes < 20


def test_ends_exactly_at_the_deadline_are_in_time() -> None:
    pending = [Pending("a", 0, 100, 10.0, True), Pending("b", 0, 100, 10.0, True), Pending("c", 0, 100, 1.0, True)]
    assert next_pass(pending, 0, 80.0) == (0, 1)
    assert next_pass(pending, 10, 80.0, late_pending=False) == (0,)
    assert next_pass(pending, 11, 80.0) == (0, 1, 2)


def test_ties_break_by_instant_and_name_whatever_the_order_of_classes() -> None:
    columns = PendingColumns(
        ("z", "a"),
        np.array([0, 1, 0, 1]),
        np.array([2, 2, 1, 1]),
        np.full(4, 50),
        np.zeros(4),
        np.ones(4, np.bool_),
    )
    assert next_pass(columns, 0, 10.0) == (3, 2, 1, 0)


def test_nothing_pending_is_no_pass() -> None:
    assert next_pass([], 0, 80.0) == ()
    assert next_pass(PendingColumns.of([]), 0, 80.0) == ()


@pytest.mark.parametrize("work", [math.nan, math.inf, -1.0])
def test_a_prediction_that_is_no_length_is_refused(work: float) -> None:
    with pytest.raises(InternalError):
        next_pass([Pending("a", 0, 0, work, True)], 0, 80.0)


def test_a_hundred_thousand_after_a_stall() -> None:
    count, now = 100_000, 1_700_000_000_000_000
    random = np.random.default_rng(5)
    columns = PendingColumns(
        [f"c{i}" for i in range(50)],
        random.integers(0, 50, count),
        now - random.integers(0, 10**9, count),
        now - random.integers(1, 10**8, count),
        random.integers(100, 5_000, count).astype(float),
        np.ones(count, np.bool_),
    )
    chosen = next_pass(columns, now, 80_000.0)
    assert sorted(chosen) == list(range(count))
    assert np.all(np.diff(columns.deadline[list(chosen)]) >= 0)
