"""Feedback, admission, fairness and clocks that jump, by formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from punctual.clock import SECOND
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import LINEAR, table
from punctual.schedule.events import Answer, BatchRead, PassAnswered, ReadAsked
from punctual.schedule.qos.admission import hopeless, overcommitted, short_deadline
from punctual.schedule.qos.fairness import jain
from punctual.schedule.qos.feedback import Feedback
from punctual.schedule.qos.prices import Prices
from punctual.schedule.state import Rules
from tests.schedule.loaded import sampled
from tests.schedule.script import Script


@pytest.mark.parametrize("seed", range(20))
def test_feedback_is_its_formula_second_by_second(seed: int) -> None:
    random = np.random.default_rng(seed)
    state, drop = Feedback().after(0), 0.0
    for second in range(120):
        answers = int(random.integers(0, 20))
        missed = int(random.integers(0, answers + 1)) if random.random() < 0.5 else 0
        cuts = sorted(random.integers(0, SECOND, 2).tolist())
        first, first_missed = answers // 2, min(missed, answers // 2)
        state = state.after(second * SECOND + cuts[0], first, first_missed)
        state = state.after(second * SECOND + cuts[1], answers - first, missed - first_missed)
        assert state.drop == pytest.approx(drop), "within a second nothing changes"
        state = state.after((second + 1) * SECOND)
        ratio = missed / answers if answers else 0.0
        drop = min(max(drop + 0.5 * (ratio - 0.02), 0.0), 0.99)
        assert state.drop == pytest.approx(drop)


def test_feedback_by_a_script() -> None:
    contracts = [sampled("a", 1, LINEAR), sampled("floor", 1, table([(1.0, 1.0), (0.8, 0.2)]))]
    one = Script(Rules("stepped", timed=True, qos="feedback"), *contracts)
    costs = {"a": ExecutionCost(0, 10), "floor": ExecutionCost(0, 10)}
    settings = []
    for batch in range(4):
        one(ReadAsked(one.now()))
        one(BatchRead(one.now(), 0, 0))
        one.committed(batch, batch + 1)
        commands = one.applied(batch, costs)
        answer = commands[-1]
        assert isinstance(answer, Answer)
        settings.append({group.cohort.queries[0]: group.setting for group in answer.current_pass.groups})
        one.at += 3 * SECOND  # far too late, all of them
        one(PassAnswered(one.now(), 3.0 * SECOND))
    # Every time all were late: half of 98 % more in the second in which that is seen, 2 % of a half less in each other.
    drops = [0.0, 0.49 - 0.02, min(0.99, 2 * 0.47), 0.97]
    assert settings[0] == {"a": None, "floor": None}
    for found, drop in zip(settings[1:], drops[1:]):
        assert found["a"] == pytest.approx(max(0.01, 1 - drop), abs=0.02)
        assert found["floor"] == 0.8


def test_feedback_counts_what_answers_call_late() -> None:
    """A query with neither DEADLINE nor QUALITY is never late, however long it takes; with QUALITY by its period."""
    for other, drops in ((sampled("other", 1, None), False), (sampled("other", 1, LINEAR), True)):
        one = Script(Rules("stepped", timed=True, qos="feedback"), sampled("a", 1, LINEAR, 60), other)
        one(ReadAsked(one.now()))
        one(BatchRead(one.now(), 0, 0))
        one.committed(0, 1)
        answer = one.applied(0, {"a": ExecutionCost(0, 10), "other": ExecutionCost(0, 10)})[-1]
        while isinstance(answer, Answer):
            one.at += 3 * SECOND
            answer = next((c for c in one(PassAnswered(one.now(), 3.0 * SECOND)) if isinstance(c, Answer)), None)
        assert (one.state.feedback.after(one.at + SECOND).drop > 0.0) == drops


def test_hopeless_is_what_no_schedule_of_one_query_can_do() -> None:
    random = np.random.default_rng(5)
    for _ in range(500):
        curve = [None, LINEAR, table([(1.0, 1.0), (0.3, 0.5)])][random.integers(3)]
        deadline = None if random.random() < 0.3 else float(random.integers(1, 40)) / 10
        asked = sampled("q", float(random.integers(1, 40)) / 10, curve, deadline)
        cost, cores = ExecutionCost(float(random.integers(0, 2_000_000)), float(random.integers(0, 8_000_000))), 2.0
        least = 1.0 if curve is None else curve.least_share
        seconds = (cost.fixed_us + least * cost.work_us) / cores
        found = hopeless(asked, cost, cores, latency_us=70_000)
        can = seconds <= asked.bound_us and (asked.deadline_us is None or seconds <= asked.deadline_us)
        assert (found is None) == can
        if found is not None:
            # With what is named in place of what was asked it holds, and with about a second less it does not.
            words = found.hint.removesuffix(" would hold").split()
            sizes = {"MILLISECOND": 1_000, "SECOND": SECOND, "MINUTE": 60 * SECOND}
            each = (words[n : n + 3] for n in range(0, len(words), 3))
            asks = {word: int(count) * sizes[unit.removesuffix("S")] for word, count, unit in each}
            bound = asks.get("PERIOD", asked.bound_us)
            other = replace(asked, bound_us=bound, deadline_us=asks.get("DEADLINE", asked.deadline_us))
            assert hopeless(other, cost, cores) is None
            for name, us in asks.items():
                shorter = us - 1_100_000
                less = replace(other, **{"bound_us" if name == "PERIOD" else "deadline_us": shorter})
                assert shorter <= 0 or hopeless(less, cost, cores) is not None


def test_all_together_may_be_too_much_where_each_is_not() -> None:
    known = [(sampled(f"q{n}", 1, LINEAR), ExecutionCost(300_000, 9e9)) for n in range(10)]
    prices = Prices(cores=100.0)
    assert overcommitted(known[:1], Prices(cores=200.0), 0.0) is None
    found = overcommitted(known, prices, 0.5)
    assert found is not None
    assert "100" in found


def test_only_short_deadlines_are_warned_of() -> None:
    often = SECOND // 10
    assert short_deadline(sampled("q", 1, None), often) is None
    assert short_deadline(sampled("q", 1, None, 0.2), often) is None
    assert short_deadline(sampled("q", 1, None, 0.199), often) is not None
    assert short_deadline(sampled("q", 1, None, 0.5), SECOND // 2) is not None, "rows may wait for a tick"
    assert short_deadline(sampled("q", 1, None, 0.501), SECOND // 2) is None


def test_fairness_is_between_one_by_n_and_one() -> None:
    random = np.random.default_rng(1)
    for size in range(1, 20):
        values = random.uniform(0, 1, size).tolist()
        assert 1 / size <= jain(values) <= 1 + 1e-12
        assert jain([values[0]] * size) == pytest.approx(1)
        assert jain([values[0]] + [0.0] * (size - 1)) == pytest.approx(1 / size)


@pytest.mark.parametrize("by", [3_600 * SECOND, -3_600 * SECOND])
def test_a_jump_between_release_and_pass_changes_no_budget(by: int) -> None:
    def played(jump: int) -> tuple[int | None, float | None, int]:
        one = Script(Rules("stepped", timed=True, qos="dynamic-sampling"), sampled("q", 1, LINEAR, 0.8))
        one.at = 10_000 * SECOND
        one(ReadAsked(one.now()))
        one(BatchRead(one.now(), 0, 0))
        one.committed(0, 1)
        one.ahead += jump
        one.at += 100_000
        answer = one.applied(0, {"q": ExecutionCost(0, 500_000)})[-1]
        assert isinstance(answer, Answer)
        (group,) = answer.current_pass.groups
        assert group.released is not None
        return group.budget_us, group.setting, int(group.released[0]) - jump

    assert played(by) == played(0)


def test_what_was_released_in_the_future_counts_as_now() -> None:
    one = Script(Rules("stepped", timed=True), sampled("q", 1, None, 0.8))
    one.at = 100 * SECOND
    one(ReadAsked(one.now()))
    one(BatchRead(one.now(), 0, 0))
    one.committed(0, 1, arrived=one.at + 500 * SECOND)
    answer = one.applied(0)[-1]
    assert isinstance(answer, Answer)
    (group,) = answer.current_pass.groups
    assert group.released is not None
    assert group.released.tolist() == [100 * SECOND]
