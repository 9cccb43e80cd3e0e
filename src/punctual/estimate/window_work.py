"""What one execution of a window query costs: what it shares with others of its class, and what is its own.

The joint cost of a set of queries of one class is the largest ``shared`` of them plus the sum of ``own``. Two operators
answer windows:

*scan* (Golab's) visits the panes of the longest window and reads shorter ones off on the way: all but the answers is
shared. *fold* takes each window from running totals or a tree of merged panes: that costs next to nothing, but each
window pays it for itself, so an execution is as dear as the number of its answers.

Queries with a walk over one window (rankings: k ranks of every row) are answered by the longest of them: as the rows
are the same for all of a class, its steps are the published cost of an execution, all of it shared. In truth an
execution also merges panes, and every answer has to be put together. The engine's own plans count that, in answers, as
they do for windows; a plan that is asked for by name is that of the papers.

Modelled costs count merges; measured ones are microseconds. Only ratios within one class matter to a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from punctual.plan.shared import Walk

Operator = Literal["scan", "fold"]


@dataclass(frozen=True, slots=True)
class Work:
    """``shared`` is paid once by the dearest of an execution, ``own`` by every query."""

    shared: Fraction
    own: Fraction


@dataclass(frozen=True, slots=True)
class Rates:
    """What one merge of two panes and one answer cost; by default a merge is the unit and answers are free."""

    merge: Fraction = Fraction(1)
    answer: Fraction = Fraction(0)


MODELLED = Rates()


def walk_work(walk: Walk, operator: Operator, rates: Rates = MODELLED) -> Work:
    """The work of one query that needs this walk.

    >>> walk = Walk("", steps=100, execution_steps=1_000, answer_steps=100, counted_in="ranks of a row")
    >>> walk_work(walk, "scan")
    Work(shared=Fraction(100, 1), own=Fraction(0, 1))
    >>> walk_work(walk, "fold")
    Work(shared=Fraction(11, 1), own=Fraction(1, 1))
    """
    if operator == "scan":
        return Work(walk.steps * rates.merge, rates.answer)
    return Work(Fraction(walk.execution_steps + walk.steps, walk.answer_steps), Fraction(1))


def window_work(panes: int, operator: Operator, rates: Rates = MODELLED) -> Work:
    """The work of one window of so many panes.

    >>> window_work(30, "scan")
    Work(shared=Fraction(29, 1), own=Fraction(0, 1))
    >>> window_work(30, "fold")
    Work(shared=Fraction(0, 1), own=Fraction(1, 1))
    """
    if operator == "scan":
        return Work((panes - 1) * rates.merge, rates.answer)
    return Work(Fraction(0), rates.merge + rates.answer)
