"""What queries over worlds cost, as it is learned while they are answered. The holder's thread has it."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import Clock
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.round_costs import RoundCost


class RoundModel:
    """Costs of rounds by query."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.costs: dict[str, RoundCost] = {}
        self._spent_us = 0.0

    def now(self) -> float:
        """Core time of this thread so far, in microseconds."""
        return self._clock.thread_us()

    def told(self, query: str, ready_us: float, drawn_us: float, drawn: int, rounds: int) -> None:
        """An answer took so long besides its rounds, and so long for these; it was to have so many new ones."""
        self.learn(query, ready_us, drawn_us, drawn, rounds)
        self.spend(ready_us + drawn_us)

    def spend(self, used_us: float) -> None:
        """Core time of draws that an answer waited for."""
        self._spent_us += used_us

    def learn(self, query: str, ready_us: float, drawn_us: float, drawn: int, rounds: int) -> None:
        """The same of what others did, while something else was done here."""
        self.costs[query] = RoundCost.seen(self.costs.get(query), ready_us, drawn_us, drawn, rounds)

    def take_spent_us(self) -> float:
        """Core time of all answers that were told of since this was last asked."""
        taken, self._spent_us = self._spent_us, 0.0
        return taken

    def added(
        self, rows: Mapping[str, ExecutionCost] | None, queries: frozenset[str]
    ) -> dict[str, ExecutionCost] | None:
        """What executions cost from rows, with the rounds of those that draw any; nothing of queries that are gone."""
        self.costs = {query: cost for query, cost in self.costs.items() if query in queries}
        if rows is None and not self.costs:
            return None
        found = dict(rows or {})
        for query, cost in self.costs.items():
            known = found.get(query, ExecutionCost())
            found[query] = ExecutionCost(*map(sum, zip(known, cost.execution)))
        return found
