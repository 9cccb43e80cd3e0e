"""The cheapest schedule by looking at all of them: every choice at every unit of time, without any theorem.

A state is how long ago each group was answered. At each unit one group runs, or none; a run answers every group that is
not dearer. A schedule that goes on for ever visits some state again, so the least cost per unit is the least mean of a
cycle in the graph of states (Karp's algorithm). Nothing about levels, cycles of the dearest group or gaps is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Ages = tuple[int, ...]


def cheapest_of_all(groups: Sequence[tuple[int, int]]) -> Fraction:
    """Least cost per unit of groups (bound, cost)."""
    start = tuple(0 for _ in groups)
    arcs: dict[Ages, list[tuple[Ages, int]]] = {}
    waiting = [start]
    while waiting:
        ages = waiting.pop()
        if ages not in arcs:
            arcs[ages] = list(_choices(ages, groups))
            waiting += [to for to, _cost in arcs[ages]]
    return _least_mean(start, arcs)


def _choices(ages: Ages, groups: Sequence[tuple[int, int]]) -> list[tuple[Ages, int]]:
    # An age is that before the unit's run: a group may grow as old as its bound only if it is answered then.
    older = [age + 1 for age in ages]
    found = []
    for paid in sorted({0, *(cost for _bound, cost in groups)}):
        after = tuple(0 if paid and cost <= paid else age for age, (_bound, cost) in zip(older, groups))
        if all(age < bound for age, (bound, _cost) in zip(after, groups)):
            found.append((after, paid))
    return found


def _least_mean(start: Ages, arcs: dict[Ages, list[tuple[Ages, int]]]) -> Fraction:
    """Karp: min over states of max over k of (walk of n arcs - walk of k arcs) / (n - k)."""
    number = {state: place for place, state in enumerate(arcs)}
    size = len(number)
    walks: list[list[int | None]] = [[None] * size]
    walks[0][number[start]] = 0
    edges = [(number[a], number[b], cost) for a, out in arcs.items() for b, cost in out]
    for _length in range(size):
        last, following = walks[-1], [None] * size
        for a, b, cost in edges:
            reached = last[a]
            if reached is not None:
                so_far = following[b]
                if so_far is None or reached + cost < so_far:
                    following[b] = reached + cost
        walks.append(following)
    best = None
    for state in range(size):
        final = walks[size][state]
        if final is None:
            continue
        worst = max(
            Fraction(final - walk, size - length)
            for length in range(size)
            if (walk := walks[length][state]) is not None
        )
        best = worst if best is None else min(best, worst)
    assert best is not None
    return best


def cheapest_cycle_of_all(groups: Sequence[tuple[int, int]]) -> Fraction:
    """The same, among schedules that repeat at a run of the dearest group; far fewer states, for larger problems."""
    dearest = max(cost for _bound, cost in groups)
    longest = min(bound for bound, cost in groups if cost == dearest)
    reached: dict[Ages, int] = {tuple(0 for _ in groups): 0}
    best: Fraction | None = None
    for time in range(1, longest + 1):
        rate = Fraction(min(reached.values()) + dearest, time) if reached else None
        if rate is not None and (best is None or rate < best):
            best = rate
        following: dict[Ages, int] = {}
        for ages, cost in reached.items():
            for after, paid in _choices(ages, groups):
                if paid < dearest and cost + paid < following.get(after, cost + paid + 1):
                    following[after] = cost + paid
        reached = following
    assert best is not None
    return best


def cheapest_inside_of_all(groups: Sequence[tuple[int, int]], length: int) -> int:
    """Least cost of runs at 1, ..., length - 1, when everything is answered at 0 and at ``length`` for nothing."""
    reached: dict[Ages, int] = {tuple(0 for _ in groups): 0}
    for _time in range(1, length):
        following: dict[Ages, int] = {}
        for ages, cost in reached.items():
            for after, paid in _choices(ages, groups):
                if cost + paid < following.get(after, cost + paid + 1):
                    following[after] = cost + paid
        reached = following
    # An age below its bound may grow by the last unit.
    return min(reached.values())
