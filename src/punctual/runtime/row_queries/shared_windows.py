"""Windows that several queries of a job read: read once, and sorted once where all of them sort alike.

Such a window is a cached relation of Spark's. Whoever comes first makes its block, the others take it from there; the
block goes when the job ends, so that the next run of the same plan reads again. A query gets its rows in the order in
which it would read them alone, or sorted as its own plan would sort them first of all: so its answer has the same bytes
whether or not others read the window with it.

Samples are shared too. The scan hands on every row that somebody keeps, with a bit for each of those who do, and each
query takes those of its own bit. So a plan stays as it is while shares change from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType

from punctual.own_names import READERS, SAMPLE_MARK
from punctual.plan.row_query import RowWindow
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import WindowTypes
from punctual.runtime.operators.window_rows import WindowOrder, WindowReader
from punctual.runtime.row_queries.window_sorts import WindowSort

MOST_SHARED = 512
"""How many such windows are kept prepared."""
MOST_READERS = 62
"""Of one window whose readers may keep different rows: a bit of a number each."""
FIRST_MARK = 1_000_000
"""Marks of shared windows in plans begin here; those of others are the numbers of windows in a query."""


@dataclass(frozen=True, slots=True)
class WindowUse:
    """A window as queries read it: its rows, its columns and their types, and by what they sort it first."""

    window: RowWindow
    types: WindowTypes
    sort: WindowSort


@dataclass(frozen=True, slots=True)
class SharedUse:
    """A window that is shared, and whether readers may keep different rows of it."""

    use: WindowUse
    drawn: bool


@dataclass(slots=True)
class _Shared:
    """A window that is shared: a frame for each place so far, with the RDD of its blocks, and who reads it."""

    number: int
    frames: dict[int, tuple[DataFrame, Any, Any]] = field(default_factory=dict)
    readers: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of its slots in the order of a job."""
        return f"shared {self.number}"

    @property
    def mark(self) -> int:
        """What plans have for the number of the window."""
        return FIRST_MARK + self.number


@dataclass(frozen=True, slots=True)
class SlotReads:
    """What a slot of a job reads: the number of its query, its place, and its windows with their rows."""

    query: int
    slot: str
    place: int
    uses: Sequence[WindowUse]
    orders: Sequence[WindowOrder]


Reader = tuple[str, int, int]
"""A slot, which of its windows it is, and its number among the readers."""
Shares = Mapping[SharedUse, Mapping[int, Sequence[Reader]]]
"""The windows that a job shares, with those who read them by place."""
Way = tuple[int, int | None]
"""How a query reads a shared window: by its mark, and its number where each reader has rows of its own."""

ReadFrame = Callable[[WindowTypes, str, int, StructType, int], DataFrame]
"""The rows of a slot's window of this number, with the mark that the plan has for it."""


class SharedWindows:
    """Those of one session."""

    def __init__(self, window: ReadFrame) -> None:
        self._window = window
        self._made: dict[SharedUse, _Shared] = {}
        self._marked: dict[int, SharedUse] = {}
        self._number = 0

    def of_job(self, reads: Sequence[SlotReads]) -> dict[SharedUse, dict[int, list[Reader]]]:
        """The windows that a job shares, with their readers by place."""
        found: dict[WindowUse, dict[int, list[tuple[SlotReads, int]]]] = {}
        for one in reads:
            for number, use in enumerate(one.uses):
                found.setdefault(use, {}).setdefault(one.place, []).append((one, number))
        shared = {}
        for use, places in found.items():
            orders = [[one.orders[number] for one, number in several] for several in places.values()]
            alike = all(_undrawn(one) == _undrawn(several[0]) for several in orders for one in several)
            drawn = any(one.draw is not None for several in orders for one in several)
            marked = drawn and any(name == SAMPLE_MARK for name, _kind in use.types.columns)
            queries = {(one.query, number) for several in places.values() for one, number in several}
            if len(queries) > 1 and alike and not marked:
                readers = self._readers(SharedUse(use, drawn), places)
                if readers is not None:
                    shared[SharedUse(use, drawn)] = readers
        return shared

    def of_plan(self, ways: Mapping[str, Sequence[Way | None]], reads: Sequence[SlotReads]) -> Shares | None:
        """The same for a plan that was made before, by slot; None where it does not fit what is read now."""
        shared: dict[SharedUse, dict[int, list[Reader]]] = {}
        orders: dict[tuple[SharedUse, int], WindowOrder] = {}
        for one in reads:
            for number, (way, order) in enumerate(zip(ways[one.slot], one.orders)):
                if way is None:
                    continue
                use = self._marked[way[0]]
                first = orders.setdefault((use, one.place), order)
                if _undrawn(first) != _undrawn(order) or (order.draw is not None and not use.drawn):
                    return None
                shared.setdefault(use, {}).setdefault(one.place, []).append((one.slot, number, way[1] or 0))
        return shared

    def _readers(
        self, shared: SharedUse, places: Mapping[int, Sequence[tuple[SlotReads, int]]]
    ) -> dict[int, list[Reader]] | None:
        """Everybody's number, which stays the same from job to job; None where there are too many."""
        numbers = self._shared(shared).readers
        asked = dict.fromkeys((one.query, number) for several in places.values() for one, number in several)
        if shared.drawn and len(asked) > MOST_READERS:
            return None
        if shared.drawn and len(numbers.keys() | asked.keys()) > MOST_READERS:
            numbers.clear()
        numbers |= {one: len(numbers) + place for place, one in enumerate(one for one in asked if one not in numbers)}
        return {
            place: [(one.slot, number, numbers[one.query, number]) for one, number in several]
            for place, several in places.items()
        }

    def slots(
        self, shared: Shares, windows: Mapping[str, Sequence[WindowOrder]]
    ) -> dict[str, tuple[list[WindowOrder], int]]:
        """What the order of the job says of them: each is a slot of its own, of one window and no answer.

        ``windows`` are those of the slots that are asked.
        """
        slots = {}
        for use, places in shared.items():
            for place, readers in places.items():
                orders = [windows[slot][window] for slot, window, _number in readers]
                drawn = [
                    WindowReader(slot, window, number, order.draw)
                    for (slot, window, number), order in zip(readers, orders)
                ]
                order = replace(orders[0], draw=None, readers=tuple(drawn) if use.drawn else ())
                slots[f"{self._shared(use).name}.{place}"] = ([order], 0)
        return slots

    def ways(self, shared: Shares) -> dict[tuple[str, int], Way]:
        """How those who share windows read them, by slot and window."""
        return {
            (slot, window): (self._shared(use).mark, reader if use.drawn else None)
            for use, places in shared.items()
            for readers in places.values()
            for slot, window, reader in readers
        }

    def frame(self, way: Way, place: int, schema: StructType) -> DataFrame:
        """The rows that a reader takes of a shared window at a place."""
        mark, reader = way
        shared = self._marked[mark]
        made = self._shared(shared)
        if place not in made.frames:
            made.frames[place] = self._cached(shared, place, schema)
        rows = made.frames[place][0]
        if reader is None:
            return rows
        return rows.filter(f.col(quoted(READERS)).bitwiseAND(f.lit(1 << reader)) != 0).drop(READERS)

    def _cached(self, shared: SharedUse, place: int, schema: StructType) -> tuple[DataFrame, Any, Any]:
        use, made = shared.use, self._shared(shared)
        types = use.types
        if shared.drawn:
            types = replace(types, columns=(*types.columns, (READERS, pa.int64())))
            schema = StructType([*schema.fields, StructField(READERS, LongType())])
        rows = self._window(types, f"{made.name}.{place}", 0, schema, made.mark)
        if use.sort:
            rows = rows.sortWithinPartitions(*(_sorted(*one) for one in use.sort))
        rows = rows.persist()
        builder = rows._jdf.queryExecution().withCachedData().cacheBuilder()
        return rows, builder.cachedColumnBuffers(), builder.storageLevel()

    def release(self, shared: Iterable[SharedUse]) -> None:
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
        self._marked.clear()

    def _shared(self, use: SharedUse) -> _Shared:
        if use not in self._made:
            self._number += 1
            self._made[use] = made = _Shared(self._number)
            self._marked[made.mark] = use
        return self._made[use]


def _undrawn(order: WindowOrder) -> WindowOrder:
    """What must be the same for those who share a window: all but which rows of it each keeps."""
    return order if order.draw is None else replace(order, draw=None)


def _sorted(name: str, descending: bool, nulls_first: bool) -> Any:
    column = f.col(quoted(name))
    if descending:
        return column.desc_nulls_first() if nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if nulls_first else column.asc_nulls_last()
