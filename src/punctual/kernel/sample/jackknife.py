"""Intervals of anything that is computed from estimates: the estimate again with a part of the sample left out.

Each sampled input has 32 groups, by hash. A *replicate* is the estimate without one of them, with what the others stand
for made larger. How much replicates differ says how much the estimate does (the delete-a-group jackknife). It needs no
formula, so it serves expressions over several aggregates, samples by key (whose rows come in clusters), and joins of
samples, where the variances of the inputs add up (what both vary by together counts twice, so such intervals are
rather too wide).

A sample that has most of the rows cannot be far off. So a group is not left out as a whole, but the square root of 1 -
share of it (as Rao and Wu do for the bootstrap): then replicates differ by as much as estimates from so many of all
rows do. Each part of a window goes by its own share, and no answer by that of another one.

Intervals are Student's with as many degrees of freedom as a row has groups, less one. Over rows that were kept by a
share alone the skewness of the values that are summed may leave fewer (`values_freedom`). How skewed the groups of the
sample are would say too little: the samples that missed a long tail look best. So such a row is not refused for it,
that would leave those that missed the tail; intervals are wide instead, up to twice as wide as those of normal rows.

Of other samples only groups are known, so what they add takes degrees of freedom away where it is skewed. Where a few
groups of a sample by key make nearly all of the difference there is no interval: keys with many rows decide it, and
those that the sample has not are unknown. What is left is still not to be trusted over such keys: of joins whose keys
have rows by Zipf's law with exponent 2 about a third have an interval, and half of these cover.

Where replicates do not differ at all there is no interval either: a sample without any row of a kind does not say that
there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.sample.entries import Coded, Entries, Moments, by_stratum, coded, thinned, totals, weights
from punctual.kernel.sample.estimates import Interval
from punctual.kernel.sample.marks import CERTAIN, GROUPS, group_size
from punctual.kernel.sample.quantiles import student_t

_MOST_SKEWED = 0.5
"""The skewness of an estimate, seen through its groups, from which on it has no interval. Groups of normal rows have
0.08 by chance alone, some thirty keys 0.3: Cochran's fifth would refuse them."""
_WORTH_LESS = 0.5
"""By how much the square of the groups' skewness takes degrees of freedom away; by simulation."""
_ROUNDING = 1e-12
"""What replicates of one and the same may differ by, relatively."""


@dataclass(frozen=True, slots=True)
class Support:
    """What output rows rest on: ``[rows, inputs]``."""

    groups: I64
    """How many groups have sampled rows of it."""
    thinned: Bools
    """Whether any rows may be missing."""
    poisson: Bools
    """Whether any of those that may be missing were left out by a share alone, without a certain part."""


def support(entries: Entries, count: F64) -> Support:
    """What output rows rest on; ``count`` is of each entry's rows, of several calls the least."""
    shape = entries.rows, len(entries.marks)
    groups, poisson = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    for number, marks in enumerate(entries.marks):
        of_input = coded(marks)
        group = of_input.strata.group[of_input.which]
        some = (group < CERTAIN) & (count > 0)
        seen = np.zeros((entries.rows, GROUPS), np.bool_)
        seen[entries.row[some], group[some]] = True
        groups[:, number] = seen.sum(axis=1)
        by_share = of_input.strata.poisson & of_input.strata.thinned
        poisson[entries.row[by_share[of_input.which]], number] = True
    return Support(groups, thinned(entries), poisson)


def replicates(function: Literal["count", "sum", "avg"], entries: Entries, moments: Moments) -> F64:
    """The estimate without each of the groups: ``[rows, 32 * inputs]``, all groups of the first input first.

    The sum of nothing is 0 here, its average NaN.
    """
    weight = weights(entries)
    if function != "avg":
        return _without(entries, weight * (moments.count if function == "count" else moments.sum))
    with np.errstate(invalid="ignore", divide="ignore"):
        return _without(entries, weight * moments.sum) / _without(entries, weight * moments.count)


def jackknife(whole: F64, replicates: F64, rests_on: Support, freedom: F64 | None = None) -> Interval:
    """A 95 % interval of each output row.

    Parameters
    ----------
    whole : F64
        The estimate.
    replicates : F64
        The same of each replicate, ``[rows, 32 * inputs]``.
    rests_on : Support
        Of the same entries. A row needs two groups of each input that is thinned.
    freedom : F64, optional
        How many degrees of freedom each row has at most, by its values; NaN, or None for all, where only the groups
        tell.
    """
    freedom = np.full(whole.size, np.nan) if freedom is None else freedom
    fewest = np.where(rests_on.thinned, rests_on.groups, GROUPS).min(axis=1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        added = whole[:, None] - replicates
        added *= np.repeat(rests_on.thinned, GROUPS, axis=1)
        squares, cubes = (added**2).sum(axis=1), (added**3).sum(axis=1)
        differ = np.sqrt(squares) > _ROUNDING * np.abs(whole)
        skewness = np.where(differ, np.abs(cubes) / squares**1.5, 0.0)
        by_groups = np.maximum(1, (fewest - 1) // (1 + _WORTH_LESS * GROUPS * np.minimum(skewness, 1.0) ** 2))
        at_most = np.where(np.isnan(freedom), by_groups, np.minimum(fewest - 1, freedom))
        factor = student_t(np.where(fewest > 1, at_most, 0).astype(np.int64))
        spread = factor * np.sqrt(squares * (GROUPS - 1) / GROUPS)
        low, high = whole - spread, whole + spread
    exact = ~rests_on.thinned.any(axis=1)
    mild = (skewness < _MOST_SKEWED) | ~rests_on.poisson.any(axis=1) | ~np.isnan(freedom)
    known = exact | (differ & mild & np.isfinite(low) & np.isfinite(high))
    low, high = np.where(exact, whole, low), np.where(exact, whole, high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan), known)


def _without(entries: Entries, values: F64) -> F64:
    """Weighted totals without each of the groups of each of the inputs."""
    parts = []
    for marks in entries.marks:
        of_input = coded(marks)
        left, larger = _weights_left(of_input)
        row, stratum, where = by_stratum(entries.row, of_input)
        whole = totals(where, values, row.size)
        group, own = of_input.strata.group[of_input.which], of_input.stratum[of_input.which]
        some = np.flatnonzero(group < CERTAIN)
        left_out = totals(
            entries.row[some] * GROUPS + group[some],
            values[some] * (larger[own[some], group[some]] - left[own[some]]),
            entries.rows * GROUPS,
        ).reshape(entries.rows, GROUPS)
        of_group = (totals(row, whole * larger[stratum, g], entries.rows) for g in range(GROUPS))
        parts.append(np.stack(list(of_group), axis=1) - left_out)
    return np.concatenate(parts, axis=1)


def _weights_left(of_input: Coded) -> tuple[F64, F64]:
    """By what weights of a stratum are multiplied: ``[strata]`` in the group that is left out, and ``[strata, 32]`` in
    the others."""
    some, known = of_input.first_of_stratum(), of_input.strata
    sampled, every = known.sampled[some][:, None], np.arange(GROUPS)[None, :]
    rest = sampled - group_size(sampled, every)
    with np.errstate(divide="ignore"):
        simple = np.where(rest > 0, sampled / rest, np.nan)
    without = np.where(known.poisson[some][:, None], GROUPS / (GROUPS - 1), simple)
    without = np.where(known.certain[some][:, None], 1.0, without)
    out = np.sqrt(1 - known.sampled[some] / known.population[some])
    return 1 - out, 1 + out[:, None] * (without - 1)
