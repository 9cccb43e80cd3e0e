"""Generated rows, evenly spaced in time: row i has value i and time ``origin + i * per // rows``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.scan.arrow_block import ArrowBlock
from punctual.scan.block import Block
from punctual.scan.parts import RatePart
from punctual.scan.sieve import Sieve

BLOCK_ROWS = 250_000
_MOST = 2**63


def read_rate(part: RatePart, sieve: Sieve | None = None) -> Iterator[Block]:
    """The rows of a part, in order: columns ``ts`` TIMESTAMP and ``value`` BIGINT.

    >>> [block] = read_rate(RatePart(1, 4, 10, 3, 1_000_000))
    >>> block.column("value").to_pylist(), block.column("ts").view(pa.int64()).to_pylist()
    ([1, 2, 3], [333343, 666676, 1000010])
    """
    for start in range(part.start, part.end, BLOCK_ROWS):
        columns = _columns(part, start, min(part.end, start + BLOCK_ROWS))
        block = ArrowBlock(len(columns["value"]), columns.__getitem__)
        yield block if sieve is None else sieve.numbered(block, start)


def _columns(part: RatePart, start: int, end: int) -> dict[str, pa.Array]:
    return {
        "ts": pa.array(_times(part, start, end)).view(pa.timestamp("us", tz="UTC")),
        "value": pa.array(np.arange(start, end, dtype=np.int64)),
    }


def _times(part: RatePart, start: int, end: int) -> NDArray[np.int64]:
    """Exact times, though ``i * per`` may not fit 64 bits: they are counted from the first row."""
    whole, rest = divmod(start * part.per_us, part.rows)
    step, extra = divmod(part.per_us, part.rows)
    count = end - start
    if rest + count * extra < _MOST:
        numbers = np.arange(count, dtype=np.int64)
        return part.origin_us + whole + numbers * step + (rest + numbers * extra) // part.rows
    times = (part.origin_us + number * part.per_us // part.rows for number in range(start, end))
    return np.fromiter(times, np.int64, count)
