"""How long it takes to say what was drawn for an instant, by query, as it is learned from passes.

Model
-----
A pass takes a time of its own, to decide, to write and to deliver, and a time for each answer in it. Both are learned
together, as least mean squares do: what a pass took longer, or shorter, than was expected is shared by the pass itself
and its answers. So passes of many answers teach what answers take, and passes of one what is left. Answers that come
together are cheaper than one by one, and this is where the scheduler knows it from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from punctual.schedule.firings import FiringGroup

FIRST_US = 15_000.0
"""What an answer is thought to take before there was any, and a pass besides."""
RISES, FALLS = 0.5, 0.1
"""How much of what a pass took longer, or shorter, than was expected is believed: one that is late costs more."""
OF_PASS = 0.25
"""How much of it is the pass's own, against each answer's: what a pass takes changes less than what is said in it."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTimes:
    """Microseconds of a pass, and of an answer of one instant by query, from when it is begun until it is delivered."""

    pass_us: float = FIRST_US
    each_us: Mapping[str, float] = field(default_factory=dict)

    def of(self, query: str) -> float:
        """What an answer of a query adds to a pass; of one that nobody knows as much as others."""
        if query in self.each_us:
            return self.each_us[query]
        return sum(self.each_us.values()) / len(self.each_us) if self.each_us else FIRST_US

    def of_all(self, queries: Iterable[str]) -> float:
        """What an answer of each adds."""
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
        >>> known = AnswerTimes().after([group], 53_500.0)
        >>> known.pass_us, known.of("q"), known.after([group], 11_000.0).of("q")
        (15500.0, 19000.0, 17000.0)
        """
        counts: dict[str, int] = {}
        for group in groups:
            for query in group.cohort.queries:
                counts[query] = counts.get(query, 0) + int(group.due.instants.size)
        more = took_us - self.pass_us - sum(count * self.of(query) for query, count in counts.items())
        believed = RISES if more > 0.0 else FALLS
        if any(query not in self.each_us for query in counts):
            believed = 1.0  # nobody knows better
        part = believed * more / (OF_PASS + sum(count * count for count in counts.values()))
        each_us = {query: max(1.0, self.of(query) + count * part) for query, count in counts.items()}
        return AnswerTimes(max(0.0, self.pass_us + OF_PASS * part), {**self.each_us, **each_us})

    def only(self, queries: Collection[str]) -> AnswerTimes:
        """Without what is known of other queries."""
        if all(query in queries for query in self.each_us):
            return self
        return AnswerTimes(self.pass_us, {query: known for query, known in self.each_us.items() if query in queries})
