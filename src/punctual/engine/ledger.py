"""The ledger while a program runs: records are kept in memory for a while, then sealed as a file of the state.

A batch is recorded once it is committed and an answer once it is in the log, so nothing is recorded twice. What was not
sealed when a process was killed is lost: the ledger may lack answers of its last minute, and never has one too many.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import SECOND, Clock, Micros, process_us
from punctual.engine.answers.pass_spent import PassSpent
from punctual.engine.shedding import ShedRecord
from punctual.estimate.spent import BatchSpent
from punctual.ports.answers import Answers
from punctual.runtime.core_time import CoreTime
from punctual.schedule.qos.fairness import jain
from punctual.store.ledger import SCHEMA, LedgerFiles

SEAL_US: Micros = 60 * SECOND
"""Records wait so long to be sealed, at most."""
MOST_RECORDS = 100_000
"""So many do not wait."""
COLUMNS = ("at", "number", "kept", "quality", "released", "deadline", "answered", "on_time")
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TickRecord:
    """A batch that was committed. ``load`` is the core time of all processes by wall time and core.

    ``level`` is the quality that was decided last for all queries that may give way; ``fairness`` is Jain's index of
    the last qualities of such queries that were answered since the batch before, 1 where they are equal.
    """

    recorded: Micros
    spent: BatchSpent
    seconds: float | None
    load: float | None
    lag_us: Micros | None
    level: float | None = None
    fairness: float | None = None


@dataclass(frozen=True, slots=True)
class _Shed:
    recorded: Micros
    shed: ShedRecord


@dataclass(frozen=True, slots=True, eq=False)
class _Firings:
    """Answers of one group of blocks: ``columns`` are theirs, ``spent`` has used, predicted and high, and the level."""

    recorded: Micros
    columns: pa.Table
    queries: Sequence[str]
    counts: Sequence[int]
    spent: Sequence[F64]


class Ledger:
    """Belongs to the loop. ``timed`` says whether time counts: not in a replay at full speed."""

    def __init__(
        self, files: LedgerFiles, clock: Clock, keep_us: Micros, core_time: CoreTime, cores: int, *, timed: bool
    ) -> None:
        self._files = files
        self._clock = clock
        self.keep_us = keep_us
        self._core_time = core_time
        self._cores = cores
        self._timed = timed
        self._waiting: list[TickRecord | _Firings | _Shed] = []
        self._qualities: dict[str, float] = {}
        """By query that may give way, of its last answer since the last batch."""
        self._records = 0
        self._since = clock.monotonic()
        self._last: tuple[Micros, float] | None = None
        """When the last batch was committed, and all core time until then."""

    def tick(self, spent: BatchSpent, lag_us: Micros, level: float | None = None) -> TickRecord:
        """A batch is committed; ``level`` is what was decided last for queries that may give way."""
        steady, used = self._clock.monotonic(), process_us() + self._core_time.total_us()
        seconds = load = None
        if self._last is not None and steady > self._last[0]:
            seconds = (steady - self._last[0]) / SECOND
            load = max(0.0, used - self._last[1]) / (steady - self._last[0]) / self._cores
        self._last = steady, used
        fairness = jain(list(self._qualities.values())) if any(self._qualities.values()) else None
        self._qualities = {}
        record = TickRecord(self._clock.now(), spent, seconds, load, lag_us if self._timed else None, level, fairness)
        self._add(record, 1)
        return record

    def shed(self, shed: ShedRecord) -> None:
        """Something gives way from now on, or no longer."""
        self._add(_Shed(self._clock.now(), shed), 1)

    def answered(self, answers: Answers, spent: PassSpent, may_give_way: Collection[str] = ()) -> None:
        """Answers are in the log; of these queries the quality may differ."""
        recorded = self._clock.now()
        for group in answers.groups:
            places = spent.of(group.queries, group.counts)
            own = [column[places] for column in (spent.used_us, spent.predicted_us, spent.high_us, spent.level)]
            columns = group.table.select(COLUMNS)
            if may_give_way:
                qualities = columns.column("quality").take(pa.array(np.cumsum(group.counts) - 1)).to_pylist()
                self._qualities |= {n: quality for n, quality in zip(group.queries, qualities) if n in may_give_way}
            self._add(_Firings(recorded, columns, group.queries, group.counts, own), columns.num_rows)

    def _add(self, record: TickRecord | _Firings | _Shed, size: int) -> None:
        if not self._waiting:
            self._since = self._clock.monotonic()
        self._waiting.append(record)
        self._records += size

    def keep_up(self, *, now: bool = False) -> None:
        """Now and then: seal what has waited long enough, and forget what is old."""
        if not self._records:
            return
        if now or self._records >= MOST_RECORDS or self._clock.monotonic() - self._since >= SEAL_US:
            self._files.seal(self.unsealed(), self._waiting[-1].recorded)
            self._waiting, self._records = [], 0
            self._files.trim(self._clock.now() - self.keep_us)

    def unsealed(self) -> pa.Table:
        """The records that are in no file yet, in order."""
        tables: list[pa.Table] = []
        ticks: list[TickRecord] = []
        for one in self._waiting:
            if isinstance(one, TickRecord):
                ticks.append(one)
                continue
            other = _firings_table(one) if isinstance(one, _Firings) else _shed_table(one)
            tables += [_ticks_table(ticks), other]
            ticks = []
        return pa.concat_tables([*tables, _ticks_table(ticks)]).combine_chunks()


def _shed_table(one: _Shed) -> pa.Table:
    shed = one.shed
    return _table({
        "record": pa.array(["shedding"]),
        "recorded": pa.array([one.recorded], pa.int64()),
        "stream": pa.array([shed.stream], pa.string()),
        "level": pa.array([shed.level], pa.float64()),
        "share": pa.array([shed.share], pa.float64()),
        "why": pa.array([shed.why]),
    }, 1)  # fmt: skip


def _ticks_table(ticks: Sequence[TickRecord]) -> pa.Table:
    return _table({
        "record": pa.repeat("tick", len(ticks)),
        "recorded": pa.array([one.recorded for one in ticks], pa.int64()),
        "batch": pa.array([one.spent.batch for one in ticks], pa.int64()),
        "rows": pa.array([one.spent.rows for one in ticks], pa.int64()),
        "shed_rows": pa.array([one.spent.shed for one in ticks], pa.int64()),
        "bytes": pa.array([one.spent.bytes for one in ticks], pa.int64()),
        "seconds": pa.array([one.seconds for one in ticks], pa.float64()),
        "load": pa.array([one.load for one in ticks], pa.float64()),
        "lag_seconds": _thousandths([one.lag_us for one in ticks], 1_000_000),
        "level": pa.array([one.level for one in ticks], pa.float64()),
        "fairness": pa.array([one.fairness for one in ticks], pa.float64()),
        "predicted_ms": _thousandths([one.spent.predicted_us for one in ticks]),
        "high_ms": _thousandths([one.spent.high_us for one in ticks]),
        "used_ms": _thousandths([one.spent.used_us for one in ticks]),
    }, len(ticks))  # fmt: skip


def _firings_table(firings: _Firings) -> pa.Table:
    size = firings.columns.num_rows
    given = {name: firings.columns.column(name).combine_chunks() for name in COLUMNS}
    used, predicted, high, level = (pa.array(column, from_pandas=True) for column in firings.spent)  # NaN is null
    slack_us = pc.subtract(given["deadline"], given["answered"])
    return _table({
        **given,
        "record": pa.repeat("firing", size),
        "recorded": pa.repeat(firings.recorded, size),
        "query": pa.array(np.repeat(np.array(firings.queries, np.object_), firings.counts), pa.string()),
        "level": level,
        "predicted_ms": pc.divide(predicted, 1_000.0),
        "high_ms": pc.divide(high, 1_000.0),
        "used_ms": pc.divide(used, 1_000.0),
        "slack_seconds": pc.divide(slack_us.cast(pa.float64(), safe=False), float(SECOND)),
    }, size)  # fmt: skip


def _thousandths(values: Sequence[float | None], by: int = 1_000) -> pa.Array:
    return pa.array([None if value is None else value / by for value in values], pa.float64())


def _table(columns: dict[str, pa.Array], size: int) -> pa.Table:
    """The columns as the ledger has them, and nothing in the others."""
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(size, field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
