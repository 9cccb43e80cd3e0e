"""What could be reached at best: the quality at which all answers of an instant are there just before their deadline.

Costs are measured at rates at which everything is exact and in time: how long it takes from the release of an instant
until its last answer is there, and the core time of each kind of query, from the ledger. Both have a fixed part, a part
that grows with the rows, and one that grows with their square, as the output of joins does. At every second instant all
queries are due, and all of them within one deadline; that is where the time runs out first, so load 100 % is where the
last answer of such an instant comes at its deadline. In between only the counts by type are due.

Not all that grows with the rows falls with the share of them that is used: every row is looked at before it is left
out. How much does not is measured too, at one rate with shares that are forced (``SET keep``). What falls is dealt to
queries by their core time. So the optimum has the latencies, the idle cores and the writing of answers in it, and no
caution: it knows beforehand how long all takes.

The curves are computed here by the points that the paper's text has, not by the engine's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean, median, pstdev
from typing import Any, NamedTuple

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
    """Core time of an answer by kind of query, and of reading for a second, all streams together.

    ``all_due`` and ``often_due`` are no core time: how long it takes until all answers of an instant are there, where
    all queries are due, and where only those are that are due at every instant. ``still`` is the part of what grows
    with the rows there that is the same whatever share of them is used.
    """

    answers: Mapping[str, Growth]
    reading: Growth
    all_due: Growth
    often_due: Growth
    still: float = 0.0


Ledger = Iterable[Mapping[str, Any]]


def costs(measured: Sequence[tuple[float, float, Ledger]], factor: float) -> Costs:
    """Curves through the medians of points (rate, seconds that a step of files has, ledger of an exact run)."""
    found: dict[str, list[tuple[float, float]]] = {}
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for rate, step_s, ledger in measured:
        used: dict[str, list[float]] = {}
        for record in ledger:
            if record["record"] == "shedding":
                continue
            name = "reading" if record["record"] == "tick" else str(record["query"])[:-1]
            used.setdefault(name, []).append(record["used_ms"] / 1000)
        for name, some in used.items():
            newer = some[len(some) // 2 :]  # the older half has what plans and the JVM's compiler cost
            found.setdefault(name, []).append((rate, median(newer) / (step_s if name == "reading" else 1.0)))
        for everybody, seconds in instants(ledger, factor).items():
            times[everybody].append((rate, median(seconds[len(seconds) // 2 :])))
    curves = {name: _growth(points) for name, points in found.items()}
    reading = curves.pop("reading")
    return Costs(curves, reading, _growth(times[True]), _growth(times[False]))


def still_part(known: Costs, factor: float, rate: float, kept: Sequence[tuple[float, Ledger]]) -> float:
    """The part of the time by rows that does not fall with the share: least squares over runs with a forced share.

    With ``y`` the time by rows over that of all rows, ``y = still + (1 - still) * share``.
    """
    over, under = 0.0, 0.0
    for used, ledger in kept:
        took = instants(ledger, factor)[True]
        part = (median(took[len(took) // 2 :]) - known.all_due.fixed) / known.all_due.rows(rate)
        over += (1 - used) * (part - used)
        under += (1 - used) ** 2
    return min(1.0, max(0.0, over / under))


def instants(ledger: Ledger, factor: float) -> dict[bool, list[float]]:
    """How long each instant took until its last answer; apart those at which all queries are due, and the others."""
    last: dict[Any, float] = {}
    kinds: dict[Any, set[str]] = {}
    for record in ledger:
        if record["record"] == "firing":
            at = record["at"]
            last[at] = max(last.get(at, 0.0), factor - record["slack_seconds"])
            kinds.setdefault(at, set()).add(str(record["query"])[:-1])
    found: dict[bool, list[float]] = {True: [], False: []}
    for at in sorted(last):
        found["join" in kinds[at]].append(last[at])
    return found


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


def seconds(known: Costs, wanted: Sequence[TimedQuery], took: Growth, rate: float, quality: float) -> float:
    """How long it takes until all of these are answered at this quality, where ``took`` is how long whole ones take."""
    rows = [known.answers[query.kind].rows(rate) for query in wanted]
    kept = sum(own * share(query.curve, quality) for own, query in zip(rows, wanted))
    falls = kept / sum(rows) if sum(rows) else 1.0
    return took.fixed + took.rows(rate) * (known.still + (1 - known.still) * falls)


def fixed_part(known: Costs, factor: float, cores: float) -> float:
    """The part of the cores that is used when hardly any rows come."""
    period = 2 * factor
    answers = sum(known.answers[query.kind].fixed * period / query.period_s for query in queries(factor))
    return (answers / period + known.reading.fixed) / cores


def saturation(known: Costs, factor: float) -> float:
    """The rate at which the last answer of the busiest instant comes at its deadline."""
    high = 1.0
    while known.all_due.at(high) <= factor and high < 1e9:
        high *= 2
    return _largest(lambda rate: known.all_due.at(rate) <= factor, high)


def level(known: Costs, wanted: Sequence[TimedQuery], took: Growth, factor: float, rate: float) -> float:
    """The highest quality at which all of these are there by their common deadline; 0 where nothing is."""

    def fits(quality: float) -> bool:
        return seconds(known, wanted, took, rate, quality) <= factor

    return 1.0 if fits(1.0) else _largest(fits, 1.0)


class Optimum(NamedTuple):
    """Over all answers of a period, each instant at its own level: the average, and how far answers deviate from it."""

    quality: float
    deviation: float


def optimum(known: Costs, factor: float, rate: float) -> Optimum:
    """Where all queries are due their quality is what fits; in between, where only some are, theirs may be higher."""
    wanted = queries(factor)
    often = [query for query in wanted if query.period_s < 2 * factor]
    all_due = level(known, wanted, known.all_due, factor, rate)
    between = level(known, often, known.often_due, factor, rate)
    each = [all_due] * len(wanted) + [between] * len(often)
    return Optimum(fmean(each), pstdev(each))


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """The largest value below ``high`` that fits, by halving; 0 where none does."""
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
