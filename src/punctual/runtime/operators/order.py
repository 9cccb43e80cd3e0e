"""A work order: what one tick reads and within which limits. All that changes from tick to tick, and nothing else.

The operators of a program travel to Spark's workers once, in the job's plan; an order travels with every job, as a
local property of the thread that runs it. So the plan of a program is made once and run again with other work.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from pyspark import TaskContext

from punctual.errors import InternalError
from punctual.kernel.sample.marks import SHARES
from punctual.scan.parts import Part
from punctual.scan.sieve import Sieve

PROPERTY = "punctual.order"


class StreamOrder(msgspec.Struct, frozen=True):
    """Which event times of a stream count: from ``earliest`` through ``horizon``, after ``complete_through``.

    ``tops`` asks for the greatest event time of each origin; ``share`` is how much of the rows is read, in
    ten-thousandths.
    """

    earliest: int
    horizon: int
    complete_through: int
    tops: bool = False
    share: int = SHARES

    def sieve(self, stream: str) -> Sieve | None:
        """What keeps that share; None where every row is read."""
        return Sieve(stream, self.share) if self.share < SHARES else None


class Order(msgspec.Struct, frozen=True):
    """What every task reads, by stream, and where it writes what is large."""

    incoming: str | None
    streams: dict[str, StreamOrder]
    tasks: tuple[dict[str, tuple[Part, ...]], ...]

    def parts(self, task: int, stream: str) -> tuple[Part, ...]:
        """What a task reads of a stream."""
        return self.tasks[task].get(stream, ())


_ORDERS: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def written(order: Order) -> str:
    """The order as text."""
    return msgspec.json.encode(order).decode()


@lru_cache(maxsize=1)
def read(text: str) -> Order:
    """The order that a text says."""
    return _ORDERS.decode(text)


def current_order() -> Order:
    """The order of the job that this worker works for."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    if text is None:
        raise InternalError("a task has no work order")
    return read(text)
