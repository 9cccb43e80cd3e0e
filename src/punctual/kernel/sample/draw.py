"""A sample of a window's rows, drawn by the scan: which rows go on, and what each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.sample import places, places_of
from punctual.kernel.sample.budget import ScanBudget, cut_share, fitting_part
from punctual.kernel.sample.certain import certain_rows
from punctual.kernel.sample.marks import row_marks, share_marks, strata
from punctual.own_names import IDENTITY

ITSELF = int(share_marks(np.zeros(1), 1.0)[0])
"""The mark of a row that stands for itself alone."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A sample of a window's rows: those whose place is below ``share`` (``kernel/sample/rule.py``).

    A place is that of the values of the columns ``by``, or of the whole row as it was declared. Of the columns
    ``certain`` the largest values are kept whatever their place. ``number`` tells the windows of a query apart. With a
    ``budget`` the share may become smaller, once it is known how many rows there are and how late it is.
    """

    share: float
    salt: str
    by: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    number: int = 0
    budget: ScanBudget | None = None


@dataclass(frozen=True, slots=True)
class DrawReport:
    """What became of a draw: how many rows the window has, how many of them were kept, below which place.

    ``thresholds`` are the magnitudes from which on the values of its columns ``certain`` were kept; ``part`` is how
    much of the share was left where the time was too short for all of it, and ``at`` is when that was decided.
    """

    rows: int
    kept: int
    share: float
    thresholds: tuple[float, ...] = ()
    part: float = 1.0
    at: int = 0


def drawn(rows: pa.Table, draw: Draw | None, now: int = 0) -> tuple[Bools, I64, DrawReport | None]:
    """Which rows of a window are kept, the marks of those, and what became of the draw.

    ``now`` is what budgets are compared with: the monotonic clock.
    """
    count = rows.num_rows
    every = None if draw is None else DrawReport(count, count, 1.0, at=now)
    whole = np.ones(count, np.bool_), np.full(count, ITSELF), every
    if draw is None or (draw.share >= 1.0 and _fits(draw, count, now)):
        return whole
    place = places(rows, draw.by, draw.salt) if draw.by else _places_of_rows(rows, draw.salt)
    certain, thresholds = np.zeros(rows.num_rows, np.bool_), list[float]()
    if draw.certain and not draw.by:
        certain, thresholds = certain_rows([_numbers(rows.column(name)) for name in draw.certain])
    share = draw.share
    if draw.budget is not None:
        wanted = int(((place < share) & ~certain).sum())
        share = cut_share(share, draw.budget, wanted, now, int(certain.sum()))
    if share >= 1.0:
        return whole
    part = share / draw.share
    if draw.by:
        kept = place < share
        report = DrawReport(rows.num_rows, int(kept.sum()), share, part=part, at=now)
        return kept, share_marks(place[kept], share, draw.number), report
    kept, marks = row_marks(place, share, certain, draw.number)
    if not strata(marks).thinned.any():
        marks = np.full(marks.size, ITSELF)  # nothing is missing, from whichever window
    reached = _reached(place, kept, certain, share)
    return kept, marks, DrawReport(rows.num_rows, int(kept.sum()), reached, tuple(thresholds), part, now)


def _fits(draw: Draw, rows: int, now: int) -> bool:
    """Whether there is time for all rows: then nobody has to know their places."""
    return draw.budget is None or fitting_part(draw.budget, rows, now) >= 1.0


def _places_of_rows(rows: pa.Table, salt: str) -> F64:
    return places_of(rows.column(IDENTITY).to_numpy().view(np.uint64), salt, ordinals=True)


def _numbers(column: pa.ChunkedArray) -> F64:
    """Values as they are compared for their size; NaN where there is none."""
    numbers: NDArray[np.float64] = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan")).to_numpy()
    return numbers


def _reached(place: F64, kept: Bools, certain: Bools, share: float) -> float:
    """The share as anybody can draw it again: more than was asked for where so few rows are below it that the next
    ones were taken as well."""
    drawn_ones = place[kept & ~certain]
    greatest = float(drawn_ones.max(initial=0.0))
    return share if greatest < share else float(np.nextafter(greatest, 1.0))
