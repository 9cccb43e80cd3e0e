"""What the benchmarks of anytime queries rest on: their queries, the virtual clock, and each in its quick form."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import anytime_live, anytime_online, anytime_planning
from benchmarks.answer_reader import Seen, half_width
from benchmarks.anytime_costs import Cost
from benchmarks.anytime_live_engine import Standing, wanted
from benchmarks.anytime_live_runs import judged
from benchmarks.anytime_stages import RELATIVE, Stage, in_epoch, rounds_for_load, staged
from benchmarks.anytime_virtual import Costs, Run, online, planned
from benchmarks.anytime_workload import ROUNDS, asked

from punctual.clock import SECOND
from punctual.schedule.epoch import Epochs, allocate, allocate_by_graph
from punctual.schedule.online import Rules
from tests.oracles.water_filling import filled_up

COSTS = {kind: Cost(0.001 * cost, 0.01) for kind, cost in RELATIVE.items()}
EXACT = Costs(spread=0.0, handing=0.0)


def stages_at(rate: float, seed: int = 0, seconds: float = 20.0) -> list[Stage]:
    return staged(asked(seed, rate, seconds), rounds_for_load(1.0, anytime_online.FULL, 2))


def test_queries_are_those_of_the_paper() -> None:
    found = asked(1, 50.0, 40.0)
    lives = [one.deadlines_s[-1] for one in found]
    assert 1.0 <= min(lives) < 1.1
    assert 5.9 < max(lives) <= 6.0
    assert {len(one.deadlines_s) for one in found} == {1, 2, 3}
    assert {one.kind for one in found} == set(RELATIVE)
    assert len(found) == pytest.approx(2_000, rel=0.1)
    stages = staged(found, RELATIVE)
    assert len(stages) == sum(len(one.deadlines_s) for one in found)
    first = [stage for stage in stages if found[0].at_s <= stage.start < found[0].at_s + lives[0]]
    assert first[0].needing(1.0).essential == ROUNDS


def test_load_is_what_it_is_said_to_be() -> None:
    cost = rounds_for_load(0.7, 20.0, 2)
    stages = staged(asked(3, 20.0, 500.0), cost)
    assert sum(ROUNDS * one.one_round for one in stages) == pytest.approx(0.7 * 2 * 500.0, rel=0.05)


@pytest.mark.parametrize("seed", range(40))
def test_plans_equal_filling_up(seed: int) -> None:
    """An epoch so short that all sets of its queries can be looked at."""
    queries = in_epoch(seed, 0.8, Epochs(3.0, 0.0), RELATIVE)[:9]
    assert all(0 <= query.start < query.deadline <= 3 * SECOND for query in queries)
    plain = [(query.start, query.deadline, query.essential) for query in queries]
    expected = pytest.approx(filled_up(plain, 2).tolist(), rel=1e-7)
    assert allocate(queries, 2) == expected
    assert allocate_by_graph(queries, 2) == expected
    assert allocate_by_graph(queries, 2, filtering=False) == expected


def test_all_ways_are_timed_and_agree() -> None:
    found = anytime_planning.planned(20.0, 2.0, range(2), COSTS)
    assert set(found.seconds) == set(anytime_planning.WAYS)
    assert all(len(taken) == 2 and min(taken) >= 0 for taken in found.seconds.values())
    assert 0 < found.core_s[0] <= 2 * 20.0 * (1 + 1e-9)
    assert found.round_s == pytest.approx(40 * 0.001)
    assert found.pass_s == pytest.approx(40 * 0.011)


def test_what_takes_too_long_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anytime_planning, "PATIENCE_S", -1.0)
    small, large = anytime_planning.swept([(5.0, 1.0), (10.0, 1.0)], range(3), COSTS)
    assert all(len(taken) == 1 for taken in small.seconds.values())
    assert large.seconds == {}


def run_both(stages: list[Stage], costs: Costs) -> dict[str, Run]:
    random = np.random.default_rng(5)
    estimates = costs.estimates(random, stages)
    plan = allocate([one.needing(cost) for one, cost in zip(stages, estimates)], 2)
    found = {
        "online": online(stages, estimates, Rules(2, 0.05, 1), costs, random),
        "planned": planned(stages, estimates, plan, 2, 0.05, costs, random),
    }
    for run in found.values():
        anytime_online.checked(run, stages)
    return found


def test_where_rounds_cost_what_was_thought_a_plan_is_kept_to_a_joblet() -> None:
    stages = stages_at(5.0)
    plan = np.array(allocate([one.needing(one.one_round) for one in stages], 2))
    rounds = np.array(run_both(stages, EXACT)["planned"].rounds)
    expected = plan / [one.one_round for one in stages]
    joblets = 3 * 0.05 / np.array([one.one_round for one in stages])
    assert (np.abs(rounds - expected) <= joblets + 1).all()
    assert rounds.sum() == pytest.approx(expected.sum(), rel=0.02)


def test_online_gives_everybody_what_is_essential_where_there_is_time() -> None:
    stages = stages_at(2.0)
    for costs in (EXACT, Costs()):
        assert min(run_both(stages, costs)["online"].rounds) >= ROUNDS


def test_a_joblet_too_many_and_one_too_early_are_found() -> None:
    stages = [Stage("q1", 1.0, 2.0, 0.1)]
    with pytest.raises(AssertionError):
        anytime_online.checked(Run([3], [(0, 1.0, 1.5), (0, 1.1, 1.4), (0, 1.2, 1.3)]), stages)
    with pytest.raises(AssertionError):
        anytime_online.checked(Run([1], [(0, 0.9, 1.5)]), stages)
    with pytest.raises(AssertionError):
        anytime_online.checked(Run([1], [(0, 2.0, 2.1)]), stages)
    assert anytime_online.checked(Run([2], [(0, 1.0, 1.5), (0, 1.1, 1.6), (0, 1.5, 1.8)]), stages) == pytest.approx(0.8)


def test_the_same_seed_gives_the_same_rounds() -> None:
    for mode in ("online", "planned"):
        first, second = (anytime_online.outcome(mode, 9.0, range(1), Costs(), 8.0) for _time in range(2))
        assert (first.rounds == second.rounds).all()
        assert first.core_s == second.core_s


def test_planning_in_its_quick_form() -> None:
    result = anytime_planning.run(quick=True)
    assert len(result.rows) == 3
    assert len(result.goals) == 4
    assert all(np.isfinite(goal.measured) and goal.measured > 0 for goal in result.goals)


def test_online_in_its_quick_form() -> None:
    result = anytime_online.run(quick=True)
    assert len(result.rows) == 6
    assert [goal.bound for goal in result.goals[:2]] == [0.01, 0.1]
    by_load = {(load, mode): whole for load, mode, _n, _one, whole, *_rest in result.rows}
    for mode in ("online", "planned"):
        assert by_load[50, mode] >= by_load[90, mode] >= by_load[120, mode]


def test_half_widths_are_those_of_intervals() -> None:
    error = {"n": {"low": [1.0, None, 4.0], "high": [3.0, None, 8.0]}, "w": {"confidence": None, "level": [0.9]}}
    assert half_width(error) == 1.5
    assert half_width(None) is None
    assert half_width({"w": {"confidence": None}}) is None


def test_a_stage_that_never_came_met_nothing() -> None:
    query = Standing("q", "q5", "", (1.0, 2.0), 100)
    which = wanted([query], SECOND, 10 * SECOND, range(1, 3))
    assert which == {("q", at * SECOND, number) for at in (10, 11) for number in (0, 1)}
    times = {"released": 0, "deadline": SECOND, "answered": SECOND - 20}
    answers = [
        Seen("q", 10 * SECOND, 0, seen=SECOND - 5, on_time=True, rounds=150, reached=True, half_width=None, **times),
        Seen("q", 10 * SECOND, 1, seen=SECOND + 5, on_time=True, rounds=150, reached=False, half_width=None, **times),
        Seen("q", 12 * SECOND, 0, seen=SECOND - 5, on_time=True, rounds=150, reached=True, half_width=None, **times),
    ]
    found = judged(0.5, "online", SECOND, which, {"q": query}, answers, (1.5, 0.25))
    assert (found.stages, found.came, found.on_time, found.seen_in_time, found.reached) == (4, 0.5, 0.5, 0.25, 0.25)
    assert found.essential == pytest.approx((1 + 0.75) / 4)
    assert (found.cores, found.others, found.slack_s) == (1.5, 0.25, -5e-6)


def test_live_in_its_quick_form() -> None:
    """Every part of it runs; how many are on time is the machine's."""
    result = anytime_live.run(quick=True)
    assert [(mode, load) for mode, load, *_rest in result.rows] == [("online", 50), ("epoch", 50)]
    for _mode, _load, _step, stages, *shares in result.rows:
        assert stages > 0
        assert all(0 <= share <= 100 for share in shares[:4])
    assert len(result.goals) == 8
    assert all(np.isfinite(goal.measured) for goal in result.goals)
    assert len(result.pictures) == 2
