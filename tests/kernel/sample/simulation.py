"""Samples of made-up windows: what was there, and what the sample says. Also for `benchmarks/sample_coverage.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.sample.certain import certain_rows
from punctual.kernel.sample.entries import Entries, Moments
from punctual.kernel.sample.estimates import Function, Interval, estimated, interval
from punctual.kernel.sample.marks import row_marks, share_marks

Shape = Callable[[np.random.Generator, int], F64]

SHAPES: dict[str, Shape] = {
    "normal": lambda random, size: random.normal(3.0, 1.0, size),
    "lognormal": lambda random, size: random.lognormal(0.0, 1.5, size),
    "Pareto": lambda random, size: random.pareto(1.5, size) + 1.0,
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The rows of a sample of many windows, each of several groups, and the number, sum and average of all rows."""

    entries: Entries
    moments: Moments
    truth: dict[str, F64]
    sampled: F64
    """Rows that each group has in the sample, besides those that are certain."""
    partner: Moments | None = None
    """Of a second column, that goes with the first."""


def draw(
    random: np.random.Generator,
    shape: Shape,
    *,
    windows: int,
    groups: int,
    size: int,
    share: float,
    design: str,
    partner: bool = False,
) -> Drawn:
    """Windows of so many groups of about ``size`` rows each; NaN is NULL.

    ``design`` is "certain" (simple samples, the largest kept), "simple" (without), or "poisson".
    """
    rows, marks, values, others = [], [], [], []
    truth = {name: np.zeros(windows * groups) for name in ("count", "sum", "avg", "partner")}
    for window in range(windows):
        x = shape(random, groups * size)
        y = x * random.normal(2.0, 0.5, x.size) if partner else x
        group = window * groups + random.integers(0, groups, x.size)
        truth["count"] += np.bincount(group, ~np.isnan(x), windows * groups)
        truth["sum"] += np.bincount(group, np.nan_to_num(x), windows * groups)
        truth["partner"] += np.bincount(group, np.nan_to_num(y), windows * groups)
        kept, own = _sample(random, [x, y] if partner else [x], share, design)
        rows.append(group[kept])
        values.append(x[kept])
        others.append(y[kept])
        marks.append(own)
    row, mark = np.concatenate(rows), np.concatenate(marks)
    truth["avg"] = truth["sum"] / truth["count"]
    entries = Entries(windows * groups, row, (mark,))
    uncertain = mark >= 0  # the highest bit is that of rows kept for certain
    sampled = np.bincount(row[uncertain], minlength=entries.rows).astype(float)
    other = moments_of(np.concatenate(others)) if partner else None
    return Drawn(entries, moments_of(np.concatenate(values)), truth, sampled, other)


def draw_keys(
    random: np.random.Generator, *, windows: int, groups: int, keys: int, share: float
) -> tuple[Entries, Moments, dict[str, F64]]:
    """A join of two windows sampled by key: each key has some rows on both sides, and belongs to one group."""
    rows, marks, counts, sums = [], [], [], []
    truth = {name: np.zeros(windows * groups) for name in ("count", "sum")}
    for window in range(windows):
        size = keys * groups
        left, right = random.poisson(3.0, size) + 1, random.poisson(2.0, size)
        key = np.repeat(np.arange(size), left)
        group = (window * groups + random.integers(0, groups, size))[key]
        pairs = right[key].astype(float)
        x = pairs * random.gamma(2.0, 1.0, key.size)
        truth["count"] += np.bincount(group, pairs, windows * groups)
        truth["sum"] += np.bincount(group, x, windows * groups)
        places = random.random(size)[key]
        kept = places < share
        rows.append(group[kept])
        marks.append(share_marks(places[kept], share))
        counts.append(pairs[kept])
        sums.append(x[kept])
    count, total = np.concatenate(counts), np.concatenate(sums)
    entries = Entries(windows * groups, np.concatenate(rows), (np.concatenate(marks),))
    return entries, Moments(count, total, total), {**truth, "avg": truth["sum"] / truth["count"]}


def draw_pairs(
    random: np.random.Generator, *, windows: int, groups: int, sizes: tuple[int, int], shares: list[float]
) -> tuple[Entries, F64, dict[str, F64]]:
    """A join of two windows, each sampled by row: an entry for each pair, with the value that the right row has."""
    rows, lefts, rights, values = [], [], [], []
    truth = {name: np.zeros(windows * groups) for name in ("count", "sum")}
    for window in range(windows):
        keys = [random.integers(0, 30, size) for size in sizes]
        group, x = window * groups + random.integers(0, groups, sizes[0]), random.gamma(2.0, 1.0, sizes[1])
        left, right = np.nonzero(keys[0][:, None] == keys[1][None, :])
        truth["count"] += np.bincount(group[left], minlength=windows * groups)
        truth["sum"] += np.bincount(group[left], x[right], windows * groups)
        marks, kept = [], []
        for size, share, certain in zip(sizes, shares, (np.zeros(sizes[0], np.bool_), certain_rows([x])[0])):
            some, own = row_marks(random.random(size), share, certain)
            marks.append(np.zeros(size, np.int64))
            marks[-1][some] = own
            kept.append(some)
        both = kept[0][left] & kept[1][right]
        rows.append(group[left[both]])
        lefts.append(marks[0][left[both]])
        rights.append(marks[1][right[both]])
        values.append(x[right[both]])
    row, one, other, x = (np.concatenate(part) for part in (rows, lefts, rights, values))
    return Entries(windows * groups, row, (one, other)), x, truth


def _sample(random: np.random.Generator, columns: list[F64], share: float, design: str) -> tuple[Bools, I64]:
    places = random.random(columns[0].size)
    if design == "poisson":
        return places < share, share_marks(places[places < share], share)
    certain = certain_rows(columns)[0] if design == "certain" else np.zeros(places.size, np.bool_)
    return row_marks(places, share, certain)


def moments_of(x: F64) -> Moments:
    """Each row an entry of its own; NaN is NULL."""
    there = ~np.isnan(x)
    plain = np.where(there, x, 0.0)
    return Moments(there.astype(float), plain, plain**2, plain**3)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How intervals of many groups did: the part of them that cover, and the mean error in standard errors."""

    coverage: float
    bias: float
    half_width: float
    known: float

    @staticmethod
    def of(value: F64, found: Interval, truth: F64, some: Bools | None = None) -> Outcome:
        some = np.ones(value.size, np.bool_) if some is None else some
        error = (value - truth)[some]
        noise = 1e-9 * np.abs(truth[some]).max()  # of rounding, where there is no other
        bias = error.mean() / (max(error.std(ddof=1), noise) / np.sqrt(error.size))
        inside = (found.low <= truth) & (truth <= found.high)
        with_one = some & found.known
        half = (found.high - found.low)[with_one] / 2 / np.abs(truth[with_one])
        coverage = float(inside[with_one].mean()) if with_one.any() else np.nan
        return Outcome(
            coverage, float(bias), float(np.median(half)) if half.size else np.nan, float(found.known[some].mean())
        )


def outcome(function: Function, drawn: Drawn, some: Bools | None = None) -> Outcome:
    """How the intervals of a call did."""
    value = estimated(function, drawn.entries, drawn.moments)
    return Outcome.of(value, interval(function, drawn.entries, drawn.moments), drawn.truth[function], some)
