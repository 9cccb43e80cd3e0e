"""When answers that were drawn for are begun: one after the other, by what each of them takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctual.clock import SECOND, Micros
from punctual.schedule.cohorts import Contracts
from punctual.schedule.due import DueInstants
from punctual.schedule.events import Answer, Command, Prepare
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.answer_times import AnswerTimes
from punctual.schedule.stages.open_stages import LEAST_LEAD_US, begun_in_turn
from punctual.schedule.stages.sharing import READY_US
from tests.schedule.test_sharing import Cores, contract


def instants_of(count: int) -> DueInstants:
    return DueInstants(10 * SECOND * np.arange(1, count + 1), np.zeros(count, np.int64), np.arange(count), ())


class Answering(Cores):
    """A script in which each answer takes so long, and whoever answers does nothing else meanwhile."""

    took_us: float = 100_000.0
    pass_us: float = 0.0
    """What each pass takes besides."""

    def __init__(self, *names: str, deadline_s: float = 2.0) -> None:
        super().__init__(*(contract(name, deadline_s) for name in names))
        self.through: dict[str, Micros] = {}
        self.passes: list[list[str]] = []

    def take(self, commands: list[Command]) -> None:
        for command in commands:
            if not isinstance(command, Answer):
                super().take([command])
                continue
            queries = [query for group in command.current_pass.groups for query in group.cohort.queries]
            self.passes.append(queries)
            took = self.pass_us + len(queries) * self.took_us
            self.at += int(took)
            self.through |= dict.fromkeys(queries, self.at)
            self.take(self.answered(took))

    def instants(self, count: int) -> None:
        """One instant of ten seconds after the other."""
        for batch in range(count):
            self.take(self.committed(batch, 10 * (batch + 1)))
            self.take(self.applied(batch))
            self.until(10 * (batch + 1))


def test_all_of_those_that_are_due_together_are_in_time() -> None:
    """The first instants teach what answers take; from then on they are begun as early as they have to be."""
    script = Answering(*(f"q{number}" for number in range(6)))
    script.instants(3)
    ends = [end - 20 * SECOND for end in script.through.values()]
    assert len(ends) == 6
    assert max(ends) <= 2 * SECOND
    assert min(ends) < 2 * SECOND - 500_000, "the first of six begins before the other five"


def test_nobody_joins_who_would_make_the_first_one_late() -> None:
    """Answers of one pass are delivered together. All may be begun here, once a batch is applied that took long."""
    script = Answering("soon", deadline_s=1.0)
    script.state = Cores(contract("soon", 1.0), *(contract(f"late{number}", 1.5) for number in range(8))).state
    script.instants(2)
    script.take(script.committed(2, 30))
    script.take(script.applied(2))
    script.until(20.5)
    script.take(script.committed(3, 30.5))
    script.until(20.8)
    assert not [one for one in script.through.values() if one > 20 * SECOND]
    script.take(script.applied(3))
    script.until(30)
    assert script.through["soon"] <= 21 * SECOND
    assert min(script.through.values()) == script.through["soon"]


def test_answers_that_are_due_about_together_are_one_pass() -> None:
    """Each by itself would wait for the one before, and a pass of its own takes longer than an answer."""
    script = Answering(*(f"q{number}" for number in range(6)))
    script.took_us, script.pass_us = 5_000.0, 30_000.0
    script.instants(7)
    before = len(script.passes)
    script.take(script.committed(7, 80))
    script.take(script.applied(7))
    script.until(80)
    assert len(script.passes) - before <= 3, "for six answers"
    assert max(script.through.values()) <= 72 * SECOND


def test_answers_far_apart_are_not_one_pass() -> None:
    script = Answering("soon", deadline_s=1.0)
    script.state = Cores(contract("soon", 1.0), contract("later", 2.0)).state
    script.took_us, script.pass_us = 5_000.0, 30_000.0
    script.instants(4)
    assert script.passes[-2:] == [["soon"], ["later"]]


def test_what_a_pass_takes_is_told_from_what_answers_take() -> None:
    """Passes of one and of nine answers teach both."""
    several = FiringGroup(Contracts([contract("q", 1.0)]).cohorts[0], 0, instants_of(9))
    one, known = several.only(np.arange(9) == 0), AnswerTimes()
    for _again in range(400):
        known = known.after([one], 35_000.0).after([several], 75_000.0)
    assert (known.pass_us, known.of("q")) == (pytest.approx(30_000, rel=0.1), pytest.approx(5_000, rel=0.1))


def test_windows_are_made_ready_in_the_order_in_which_they_are_answered() -> None:
    script = Answering("z", deadline_s=0.5)
    names = {"a": 3.0, "b": 1.0, "c": 2.0}
    script.state = Cores(*(contract(name, deadline_s) for name, deadline_s in names.items())).state
    script.take(script.committed(0, 10))
    (asked,) = [one for one in script.applied(0) if isinstance(one, Prepare)]
    assert [group.cohort.queries[0] for group in asked.groups] == ["b", "c", "a"]


def test_windows_are_made_ready_only_until_somebody_is_to_be_answered() -> None:
    script = Answering("q", deadline_s=1.0)
    script.instants(1)
    script.take(script.committed(1, 20))
    prepared = [one for one in script.applied(1) if isinstance(one, Prepare)]
    assert prepared[0].until == script.at + READY_US, "its own answer is not to come so soon"
    script = Answering("q", deadline_s=0.08)
    script.take(script.committed(0, 10))
    (one,) = [one for one in script.applied(0) if isinstance(one, Prepare)]
    assert one.until - script.at < READY_US


@given(st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(0, 300_000)), min_size=1, max_size=12))
def test_begun_in_turn_all_are_through_before_their_deadlines(answers: list[tuple[int, int]]) -> None:
    deadlines, took = (np.array(column) for column in zip(*answers))
    leads = np.full(len(answers), LEAST_LEAD_US)
    begins = begun_in_turn(deadlines, took.astype(np.float64), np.full(len(answers), 1e12), leads)
    now = begins.min()
    for line in np.lexsort((deadlines, begins)).tolist():  # one after the other, none before it may
        now = max(now, begins[line]) + took[line]
        assert now <= deadlines[line] - LEAST_LEAD_US + 2, "but for what is rounded"
    latest = np.argmax(deadlines)
    assert begins[latest] == pytest.approx(deadlines[latest] - took[latest] - LEAST_LEAD_US, abs=2) or (
        (deadlines == deadlines[latest]).sum() > 1
    )
    capped = begun_in_turn(deadlines, took.astype(np.float64), np.full(len(answers), 25_000.0), leads)
    assert (capped == deadlines - 25_000).all(), "no stage is left without draws for longer"
