"""Generated rows: the same times as whole numbers of Python give."""

from __future__ import annotations

import pyarrow as pa
import pytest

from punctual.scan.generated import BLOCK_ROWS, read_rate
from punctual.scan.parts import RatePart

YEAR_US = 365 * 86_400_000_000


@pytest.mark.parametrize(
    "part",
    [
        RatePart(0, 10, 0, 3, 1_000_000),
        RatePart(7, 20, 1_335_000_000_000_000, 1_000, 1_000_000),
        RatePart(123_456_789, 123_457_289, -5, 7, 86_400_000_000),
        # Where i * per does not fit 64 bits, though the time does.
        RatePart(10**13, 10**13 + 400, 0, 10**9 + 7, YEAR_US),
        # Where even what is left of it after the first row does not.
        RatePart(10**18, 10**18 + 400, 0, 2**62 + 1, 2**62 - 1),
        RatePart(0, BLOCK_ROWS + 5, 0, 1, 3),
        RatePart(5, 5, 0, 1, 1),
    ],
)
def test_times_and_values_are_exact(part: RatePart) -> None:
    blocks = list(read_rate(part))
    times = [time for block in blocks for time in block.column("ts").view(pa.int64()).to_pylist()]
    values = [value for block in blocks for value in block.column("value").to_pylist()]
    assert values == list(range(part.start, part.end))
    assert times == [part.origin_us + i * part.per_us // part.rows for i in values]
    assert all(block.rows <= BLOCK_ROWS and block.faults is None for block in blocks)
    assert sum(block.rows for block in blocks) == len(values)
    assert all(block.column("ts").type == pa.timestamp("us", tz="UTC") for block in blocks)
