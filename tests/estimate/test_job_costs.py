"""How many rounds a job of the data plane is to have, against jobs whose cost is known."""

from __future__ import annotations

import numpy as np
import pytest

from punctual.estimate.round_costs import LEAST_US, LONGEST_US, MOST_OVERHEAD, JobCost

BEGINS = (50_000.0, 90_000.0, 400_000.0)
ROUNDS = (20.0, 1_000.0, 80_000.0)


def drawn(begin_us: float, round_us: float, jobs: int, noise: float = 0.0) -> JobCost:
    """What is known after so many jobs, each of the size that was asked for."""
    random, cost = np.random.default_rng(3), JobCost()
    for _job in range(jobs):
        slower = 1.0 + noise * float(random.exponential())
        cost = cost.after(cost.at_once, slower * (begin_us + cost.at_once * round_us))
    return cost


@pytest.mark.parametrize("begin_us", BEGINS)
@pytest.mark.parametrize("round_us", ROUNDS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_beginning_a_job_is_a_small_part_of_it(begin_us: float, round_us: float, noise: float) -> None:
    cost = drawn(begin_us, round_us, 30, noise)
    took = begin_us + cost.at_once * round_us
    wanted = min(max(LEAST_US, begin_us / MOST_OVERHEAD), LONGEST_US)
    assert took >= wanted / (2.5 if noise else 1.0) - round_us
    assert took <= (1.25 * LONGEST_US if noise else max(wanted, begin_us + round_us))
    if not noise and begin_us <= LONGEST_US * MOST_OVERHEAD:
        assert begin_us <= 1.01 * MOST_OVERHEAD * (took + round_us)


def test_a_pause_of_the_machine_is_forgotten() -> None:
    cost = drawn(80_000.0, 1_000.0, 10)
    before = cost.at_once
    for _job in range(3):
        cost = cost.after(cost.at_once, 30_000_000.0)
    for _job in range(30):
        cost = cost.after(cost.at_once, 80_000.0 + cost.at_once * 1_000.0)
    assert before / 2 <= cost.at_once <= 2 * before
