"""By when a pass from rows should be through: the first deadline that it can still meet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.clock import SECOND, Micros
from punctual.engine.answers.scan_budgets import PassTime

BEGAN = 500 * SECOND
AHEAD = 1_700_000_000 * SECOND


def job(deadline: Micros, budget_us: Micros | None = 9 * SECOND, level: float | None = None) -> Any:
    """One that is due so long after the beginning of the pass, by the wall clock, with a DEADLINE of a second."""
    released = np.array([BEGAN + AHEAD + deadline - SECOND], np.int64)
    allowed = pa.array([SECOND], pa.int64())
    return SimpleNamespace(allowed=allowed, released=released, budget_us=budget_us, level=level)


def by(*jobs: Any, finish_us: float = 0.0) -> Micros | None:
    end = PassTime.of(jobs, BEGAN, AHEAD, finish_us).by
    return None if end is None else end - BEGAN


def test_the_first_deadline_counts_less_what_finishing_takes() -> None:
    assert by(job(3 * SECOND), job(2 * SECOND)) == 2 * SECOND
    assert by(job(3 * SECOND), job(2 * SECOND), finish_us=100_000) == 1_900_000
    assert by(job(3 * SECOND, budget_us=None)) is None


def test_a_deadline_that_is_over_takes_no_time_from_others() -> None:
    assert by(job(-30 * SECOND), job(2 * SECOND)) == 2 * SECOND


def test_nor_does_one_that_is_over_once_answers_are_finished() -> None:
    assert by(job(90_000), job(2 * SECOND), finish_us=100_000) == 1_900_000


def test_nor_does_one_that_was_given_up() -> None:
    """It is late even at its least share: the scheduler found so, and its level is 0."""
    assert by(job(300_000, level=0.0), job(2 * SECOND, level=0.8)) == 2 * SECOND
    assert by(job(300_000, level=0.8), job(2 * SECOND, level=0.8)) == 300_000
