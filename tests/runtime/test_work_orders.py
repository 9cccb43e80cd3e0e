"""Work orders: every part is read by exactly one task, and tasks are only as many as are worth it."""

from __future__ import annotations

import random

import pytest

from punctual.runtime.operators.order import read, written
from punctual.runtime.work_orders import BYTES_PER_TASK, work_order
from punctual.scan.parts import CsvPart, JsonPart, ParquetPart, Part, RatePart


def some_part(number: int) -> Part:
    return [
        JsonPart(f"/a/{number}.json", 0, 5),
        CsvPart(f"/a/{number}.csv", 5, 9, 3, (0, None, 2)),
        ParquetPart(f"/a/{number}.parquet", 0, 2, ("t", None)),
        RatePart(number, number + 1, 2**60, 3, 1_000_000),
    ][number % 4]


@pytest.mark.parametrize("seed", range(20))
def test_each_part_is_read_once(seed: int) -> None:
    rng = random.Random(seed)
    parts = {
        name: [(some_part(100 * place + n), rng.choice([1, BYTES_PER_TASK // 2, 3 * BYTES_PER_TASK])) for n in range(9)]
        for place, name in enumerate(["s", "t"][: rng.randint(1, 2)])
    }
    slots = rng.randint(1, 5)
    order = work_order([], parts, "/incoming", slots)
    dealt = [(name, part) for task in order.tasks for name, several in task.items() for part in several]
    given = [(name, part) for name, several in parts.items() for part, _size in several]
    assert len(dealt) == len(given)
    assert set(dealt) == set(given)
    assert 1 <= len(order.tasks) <= slots
    assert read(written(order)) == order, "an order travels as text"


def test_little_work_is_one_task() -> None:
    few = [(some_part(n), 1_000) for n in range(50)]
    assert len(work_order([], {"s": few}, None, 8).tasks) == 1
    assert len(work_order([], {"s": [(part, BYTES_PER_TASK) for part, _size in few]}, None, 8).tasks) == 8
    assert len(work_order([], {}, None, 8).tasks) == 1
