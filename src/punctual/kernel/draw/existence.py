"""Which uncertain rows exist in a world.

Model
-----
A row without a rule exists where its own uniform number is below its probability. A rule has one number for all of its
rows: they share the line from 0 to 1, each a stretch as long as its probability, and the row exists whose stretch the
number hits. So at most one of them does, and what is left of the line is for none. Stretches are laid out in the order
of the rows' identities, which follows from the rows alone.

No world fits a rule whose probabilities add up to more than 1. Whoever knows all rows of the window leaves its rows
out: ``of_broken_rules`` says which they are.

A rule's stretches depend on all of its rows. Lay them out over all rows of the window, before anything is filtered;
after that rows may be drawn in any pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.kernel.arrays.row_hashes import U64
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.philox import Source, uniforms
from punctual.kernel.world.input.rows import SLACK


@dataclass(frozen=True, slots=True)
class Stretches:
    """A row exists where the uniform number of ``drawn_by`` is from ``low`` up to and without ``high``."""

    drawn_by: U64
    low: F64
    high: F64

    def take(self, rows: I64) -> Stretches:
        """Some of the rows."""
        return Stretches(self.drawn_by[rows], self.low[rows], self.high[rows])


def stretches(identity: U64, probability: F64, rule: U64 | None = None, ruled: Bools | None = None) -> Stretches:
    """Where each row exists.

    Parameters
    ----------
    identity : U64
        What tells each row from all others.
    probability : F64
        Of each row; those of a rule add up to 1 at most.
    rule : U64, optional
        What tells the row's rule from others: a hash of its label.
    ruled : Bools, optional
        Which rows have a rule; all of them without it.

    Examples
    --------
    >>> found = stretches(np.array([5, 2, 9], np.uint64), np.array([0.5, 0.25, 0.9]), np.array([1, 1, 3], np.uint64),
    ...                   np.array([True, True, False]))
    >>> found.low.tolist(), found.high.tolist(), found.drawn_by.tolist()
    ([0.25, 0.0, 0.0], [0.75, 0.25, 0.9], [1, 1, 9])
    """
    drawn_by, low, high = identity.copy(), np.zeros(identity.size), probability.astype(np.float64)
    if rule is not None:
        members = np.arange(identity.size) if ruled is None else np.flatnonzero(ruled)
        drawn_by[members] = rule[members]
        members = members[np.lexsort([identity[members], rule[members]])]
        _lay_out(rule[members], members, low, high)
    return Stretches(drawn_by, low, high)


def of_broken_rules(identity: U64, probability: F64, rule: U64, ruled: Bools) -> Bools:
    """Which rows have a rule whose probabilities add up to more than 1; a little more is forgiven, being rounded.

    >>> of_broken_rules(np.array([5, 2, 9], np.uint64), np.array([0.5, 0.6, 0.9]), np.array([1, 1, 3], np.uint64),
    ...                 np.array([True, True, True])).tolist()
    [True, True, False]
    """
    found = np.zeros(identity.size, np.bool_)
    members = np.flatnonzero(ruled)
    if members.size:
        members = members[np.lexsort([identity[members], rule[members]])]  # so that the sum is that of any order
        first = np.concatenate([[True], np.diff(rule[members]) != 0])
        mass = np.add.reduceat(probability[members], np.flatnonzero(first))
        found[members] = (mass > 1 + SLACK)[np.cumsum(first) - 1]
    return found


def existing(drawn_from: Source, rows: Stretches, rounds: range) -> Bools:
    """Whether each row exists in each round; the source is the one without a column's name.

    >>> from punctual.kernel.draw.philox import source
    >>> both = stretches(np.array([5, 2], np.uint64), np.array([0.5, 0.5]), np.array([1, 1], np.uint64))
    >>> bool((existing(source(1, "speed", ""), both, range(0, 99)).sum(axis=0) == 1).all())
    True
    """
    numbers = uniforms(drawn_from, rows.drawn_by, rounds)
    found = np.empty(numbers.shape, np.bool_)
    _hit(numbers, rows.low, rows.high, found)
    return found


@compiled
def _lay_out(rule: U64, members: I64, low: F64, high: F64) -> None:
    """Stretches of rows that are sorted by rule, one behind the other."""
    end = 0.0
    for at in range(members.size):
        if at > 0 and rule[at] != rule[at - 1]:
            end = 0.0
        low[members[at]] = end
        end += high[members[at]]
        high[members[at]] = end


@compiled
def _hit(numbers: F64, low: F64, high: F64, out: Bools) -> None:
    for i in range(low.size):
        row, found, least, limit = numbers[i], out[i], low[i], high[i]
        for j in range(np.uint64(row.size)):
            found[j] = (row[j] >= least) & (row[j] < limit)
