"""Windows that several queries of a job read: read once, and sorted once where all of them sort alike.

Such a window is a cached relation of Spark's. Whoever comes first makes its block, the others take it from there; the
block goes when the job ends, so that the next run of the same plan reads again. A query gets its rows in the order in
which it would read them alone, or sorted as its own plan would sort them first of all: so its answer has the same bytes
whether or not others read the window with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from punctual.plan.row_query import RowWindow
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import WindowTypes
from punctual.runtime.operators.window_rows import WindowOrder
from punctual.runtime.row_queries.window_sorts import WindowSort

MOST_SHARED = 512
"""How many such windows are kept prepared."""
FIRST_MARK = 1_000_000
"""Marks of shared windows in plans begin here; those of others are the numbers of windows in a query."""


@dataclass(frozen=True, slots=True)
class WindowUse:
    """A window as queries read it: its rows, its columns and their types, and by what they sort it first."""

    window: RowWindow
    types: WindowTypes
    sort: WindowSort


@dataclass(slots=True)
class _Shared:
    """A window that is shared: a frame for each place so far, with the RDD of its blocks."""

    number: int
    frames: dict[int, tuple[DataFrame, Any, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of its slots in the order of a job."""
        return f"shared {self.number}"


Reads = Sequence[tuple[int, Sequence[WindowUse], Sequence[WindowOrder]]]
"""For each slot of a job its place, its windows as its query uses them, and the rows of each."""


ReadFrame = Callable[[WindowTypes, str, int, StructType, int], DataFrame]
"""The rows of a slot's window of this number, with the mark that the plan has for it."""


class SharedWindows:
    """Those of one session."""

    def __init__(self, window: ReadFrame) -> None:
        self._window = window
        self._made: dict[WindowUse, _Shared] = {}
        self._number = 0

    def of_job(self, reads: Reads, queries: Iterable[Sequence[WindowUse]]) -> dict[WindowUse, dict[int, WindowOrder]]:
        """The windows that a job of these queries shares, with their rows by place."""
        readers: dict[WindowUse, int] = {}
        for uses in queries:
            for use in uses:
                readers[use] = readers.get(use, 0) + 1
        found: dict[WindowUse, dict[int, WindowOrder]] = {use: {} for use, many in readers.items() if many > 1}
        for place, uses, orders in reads:
            for use, order in zip(uses, orders):
                # Windows of one instant have the same rows; where they have not, nobody shares them. Nor are samples
                # shared: each query is told what became of its own.
                if use in found and (order.draw is not None or found[use].setdefault(place, order) != order):
                    del found[use]
        return found

    def slots(self, shared: Mapping[WindowUse, Mapping[int, WindowOrder]]) -> dict[str, tuple[list[WindowOrder], int]]:
        """What the order of the job says of them: each is a slot of its own, of one window and no answer."""
        return {
            f"{self._shared(use).name}.{place}": ([order], 0)
            for use, orders in shared.items()
            for place, order in orders.items()
        }

    def mark(self, use: WindowUse) -> int:
        """The number that plans have for it."""
        return FIRST_MARK + self._shared(use).number

    def frame(self, use: WindowUse, place: int, schema: StructType) -> DataFrame:
        """The rows of a shared window at a place."""
        shared = self._shared(use)
        if place not in shared.frames:
            rows = self._window(use.types, f"{shared.name}.{place}", 0, schema, FIRST_MARK + shared.number)
            if use.sort:
                rows = rows.sortWithinPartitions(*(_sorted(*one) for one in use.sort))
            rows = rows.persist()
            builder = rows._jdf.queryExecution().withCachedData().cacheBuilder()
            shared.frames[place] = (rows, builder.cachedColumnBuffers(), builder.storageLevel())
        return shared.frames[place][0]

    def release(self, shared: Iterable[WindowUse]) -> None:
        """Drop the rows of these; their frames stay, and are read again when they are next needed."""
        for use in shared:
            for _frame, blocks, level in self._made[use].frames.values():
                blocks.unpersist(True)
                blocks.persist(level)

    @property
    def too_many(self) -> bool:
        """Whether it is time to begin anew."""
        return sum(len(shared.frames) for shared in self._made.values()) > MOST_SHARED

    def clear(self) -> None:
        """Forget all of them; whoever made plans of them forgets those."""
        for shared in self._made.values():
            for frame, _blocks, _level in shared.frames.values():
                with suppress(Py4JError):
                    frame.unpersist()
        self._made.clear()

    def _shared(self, use: WindowUse) -> _Shared:
        if use not in self._made:
            self._number += 1
            self._made[use] = _Shared(self._number)
        return self._made[use]


def _sorted(name: str, descending: bool, nulls_first: bool) -> Any:
    column = f.col(quoted(name))
    if descending:
        return column.desc_nulls_first() if nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if nulls_first else column.asc_nulls_last()
