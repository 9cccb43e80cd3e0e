"""Which samples a query's windows are answered from, and how answers name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros, iso
from punctual.estimate.quality_curve import input_shares
from punctual.kernel.sample.draw import Draw
from punctual.kernel.sample.marks import rounded
from punctual.kinds.drawn_sample import DrawnSample
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import AggregatedRows, RowReader
from punctual.runtime.backend import Draws, RowWork


def is_sampled(reader: RowReader) -> bool:
    """Whether the rows of its windows may be samples."""
    if isinstance(reader.statement, AggregatedRows):
        return reader.statement.unit.sampled
    return reader.statement.sampling is not None and reader.statement.sampling.why_not is None


def with_draws(
    reader: RowReader, works: Sequence[RowWork], setting: float | None, *, timed: bool = False
) -> list[RowWork]:
    """The same works over the share of rows that was decided; None: over all of them.

    Where they are ``timed`` a scan may lower the share, so there is a draw even of all rows.
    """
    share = 1.0 if setting is None else setting
    if not is_sampled(reader) or (share >= 1.0 and not timed):
        return list(works)
    return [
        replace(work, windows=tuple(
            replace(window, draw=draw) for window, draw in zip(work.windows, draws_of(reader, share, work.at))
        ))
        for work in works
    ]  # fmt: skip


def samples(
    works: Sequence[RowWork], found: Sequence[Draws], reader: RowReader
) -> list[tuple[DrawnSample, ...]] | None:
    """The samples of each answer; None where there are none."""
    drawn = any(window.draw is not None and window.draw.share < 1.0 for work in works for window in work.windows)
    if not drawn and all(one.share >= 1.0 for draws in found for one in draws.values()):
        return None
    return [_of_work(reader, work, draws) for work, draws in zip(works, found)]


def used_shares(setting: float | None, found: Sequence[Draws]) -> NDArray[np.float64] | None:
    """The share of its input that each answer rests on: what was decided, less what scans left out for want of time.

    Of a join the least of its windows counts. None where nothing was decided and nothing left out.
    """
    used = np.array([_used_share(1.0 if setting is None else min(1.0, setting), draws) for draws in found])
    return None if setting is None and not (used < 1.0).any() else used


def _used_share(decided: float, draws: Draws) -> float:
    """That of one answer; all of it where so few rows are in its windows that none was left out."""
    if draws and all(one.share >= 1.0 for one in draws.values()):
        return 1.0
    return decided * min((one.part for one in draws.values()), default=1.0)


def draws_of(reader: RowReader, setting: float, at: Micros) -> list[Draw]:
    """The draw of each window.

    Rows by themselves: the same rows of a stream in all windows that they are in. By key: the same share of all
    windows, so that rows that match stay together, and other keys at each instant.
    """
    assert reader.query.quality is not None, "only queries with QUALITY are sampled"
    rows, own = reader.statement, input_shares(reader.query.quality, setting)
    if by := _keys(reader):
        return [Draw(rounded(setting), iso(at), columns, number=n) for n, columns in enumerate(by)]
    if isinstance(rows, RowStatement):
        (window,), (name,) = rows.windows, rows.names
        return [Draw(rounded(own.get(name.lower(), setting)), window.stream.lower())]
    called = [one.name.lower() or one.stream.lower() for one in reader.query.inputs]
    return [
        Draw(rounded(own.get(name.lower() if rows.names else alone, setting)), name.lower(), (), certain, number)
        for number, (name, alone, certain) in enumerate(zip(_names(reader), called, rows.summed))
    ]


def _keys(reader: RowReader) -> tuple[tuple[str, ...], ...]:
    """The columns by which the samples of all windows are drawn together; none where rows are drawn by themselves."""
    if isinstance(reader.statement, AggregatedRows):
        return reader.statement.by
    return () if reader.statement.sampling is None else reader.statement.sampling.by


def _names(reader: RowReader) -> Sequence[str]:
    """What answers call the windows: as FROM does, where it has not aggregates of one stream."""
    return reader.statement.names or [window.stream for window in reader.windows]


def _of_work(reader: RowReader, work: RowWork, draws: Draws) -> tuple[DrawnSample, ...]:
    found = []
    # Rows that match are drawn by one key, so where scans were cut apart what is left is the least of their shares.
    by_key = [draws[n].share for n, order in enumerate(work.windows) if n in draws and order.draw and order.draw.by]
    for number, (name, order) in enumerate(zip(_names(reader), work.windows)):
        draw = order.draw
        assert draw is not None, "all windows of a query are sampled, or none is"
        report = draws.get(number)
        share = draw.share if report is None else report.share
        share = min([share, *by_key]) if draw.by else share
        thresholds = () if report is None else report.thresholds
        certain = {name: value for name, value in zip(draw.certain, thresholds) if value != float("inf")}
        found.append(DrawnSample(name, share, draw.salt, draw.by, certain))
    return tuple(found)
