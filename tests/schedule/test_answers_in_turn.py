"""When answers that were drawn for are begun: one after the other, by what each of them takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctual.clock import SECOND, Micros
from punctual.schedule.events import Answer, Command, Prepare
from punctual.schedule.stages.open_stages import LEAST_LEAD_US, begun_in_turn
from punctual.schedule.stages.sharing import READY_US
from tests.schedule.test_sharing import Cores, contract


class Answering(Cores):
    """A script in which each answer takes so long, and whoever answers does nothing else meanwhile."""

    took_us: float = 100_000.0

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
            took = len(queries) * self.took_us
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
    begins = begun_in_turn(deadlines, took.astype(np.float64), np.full(len(answers), 1e12))
    now = begins.min()
    for line in np.lexsort((deadlines, begins)).tolist():  # one after the other, none before it may
        now = max(now, begins[line]) + took[line]
        assert now <= deadlines[line] - LEAST_LEAD_US + 2, "but for what is rounded"
    latest = np.argmax(deadlines)
    assert begins[latest] == pytest.approx(deadlines[latest] - took[latest] - LEAST_LEAD_US, abs=2) or (
        (deadlines == deadlines[latest]).sum() > 1
    )
    capped = begun_in_turn(deadlines, took.astype(np.float64), np.full(len(answers), 25_000.0))
    assert (capped == deadlines - 25_000).all(), "no stage is left without draws for longer"
