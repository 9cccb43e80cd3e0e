"""Rows as callers give them, checked and brought into rank order."""

from __future__ import annotations

import numpy as np

from punctual.kernel.world.input.labels import numbered
from punctual.kernel.world.input.quantities import probabilities, scores
from punctual.kernel.world.input.rows import Column, UncertainRows, WorldError, in_rank_order


def ranked(score: Column, prob: Column, rule: Column | None = None) -> UncertainRows:
    """Check rows and rank them.

    Columns are lists, other iterables, NumPy arrays, or columns of pandas or Arrow.

    Parameters
    ----------
    score : numbers, instants or durations; None, NaN, NaT or NA
        Higher is better. Compared exactly: whole numbers of any size, Decimals and Fractions too. A row whose score is
        missing (or masked) has no rank, and does not count in its rule's sum.
    prob : numbers in [0, 1]
        Probability that the row exists.
    rule : any hashable values, None, NaN, NaT or NA, optional
        Rows with equal labels exclude each other; equal is what Python calls so (see ``labels``). Without a label a row
        is independent.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> rows = ranked([80, 65, None, 70], [0.3, 0.4, 1.0, 0.6], [None, "a", "a", "a"])
    >>> rows.position.tolist(), rows.rule.tolist()
    ([0, 3, 1], [-1, 0, 0])
    """
    size, places, values = scores(score)
    probs = probabilities(prob)
    labels = None if rule is None else numbered(rule)
    if probs.size != size or (labels is not None and labels.size != size):
        rules = "" if labels is None else f", {labels.size} rules"
        raise WorldError("world.lengths-differ", f"there are {size} scores, {probs.size} probabilities{rules}")
    # Descending and stable, also for unsigned scores, which cannot be negated.
    order = places[values.size - 1 - np.argsort(values[::-1], kind="stable")[::-1]]
    return in_rank_order(probs[order], None if labels is None else labels[order], size, order)
