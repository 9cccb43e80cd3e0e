"""How long it takes to say what was drawn for an instant, by query, as it is learned from passes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from punctual.schedule.firings import FiringGroup

FIRST_US = 15_000.0
"""What an answer is thought to take before there was any."""
RISES, FALLS = 0.5, 0.1
"""How much of what a pass took longer, or shorter, than was expected is believed: one that is late costs more."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTimes:
    """Microseconds of an answer of one instant, by query: from when it is begun until it is delivered."""

    each_us: Mapping[str, float] = field(default_factory=dict)

    def of(self, query: str) -> float:
        """What an answer of a query takes; of one that nobody knows as long as others."""
        if query in self.each_us:
            return self.each_us[query]
        return sum(self.each_us.values()) / len(self.each_us) if self.each_us else FIRST_US

    def of_all(self, queries: Iterable[str]) -> float:
        """What an answer of each takes, one after the other."""
        return sum(map(self.of, queries))

    def after(self, groups: Iterable[FiringGroup], took_us: float) -> AnswerTimes:
        """What is known after a pass of these answers alone.

        >>> from punctual.schedule.cohorts import Contracts
        >>> from punctual.schedule.contract import Contract
        >>> from punctual.schedule.due import DueInstants, Timetable
        >>> import numpy as np
        >>> one = Contract("q", ("s",), 10, Timetable.multiples(10), 10, stages=(5,), ahead=True)
        >>> due = DueInstants(np.array([10, 20]), np.zeros(2, np.int64), np.arange(2), ())
        >>> group = FiringGroup(Contracts([one]).cohorts[0], 0, due)
        >>> known = AnswerTimes().after([group], 100.0)
        >>> [known.of("q"), known.after([group], 200.0).of("q"), known.after([group], 50.0).of("q")]
        [50.0, 75.0, 47.5]
        """
        count = [(query, int(group.due.instants.size)) for group in groups for query in group.cohort.queries]
        alike = took_us / max(1, sum(number for _query, number in count))
        expected_us = sum(number * self.each_us.get(query, alike) for query, number in count)
        if expected_us <= 0.0:
            return self
        more = took_us / expected_us - 1.0
        factor = 1.0 + (RISES if more > 0.0 else FALLS) * more
        return AnswerTimes({
            **self.each_us,
            **{query: factor * self.each_us[query] if query in self.each_us else alike for query, _number in count},
        })

    def only(self, queries: Collection[str]) -> AnswerTimes:
        """Without what is known of other queries."""
        if all(query in queries for query in self.each_us):
            return self
        return AnswerTimes({query: known for query, known in self.each_us.items() if query in queries})
