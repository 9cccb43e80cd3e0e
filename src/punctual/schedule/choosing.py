"""The next pass where time counts: what a policy says of all open firings, then the most urgent of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from punctual.clock import Micros
from punctual.schedule.events import Moment
from punctual.schedule.levels import Decision, decided, with_budgets
from punctual.schedule.passes import Pass, Speeds, urgent_pass
from punctual.schedule.qos.admission import hopeless, overcommitted
from punctual.schedule.qos.best_effort import best_effort
from punctual.schedule.qos.candidates import candidates
from punctual.schedule.qos.capacity import Capacity
from punctual.schedule.qos.foreseen import Outlook
from punctual.schedule.qos.notices import DUE, MISSED, Notice
from punctual.schedule.qos.open_groups import OpenGroup, giving_way, open_groups
from punctual.schedule.qos.prices import Prices
from punctual.schedule.qos.sampling import sampled
from punctual.schedule.qos.verdict import Verdict
from punctual.schedule.quality import Firing
from punctual.schedule.stages.open_stages import TOGETHER_US
from punctual.schedule.stages.waiting import next_answer, ready
from punctual.schedule.state import State

LEEWAY = 0.1
"""Jobs from rows take long, and not just as long as was predicted."""


def prices_of(state: State) -> Prices:
    """What things cost, by all that was learned."""
    return Prices(state.executions, state.cost, state.rows_took, state.rules.cores)


def chosen_pass(state: State, at: Moment) -> tuple[State, Pass, tuple[Decision, ...]]:
    """The next pass with its settings, and those that are new: they are written down before the pass begins."""
    prices = prices_of(state)
    groups = open_groups(ready(state.firings.groups, at.wall, state.draws), prices, state.rules.keep, state.draws)
    state = replace(state, feedback=state.feedback.after(at.steady))
    verdict, future = best_effort(), list[Firing]()
    if any(giving_way(cohort.one, state.rules.keep) is not None for cohort in state.contracts.cohorts):
        passes, stages = _foreseen(state, at.wall, groups, prices)
        capacity = _capacity(state, at.wall, groups, passes, prices)
        future = [*passes, *stages, *state.sharing.demands(at.wall, at.steady)]
        verdict = _verdict(state, groups, future, capacity)
    able = candidates(groups, verdict, prices, at.wall)
    rows = any(one.rows_us > 0.0 for one in able)
    latency = prices.latency_us(rows=rows)
    said = any(one.said_us > 0.0 for one in able)
    fixed = latency + (state.sharing.times.pass_us if said else 0.0)
    leeway = LEEWAY if rows or said else 0.0
    speeds = Speeds(fixed, prices.panes.slope_us, leeway)
    until = _latest_begin(future, verdict, latency, state.rules.cores)
    if state.draws is not None:
        following = next_answer(state.firings.groups, at.wall + TOGETHER_US, state.draws)
        if following is not None:  # it has a little time left, as all answers that are drawn for
            until = min(following + TOGETHER_US, following + TOGETHER_US if until is None else until)
    found, parts = urgent_pass(able, at.wall, speeds, late_pending=state.rules.late_pending, until=until)
    if found.said_us:
        found = replace(found, said_us=found.said_us + fixed - latency)
    found = with_budgets(found, parts, at.wall, latency)
    return replace(state, level=verdict.level), found, decided(found, parts)


def noticed(state: State, at: Moment, chosen: Pass, *, gave_way: bool) -> tuple[State, Notice | None]:
    """The state after it was looked whether answers of a pass give way, and what is to be said of it, if anything.

    A pass in which nobody could give way says nothing.
    """
    if all(giving_way(group.cohort.one, state.rules.keep) is None for group in chosen.groups):
        return state, None
    load = (
        f"{state.firings.most:,} answers are open, and reading takes {state.read_meanwhile:.2g} of "
        f"{state.rules.cores:g} cores"
    )
    why = MISSED if state.rules.qos == "feedback" else DUE
    stretch, said = state.giving_way.after(at.steady, state.level, load, why, gave_way=gave_way)
    return replace(state, giving_way=stretch), said


def _verdict(state: State, groups: list[OpenGroup], future: list[Firing], capacity: Capacity) -> Verdict:
    match state.rules.qos:
        case "best-effort":
            return best_effort()
        case "feedback":
            return state.feedback.verdict()
        case "dynamic-sampling" | "fixed-sampling":
            return sampled(groups, future, capacity)


def _latest_begin(future: list[Firing], verdict: Verdict, latency_us: float, cores: float) -> Micros | None:
    """When the firings to come have to begin, at the latest, to be on time all of them."""
    if verdict.level is None or not future:
        return None
    due = sorted(future, key=lambda firing: firing.deadline)
    needed = np.cumsum([firing.demand(verdict.level) for firing in due]) / cores + latency_us
    return int((np.array([firing.deadline for firing in due], np.float64) - needed).min())


def _capacity(
    state: State, now: Micros, groups: list[OpenGroup], passes: list[Firing], prices: Prices
) -> Capacity:
    rows = any(prices.expected(one.group.cohort) is not None for one in groups)
    latency, to_come = prices.latency_us(rows=rows), tuple(sorted({firing.deadline for firing in passes}))
    return Capacity(now, state.rules.cores, state.read_meanwhile, latency, float(state.rules.tick_us), to_come)


def _foreseen(
    state: State, now: Micros, groups: list[OpenGroup], prices: Prices
) -> tuple[list[Firing], list[Firing]]:
    """What will be due until the latest deadline of what is open: answered by passes, and drawn for beside them.

    In steps nobody knows what will be asked for.
    """
    if not state.goes_on:
        return [], []
    horizon = max(int(one.deadlines.max()) for one in groups)
    outlook = Outlook(
        now,
        horizon,
        state.contracts,
        state.reaches,
        state.watermarks,
        state.delays,
        state.unapplied,
        state.intake.pace,
        state.firings.groups,
        unable=state.sharing.unable,
    )
    return outlook.firings(prices, state.rules.keep)


def warnings(state: State) -> dict[str, str]:
    """What cannot hold, by all that was learned: queries that can never be on time, and too much of all of them.

    Sentences by what they are about, which is the same as long as the query is.
    """
    prices, waited = prices_of(state), _waited(state)
    known = [(one, state.executions[name]) for name, one in state.contracts.items() if name in state.executions]
    if not state.rules.timed or not known:
        return waited
    latency_us = prices.latency_us(rows=True)
    each = ((one, hopeless(one, cost, prices.cores, latency_us)) for one, cost in known)
    found = waited | {f"{one.query} {one.meaning}": why.sentence for one, why in each if why is not None}
    together = overcommitted(known, prices, state.reading.cores)
    return found if together is None else {**found, "": together}


def _waited(state: State) -> dict[str, str]:
    """Queries with a stage that came too late for the plan of the epoch that runs."""
    plans = state.sharing.plans
    if plans is None:
        return {}
    return {
        f"{query} {contract.meaning} epoch": f'query "{query}" came too late for the plan of this epoch: it has only '
        f"the time that others leave, and waits for the next epoch"
        for query, contract in state.contracts.items()
        if query in plans.waited
    }
