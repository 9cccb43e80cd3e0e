"""When an epoch is planned, and which stages are known then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.epoch import AnytimeQuery
from punctual.schedule.events import Moment
from punctual.schedule.qos.foreseen import Outlook
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.epoch_plans import EpochPlans
from punctual.schedule.stages.open_stages import is_ahead
from punctual.schedule.stages.sharing import Sharing
from punctual.schedule.stages.stage import Stage
from punctual.schedule.state import State

I64 = NDArray[np.int64]
MOST_PLANNED = 2_000
"""So many stages are planned together, those that begin first: a plan should not hold up the loop for long."""
LEAST_CORES = 0.1
"""So much of the cores is planned for, whatever reading takes."""


def with_plans(state: State, at: Moment) -> Sharing:
    """The sharing with all plans that are due; without any where nobody asked for epochs, or nobody draws ahead."""
    epochs, sharing = state.rules.epochs, state.sharing
    if epochs is None or state.draws is None or not any(cohort.one.ahead for cohort in state.contracts.cohorts):
        return sharing if sharing.plans is None else replace(sharing, plans=None)
    plans = sharing.plans
    if plans is None or plans.epochs != epochs:
        plans = EpochPlans.since(epochs, at.steady)
    number = plans.to_plan(at.steady)
    if number is not None:
        until = int(epochs.begins(number + 1))
        known = sorted(_known(state, at, until), key=lambda one: (one[1].start, one[0]))
        cores = max(LEAST_CORES * state.rules.cores, state.rules.cores - state.read_meanwhile)
        plans = plans.with_plan(number, known[:MOST_PLANNED], cores)
    return replace(sharing, plans=plans)


def _known(state: State, at: Moment, until: Micros) -> Iterator[tuple[Stage, AnytimeQuery]]:
    """All stages that begin until then, by the steady clock, whose rounds were measured."""
    shift = at.steady - at.wall
    for group in state.firings.groups:
        if is_ahead(group, state.sharing.unable) and group.released is not None:
            numbers = range(group.number, group.answers)
            yield from _stages(state.sharing, group.cohort, group.due.instants, group.released + shift, numbers)
    outlook = Outlook(
        at.wall, until - shift, state.contracts, state.reaches, state.watermarks, state.delays, state.unapplied,
        state.intake.pace, most=MOST_PLANNED,
    )  # fmt: skip
    for cohort, instants, released in outlook.released():
        if cohort.one.ahead:
            expected = np.maximum(released, at.wall) + shift
            yield from _stages(state.sharing, cohort, instants, expected, range(cohort.one.answers))


def _stages(
    sharing: Sharing, cohort: Cohort, instants: I64, released: I64, numbers: Iterable[int]
) -> Iterator[tuple[Stage, AnytimeQuery]]:
    contract = cohort.one
    measured = [query for query in cohort.queries if query in sharing.seen and query not in sharing.unable]
    for number in numbers:
        begins, ends = contract.begins(number), contract.allowed(number) - sharing.lead_us(contract, number)
        for at, since in zip(instants.tolist(), released.tolist()):
            for query in measured:
                known = sharing.drawn.get((query, at))
                rounds = _rounds(sharing.seen[query], known, number)
                essential = (known or sharing.seen[query]).work_us(rounds)
                yield Stage(query, at, number), AnytimeQuery(since + begins, since + ends, essential)


def _rounds(seen: Drawn, known: Drawn | None, number: int) -> int:
    """How many rounds are essential to a stage: its own, or those that the data ask for and nobody has drawn."""
    if seen.own:
        return seen.own
    if known is not None:
        return max(0, known.needed - known.rounds)
    return 0 if number else seen.needed
