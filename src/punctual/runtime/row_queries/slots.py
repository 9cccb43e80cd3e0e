"""Which row queries are answered by which job: a slot is one query at one instant.

In a replay one query is due at many instants, and as many slots of it are one job. Slots of one instant are dealt
together, because queries share windows there (``shared_windows.py``). A plan is made for a number of slots of each
query, so that there are few such numbers: powers of two, and slots that nobody asks are left empty. An empty slot costs
less than a plan does for each of its slots, and a plan is slow when it is first run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from punctual.runtime.backend import RowWork
from punctual.runtime.operators.window_rows import WindowOrder

MOST_SLOTS = 32
"""Of one job: its plan is as large as all of them."""
MOST_INSTANTS = 16
"""Of one query in one job."""

Asked = TypeVar("Asked")
At = TypeVar("At", bound="tuple[int, int]")
"""An instant and a shard, in their order."""


def dealt(
    asked: Mapping[Asked, Mapping[At, int]], size: Callable[[Asked], int] = lambda _query: 1
) -> Iterator[dict[Asked, dict[int, int]]]:
    """Jobs for what is asked of each query at instants: every number in one of them, by its place.

    A place is an instant of the job: what different queries have at one place reads windows that end together.
    ``size`` says how large a query is: a slot of one that has the answers of subqueries in it counts for as many.

    >>> list(dealt({"a": {(5, 0): 0, (10, 0): 1}, "b": {(10, 0): 2}}))
    [{'a': {0: 0, 1: 1}, 'b': {1: 2}}]
    >>> [len(job["a"]) for job in dealt({"a": {(at, 0): at for at in range(20)}})]
    [16, 4]
    >>> [len(job["a"]) for job in dealt({"a": {(at, 0): at for at in range(7)}}, lambda _query: 5)]
    [4, 3]
    """
    chosen: list[At] = []
    for at in sorted({at for several in asked.values() for at in several}):
        together = [*chosen, at]
        sizes = sum(size(query) for query, several in asked.items() if not several.keys().isdisjoint(together))
        if chosen and (len(together) > MOST_INSTANTS or slots_for(len(together)) * sizes > MOST_SLOTS):
            yield from _jobs(asked, chosen, size)
            together = [at]
        chosen = together
    if chosen:
        yield from _jobs(asked, chosen, size)


def _jobs(
    asked: Mapping[Asked, Mapping[At, int]], instants: Sequence[At], size: Callable[[Asked], int]
) -> Iterator[dict[Asked, dict[int, int]]]:
    """These instants of all queries: one job, or more where there are many queries at an instant."""
    job: dict[Asked, dict[int, int]] = {}
    taken = 0
    for query, numbers in asked.items():
        places = {place: numbers[at] for place, at in enumerate(instants) if at in numbers}
        if not places:
            continue
        slots = slots_for(len(instants)) * size(query)
        if job and taken + slots > MOST_SLOTS:
            yield job
            job, taken = {}, 0
        job[query] = places
        taken += slots
    yield job


def places_for(asked: Mapping[int, int], instants: int) -> list[int]:
    """The places that a plan has for a query which is asked at these, of a job with so many instants.

    >>> places_for({0: 7, 1: 8, 2: 9}, 3), places_for({1: 8}, 3)
    ([0, 1, 2, 3], [1])
    """
    return list(range(slots_for(instants))) if len(asked) == instants else sorted(asked)


def slots_for(works: int) -> int:
    """How many slots a plan has for so many instants of a query: the next power of two.

    >>> [slots_for(works) for works in (1, 2, 3, 9)]
    [1, 2, 4, 16]
    """
    return 1 << (works - 1).bit_length()


def spread(sizes: Sequence[float], tasks: int) -> list[int]:
    """The numbers of slots in an order in which tasks have about as much to do as each other.

    Each task has a stretch of slots, one after the other, of about the same number (``coalesce``).

    >>> spread([9, 9, 9, 9, 1, 1, 1, 1], 2)
    [0, 2, 4, 6, 1, 3, 5, 7]
    >>> spread([5, 1, 1, 3], 2), spread([1], 2)
    ([0, 2, 3, 1], [0])
    """
    count = len(sizes)
    stretches = _stretches(count, tasks)
    taken: list[list[int]] = [[] for _stretch in stretches]
    sums = [0.0] * len(stretches)
    for number in sorted(range(count), key=lambda one: (-sizes[one], one)):
        free = [task for task, stretch in enumerate(stretches) if len(taken[task]) < len(stretch)]
        task = min(free, key=lambda one: sums[one])
        taken[task].append(number)
        sums[task] += sizes[number]
    return [number for several in taken for number in several]


def _stretches(count: int, tasks: int) -> list[range]:
    """Which slots each task has, as Spark deals them."""
    tasks = max(1, min(tasks, count))
    return [range(task * count // tasks, (task + 1) * count // tasks) for task in range(tasks)]


def windows_of(
    slots: Sequence[str], asked: Mapping[str, int], works: Sequence[RowWork], tasks: int | None
) -> dict[str, tuple[WindowOrder, ...]]:
    """The windows of the slots that are asked, each of which is one of the works.

    Where scans know how much time there is, they know what else is to do in their job of so many tasks. None: tasks run
    on other machines, with clocks of their own, and know nothing of time.
    """
    left = [works[asked[slot]].left_us if slot in asked else (0.0, 0.0) for slot in slots]
    others = beside(left, len(slots) if tasks is None else tasks)
    return {
        slot: tuple(_timed(window, *sums, timed=tasks is not None) for window in works[asked[slot]].windows)
        for slot, sums in zip(slots, others)
        if slot in asked
    }


def _timed(order: WindowOrder, fixed_us: float, rows_us: float, *, timed: bool) -> WindowOrder:
    if order.draw is None or order.draw.budget is None:
        return order
    budget = order.draw.budget
    budget = replace(budget, fixed_us=budget.fixed_us + fixed_us, other_us=budget.other_us + rows_us)
    return replace(order, draw=replace(order.draw, budget=budget if timed else None))


def beside(left_us: Sequence[tuple[float, float]], tasks: int) -> list[tuple[float, float]]:
    """What else is still to do in a job when each slot begins: the sums of both numbers of those that are not over.

    Where there are more slots than tasks, each task has a stretch of them, one after the other (``coalesce``). Tasks
    are taken to go on alike: over are those that stand nearer to the beginning of their stretch.

    >>> beside([(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)], 2)
    [(14.0, 140.0), (9.0, 90.0), (12.0, 120.0), (7.0, 70.0), (0.0, 0.0)]
    """
    places = [place for stretch in _stretches(len(left_us), tasks) for place in range(len(stretch))]
    found = []
    for number, place in enumerate(places):
        others = [left for n, left in enumerate(left_us) if n != number and places[n] >= place]
        found.append((float(sum(one for one, _other in others)), float(sum(other for _one, other in others))))
    return found
