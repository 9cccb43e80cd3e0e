"""Scripts of events for the scheduler: what is commanded after each."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import SECOND, Micros
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.spent import RowsSpent
from punctual.schedule.arrivals import AtOnce
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Contract, Reach
from punctual.schedule.due import BEGINNING
from punctual.schedule.events import (
    Answer,
    BatchApplied,
    BatchCommitted,
    Command,
    Drop,
    Event,
    Moment,
    PassAnswered,
    Say,
    WakeAt,
)
from punctual.schedule.late_counts import LateCounts
from punctual.schedule.state import Rules, State
from punctual.schedule.step import step

NONE = {"s": LateCounts.none()}


class Script:
    """Sends events and keeps what was commanded since the last one, timers, droppings and what is said aside."""

    def __init__(self, rules: Rules, *contracts: Contract) -> None:
        self.state = State(rules, Contracts(contracts), {"s": 0}, {"s": Reach()}, {"s": BEGINNING})
        self.at: Micros = 0
        self.ahead: Micros = 0
        """What the wall clock is ahead of the steady one."""
        self.wake: Micros | None = None
        """When the timer is to fire, as it was asked for last."""

    def __call__(self, event: Event) -> list[Command]:
        self.state, commands = step(self.state, event)
        self.wake = next((one.steady for one in reversed(commands) if isinstance(one, WakeAt)), None)
        return [one for one in commands if not isinstance(one, Drop | Say | WakeAt)]

    def now(self) -> Moment:
        return Moment(self.at + self.ahead, self.at)

    def committed(self, batch: int, through_s: float, arrived: Micros | None = None) -> list[Command]:
        before = self.state.reaches["s"].through
        reach = Reach(int(through_s * SECOND), SECOND, int(through_s * SECOND) + 1)
        at = self.now().wall if arrived is None else arrived
        arrivals = {"s": AtOnce(before, at)} if self.state.rules.timed else None
        return self(BatchCommitted(self.now(), batch, {"s": reach}, frozenset(["s"]), arrivals))

    def applied(self, batch: int, costs: Mapping[str, ExecutionCost] | None = None) -> list[Command]:
        return self(BatchApplied(self.now(), batch, NONE, executions=costs))

    def answered(self, took: float = 1.0, core_us: float = 0.0) -> list[Command]:
        """The pass is answered; of what was expected of its rows it used so much core time."""
        rows_us, passing = took if core_us else 0.0, self.state.current_pass
        spent = RowsSpent(core_us, self.state.rules.cores * passing.rows_us) if passing else RowsSpent()
        return self(PassAnswered(self.now(), took, rows_us=rows_us, rows_spent=spent))


def instants(command: Command) -> dict[str, list[int]]:
    assert isinstance(command, Answer)
    found: dict[str, list[int]] = {}
    for group in command.current_pass.groups:
        for query in group.cohort.queries:
            found.setdefault(query, []).extend((group.due.instants // SECOND).tolist())
    return found
