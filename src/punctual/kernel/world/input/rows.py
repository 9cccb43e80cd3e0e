"""Rows that may not exist, in the order of their rank.

Model
-----
A row exists with its probability. Rows of one *rule* exclude each other: at most one of them exists, and the rule's
*mass*, the sum of their probabilities, is at most 1. Rules are independent of each other, and a row without a label is
a rule of its own. A *world* is one choice for every rule. In a world the rows that exist are ranked by their score,
higher first, equal scores by position in the input.

A row whose score is NaN or None has no rank: it is as if it were not there, for its rule too.

Invariants: rows are in rank order (``rank_order`` brings them there); ``rule`` is -1 or a number that at least two rows
have; no mass exceeds ``1 + SLACK``. Sorting is the dearest step: a million rows take a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from punctual.errors import PunctualError

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Column = Iterable[Any]
"""One value per row, in any container that has an order."""
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


def in_rank_order(prob: F64, rule: I64 | None, size: int | None = None, position: I64 | None = None) -> UncertainRows:
    """Rows that are in rank order, with probabilities; ``rule`` is a number for each, or -1.

    Without a size and positions they are the whole input.

    >>> in_rank_order(np.array([0.3, 0.6, 0.4]), np.array([-1, 7, 7])).rule.tolist()
    [-1, 0, 0]
    """
    shared, several = (np.full(prob.size, -1), 0) if rule is None else _shared(rule)
    _check_masses(prob, shared, several)
    if size is None or position is None:
        size, position = prob.size, np.arange(prob.size)
    return UncertainRows(size, position, prob, shared, several)


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
