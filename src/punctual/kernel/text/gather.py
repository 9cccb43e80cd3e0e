"""Stretches of bytes, one after the other: the values of an array of strings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.text.numbers import Bytes, Lengths, Starts, Valid


@compiled
def offsets_of(lengths: Lengths, valid: Valid, offsets: NDArray[np.int32]) -> int:
    """Where each begins and the last ends; absent ones have no bytes. How many are absent."""
    total, absent = np.int32(0), 0
    offsets[0] = 0
    for row in range(lengths.size):
        if valid[row]:
            total += lengths[row]
        else:
            absent += 1
        offsets[row + 1] = total
    return absent


@compiled
def gather_bytes(data: Bytes, starts: Starts, offsets: NDArray[np.int32], gathered: Bytes) -> None:
    """Copy them; how long each is, its offsets say."""
    for row in range(starts.size):
        at = starts[row] - offsets[row]
        for place in range(offsets[row], offsets[row + 1]):
            gathered[place] = data[at + place]
