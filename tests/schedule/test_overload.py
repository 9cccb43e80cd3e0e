"""An engine that fell behind catches up sooner, and is less late, when late executions run together.

Simulated clock, seeded; the model is that of the figure ``benchmarks/overload.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.overload_model import ACTUAL, FIXED_US, Class, Outcome, draw, draw_periods, load, simulate

from punctual.clock import SECOND

BEGIN, END, HORIZON = 20 * SECOND, 50 * SECOND, 120 * SECOND
SEEDS = range(20)


@cache
def classes(seed: int) -> tuple[Class, ...]:
    random = np.random.default_rng(seed)
    return (*draw(random, 20, 0.6), *draw_periods(random, 4))


@cache
def stalled(seed: int, late_pending: bool, bounded_only: bool = True) -> Outcome:
    chosen = [one for one in classes(seed) if one.bounded or not bounded_only]
    return simulate(chosen, HORIZON, late_pending=late_pending, stall=(BEGIN, END), seed=seed)


@cache
def burst(seed: int, late_pending: bool) -> Outcome:
    extra = draw(np.random.default_rng(seed), 20, 5.0, "burst")
    guests = [replace(one, first=BEGIN, last=BEGIN + 10 * SECOND) for one in extra]
    return simulate([*classes(seed), *guests], HORIZON, late_pending=late_pending, seed=seed)


def due(seed: int) -> list[tuple[str, int]]:
    return sorted((one.name, at) for one in classes(seed) if one.bounded for at in range(0, HORIZON, one.every))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_due_instant_is_answered_once(seed: int) -> None:
    for late_pending in (False, True):
        outcome = stalled(seed, late_pending)
        assert np.all(outcome.answers == 1)
        answered = list(zip(outcome.name.tolist(), outcome.at.tolist()))
        assert sorted(answered) == due(seed)
        assert np.all(outcome.answered >= outcome.at + FIXED_US)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_stall_it_catches_up_sooner_and_is_less_late(seed: int) -> None:
    alone, together = stalled(seed, False), stalled(seed, True)
    # Until the stall both do the same, in time.
    before = alone.answered < BEGIN
    assert not alone.lateness[before].any()
    assert np.array_equal(alone.answered[before], together.answered[before])
    caught_up, caught_up_together = alone.caught_up(END), together.caught_up(END)
    assert END < caught_up_together < caught_up < HORIZON
    assert caught_up_together - END < (caught_up - END) / 4
    assert together.lateness.mean() < alone.lateness.mean()
    assert together.throughput(END, caught_up_together) > 2 * alone.throughput(END, caught_up)
    assert together.passes < alone.passes


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_period_executions_are_unharmed(seed: int) -> None:
    alone, together = stalled(seed, False, False), stalled(seed, True, False)
    period = ~alone.bounded
    assert np.count_nonzero(alone.lateness[period]) > 0
    assert not np.any((together.lateness > 0) & (alone.lateness == 0) & period)
    assert np.all(together.answers == 1)
    assert together.lateness[period].mean() < alone.lateness[period].mean()
    assert together.lateness.mean() < alone.lateness.mean()


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_a_burst_does_not_outlast_itself(seed: int) -> None:
    alone, together = burst(seed, False), burst(seed, True)
    end = BEGIN + 10 * SECOND
    assert alone.lateness.any()
    assert together.caught_up(end) - end < 5 * SECOND < alone.caught_up(end) - end
    assert together.lateness.mean() < alone.lateness.mean()
    assert np.all(together.answers == 1)
    assert np.all(alone.answers == 1)


def test_one_stall_is_for_ever_where_only_sharing_keeps_up() -> None:
    # One by one this load is more than there is time; in time, passes are shared and it is not.
    heavy = draw(np.random.default_rng(3), 20, 1.2)
    assert load(heavy) == pytest.approx(1.2, abs=1e-3)
    calm = simulate(heavy, HORIZON, late_pending=False)
    assert not calm.lateness.any()
    alone, together = (simulate(heavy, HORIZON, late_pending=each, stall=(BEGIN, END)) for each in (False, True))
    assert alone.caught_up(END) > HORIZON
    assert together.caught_up(END) < END + 15 * SECOND


def test_a_joint_pass_costs_each_instants_scan() -> None:
    # One class, 10 instants in a stall: together they take one fixed part and ten scans.
    one = [Class("a", SECOND, 1_000, SECOND)]
    outcome = simulate(one, 11 * SECOND, late_pending=True, stall=(1, 10 * SECOND + 1))
    late = outcome.at[(outcome.at > 0) & (outcome.at <= 10 * SECOND)]
    ends = outcome.answered[1:11]
    assert len(late) == 10
    assert len(set(ends.tolist())) == 1
    spent = ends[0] - (10 * SECOND + 1) - FIXED_US
    assert 10 * one[0].work_us * ACTUAL[0] <= spent <= 10 * one[0].work_us * ACTUAL[1]
