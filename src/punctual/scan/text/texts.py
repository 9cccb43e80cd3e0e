"""Many texts in one buffer: stretches of its bytes, some of them absent, and Arrow arrays of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.text.gather import gather_bytes, offsets_of


class Texts:
    """Each is ``lengths[i]`` bytes (UTF-8) of ``data`` from ``starts[i]``, or absent where ``valid`` is false."""

    __slots__ = ("data", "lengths", "starts", "valid")

    def __init__(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64] | NDArray[np.int32],
        valid: NDArray[np.bool_],
    ) -> None:
        self.data = np.ascontiguousarray(data, np.uint8)
        self.starts = np.ascontiguousarray(starts, np.int64)
        self.lengths = np.ascontiguousarray(lengths, np.int32)
        self.valid = np.ascontiguousarray(valid, np.bool_)

    @property
    def size(self) -> int:
        return int(self.starts.size)

    @property
    def all(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
        """What kernels take."""
        return self.data, self.starts, self.lengths, self.valid

    def text(self, row: int) -> str | None:
        """One of them."""
        if not self.valid[row]:
            return None
        start = int(self.starts[row])
        return self.data[start : start + int(self.lengths[row])].tobytes().decode()

    def some(self, rows: NDArray[np.int64]) -> Texts:
        """A few of them."""
        return Texts(self.data, self.starts[rows], self.lengths[rows], self.valid[rows])

    def array(self, kind: pa.DataType) -> pa.Array:
        """Them as an array of strings or of bytes."""
        offsets = np.empty(self.size + 1, np.int32)
        absent = offsets_of(self.lengths, self.valid, offsets)
        gathered = np.empty(int(offsets[-1]), np.uint8)
        gather_bytes(self.data, self.starts, offsets, gathered)
        bits = validity(self.valid) if absent else None
        return pa.Array.from_buffers(kind, self.size, [bits, pa.py_buffer(offsets), pa.py_buffer(gathered)], absent)


def fixed_array(kind: pa.DataType, values: NDArray[np.generic], valid: NDArray[np.bool_]) -> pa.Array:
    """Values of one width as an array, NULL where they are not valid."""
    absent = int(valid.size - np.count_nonzero(valid))
    bits = validity(valid) if absent else None
    return pa.Array.from_buffers(kind, int(valid.size), [bits, pa.py_buffer(np.ascontiguousarray(values))], absent)


def validity(valid: NDArray[np.bool_]) -> pa.Buffer:
    """Arrow's bitmap of what is there."""
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
