"""What a job's output row says, and that a worker keeps nothing of it."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from punctual.store.products import Cells, Produced, from_ipc, output, outputs, to_ipc

CELLS = Cells("unit")


@pytest.mark.parametrize("data", [None, b"", b"\x00 bytes", "a/path"])
def test_a_row_says_what_was_produced(data: bytes | str | None) -> None:
    (found,) = outputs(pa.Table.from_batches([output(Produced(CELLS, 3, data))]))
    assert (found.product, found.rows, found.data) == (CELLS, 3, data)


def test_a_table_goes_through_a_row() -> None:
    table = pa.table({"x": [1, None, 3]})
    (found,) = outputs(pa.Table.from_batches([output(Produced(CELLS, 3, to_ipc(table)))]))
    assert from_ipc(found.data) == table


def test_nothing_of_a_row_is_kept() -> None:
    """A worker makes one such row after the other for as long as it lives."""
    table = pa.table({"x": pa.array(range(100_000))})
    gc.collect()
    before = pa.total_allocated_bytes()
    for _turn in range(10):
        output(Produced(CELLS, table.num_rows, to_ipc(table)))
    gc.collect()
    assert pa.total_allocated_bytes() - before < table.nbytes  # less than one of them
