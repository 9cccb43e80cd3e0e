"""Sharing the cores as queries come: deadlines, idle cores and fairness, by a simulated clock against the best plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.anytime_model import compared, draw, simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.schedule.epoch import AnytimeQuery, allocate
from punctual.schedule.online import Foreseen, Rules, State

EXAMPLES = settings(derandomize=True, deadline=None, max_examples=80)
JOBLET = 0.25
ROUND = 0.05
QUERIES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 40), st.floats(0.1, 5)).map(
        lambda drawn: AnytimeQuery(drawn[0] / 4, (drawn[0] + drawn[1]) / 4, drawn[2])
    ),
    min_size=1,
    max_size=25,
)
RULES = st.builds(
    Rules, cores=st.integers(1, 4), joblet=st.just(JOBLET), seed=st.integers(0, 99), ahead=st.integers(0, 1)
)


def just_feasible(queries: list[AnytimeQuery], rules: Rules) -> list[AnytimeQuery]:
    """The queries, with lives that are longer and needs that are less, so that they can be met but for the joblets.

    Whatever runs when a query comes runs on for a joblet on each core (and for one more that waits), and what is last
    may have to wait for the end of another one: so much time is added on both sides.
    """
    least = min(time / query.essential for time, query in zip(allocate(queries, rules.cores), queries))
    margin = (1 + rules.ahead) * JOBLET
    return [
        AnytimeQuery(query.start - margin, query.deadline + JOBLET, query.essential * min(1.0, least))
        for query in queries
    ]


@given(QUERIES, RULES)
@EXAMPLES
def test_deadlines_are_met_where_a_plan_exists_that_meets_them(queries: list[AnytimeQuery], rules: Rules) -> None:
    """DP1, to a joblet: some instant is loaded to the full, and nothing of what is essential is lost."""
    feasible = just_feasible(queries, rules)
    outcome = simulate(feasible, rules, ROUND)
    assert outcome.dropped == {}
    assert outcome.essential == pytest.approx([query.essential for query in feasible])


@given(QUERIES, RULES, st.booleans(), st.lists(st.integers(0, 80), max_size=5))
@EXAMPLES
def test_no_core_is_idle_while_somebody_could_run(
    queries: list[AnytimeQuery], rules: Rules, overloaded: bool, releases: list[int]
) -> None:
    """DP2; bonus alone waits for a release, and only where it has no time for a round."""

    def busy(state: State) -> None:
        if len(state.given) < state.rules.cores:
            assert not any(one.queued for one in state.alive)
            until = state.next_release
            assert all(min(one.deadline, until) - state.now < one.one_round for one in state.alive)

    needs = 5.0 if overloaded else 0.2
    queries = [replace(query, essential=needs * query.essential) for query in queries]
    also = [Foreseen(release / 4 - 1, release / 4) for release in sorted(releases)]
    outcome = simulate(queries, rules, ROUND, also=also, watch=busy)
    for joblet, began, ended in outcome.joblets:
        assert ended <= queries[int(joblet.name)].deadline + 1e-9
        assert ended <= joblet.until + 1e-9
        for foreseen in [one for one in also if one.at <= began][-1:]:  # what is known then: the last that was said
            assert not (joblet.bonus and foreseen.at <= began < foreseen.release < ended - 1e-9)


@given(QUERIES, RULES)
@EXAMPLES
def test_all_core_time_is_used_but_for_what_joblets_cannot(queries: list[AnytimeQuery], rules: Rules) -> None:
    """What the best plan uses, less a round for each core and deadline."""
    outcome = simulate(queries, rules, ROUND)
    best = sum(allocate(queries, rules.cores))
    assert sum(outcome.given) <= best * (1 + 1e-9)
    assert sum(outcome.given) >= best - rules.cores * ROUND * len(queries) - 1e-9


@pytest.mark.parametrize("load", [0.5, 0.8, 1.2])
def test_with_many_alive_every_kind_of_query_gets_what_the_best_plan_gives_it(load: float) -> None:
    """DP3 on average, which is what Theorem 4 says: by lifetime and by essential time, within a tenth."""
    draws = [draw(np.random.default_rng(seed), 60, load, cores=2, length=25.0) for seed in range(3)]
    kinds = compared(draws, cores=2, joblets=10).by_kind()
    assert len(kinds) == 8
    assert all(0.9 < ratio < 1.1 for ratio in kinds.values()), kinds


@pytest.mark.parametrize("seed", range(3))
def test_those_who_are_overloaded_lose_alike_and_others_lose_nothing(seed: int) -> None:
    """Fifty that come at once and need twice the time that there is, and others before, after and beside them."""
    random = np.random.default_rng(seed)
    inside = [AnytimeQuery(10.0, 20.0, float(need)) for need in random.uniform(0.4, 1.2, 50)]
    outside = [AnytimeQuery(0.0, 9.0, 2.0), AnytimeQuery(21.0, 30.0, 2.0), AnytimeQuery(0.0, 60.0, 5.0)]
    outcome = simulate(inside + outside, Rules(2, 0.02, seed), 0.005)
    assert outcome.essential[50:] == pytest.approx([2.0, 2.0, 5.0])
    best = allocate(inside + outside, 2)
    assert outcome.given[:50] == pytest.approx(best[:50], rel=0.1)


def test_a_run_follows_from_its_seed() -> None:
    queries = draw(np.random.default_rng(1), 10, 0.7, cores=2, length=10.0)
    first, again, other = (simulate(queries, Rules(2, 0.05, seed), 0.01) for seed in (3, 3, 4))
    assert first == again
    assert first.given != other.given
