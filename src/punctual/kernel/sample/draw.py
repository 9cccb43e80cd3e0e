"""A sample of a window's rows, drawn by the scan: which rows go on, and what each of them stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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

    Of a draw by row the place is 1 where all rows were kept: then nothing is estimated, whatever was to be kept.
    ``thresholds`` are the magnitudes from which on the values of its columns ``certain`` were kept; ``part`` is how
    much of the share was left where the time was too short for all of it, and ``at`` is when that was decided.
    """

    rows: int
    kept: int
    share: float
    thresholds: tuple[float, ...] = ()
    part: float = 1.0
    at: int = 0


def untimed(draw: Draw | None) -> Draw | None:
    """A draw whose share stays as it is, however late it is."""
    return draw if draw is None or draw.budget is None else replace(draw, budget=None)


def joined_report(parts: Sequence[DrawReport]) -> DrawReport:
    """What became of a draw of several parts of a window: the rows of all of them, below the least of their places.

    >>> joined_report([DrawReport(10, 4, 0.5, at=7), DrawReport(30, 16, 0.5, at=9)])
    DrawReport(rows=40, kept=20, share=0.5, thresholds=(), part=1.0, at=7)
    """
    return DrawReport(
        sum(one.rows for one in parts),
        sum(one.kept for one in parts),
        min(one.share for one in parts),
        parts[0].thresholds,
        min(one.part for one in parts),
        min(one.at for one in parts),
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of a window's rows, for every rule once."""

    rows: pa.Table
    known: dict[tuple[tuple[str, ...], str], F64] = field(default_factory=dict)

    def of(self, draw: Draw) -> F64:
        rule = (draw.by, draw.salt)
        if rule not in self.known:
            self.known[rule] = places(self.rows, *rule) if draw.by else _places_of_rows(self.rows, draw.salt)
        return self.known[rule]


def drawn_for(
    rows: pa.Table, draws: Mapping[int, Draw | None], now: int = 0
) -> tuple[Bools, I64, dict[int, DrawReport | None]]:
    """The same for several who read a window: which rows somebody keeps, who keeps each of those, and all reports.

    Who keeps a row is a bit for each reader, by the reader's number. Each keeps the rows that ``drawn`` gives it.

    >>> rows = pa.table({"k": ["a", "b", "c", "d"]})
    >>> kept, readers, _reports = drawn_for(rows, {0: None, 1: Draw(0.5, "", ("k",)), 4: Draw(0.9, "", ("k",))})
    >>> kept.tolist(), readers.tolist()
    ([True, True, True, True], [19, 1, 17, 19])
    """
    known, readers = _Places(rows), np.zeros(rows.num_rows, np.int64)
    reports = {}
    for number, draw in draws.items():
        kept, _marks, reports[number] = drawn(rows, draw, now, known)
        readers |= kept.astype(np.int64) << number
    somebody = readers != 0
    return somebody, readers[somebody], reports


def drawn(
    rows: pa.Table, draw: Draw | None, now: int = 0, known: _Places | None = None
) -> tuple[Bools, I64, DrawReport | None]:
    """Which rows of a window are kept, the marks of those, and what became of the draw.

    ``now`` is what budgets are compared with: the monotonic clock. ``known`` keeps places for the next draw.
    """
    count = rows.num_rows
    every = None if draw is None else DrawReport(count, count, 1.0, at=now)
    whole = np.ones(count, np.bool_), np.full(count, ITSELF), every
    if draw is None or (draw.share >= 1.0 and _fits(draw, count, now)):
        return whole
    place = (known or _Places(rows)).of(draw)
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
    if not strata(marks).thinned.any():  # nothing is missing, from whichever window
        return whole[0], whole[1], DrawReport(count, count, 1.0, tuple(thresholds), part, now)
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
