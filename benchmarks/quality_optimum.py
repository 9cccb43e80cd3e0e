"""What could be reached at best: the quality at which the work that is due equals the core time that there is.

Costs are measured: core time by query from the ledger, at two rates, as a fixed part and a part that grows with the
rows. At every second instant all queries are due, and all of them within one deadline; that is where the cores run
out first, so load 100 % is where the work of such an instant equals the cores for the length of the deadline, less
what reading takes. In between only the counts by type are due.

The curves are computed here by the points that the paper's text has, not by the engine's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Any

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
class Line:
    """``fixed + slope * rate``: seconds of core time."""

    fixed: float
    slope: float

    def at(self, rate: float) -> float:
        return self.fixed + self.slope * rate


@dataclass(frozen=True, slots=True)
class Costs:
    """Of an answer by kind of query, and of reading for a second, all streams together."""

    answers: Mapping[str, Line]
    reading: Line


Ledger = Iterable[Mapping[str, Any]]


def costs(measured: Sequence[tuple[float, float, Ledger]]) -> Costs:
    """Lines through the medians of two points (rate, seconds that a step of files has, ledger of an exact run)."""
    found: dict[str, list[tuple[float, float]]] = {}
    for rate, step_s, ledger in measured:
        used: dict[str, list[float]] = {}
        for record in ledger:
            name = "reading" if record["record"] == "tick" else str(record["query"])[:-1]
            used.setdefault(name, []).append(record["used_ms"] / 1000)
        for name, some in used.items():
            newer = some[len(some) // 2 :]  # the older half has what plans and the JVM's compiler cost
            found.setdefault(name, []).append((rate, median(newer) / (step_s if name == "reading" else 1.0)))
    lines = {name: _line(points) for name, points in found.items()}
    return Costs({name: line for name, line in lines.items() if name != "reading"}, lines["reading"])


def _line(points: Sequence[tuple[float, float]]) -> Line:
    (low, less), *_between, (high, more) = sorted(points)
    slope = max(0.0, (more - less) / (high - low))
    return Line(max(0.0, less - slope * low), slope)


def demand(known: Costs, wanted: Iterable[TimedQuery], rate: float, quality: float) -> float:
    """Core seconds of one answer of each query at this quality."""
    lines = ((known.answers[query.kind], query.curve) for query in wanted)
    return sum(line.fixed + line.slope * rate * share(curve, quality) for line, curve in lines)


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
