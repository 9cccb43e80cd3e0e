"""The stages of open firings in arrays: when each begins, and when its answer is begun.

Firings change less often than what is drawn for them, and all of this is asked for at every event. So what follows from
firings alone is worked out once for each set of them, and kept as long as they are asked for.

Model
-----
One thread answers, and it may be at something else for a moment. So answers that are due about together are begun one
after the other: from the latest deadline back, each is begun before the next one by what it takes itself, and all of
them a little before that, and by what a pass takes besides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.contract import Contract
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.answer_times import AnswerTimes
from punctual.schedule.stages.stage import Stage

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEAST_LEAD_US = 60_000.0
"""So long before its deadline an answer is through: whoever answers may not come to it at once, and it may take longer
than such answers took."""
TOGETHER_US = 40_000
"""What is to be begun so soon after something that may be begun now is answered with it: by itself it would wait for
that pass, and be one more."""
LONGEST_LEAD = 0.5
"""No more of a stage than this is left without draws."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenStages:
    """A line for each instant of each group for which rounds are drawn ahead, in their order.

    ``group`` and ``place`` are that of the instant, ``stages`` one for each query of the group. ``longest`` is how long
    before its deadline an answer is begun at most. Of ``others``, the groups that nobody draws for, there is when the
    next answer of each instant may be begun, None: any time.
    """

    group: I64
    place: I64
    begins: I64
    deadlines: I64
    longest: F64
    stages: tuple[tuple[Stage, ...], ...]
    others: tuple[tuple[int, I64 | None], ...]

    def lines(self, chosen: Bools) -> dict[int, I64]:
        """By group, the places of the chosen instants."""
        numbers, places = self.group[chosen], self.place[chosen]
        return {number: places[numbers == number] for number in dict.fromkeys(numbers.tolist())}


@lru_cache(maxsize=8)  # the same firings are asked about many times; groups and sets are known by themselves
def open_stages(groups: tuple[FiringGroup, ...], unable: frozenset[str] | None) -> OpenStages:
    """The stages of these groups; ``unable`` are queries that nobody can draw for, None: nobody draws at all."""
    group, place, stages = list[int](), list[int](), list[tuple[Stage, ...]]()
    begins, deadlines, longest = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    others: list[tuple[int, I64 | None]] = []
    for number, one in enumerate(groups):
        if unable is None or not is_ahead(one, unable):
            waits = one.number and one.released is not None
            others.append((number, one.begins if waits else None))
            continue
        size = int(one.due.instants.size)
        group += [number] * size
        place += range(size)
        begins.append(one.begins)
        deadlines.append(one.deadlines)
        longest.append(np.full(size, longest_lead_us(one.cohort.one, one.number)))
        instants: list[Micros] = one.due.instants.tolist()
        stages += [tuple(Stage(query, at, one.number) for query in one.cohort.queries) for at in instants]
    every = np.array([group, place], np.int64).reshape(2, -1)
    return OpenStages(
        every[0], every[1], np.concatenate(begins), np.concatenate(deadlines), np.concatenate(longest),
        tuple(stages), tuple(others),
    )  # fmt: skip


def is_ahead(group: FiringGroup, unable: Collection[str]) -> bool:
    """Whether rounds are drawn for these firings before they are answered."""
    return (
        group.cohort.one.ahead
        and group.released is not None
        and not any(query in unable for query in (group.cohort.queries if unable else ()))
    )


def longest_lead_us(contract: Contract, number: int) -> float:
    """How long before its deadline the answer of this number is begun at most."""
    return LONGEST_LEAD * (contract.allowed(number) - contract.begins(number))


@lru_cache(maxsize=8)
def answers_begin(stages: OpenStages, times: AnswerTimes) -> I64:
    """When the answer of each line is begun."""
    took = np.array([times.of_all(one.query for one in line) for line in stages.stages])
    shared_us = times.pass_us * np.minimum(1.0, took / TOGETHER_US)  # those of one pass share what that takes
    by_itself_us = LEAST_LEAD_US + times.pass_us - shared_us
    return begun_in_turn(stages.deadlines, took + shared_us, stages.longest, by_itself_us)


def begun_in_turn(deadlines: I64, took_us: F64, longest_us: F64, before_us: F64) -> I64:
    """When to begin answers that take so long, one after the other, to be through so long before they are due.

    >>> took, longest = np.array([4e4, 3e4, 1e4]), np.full(3, 1e6)
    >>> begun_in_turn(np.array([200_000, 200_000, 900_000]), took, longest, np.full(3, 4e4)).tolist()
    [90000, 130000, 850000]
    """
    if not deadlines.size:
        return deadlines
    order = np.argsort(deadlines, kind="stable")
    through = np.cumsum(took_us[order])
    latest = np.minimum.accumulate((deadlines[order] - through)[::-1])[::-1] + through - took_us[order]
    lead = np.empty(deadlines.size)
    lead[order] = deadlines[order] - latest
    return deadlines - np.minimum(before_us + lead, longest_us).astype(np.int64)
