"""What a row stands for, as its mark: one of many where its stream is shed at ingest, itself where it is not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from punctual.kernel.sample.draw import ITSELF
from punctual.kernel.sample.marks import SHARES, share_marks
from punctual.own_names import BATCH_MARK, SAMPLE_MARK
from punctual.scan.block import Block

MARKS = (SAMPLE_MARK, BATCH_MARK)
"""Columns of marks: with the part of the sample that each row is in, and without."""


def marks_of(block: Block, share: int, name: str) -> pa.Array:
    """A column of marks of a block's rows, of which a share in ten-thousandths was read."""
    if block.sifted is None:
        return pa.repeat(pa.scalar(ITSELF, pa.int64()), block.rows)
    if name == SAMPLE_MARK:
        return pa.array(share_marks(block.sifted.places, share / SHARES))
    (first,) = share_marks(np.zeros(1), share / SHARES)
    return pa.repeat(pa.scalar(int(first), pa.int64()), block.rows)
