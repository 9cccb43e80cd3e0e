"""What could be reached at best: the quality at which the work that is due equals the core time that there is.

Costs are measured: core time by query from the ledger, at three rates, as a fixed part, a part that grows with the
rows, and one that grows with their square, as the output of joins does. At every second instant all queries are due,
and all of them within one deadline; that is where the cores run out first, so load 100 % is where the work of such an
instant equals the cores for the length of the deadline, less what reading takes. In between only the counts by type are
due.

The curves are computed here by the points that the paper's text has, not by the engine's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Any

import numpy as np

from benchmarks.quality_workload import TimedQuery, queries

_TEXT = {"CONVEX": 0.75, "LINEAR": 0.30, "CONCAVE": 0.03}
"""The part of the input that is dropped at quality 0.7."""


def share(curve: str, quality: float) -> float:
    """The share of the input that has this quality.

    >>> [round(share(curve, 0.7), 2) for curve in _TEXT]
    [0.25, 0.7, 0.97]
    """
    if curve == "CONVEX":  # 1 - drop ** p
        return float(1.0 - (1.0 - quality) ** (log(_TEXT[curve]) / log(1.0 - 0.7)))
    power = log(0.7) / log(1.0 - _TEXT[curve])  # (1 - drop) ** p
    return float(quality ** (1.0 / power))


@dataclass(frozen=True, slots=True)
class Growth:
    """``fixed + slope * rate + bend * rate ** 2``: seconds of core time."""

    fixed: float
    slope: float
    bend: float = 0.0

    def rows(self, rate: float) -> float:
        """What falls with the share of the input."""
        return (self.slope + self.bend * rate) * rate

    def at(self, rate: float) -> float:
        return self.fixed + self.rows(rate)


@dataclass(frozen=True, slots=True)
class Costs:
    """Of an answer by kind of query, and of reading for a second, all streams together."""

    answers: Mapping[str, Growth]
    reading: Growth


Ledger = Iterable[Mapping[str, Any]]


def costs(measured: Sequence[tuple[float, float, Ledger]]) -> Costs:
    """Curves through the medians of points (rate, seconds that a step of files has, ledger of an exact run)."""
    found: dict[str, list[tuple[float, float]]] = {}
    for rate, step_s, ledger in measured:
        used: dict[str, list[float]] = {}
        for record in ledger:
            name = "reading" if record["record"] == "tick" else str(record["query"])[:-1]
            used.setdefault(name, []).append(record["used_ms"] / 1000)
        for name, some in used.items():
            newer = some[len(some) // 2 :]  # the older half has what plans and the JVM's compiler cost
            found.setdefault(name, []).append((rate, median(newer) / (step_s if name == "reading" else 1.0)))
    curves = {name: _growth(points) for name, points in found.items()}
    return Costs({name: curve for name, curve in curves.items() if name != "reading"}, curves["reading"])


def _growth(points: Sequence[tuple[float, float]]) -> Growth:
    """The least squares of what was measured, with no part below zero.

    >>> found = _growth([(1, 12.0), (10, 30.0), (20, 50.0)])
    >>> round(found.fixed, 6), round(found.slope, 6), round(found.bend, 6)
    (10.0, 2.0, 0.0)
    """
    rates, seconds = (np.array(column, np.float64) for column in zip(*points))
    scale = float(rates.max())
    for powers in ((0, 1, 2), (0, 1), (0, 2), (0,)):
        if len(powers) > len(points):
            continue
        terms = np.stack([(rates / scale) ** power for power in powers], axis=1)
        parts = dict(zip(powers, np.linalg.lstsq(terms, seconds, rcond=None)[0].tolist()))
        if min(parts.values()) >= 0.0:
            break
    return Growth(max(0.0, parts[0]), parts.get(1, 0.0) / scale, parts.get(2, 0.0) / scale**2)


def demand(known: Costs, wanted: Iterable[TimedQuery], rate: float, quality: float) -> float:
    """Core seconds of one answer of each query at this quality."""
    each = ((known.answers[query.kind], query.curve) for query in wanted)
    return sum(cost.fixed + cost.rows(rate) * share(curve, quality) for cost, curve in each)


def budget(known: Costs, factor: float, rate: float, cores: float) -> float:
    """Core seconds that answers have within a deadline."""
    return max(0.0, cores - known.reading.at(rate)) * factor


def fixed_part(known: Costs, factor: float, cores: float) -> float:
    """The part of the cores that is used when hardly any rows come."""
    period = 2 * factor
    answers = sum(known.answers[query.kind].fixed * period / query.period_s for query in queries(factor))
    return (answers / period + known.reading.fixed) / cores


def saturation(known: Costs, factor: float, cores: float) -> float:
    """The rate at which the work of the busiest instant equals the core time until its deadline."""

    def fits(rate: float) -> bool:
        return demand(known, queries(factor), rate, 1.0) <= budget(known, factor, rate, cores)

    high = 1.0
    while fits(high) and high < 1e9:
        high *= 2
    return _largest(fits, high)


def level(known: Costs, wanted: Sequence[TimedQuery], factor: float, rate: float, cores: float) -> float:
    """The highest quality at which all of these fit until their common deadline; 0 where nothing does."""

    def fits(quality: float) -> bool:
        return demand(known, wanted, rate, quality) <= budget(known, factor, rate, cores)

    return 1.0 if fits(1.0) else _largest(fits, 1.0)


def optimum(known: Costs, factor: float, rate: float, cores: float) -> float:
    """The average over all answers of a period, each instant at its own level."""
    wanted = queries(factor)
    often = [query for query in wanted if query.period_s < 2 * factor]
    all_due = level(known, wanted, factor, rate, cores)
    between = level(known, often, factor, rate, cores)
    return (len(wanted) * all_due + len(often) * between) / (len(wanted) + len(often))


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """The largest value below ``high`` that fits, by halving; 0 where none does."""
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
