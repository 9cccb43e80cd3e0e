"""Stages that are planned by epochs: what plans hold, who waits, and that the cores do what the plan says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.anytime_model import simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.clock import SECOND
from punctual.config import parse_options
from punctual.schedule.choosing import warnings
from punctual.schedule.contract import Contract
from punctual.schedule.epoch import AnytimeQuery, Epochs, allocate, piece_in
from punctual.schedule.events import BatchRead, CancelAsked, ReadAsked, StopAsked, TimerFired
from punctual.schedule.online import Rules
from punctual.schedule.stages.answer_times import FIRST_US
from punctual.schedule.stages.epoch_plans import EpochPlans
from punctual.schedule.stages.open_stages import LEAST_LEAD_US
from punctual.schedule.stages.sharing import Draw
from punctual.schedule.stages.stage import Stage
from tests.schedule.test_sharing import OWN, ROUND_US, Cores, contract

EPOCHS = Epochs(10 * SECOND, SECOND)
JOBLET, ROUND = 0.02, 0.005


class Planned(Cores):
    """The same by epochs of ten seconds, planned a second before."""

    def __init__(self, *contracts: Contract, cores: int = 2, epochs: Epochs = EPOCHS) -> None:
        super().__init__(*contracts, cores=cores)
        self.state = replace(self.state, rules=replace(self.state.rules, epochs=epochs))

    def release(self, through_s: float) -> None:
        """One more batch."""
        self.take(self(ReadAsked(self.now())))
        self.take(self(BatchRead(self.now(), 0, 0)))
        batch = self.state.next_batch
        self.take(self.committed(batch, through_s))
        self.take(self.applied(batch))

    @property
    def plans(self) -> EpochPlans:
        found = self.state.sharing.plans
        assert found is not None
        return found


# -- what the cores do, against the plan --------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 40), st.floats(0.1, 5)).map(
            lambda drawn: AnytimeQuery(drawn[0] / 4, (drawn[0] + drawn[1]) / 4, drawn[2])
        ),
        min_size=1,
        max_size=15,
    ),
    st.integers(1, 3),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_everybody_has_the_core_time_that_the_plan_gives(queries: list[AnytimeQuery], cores: int) -> None:
    """To a few joblets, which cannot be interrupted: overloaded or not, essential or beyond."""
    best = allocate(queries, cores)
    outcome = simulate(queries, Rules(cores, JOBLET), ROUND, granted=best)
    slack = 2 * cores * (JOBLET + ROUND)
    for have, planned in zip(outcome.given, best):
        assert have >= planned - slack
        assert have <= planned + len(queries) * slack
    for joblet, _began, ended in outcome.joblets:
        assert ended <= queries[int(joblet.name)].deadline + 1e-9


def test_what_is_granted_keeps_its_place_by_deadline() -> None:
    """The first is done at 2 with more than it needs, though the second needs more than that at the time."""
    queries = [AnytimeQuery(0, 2, 1), AnytimeQuery(0, 10, 5)]
    outcome = simulate(queries, Rules(1, 0.01), 0.001, granted=allocate(queries, 1))
    assert outcome.given == pytest.approx([10 / 6, 50 / 6], abs=0.05)


def test_essential_work_goes_first_where_the_plan_does_not_come_true() -> None:
    """The first may not have what it was promised: the second would lose what it needs."""
    queries = [AnytimeQuery(0, 2, 0.5), AnytimeQuery(0, 3, 2)]
    outcome = simulate(queries, Rules(1, 0.01), 0.001, granted=[2.0, 2.0])
    assert outcome.essential == pytest.approx([0.5, 2.0], abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_the_scheduler_gives_what_its_plan_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    lengths = [sorted(random.choice(np.arange(2, 17), random.integers(1, 4), replace=False) / 2) for _query in range(4)]
    script = Planned(*(contract(f"q{n}", *map(float, some)) for n, some in enumerate(lengths)))
    script.begin(10)
    script.until(10)
    before = dict(script.rounds)
    assert set(before) == {(f"q{n}", 10 * SECOND) for n in range(4)}
    script.release(20)
    granted = {stage: one.core_time for stage, one in script.plans.plans[1].items() if stage.at == 20 * SECOND}
    assert len(granted) == sum(map(len, lengths))
    script.until(19.9)
    last: dict[str, int] = {}
    for _when, stage, rounds in script.answers:
        if stage.at == 20 * SECOND:
            drawn = (rounds - last.get(stage.query, 8)) * ROUND_US
            last[stage.query] = rounds
            assert drawn >= granted[stage] - 5 * 50_000, stage
            assert drawn <= granted[stage] + len(granted) * 2 * 50_000, stage


# -- plans --------------------------------------------------------------------------------------------


def test_stages_that_span_epochs_are_split_by_overlap() -> None:
    plans = EpochPlans.since(EPOCHS, 0)
    assert (plans.through, plans.to_plan(8 * SECOND), plans.to_plan(9 * SECOND)) == (0, None, 1)
    stage, life = Stage("q", 0, 0), AnytimeQuery(18 * SECOND, 22 * SECOND, 2.0 * SECOND)
    other = AnytimeQuery(10 * SECOND, 20 * SECOND, 3.0 * SECOND)
    plans = plans.with_plan(1, [(stage, life), (Stage("r", 0, 0), other)], 1.0)
    piece = piece_in(life, 1, EPOCHS)
    assert piece is not None
    assert plans.plans[1][stage].essential == piece.essential == SECOND
    assert sum(one.core_time for one in plans.plans[1].values()) == pytest.approx(10 * SECOND)
    assert plans.wake_at(9 * SECOND) == 10 * SECOND
    assert plans.wake_at(10 * SECOND) == 19 * SECOND


def test_who_could_not_plan_in_time_plans_for_what_runs() -> None:
    plans = EpochPlans.since(EPOCHS, 0)
    assert plans.to_plan(35 * SECOND) == 3
    assert EpochPlans.since(EPOCHS, 9 * SECOND + 1).through == 1, "too late for the next one"


def test_a_query_that_comes_too_late_waits_and_says_so() -> None:
    script = Planned(contract("late", 1, 3))
    script.begin(10)
    script.until(5)
    assert [stage.number for _when, stage, _rounds in script.answers] == [0, 1]
    leads = [1 - (LEAST_LEAD_US + 2 * FIRST_US) / SECOND, 3 - LEAST_LEAD_US / SECOND]
    assert [when for when, _stage, _rounds in script.answers] == pytest.approx(leads, abs=0.01)
    (said,) = warnings(script.state).values()
    assert said.startswith('query "late" came too late for the plan of this epoch')
    script.until(10)
    script.release(20)
    assert script.plans.waited == frozenset()
    assert warnings(script.state) == {}
    script.until(14)
    assert [stage.number for _when, stage, _rounds in script.answers] == [0, 1, 0, 1]


def test_who_waits_has_only_what_the_plan_leaves() -> None:
    """A query of another kind, which nobody foresaw, beside one whose plan takes all of the cores."""
    script = Planned(contract("planned", 8), contract("late", 4), cores=1)
    script.unable.add("late")
    script.begin(10)
    script.until(10)
    script.unable.clear()
    script.state = replace(script.state, sharing=replace(script.state.sharing, unable=frozenset()))
    script.release(20)
    script.until(15)
    late = next(rounds for _when, stage, rounds in script.answers if stage == Stage("late", 20 * SECOND, 0))
    assert late < OWN / 2, "but there is an answer by the deadline"
    assert script.plans.waited == {"late"}


@pytest.mark.parametrize("stop", [True, False])
def test_nothing_begins_after_a_stop_or_a_cancel(stop: bool) -> None:
    script = Planned(contract("q", 2, 4))
    script.begin(10)
    script.until(10)
    script.release(20)
    script.until(10.5)
    count = sum(isinstance(one, Draw) for one in script.said)
    script.take(script(StopAsked(script.now()) if stop else CancelAsked(script.now(), "q")))
    script.until(18)
    assert sum(isinstance(one, Draw) for one in script.said) == count
    assert not script.running
    assert not script.state.sharing.running


def test_joblets_end_by_the_border_and_the_next_part_begins_there() -> None:
    script = Planned(contract("q", 8), epochs=Epochs(3 * SECOND, SECOND // 2))
    script.begin(10)
    script.until(8)
    draws = [one for one in script.said if isinstance(one, Draw)]
    assert {one.until // SECOND for one in draws} == {3, 6, 7}
    assert script.plans.plans[2][Stage("q", 10 * SECOND, 0)].core_time > 0
    assert [stage.number for _when, stage, _rounds in script.answers] == [0]


def test_modes_may_change_while_stages_run() -> None:
    script = Planned(contract("q", 8), contract("r", 8))
    script.begin(10)
    for second, epochs in ((1, None), (2, EPOCHS), (3, Epochs(SECOND, SECOND // 4)), (4, None)):
        script.until(second)
        script.state = replace(script.state, rules=replace(script.state.rules, epochs=epochs))
        script.take(script(TimerFired(script.now())))
    script.until(8)
    assert sorted(stage.query for _when, stage, _rounds in script.answers) == ["q", "r"]
    assert all(rounds > 1_000 for _when, _stage, rounds in script.answers)


def test_the_options_of_a_program() -> None:
    rules = Cores(contract("q", 1)).state.rules
    assert rules.with_options(parse_options({})).epochs is None
    asked = parse_options({"anytime": "epoch", "epoch": "1 minute"})
    assert rules.with_options(asked).epochs == Epochs(60 * SECOND, 6 * SECOND)
