"""A slot order: which rows every slot of a job reads. All that changes from run to run of a prepared plan.

A slot is a row query at one instant. Its windows are read by operators that travel with the plan and know their slot by
name; the order travels with the job, like that of a tick. Windows that overlap name the same files, so files are
listed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import msgspec
from pyspark import TaskContext

from punctual.errors import InternalError
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder

ROWS_PROPERTY = "punctual.rows"


class SlotWindow(msgspec.Struct, frozen=True, array_like=True):
    """A window by the numbers of its files; ``order`` is all the rest of it."""

    files: tuple[int, ...]
    order: WindowOrder


class Slot(msgspec.Struct, frozen=True, array_like=True):
    """The windows of a query at an instant, and how many rows its answer may have."""

    windows: tuple[SlotWindow, ...]
    max_rows: int


class SlotOrder(msgspec.Struct, frozen=True):
    """Slots by name. One that is not there is not asked: it reads nothing and yields nothing."""

    files: tuple[RetainedFile, ...]
    slots: dict[str, Slot]

    def window(self, slot: str, number: int) -> WindowOrder | None:
        """A window of a slot, None where the slot is not asked."""
        if slot not in self.slots:
            return None
        found = self.slots[slot].windows[number]
        files = tuple(self.files[place] for place in found.files)
        return replace(found.order, files=files)


_ORDERS: msgspec.json.Decoder[SlotOrder] = msgspec.json.Decoder(SlotOrder)


def slot_order(slots: Mapping[str, tuple[Sequence[WindowOrder], int]]) -> SlotOrder:
    """The order for windows and greatest numbers of rows by slot."""
    places: dict[RetainedFile, int] = {}

    def window(order: WindowOrder) -> SlotWindow:
        files = tuple(places.setdefault(file, len(places)) for file in order.files)
        return SlotWindow(files, replace(order, files=()))

    dealt = {name: Slot(tuple(map(window, windows)), most) for name, (windows, most) in slots.items()}
    return SlotOrder(tuple(places), dealt)


def written(order: SlotOrder) -> str:
    """The order as text."""
    return msgspec.json.encode(order).decode()


@lru_cache(maxsize=1)
def read(text: str) -> SlotOrder:
    """The order that a text says."""
    return _ORDERS.decode(text)


def current_slot_order() -> SlotOrder:
    """The order of the job that this worker works for."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(ROWS_PROPERTY)
    if text is None:
        raise InternalError("a task has no slot order")
    return read(text)
