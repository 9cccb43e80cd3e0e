"""Intervals of anything that is computed from estimates: the estimate again with a part of the sample left out.

Each sampled input has 32 groups, by hash. A *replicate* is the estimate without one of them, with what the others stand
for made larger. How much replicates differ says how much the estimate does (the delete-a-group jackknife). It needs no
formula, so it serves expressions over several aggregates, samples by key (whose rows come in clusters), and joins of
samples, where the variances of the inputs add up (what both vary by together counts twice, so such intervals are
rather too wide).

Intervals are Student's with as many degrees of freedom as a row has groups, less one; fewer where what groups add is
skewed. Where a few groups of a sample without a certain part make nearly all of the difference there is no interval:
keys with many rows decide it, and those that the sample has not are unknown. What is left is still not to be trusted
over such keys: of joins whose keys have rows by Zipf's law with exponent 2 about a third have an interval, and half of
these cover.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def jackknife(whole: F64, replicates: F64, rests_on: Support, shares: Sequence[float]) -> Interval:
    """A 95 % interval of each output row.

    Parameters
    ----------
    whole : F64
        The estimate.
    replicates : F64
        The same of each replicate, ``[rows, 32 * inputs]``.
    rests_on : Support
        Of the same entries. A row needs two groups of each input that is thinned.
    shares : sequence of float
        The share of each input that was kept.
    """
    squares, cubes = np.zeros(whole.size), np.zeros(whole.size)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for number, share in enumerate(shares):
            added = whole[:, None] - replicates[:, number * GROUPS : (number + 1) * GROUPS]
            added *= np.where(rests_on.thinned[:, number], np.sqrt(1 - share), 0.0)[:, None]
            squares += (added**2).sum(axis=1)
            cubes += (added**3).sum(axis=1)
        skewness = np.where(squares > 0, np.abs(cubes) / squares**1.5, squares)
        fewest = np.where(rests_on.thinned, rests_on.groups, GROUPS).min(axis=1)
        freedom = np.maximum(1, (fewest - 1) // (1 + _WORTH_LESS * GROUPS * np.minimum(skewness, 1.0) ** 2))
        factor = student_t(np.where(fewest > 1, freedom, 0).astype(np.int64))
        spread = factor * np.sqrt(squares * (GROUPS - 1) / GROUPS)
        low, high = whole - spread, whole + spread
    exact = ~rests_on.thinned.any(axis=1)
    mild = (skewness < _MOST_SKEWED) | ~rests_on.poisson.any(axis=1)
    known = exact | (mild & np.isfinite(low) & np.isfinite(high))
    low, high = np.where(exact, whole, low), np.where(exact, whole, high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan), known)


def _without(entries: Entries, values: F64) -> F64:
    """Weighted totals without each of the groups of each of the inputs."""
    parts = []
    for marks in entries.marks:
        of_input = coded(marks)
        larger = _larger(of_input)
        row, stratum, where = by_stratum(entries.row, of_input)
        whole = totals(where, values, row.size)
        group, own = of_input.strata.group[of_input.which], of_input.stratum[of_input.which]
        some = np.flatnonzero(group < CERTAIN)
        left_out = totals(
            entries.row[some] * GROUPS + group[some],
            values[some] * larger[own[some], group[some]],
            entries.rows * GROUPS,
        ).reshape(entries.rows, GROUPS)
        of_group = (totals(row, whole * larger[stratum, g], entries.rows) for g in range(GROUPS))
        parts.append(np.stack(list(of_group), axis=1) - left_out)
    return np.concatenate(parts, axis=1)


def _larger(of_input: Coded) -> F64:
    """By what the weights of a stratum grow without each group: ``[strata, 32]``."""
    some, known = of_input.first_of_stratum(), of_input.strata
    sampled, every = known.sampled[some][:, None], np.arange(GROUPS)[None, :]
    left = sampled - group_size(sampled, every)
    with np.errstate(divide="ignore"):
        simple = np.where(left > 0, sampled / left, np.nan)
    found = np.where(known.poisson[some][:, None], GROUPS / (GROUPS - 1), simple)
    return np.where(known.certain[some][:, None], 1.0, found)
