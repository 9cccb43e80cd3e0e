"""Shares of inputs by scripts of events: the level against exhaustive search, the journal, crashes, forced shares."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from punctual.clock import SECOND
from punctual.config import Qos
from punctual.estimate import rows_took
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.quality_curve import CONCAVE, CONVEX, LINEAR, QualityCurve, table
from punctual.estimate.rows_took import RowsTook
from punctual.schedule.contract import Contract
from punctual.schedule.events import Answer, BatchRead, Command, Journal, ReadAsked
from punctual.schedule.levels import Decision
from punctual.schedule.state import Rules
from tests.schedule.loaded import sampled
from tests.schedule.script import Script

FREE = PassCost(1.0, 0.0, 0.0, 0.0, 0.0)
"""A pass costs nothing, and so do answers from panes."""
JUST_SO = RowsTook(LinearCost(("fixed", "work"), (0.0, 1.0), (0.0,) * 4))
"""Jobs from rows take as long as their core time says."""
TABLE = table([(1.0, 1.0), (0.6, 0.9), (0.2, 0.5)])
CURVES: list[QualityCurve | None] = [None, CONVEX, LINEAR, CONCAVE, TABLE]


@pytest.fixture(autouse=True)
def exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is predicted here is true, so nobody has to be cautious."""
    monkeypatch.setattr(rows_took, "LEAST_CAUTION", 1.0)


def script(qos: Qos, contracts: list[Contract], cores: float = 1.0, keep: float | None = None) -> Script:
    """One in which a batch was read and committed."""
    rules = Rules("stepped", timed=True, qos=qos, cores=cores, keep=keep)
    found = Script(rules, *contracts)
    found.state = replace(found.state, cost=FREE, rows_took=JUST_SO)
    found(ReadAsked(found.now()))
    found(BatchRead(found.now(), 0, 0))
    found.committed(0, 1)
    return found


def shares(commands: list[Command]) -> dict[str, float]:
    answer = commands[-1]
    assert isinstance(answer, Answer)
    return {
        query: 1.0 if group.setting is None else group.setting
        for group in answer.current_pass.groups
        for query in group.cohort.queries
    }


def played(one: Script, commands: list[Command], costs: dict[str, ExecutionCost]) -> dict[str, tuple[float, int]]:
    """Of each query the share that it used, and when it was answered; jobs take as long as is expected of them."""
    found: dict[str, tuple[float, int]] = {}
    while any(isinstance(command, Answer) for command in commands):
        used = shares(commands)
        took = sum(costs[query].at(share) for query, share in used.items()) / one.state.rules.cores
        one.at += int(np.ceil(took))
        found |= {query: (share, one.at) for query, share in used.items()}
        commands = one.answered(took, took * one.state.rules.cores)
    return found


def drawn(seed: int, most: int = 5) -> tuple[list[Contract], dict[str, ExecutionCost], float]:
    random = np.random.default_rng(seed)
    contracts, costs = [], {}
    for number in range(random.integers(1, most + 1)):
        curve = CURVES[random.integers(len(CURVES))]
        # A little more than a round number, so that nothing hangs on rounding.
        contracts.append(sampled(f"q{number}", 1, curve, float(random.integers(1, 9)) / 10 + 2e-5))
        costs[f"q{number}"] = ExecutionCost(
            float(random.integers(0, 3)) * 20_000, float(random.integers(0, 7)) * 60_000
        )
    return contracts, costs, float(random.integers(1, 4))


def on_time(order: tuple[Contract, ...], needed: dict[str, float], cores: float) -> int:
    """How many are on time when they run one after the other on all cores."""
    at, count = 0.0, 0
    for one in order:
        at += needed[one.query] / cores
        count += at <= one.allowed_us - 10
    return count


def needed_at(contracts: list[Contract], costs: dict[str, ExecutionCost], quality: float) -> dict[str, float]:
    found = {}
    for one in contracts:
        share = 1.0 if one.curve is None else max(one.curve.share(quality), one.curve.least_share)
        found[one.query] = costs[one.query].at(share)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_the_level_is_the_best_of_all_schedules(seed: int) -> None:
    """Where all can be on time all are, at the highest equal quality for which some order of executions exists.

    Every order and a grid of qualities are tried.
    """
    contracts, costs, cores = drawn(seed)
    one = script("dynamic-sampling", contracts, cores)
    found = played(one, one.applied(0, costs), costs)
    assert found.keys() == costs.keys()
    least = needed_at(contracts, costs, 0.0)
    most = max(on_time(order, least, cores) for order in permutations(contracts))
    punctual = [c for c in contracts if found[c.query][1] <= c.allowed_us]
    if most < len(contracts):
        # Some are late whatever is done. Those that can be on time are, and the late ones used no more than they must.
        assert len(punctual) >= most
        for late in set(contracts) - set(punctual):
            if late.curve is not None and costs[late.query].work_us > 0:
                assert found[late.query][0] == pytest.approx(late.curve.least_share, abs=1e-4)
        return
    assert len(punctual) == len(contracts), "a deadline was missed that could be met"
    best = max(
        (grid for grid in np.arange(101) / 100 if _some_order(contracts, needed_at(contracts, costs, grid), cores)),
        default=0.0,
    )
    for each in contracts:
        if each.curve is None or costs[each.query].work_us == 0:
            assert found[each.query][0] == 1.0, "who has no curve, or saves nothing, keeps everything"
            continue
        floor = each.curve.quality(each.curve.least_share)
        quality = each.curve.quality(found[each.query][0])
        assert quality >= max(best, floor) - 0.01


def _some_order(contracts: list[Contract], needed: dict[str, float], cores: float) -> bool:
    return any(on_time(order, needed, cores) == len(contracts) for order in permutations(contracts))


def test_convex_keeps_a_quarter_where_concave_keeps_nearly_all() -> None:
    contracts = [sampled("convex", 1, CONVEX), sampled("concave", 1, CONCAVE), sampled("exact", 1, None)]
    costs = {"convex": ExecutionCost(0, 500_000), "concave": ExecutionCost(0, 500_000), "exact": ExecutionCost(390_000)}
    one = script("dynamic-sampling", contracts)
    used = shares(one.applied(0, costs))
    assert used == {
        "convex": pytest.approx(0.25, abs=0.005), "concave": pytest.approx(0.97, abs=0.005), "exact": 1.0,
    }  # fmt: skip
    assert CONVEX.quality(used["convex"]) == pytest.approx(CONCAVE.quality(used["concave"]), abs=0.02)
    assert one.state.level == pytest.approx(0.7, abs=0.01)


def test_nobody_goes_below_its_floor_and_others_pay_for_it() -> None:
    contracts = [sampled("floor", 1, TABLE), sampled("free", 1, LINEAR)]
    costs = {"floor": ExecutionCost(0, 1_000_000), "free": ExecutionCost(0, 4_000_000)}
    one = script("dynamic-sampling", contracts)
    assert shares(one.applied(0, costs)) == {"floor": 0.2, "free": pytest.approx(0.2, abs=1e-3)}
    assert one.state.level == pytest.approx(0.2, abs=1e-3), "the quality of the one at its floor is 0.5"


def test_who_saves_nothing_keeps_everything() -> None:
    """One that is answered from panes would not be faster with less, so it is not made worse."""
    contracts = [sampled("panes", 1, LINEAR, sheds=False), sampled("rows", 1, LINEAR)]
    one = script("dynamic-sampling", contracts)
    used = shares(one.applied(0, {"rows": ExecutionCost(0, 2_000_000)}))
    assert used == {"panes": 1.0, "rows": pytest.approx(0.5, abs=1e-3)}


def test_shares_are_written_down_before_the_pass_and_found_again() -> None:
    contracts = [sampled("a", 1, LINEAR), sampled("b", 1, CONVEX)]
    costs = {"a": ExecutionCost(0, 1_000_000), "b": ExecutionCost(0, 1_000_000)}
    one = script("dynamic-sampling", contracts)
    journal, answer = one.applied(0, costs)
    assert isinstance(journal, Journal)
    assert isinstance(answer, Answer)
    used = shares([answer])
    assert {d.query: d.setting for d in journal.decisions} == used
    assert {d.level for d in journal.decisions} == {one.state.level}
    assert all(round(10_000 * share) == pytest.approx(10_000 * share) for share in used.values())
    # The process dies before the answer. The next one would use everything, but what was decided stands.
    again = script("best-effort", contracts)
    again.state = replace(again.state, decisions=journal.decisions)
    found = again.applied(0, costs)
    assert not any(isinstance(command, Journal) for command in found)
    assert shares(found) == used
    current = again.state.current_pass
    assert current is not None
    assert {group.level for group in current.groups} == {one.state.level}


def test_what_was_decided_before_a_crash_is_part_of_the_work() -> None:
    """Another query has only the time that is left."""
    contracts = [sampled("a", 1, LINEAR), sampled("b", 1, LINEAR)]
    costs = {"a": ExecutionCost(0, 1_000_000), "b": ExecutionCost(0, 1_000_000)}
    one = script("dynamic-sampling", contracts)
    one.state = replace(one.state, decisions=(Decision(0, "a", SECOND, SECOND, 0.75, 0.75),))
    journal, answer = one.applied(0, costs)
    assert shares([answer]) == {"a": 0.75, "b": pytest.approx(0.25, abs=1e-3)}
    assert isinstance(journal, Journal)
    assert {d.query for d in journal.decisions} == {"a", "b"}, "a record holds all that still matters"


@pytest.mark.parametrize("timed", [False, True])
def test_a_forced_share_needs_no_load_and_no_journal(timed: bool) -> None:
    contracts = [sampled("a", 1, LINEAR), sampled("floor", 1, TABLE), sampled("exact", 1, None),
                 sampled("panes", 1, LINEAR, sheds=False)]  # fmt: skip
    one = Script(Rules("stepped", timed=timed, keep=0.1, qos="dynamic-sampling"), *contracts)
    one(ReadAsked(one.now()))
    one(BatchRead(one.now(), 0, 0))
    one.committed(0, 1)
    commands = one.applied(0, {name: ExecutionCost(0, 9e9) for name in ("a", "floor", "exact")})
    every: dict[str, float] = {}
    while any(isinstance(command, Answer) for command in commands):
        assert not any(isinstance(command, Journal) for command in commands)
        every |= shares(commands)
        commands = one.answered()
    assert every == {"a": 0.1, "floor": 0.2, "exact": 1.0, "panes": 1.0}


def test_best_effort_gives_nothing_away() -> None:
    one = script("best-effort", [sampled("a", 1, LINEAR), sampled("b", 1, CONVEX)])
    commands = one.applied(0, {"a": ExecutionCost(0, 9e6), "b": ExecutionCost(0, 9e6)})
    assert len(commands) == 1
    assert set(shares(commands).values()) == {1.0}


def test_budgets_share_the_time_that_is_left() -> None:
    contracts = [sampled("short", 1, LINEAR, 0.4), sampled("long", 1, LINEAR, 0.8)]
    costs = {"short": ExecutionCost(0, 100_000), "long": ExecutionCost(0, 150_000)}
    one = script("dynamic-sampling", contracts)
    one.at += 100_000
    one.applied(0, costs)
    current = one.state.current_pass
    assert current is not None
    found = {group.cohort.queries[0]: group.budget_us for group in current.groups}
    # 0.3 s are left for the first and 0.7 s for both, of which they need 0.1 and 0.25: stretched 2.8 times.
    assert found == {"short": pytest.approx(280_000, abs=5), "long": pytest.approx(700_000, abs=5)}


def test_a_late_one_has_no_budget_below_nothing() -> None:
    one = script("dynamic-sampling", [sampled("late", 1, LINEAR, 0.4)])
    one.at += 20 * SECOND
    used = shares(one.applied(0, {"late": ExecutionCost(10_000, 100_000)}))
    assert used == {"late": 0.01}
    current = one.state.current_pass
    assert current is not None
    assert [(group.budget_us, group.level) for group in current.groups] == [(0, 0.0)]
