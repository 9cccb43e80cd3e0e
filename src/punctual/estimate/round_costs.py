"""What rounds of possible worlds cost a query: to make its window ready, and for each of them.

Windows are about as full from instant to instant, so what the last ones took says what the next one will. Nothing of it
is kept with the state: the first answer of a run teaches it.

Where Spark draws, each joblet is a job. It takes a while before its first task runs and after its last one, whatever
there is to do. So rounds are drawn so many at a time that this is a small part of it. Times are those of the steady
clock then: a job of one task keeps a core for as long as it takes. Cores that are busy only add to them, so of jobs
about as large the fastest one counts, until it was long ago. A line through the smallest and the largest says the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from punctual.estimate.execution_cost import ExecutionCost

ALPHA = 0.3
"""How much of the last answer is in it."""
TRUSTED_US = 5_000.0
"""What was thought of a round before counts as much as rounds that took so long."""
FIRST_ROUNDS = 8
"""So many rounds are drawn where nothing is known: soon there is something to say, and what a round costs is known."""
FIRST_BEGIN_US = 75_000.0
LEAST_BEGIN_US = 10_000.0
LEAST_US, LONGEST_US = 500_000.0, 2_000_000.0
"""So long a job is to take at least, and at most: others wait for its core."""
MOST_OVERHEAD = 0.1
"""No more of a job than this is for its beginning, where that does not make it too long."""
GROWTH = 4
"""A job has at most so many times the rounds of the largest one before it."""
RISES = 1.1
"""What was fastest is taken to be so many times as slow after each job that was not as fast."""
REMEMBERED = 16
"""Jobs of a size that the last so many did not have say nothing."""


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Microseconds of core time: to make a window ready and to say what its rounds are, and for a round.

    ``rounds`` is how many an answer is to have beyond those before it.
    """

    ready_us: float
    round_us: float
    rounds: float

    @staticmethod
    def seen(known: RoundCost | None, ready_us: float, drawn_us: float, drawn: int, rounds: float) -> RoundCost:
        """What is known after one more answer, for which so many rounds were drawn.

        >>> one = RoundCost.seen(None, 1_000.0, 5_000.0, 100, 100)
        >>> one
        RoundCost(ready_us=1000.0, round_us=50.0, rounds=100)
        >>> RoundCost.seen(one, 2_000.0, 0.0, 0, 100)
        RoundCost(ready_us=1300.0, round_us=50.0, rounds=100)
        """
        if known is None:
            return RoundCost(ready_us, drawn_us / drawn if drawn else 0.0, rounds)
        ready = known.ready_us + ALPHA * (ready_us - known.ready_us)
        each = known.round_us + ALPHA * (drawn_us / drawn - known.round_us) if drawn else known.round_us
        return RoundCost(ready, each, rounds)

    @property
    def execution(self) -> ExecutionCost:
        """An answer with all of its rounds."""
        return ExecutionCost(alone_fixed_us=self.ready_us, alone_work_us=self.rounds * self.round_us)


def round_us_after(expected_us: float, rounds: int, took_us: float) -> float:
    """What a round of a window costs, by what was expected of it, and by what so many rounds took since.

    A few rounds take long for what they are, since there is something else to do with every few: what was expected is
    not forgotten for them.

    >>> [round(round_us_after(2.0, *one), 2) for one in ((8, 3_000.0), (10_000, 40_000.0))]
    [3.19, 3.6]
    """
    if expected_us <= 0.0:
        return took_us / rounds if rounds else 0.0
    return (TRUSTED_US + took_us) / (TRUSTED_US / expected_us + rounds)


@dataclass(frozen=True, slots=True)
class JobCost:
    """The rounds and microseconds of jobs so far: of those that are about as large the fastest, and when the last such
    job was. ``seen`` is how many there were."""

    jobs: Mapping[int, tuple[int, float, int]] = field(default_factory=dict)
    seen: int = 0

    def after(self, rounds: int, took_us: float) -> JobCost:
        """What is known after one more job, for which no plan had to be made.

        >>> one = JobCost().after(8, 155_000.0)
        >>> one.at_once
        32
        >>> two = one.after(32, 395_000.0)
        >>> two.begin_us, two.round_us, two.at_once
        (75000.0, 10000.0, 67)
        """
        size, seen = rounds.bit_length(), self.seen + 1
        before = self.jobs.get(size)
        slower = before is not None and took_us / rounds > RISES * before[1] / before[0]
        known = (before[0], RISES * before[1], seen) if before is not None and slower else (rounds, took_us, seen)
        late = {other: one for other, one in self.jobs.items() if one[2] > seen - REMEMBERED}
        return JobCost({**late, size: known}, seen)

    @property
    def round_us(self) -> float:
        """What a round costs."""
        if not self.jobs:
            return 0.0
        (few, short, _), (many, long, _) = self.jobs[min(self.jobs)], self.jobs[max(self.jobs)]
        each = (long - short) / (many - few) if many > few else (short - min(FIRST_BEGIN_US, short)) / few
        return max(0.0, each)

    @property
    def begin_us(self) -> float:
        """What it costs to begin a job."""
        if not self.jobs:
            return FIRST_BEGIN_US
        rounds, took_us, _last = self.jobs[min(self.jobs)]
        return max(LEAST_BEGIN_US, took_us - rounds * self.round_us)

    @property
    def at_once(self) -> int:
        """How many rounds a job is to have. Where all had about as many, others are tried."""
        if not self.jobs:
            return FIRST_ROUNDS
        rounds, took_us, _last = self.jobs[max(self.jobs)]
        if len(self.jobs) == 1:
            return GROWTH * rounds if took_us <= LEAST_US else max(1, rounds // 2)
        wanted = min(max(LEAST_US, self.begin_us / MOST_OVERHEAD), LONGEST_US) - self.begin_us
        most = GROWTH * rounds
        return most if self.round_us * most <= wanted else max(1, int(wanted / self.round_us))
