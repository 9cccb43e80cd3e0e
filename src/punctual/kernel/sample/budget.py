"""How much of a sample fits the time that is left: what a scan decides while its query runs.

Equation (2) of Wei and others says what is left of a plan's cost when some of it is done. Here it is taken apart by
what falls with the share of rows that go on, and solved for that share. With ``T(e) = A e + B e^2`` for the part ``e``
of what was to be kept, and ``D`` left of the time, ``e = (sqrt(A^2 + 4 B D) - A) / (2 B)``, which is ``D / A`` where
nothing falls with the square: rows that match are kept together, or there is no join.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, sqrt

from punctual.kernel.sample.marks import SHARES

ROOM = 0.98
"""Who has to use less uses so much of what would fit: how many rows are below a share varies."""


@dataclass(frozen=True, slots=True)
class ScanBudget:
    """By when a query should be through, and what is left to do once its scan knows its rows; all in microseconds.

    Attributes
    ----------
    by : an instant of the machine's monotonic clock
    fixed_us : what is left whatever is kept
    row_us : for each row that the scan hands on
    other_us : for the rows that others hand on which are cut alike: other windows, and other queries of the job
    pair_us : for each row that the scan hands on, where it meets an independent sample of another window
    least : no smaller share is acceptable
    """

    by: int
    fixed_us: float = 0.0
    row_us: float = 0.0
    other_us: float = 0.0
    pair_us: float = 0.0
    least: float = 0.0


def fitting_part(budget: ScanBudget, rows: int, now: int) -> float:
    """The part of so many rows that can go on, so that all is done in time; 0 where the time is over.

    >>> fitting_part(ScanBudget(by=1_000, row_us=2.0), 250, now=0), fitting_part(ScanBudget(1_000, 200, 2.0), 800, 0)
    (1.0, 0.5)
    >>> fitting_part(ScanBudget(by=1_000, row_us=1.0, pair_us=6.0), 500, now=0)
    0.5
    """
    left = budget.by - now - budget.fixed_us
    alone, pairs = rows * budget.row_us + budget.other_us, rows * budget.pair_us
    if alone + pairs <= left:
        return 1.0
    # The same as the formula above, without a difference of nearly equal numbers.
    return 0.0 if left <= 0.0 else 2.0 * left / (alone + sqrt(alone * alone + 4.0 * pairs * left))


def cut_share(share: float, budget: ScanBudget, rows: int, now: int, certain: int = 0) -> float:
    """The share that is kept where ``share`` was to be, of which so many rows are: smaller where time is short.

    So many more are kept for ``certain``, whatever the share.

    >>> budget = ScanBudget(by=1_000, row_us=1.0, least=0.05)
    >>> cut_share(0.4, budget, 800, now=0), cut_share(0.4, budget, 2_000, now=0), cut_share(0.4, budget, 2_000, now=990)
    (0.4, 0.196, 0.05)
    >>> cut_share(0.4, budget, 2_000, now=0, certain=500)
    0.098
    """
    part = fitting_part(replace(budget, fixed_us=budget.fixed_us + certain * budget.row_us), rows, now)
    if part >= 1.0:
        return share
    return min(share, max(floor(ROOM * share * part * SHARES + 1e-6) / SHARES, budget.least, 1 / SHARES))
