"""Rows that may not exist, in the order of their rank.

Model
-----
A row exists with its probability. Rows of one *rule* exclude each other: at most one of them exists, and the rule's
*mass*, the sum of their probabilities, is at most 1. Rules are independent of each other, and a row without a label is
a rule of its own. A *world* is one choice for every rule. In a world the rows that exist are ranked by their score,
higher first, equal scores by position in the input.

A row whose score is NaN or None has no rank: it is as if it were not there, for its rule too.

Invariants: everything behind :func:`ranked` is in rank order; ``rule`` is -1 or a number that at least two rows have;
no mass exceeds ``1 + SLACK``. Sorting is the dearest step: a million rows take a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import PunctualError

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Column = Sequence[Any] | NDArray[Any]
"""One value a row."""
SLACK = 1e-9
"""How far above 1 a mass may be, since probabilities are rounded; the rest of such a rule exists with probability 0."""


class WorldError(PunctualError, ValueError):
    """Rows that mean nothing: a probability outside [0, 1], a rule whose mass exceeds 1, an impossible k."""


@dataclass(frozen=True, slots=True)
class UncertainRows:
    """Rows in rank order.

    ``position`` says where each was in an input of ``size`` rows, ``rule`` the number of its rule below ``rules``, or
    -1 when no other row shares it.
    """

    size: int
    position: I64
    prob: F64
    rule: I64
    rules: int

    def possible(self) -> UncertainRows:
        """Without the rows of probability 0, which are in no world."""
        if self.prob.all():
            return self
        kept = self.prob > 0
        return UncertainRows(self.size, self.position[kept], self.prob[kept], *_shared(self.rule[kept]))

    def scatter(self, values: F64) -> F64:
        """Values of the first rows in rank order, brought to their places in the input; 0 for all others."""
        out = np.zeros((self.size, *values.shape[1:]))
        out[self.position[: len(values)]] = values
        return out


def ranked(score: Column, prob: Column, rule: Column | None = None) -> UncertainRows:
    """Check rows and rank them.

    Parameters
    ----------
    score : numbers, None or NaN
        Higher is better.
    prob : numbers in [0, 1]
        Probability that the row exists.
    rule : any hashable values, None or NaN, optional
        Rows with equal labels exclude each other. Without a label a row is independent.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> rows = ranked([80, 65, None, 70], [0.3, 0.4, 1.0, 0.6], [None, "a", "a", "a"])
    >>> rows.position.tolist(), rows.rule.tolist()
    ([0, 3, 1], [-1, 0, 0])
    """
    scores = _scores(score)
    probs = _probabilities(prob)
    labels = np.full(scores.size, -1) if rule is None else numbered(rule)
    if not scores.size == probs.size == labels.size:
        rules = "" if rule is None else f", {labels.size} rules"
        raise WorldError("world.lengths-differ", f"there are {scores.size} scores, {probs.size} probabilities{rules}")
    size = scores.size
    # Descending and stable, also for unsigned scores, which cannot be negated.
    order = size - 1 - np.argsort(scores[::-1], kind="stable")[::-1]
    if scores.dtype.kind == "f":
        order = order[~np.isnan(scores[order])]
    probs, (shared, several) = probs[order], _shared(labels[order])
    _check_masses(probs, shared, several)
    return UncertainRows(size, order, probs, shared, several)


def in_rank_order(prob: F64, rule: I64 | None) -> UncertainRows:
    """Rows that are in rank order, with probabilities; ``rule`` is a number for each, or -1.

    >>> in_rank_order(np.array([0.3, 0.6, 0.4]), np.array([-1, 7, 7])).rule.tolist()
    [-1, 0, 0]
    """
    shared, several = (np.full(prob.size, -1), 0) if rule is None else _shared(rule)
    _check_masses(prob, shared, several)
    return UncertainRows(prob.size, np.arange(prob.size), prob, shared, several)


def checked_k(k: int) -> int:
    """``k``, a whole number of at least 1."""
    try:
        whole = index(k)
    except TypeError:
        raise WorldError("world.bad-k", f"k is {k!r}, which is no whole number") from None
    if whole < 1:
        raise WorldError("world.bad-k", f"k is {whole}; it is at least 1")
    return whole


def numbered(labels: Column) -> I64:
    """Equal labels as equal numbers from 0, in the order in which they come; -1 for None and NaN.

    >>> numbered(["a", None, ("b", 1), "a"]).tolist()
    [0, -1, 1, 0]
    """
    try:
        coded = pa.array(labels, from_pandas=True).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # tuples, or several types
        numbers: dict[Any, int] = {None: -1}
        return np.array([numbers.setdefault(label, len(numbers) - 1) for label in labels], np.int64)
    return np.asarray(coded.indices.fill_null(-1), dtype=np.int64)


def _scores(score: Column) -> NDArray[Any]:
    scores = np.asarray(score)
    if scores.dtype.kind not in "biuf":
        try:
            scores = scores.astype(np.float64)
        except (TypeError, ValueError):
            raise WorldError("world.bad-score", "a score is no number") from None
    if scores.ndim != 1:
        raise WorldError("world.bad-score", f"scores have {scores.ndim} dimensions; they have one")
    return scores


def _probabilities(prob: Column) -> F64:
    try:
        probs = np.asarray(prob, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorldError("world.bad-probability", "a probability is no number") from None
    if probs.ndim != 1:
        raise WorldError("world.bad-probability", f"probabilities have {probs.ndim} dimensions; they have one")
    wrong = ~((probs >= 0) & (probs <= 1))
    if wrong.any():
        at = int(wrong.argmax())
        raise WorldError("world.bad-probability", f"the probability of row {at} is {probs[at]}; it is between 0 and 1")
    return probs


def _shared(labels: I64) -> tuple[I64, int]:
    """Numbers of the labels that at least two rows have, -1 for the others; how many there are."""
    if not labels.size or labels.max() < 0:
        return labels, 0
    several = np.bincount(labels[labels >= 0]) > 1
    number = np.append(np.where(several, np.cumsum(several) - 1, -1), -1)  # the last one is for -1
    return number[labels], int(several.sum())


def _check_masses(probs: F64, rule: I64, rules: int) -> None:
    if not rules:
        return
    member = rule >= 0
    masses = np.bincount(rule[member], probs[member], rules)
    worst = int(masses.argmax())
    if masses[worst] > 1 + SLACK:
        raise WorldError(
            "world.rule-mass",
            f"the probabilities of a rule of {int((rule == worst).sum())} rows add up to {masses[worst]:.12g}",
            detail="rows of one rule exclude each other, so their probabilities add up to 1 at most",
        )
