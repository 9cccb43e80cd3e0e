"""Counts, sums and averages over a sample: their estimates, and 95 % intervals where there are any.

A *simple* sample is n of N rows of a window. A total over a group of them is N / n times the sampled one, and varies
as if every row outside the group had 0: the variance is ``N**2 (1 - n/N) / n`` times the sample variance of that. In a
*Poisson* sample every row was kept with the share s: the variance of a total is the sum of ``(1 - s) / s**2 x**2``.
Rows that are certain add nothing. An average is a ratio of two totals; its variance is that of the total of ``x -
average``, over the square of the count.

Intervals are Student's with as many degrees of freedom as the group has sampled rows, less one. A variance that was
estimated from skewed rows is worth fewer: where cubes are known, so many less as if the rows had a gamma distribution
of their skewness. (Heavy tails without their certain rows still are that skewed: of 40 sampled rows of a lognormal or
Pareto window plain intervals cover 92 to 93 %, these 94 to 96.) Counts with fewer than 100 rows on either side have
intervals by their own distribution (`exact_counts.py`).

A Poisson sample has no certain part. So a sum or an average over it has an interval only where its values are not too
skewed for that many rows (Cochran: n > 25 skewness**2). The samples that missed a long tail look the least skewed, and
their intervals are wrong. So the skewness that counts is a standard error above what was sampled, and however many rows
there are it is not above :data:`_LONG_TAIL`: a heavy tail is more skewed the more rows are seen, but not as fast as
Cochran's rule allows. What is computed of several has an interval by the jackknife, with fewer degrees of freedom where
values are skewed.

Where nothing that was drawn differs a sum or an average has no interval: one of no width would hold only if all other
rows were the same. (Of ``sum(CASE WHEN rare THEN 1 ELSE 0 END)`` half of the groups may show zeros alone, and most of
them have rows that are not.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.sample.entries import Cells, Entries, Moments, cells_of, thinned, totals, weights
from punctual.kernel.sample.exact_counts import of_poisson_sample, of_simple_sample
from punctual.kernel.sample.quantiles import student_t

Function = Literal["count", "sum", "avg"]

FEW = 100
"""Counts of fewer rows, or of all but so few, have intervals by their distribution. (With 30 the two kinds together
cover 0.97 where some samples have one kind and some the other.)"""
LEAST_SAMPLED = 2
_COCHRAN = 25.0
_LONG_TAIL = 2.5
"""Of a skewness that may be above this nobody knows what the sample has missed (of an exponential distribution it is 2;
samples of 300 rows of heavy tails are below it once in a thousand times)."""
_SKEWNESS_VARIES = 6.0
"""The variance of the skewness of n normal rows is about this over n."""
_GAMMA = 0.75
"""Half of the excess of a gamma distribution over the square of its skewness: so much less is a variance worth."""
_LOGNORMAL = 2.0
"""The same of a lognormal distribution with a sigma of about 1.2: the tails of sizes and durations."""
_LEAST_FREEDOM = 2.0
_ROUNDING = 32 * np.finfo(np.float64).eps
"""What sums of squares can be off by, relatively: a spread below it cannot be told from none."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of each output row. Where it is not ``known`` there is none, and both ends are NaN.

    An end that is NaN where it is known is open.
    """

    low: F64
    high: F64
    known: Bools


def estimated(function: Function, entries: Entries, moments: Moments) -> F64:
    """The estimate of each output row; NaN for the sum or the average of nothing.

    Examples
    --------
    >>> from punctual.kernel.sample.marks import row_marks
    >>> kept, marks = row_marks(np.array([0.1, 0.2, 0.7, 0.9]), 0.5, np.zeros(4, bool))
    >>> each, x = np.ones(2), np.array([3.0, 5.0])
    >>> entries, moments = Entries(1, np.zeros(2, int), (marks,)), Moments(each, x, x * x)
    >>> [estimated(f, entries, moments).tolist() for f in ("count", "sum", "avg")]
    [[4.0], [16.0], [4.0]]
    """
    weight = weights(entries)
    count = totals(entries.row, weight * moments.count, entries.rows)
    if function == "count":
        return count
    with np.errstate(invalid="ignore", divide="ignore"):
        total = totals(entries.row, weight * moments.sum, entries.rows)
        return np.where(count > 0, total if function == "sum" else total / count, np.nan)


def interval(function: Function, entries: Entries, moments: Moments, *, all_rows: bool = False) -> Interval:
    """A 95 % interval of each output row, of a sample of one input.

    Parameters
    ----------
    function : "count", "sum" or "avg"
        What is asked.
    entries, moments : Entries, Moments
        What was sampled.
    all_rows : bool
        A count that every row of the window is in: no group, no condition, never NULL. Of a simple sample it is known.
        Otherwise nobody can tell that the rows that were not sampled are in it, too.
    """
    if len(entries.marks) != 1:
        raise InternalError("samples of several inputs have intervals by the jackknife")
    value = estimated(function, entries, moments)
    exact = ~thinned(entries)[:, 0]
    cells = cells_of(entries, moments)
    sampled = _per_row(cells, np.where(cells.uncertain, cells.moments.count, 0.0), entries.rows).astype(np.int64)
    poisson = _per_row(cells, cells.uncertain & cells.strata.poisson, entries.rows) > 0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        terms = _terms(function, cells, value, entries.rows)
        variance = _per_row(cells, _variances(cells, terms), entries.rows)
        if function == "count":
            low, high = _counts(cells, value, student_t(sampled - 1) * np.sqrt(variance), sampled)
            exact |= all_rows & ~poisson
        else:
            spread = student_t(_freedom(cells, terms, sampled)) * np.sqrt(variance)
            wild = poisson & ~_mild(cells, estimated("avg", entries, moments), entries.rows)
            differ = variance > 2 * _of_rounding(function, cells, entries.rows)  # it is no less than that itself
            low, high = np.where(wild | ~differ, np.nan, value - spread), value + spread
    known = exact | ((sampled >= LEAST_SAMPLED) & np.isfinite(low) & np.isfinite(high))
    low, high = np.where(exact, value, low), np.where(exact, value, high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan), known)


def values_freedom(entries: Entries, several: Iterable[Moments]) -> F64:
    """How many degrees of freedom a variance has, at most, of what is computed of several calls over one input.

    A variance from n normal rows has n, from others ``2 n / (2 + excess kurtosis)``. What is computed of sums varies by
    terms that nobody kept the powers of, but long tails come from the values that are summed. Their kurtosis is not
    known either. Fourth powers of a sample would say less than cubes: they are the few largest rows alone. So it is the
    one that a lognormal distribution of their skewness has, in the most skewed of the calls. There are two at least:
    intervals are then 4.3 standard errors wide to each side.

    NaN for a row that has no Poisson sample.
    """
    found = np.full(entries.rows, np.inf)
    drawn = np.zeros(entries.rows, np.bool_)
    for moments in several:
        cells = cells_of(entries, moments)
        own = cells.uncertain & cells.strata.poisson
        drawn |= _per_row(cells, own, entries.rows) > 0
        sampled = _per_row(cells, np.where(own, cells.moments.count, 0.0), entries.rows)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            skewness = _squared_skewness(cells, estimated("avg", entries, moments), own, entries.rows)
            found = np.minimum(found, sampled / (1 + _LOGNORMAL * sampled * skewness))
    return np.where(drawn, np.maximum(np.floor(found), _LEAST_FREEDOM), np.nan)


def _per_row(cells: Cells, values: F64 | Bools, rows: int) -> F64:
    return totals(cells.row, values.astype(np.float64), rows)


def _terms(function: Function, cells: Cells, value: F64, rows: int) -> Moments:
    """Moments of what an estimate is the weighted total of, but for a constant: 1, x, or x - average over the count."""
    of = cells.moments
    if function == "count":
        return Moments(of.count, of.count, of.count, of.count)
    if function == "sum":
        return of
    mean, scale = value[cells.row], 1 / _per_row(cells, cells.strata.weight * of.count, rows)[cells.row]
    squares = of.squares - 2 * mean * of.sum + mean**2 * of.count
    cubes = None
    if of.cubes is not None:
        cubes = scale**3 * (of.cubes - 3 * mean * of.squares + 3 * mean**2 * of.sum - mean**3 * of.count)
    squares = np.maximum(squares, _ROUNDING * of.squares)
    return Moments(of.count, scale * (of.sum - mean * of.count), scale**2 * squares, cubes)


def _variances(cells: Cells, terms: Moments) -> F64:
    """The variance that each cell adds."""
    known = cells.strata
    n, weight = known.sampled, known.weight
    around = terms.squares - terms.sum**2 / n
    if terms.squares is not terms.count:  # counts are exact
        around = np.maximum(around, _ROUNDING * terms.squares)
    spread = np.where(known.poisson, terms.squares, around * n / (n - 1))
    return np.where(cells.uncertain, weight**2 * (1 - n / known.population) * spread, 0.0)


def _of_rounding(function: Function, cells: Cells, rows: int) -> F64:
    """The variance of a sum or an average where nothing that was drawn differs: that of rounding alone."""
    of = cells.moments
    alike = Moments(of.count, np.zeros(of.sum.size), _ROUNDING * of.squares)
    variance = _per_row(cells, _variances(cells, alike), rows)
    return variance if function == "sum" else variance / _per_row(cells, cells.strata.weight * of.count, rows) ** 2


def _freedom(cells: Cells, terms: Moments, sampled: I64) -> I64:
    """Degrees of freedom of the variance of each row: fewer where simple samples are skewed."""
    if terms.cubes is None:
        return sampled - 1
    drawn, n, weight = cells.uncertain & ~cells.strata.poisson, cells.strata.sampled, cells.strata.weight
    mean = terms.sum / n
    squares = terms.squares - n * mean**2
    cubes = terms.cubes - 3 * mean * terms.squares + 2 * n * mean**3
    squares, cubes = (
        _per_row(cells, np.where(drawn, weight**power * values, 0.0), sampled.size)
        for power, values in ((2, squares), (3, cubes))
    )
    skewness = np.where(squares > 0, cubes**2 / squares**3, 0.0) * sampled
    fewer = np.floor((sampled - 1) / (1 + _GAMMA * np.where(np.isfinite(skewness), skewness, 0.0)))
    return np.where(sampled > 1, np.maximum(fewer, 1), 0).astype(np.int64)


def _mild(cells: Cells, average: F64, rows: int) -> Bools:
    """Whether the values of a Poisson sample are not too skewed for an interval, as far as the sample can tell."""
    if cells.moments.cubes is None:
        return np.zeros(rows, np.bool_)
    drawn = cells.uncertain & cells.strata.poisson
    sampled = _per_row(cells, np.where(drawn, cells.moments.count, 0.0), rows)
    skewness = np.sqrt(sampled * _squared_skewness(cells, average, drawn, rows)) + np.sqrt(_SKEWNESS_VARIES / sampled)
    return skewness < np.minimum(np.sqrt(sampled / _COCHRAN), _LONG_TAIL)


def _squared_skewness(cells: Cells, average: F64, own: Bools, rows: int) -> F64:
    """The square of the skewness that the total of values has around their average, by so many of its cells.

    What may be rounding counts as nothing: a column with one value in it is not skewed.
    """
    of, mean = cells.moments, average[cells.row]
    if of.cubes is None:
        return np.full(rows, np.inf)
    powers = (of.count, of.sum, of.squares, of.cubes)
    weight = np.where(own, cells.strata.weight, 0.0)

    def total(power: int, signs: tuple[int, ...], mean: F64, powers: Iterable[F64]) -> F64:
        terms = [sign * mean**fewer * one for sign, fewer, one in zip(signs, range(power, -1, -1), powers)]
        return _per_row(cells, np.where(own, weight**power * sum(terms), 0.0), rows)

    sizes = tuple(np.abs(one) for one in powers)
    squares, cubes = total(2, (1, -2, 1), mean, powers), total(3, (-1, 3, -3, 1), mean, powers)
    around = np.maximum(squares, _ROUNDING * total(2, (1, 2, 1), np.abs(mean), sizes))
    seen = np.maximum(np.abs(cubes) - _ROUNDING * total(3, (1, 3, 3, 1), np.abs(mean), sizes), 0.0)
    found = np.where(around > 0, (seen / around) ** 2 / around, 0.0)
    return np.where(np.isnan(found), np.inf, found)


def _counts(cells: Cells, value: F64, spread: F64, sampled: I64) -> tuple[F64, F64]:
    """Intervals of counts: exact ones of few rows, and of all but a few."""
    low, high = value - spread, value + spread
    rows, known, count = value.size, cells.strata, cells.moments.count
    drawn = cells.uncertain
    sure, stood_for = (_per_row(cells, np.where(some, known.weight * count, 0.0), rows) for some in (~drawn, drawn))
    simple = _per_row(cells, drawn & known.poisson, rows) == 0
    # Several windows are one here: their shares are much the same, and of few rows only the share counts.
    of_all = _per_row(cells, np.where(drawn, known.sampled, 0), rows).astype(np.int64)
    population = _per_row(cells, np.where(drawn, known.population, 0), rows).astype(np.int64)
    few = np.flatnonzero(simple & (sampled > 0) & ((sampled < FEW) | (of_all - sampled < FEW)))
    bounds = of_simple_sample(sampled[few], of_all[few], population[few])
    low[few], high[few] = (sure[few] + bound for bound in bounds)
    few = np.flatnonzero(~simple & (sampled > 0) & (sampled < FEW))
    bounds = of_poisson_sample(sampled[few], sampled[few] / stood_for[few])
    low[few], high[few] = (sure[few] + bound for bound in bounds)
    # As many as were seen there are for certain.
    return np.minimum(np.maximum(low, sure + sampled), value), np.maximum(high, value)
