"""From the slices of a tick to a work order: every stream's parts, dealt out to as many tasks as are worth it.

Parts are cut by bytes, so how many there are and which rows each has does not depend on the machine; only how many
tasks share them does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from punctual.runtime.backend import SliceWork
from punctual.runtime.operators.order import Order, StreamOrder
from punctual.scan.parts import Part, Weighed

BYTES_PER_TASK = 4 << 20
"""Less than this is not worth a task more: a task costs some ten milliseconds."""


def work_order(works: Sequence[SliceWork], parts: Mapping[str, Weighed], incoming: str | None, slots: int) -> Order:
    """The order for these parts by stream; at most ``slots`` tasks, each with about as many bytes."""
    sizes = [(stream, part, size) for stream, several in parts.items() for part, size in several]
    whole = sum(size for _stream, _part, size in sizes)
    count = max(1, min(slots, len(sizes), -(-whole // BYTES_PER_TASK)))
    tasks: list[dict[str, list[Part]]] = [{} for _ in range(count)]
    loads = [0] * count
    # The largest first, each to whoever has least: nobody waits long for another.
    for stream, part, size in sorted(sizes, key=lambda one: -one[2]):
        task = loads.index(min(loads))
        tasks[task].setdefault(stream, []).append(part)
        loads[task] += size
    streams = {
        work.stream: StreamOrder(work.earliest, work.horizon, work.complete_through, work.tops, work.share)
        for work in works
    }
    dealt = tuple({stream: tuple(several) for stream, several in task.items()} for task in tasks)
    return Order(incoming, streams, dealt)
