"""Contracts that cannot hold: what a query needs at the lowest quality that it accepts, against what there is.

A query is hopeless if it cannot be on time even alone, on all cores, at its lowest quality. The nearest contract that
would hold is the same query with the shortest deadline, or period, that it needs. What a query needs is known once it
has run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from punctual.clock import SECOND, Micros, duration_text
from punctual.estimate.execution_cost import ExecutionCost
from punctual.schedule.contract import Contract
from punctual.schedule.qos.prices import Prices

HONEST_US: Micros = SECOND // 5
"""No shorter deadline is an honest promise where every answer may need a job of Spark's."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """Why a contract cannot hold, and which one would."""

    query: str
    fact: str
    hint: str

    @property
    def sentence(self) -> str:
        return f"{self.fact}; {self.hint}"


def least_cost(contract: Contract, cost: ExecutionCost) -> float:
    """Core time of an execution at the lowest quality that the query accepts."""
    if contract.curve is None or not contract.sheds:
        return cost.at(1.0)
    return cost.at(contract.curve.least_share)


def hopeless(contract: Contract, cost: ExecutionCost, cores: float, latency_us: float = 0.0) -> Hopeless | None:
    """Whether a query cannot be on time even alone; None where it can.

    ``latency_us`` is what a pass takes besides: it counts in the contract that would hold, and nobody is refused for
    it.

    >>> from punctual.schedule.due import Timetable
    >>> asked = Contract("q", ("s",), 10, Timetable.multiples(10), 2_000_000, deadline_us=500_000)
    >>> found = hopeless(asked, ExecutionCost(0, 1_800_000), 2.0, latency_us=60_000)
    >>> print(found.sentence)
    query "q" needs 0.9 s of all cores for an answer, and its deadline is 0.5 s; DEADLINE 960 MILLISECONDS would hold
    >>> hopeless(asked, ExecutionCost(0, 900_000), 2.0) is None
    True
    """
    least_us = least_cost(contract, cost) / cores
    deadline_us = contract.stages[0] if contract.stages else contract.deadline_us
    what = "period" if deadline_us is None or contract.bound_us < deadline_us else "deadline"
    allowed = min(contract.bound_us, contract.allowed_us)
    if least_us <= allowed:
        return None
    lowest = " at its lowest quality" if contract.curve is not None and contract.sheds else ""
    fact = (
        f'query "{contract.query}" needs {_seconds(least_us)} of all cores for an answer{lowest}, '
        f"and its {what} is {_seconds(allowed)}"
    )
    needed = rounded_up(least_us + latency_us)
    word = "PERIOD" if contract.fixed else "FREQUENCY"
    asked = [f"{word} {duration_text(needed)}"] if contract.bound_us < needed else []
    if deadline_us is not None and deadline_us < needed:
        asked.append(f"{'ANSWERS WITHIN' if contract.stages else 'DEADLINE'} {duration_text(needed)}")
    return Hopeless(contract.query, fact, f"{' '.join(asked)} would hold")


def overcommitted(
    known: Iterable[tuple[Contract, ExecutionCost]], prices: Prices, reading: float
) -> str | None:
    """A sentence where all queries together need more than there is, even at their lowest qualities."""
    needed = reading + sum(prices.rows.pace * one.answers * least_cost(one, cost) / one.bound_us for one, cost in known)
    if needed <= prices.cores:
        return None
    return (
        f"all queries need {needed:.2g} cores at their lowest qualities, and there are {prices.cores:g}: "
        "some answers are late whatever is done"
    )


def rounded_up(us: float) -> Micros:
    """A duration that somebody would write, no shorter than this.

    >>> rounded_up(123_456), rounded_up(2_310_000), rounded_up(61_000_001)
    (130000, 2400000, 62000000)
    """
    for unit, below in ((10_000, SECOND), (SECOND // 10, 10 * SECOND)):
        if us <= below:
            return -int(-us // unit) * unit
    return -int(-us // SECOND) * SECOND


def short_deadline(contract: Contract, tick_us: Micros) -> str | None:
    """A warning where a deadline is shorter than can be promised, by a program that looks for rows so often.

    >>> from punctual.schedule.due import Timetable
    >>> asked = Contract("q", ("s",), 10, Timetable.multiples(10), 2_000_000, deadline_us=800_000)
    >>> print(short_deadline(asked, SECOND).partition(", ")[0])
    query "q": a DEADLINE of 800 MILLISECONDS is no longer than a tick
    >>> short_deadline(asked, SECOND // 2) is None
    True
    """
    deadline_us = contract.stages[0] if contract.stages else contract.deadline_us
    said = "ANSWERS WITHIN" if contract.stages else "a DEADLINE of"
    if deadline_us is None and contract.curve is not None and contract.bound_us < HONEST_US:
        deadline_us, said = contract.bound_us, f"with QUALITY a {'PERIOD' if contract.fixed else 'FREQUENCY'} of"
    if deadline_us is None:
        return None
    what = f'query "{contract.query}": {said} '
    if deadline_us < HONEST_US:
        return (
            f"{what}{duration_text(deadline_us)} is shorter than a job of Spark may take; "
            f"below {duration_text(HONEST_US)} answers may be late without any load"
        )
    if deadline_us <= tick_us:
        return (
            f"{what}{duration_text(deadline_us)} is no longer than a tick, and so long rows may wait until they are "
            f"read; SET tick = {duration_text(deadline_us // 4)}, or less"
        )
    return None


def _seconds(us: float) -> str:
    return f"{us / SECOND:.2g} s"
