"""When cadence plans no longer fit what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from punctual.clock import SECOND, Micros
from punctual.estimate.measured import Measured
from punctual.estimate.window_work import Rates
from punctual.schedule.events import ClassCost, Moment
from punctual.schedule.state import State

REPLAN_US: Micros = 60 * SECOND
"""How often a live engine looks whether its cadence plans still fit."""


def learned(measured: Mapping[str, Measured], costs: Sequence[ClassCost]) -> dict[str, Measured]:
    """What is known of classes after a pass."""
    found = dict(measured)
    for one in costs:
        known = found.get(one.sharing_class, Measured())
        found[one.sharing_class] = known.after(one.merges, one.kernel_us, one.answers, one.finish_us)
    return found


def replan(state: State, at: Moment) -> dict[str, Rates] | None:
    """The costs to plan for: none where those in use fit; None where it is too soon to look."""
    if not state.rules.replans or state.holder is not None or state.intake.under_way:
        return None
    if state.replanned is not None and at.steady - state.replanned < REPLAN_US:
        return None
    if state.replanned is None:
        return {}
    found = dict(state.rates)
    for identity, measured in state.measured.items():
        before = found.get(identity, Rates())
        found[identity] = Rates(before.merge, measured.answer_in_merges(before.answer))
    return found if found != dict(state.rates) else {}
