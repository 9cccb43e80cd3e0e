"""What queries of one pass have in common over worlds: rows made ready, draws, groups, and what is said of them.

Whatever is kept follows from its name alone: the rows, laws and expressions that it is made of, and its rounds. So it
does not show in an answer whether another query has made it before. What would be too much is not kept.

Rows are named by where they lie in memory if whatever has that name keeps them there, and by a digest elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

T = TypeVar("T")
MOST_BYTES = 128 << 20
"""Of what is kept in one pass."""


class SharedWorlds:
    """What was made in a pass, by name."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._made: dict[Hashable, object] = {}
        self._left = most_bytes
        self.found = 0
        """How often something was there already."""

    def has(self, name: Hashable | None) -> bool:
        """Whether that was made."""
        return name in self._made

    def of(self, name: Hashable | None, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What has this name; without one it is made for this query alone."""
        if name is None:
            return make()
        known = self._made.get(name)
        if known is not None:
            self.found += 1
            return known  # type: ignore[return-value]
        made = make()
        if size(made) <= self._left:
            self._left -= size(made)
            self._made[name] = made
        return made


def place(column: pa.Array) -> Hashable:
    """Where a column lies: as long as something holds it, nothing else is there.

    >>> one, other = pa.array([1, 2, 3]), pa.array([1, 2, 3])
    >>> [place(one) == place(array) for array in (one.slice(0, 3), one.slice(1), other)]
    [True, False, False]
    """
    buffers = column.buffers()
    return column.type, column.offset, len(column), tuple(None if one is None else one.address for one in buffers)


def digest(*parts: NDArray[np.generic] | int | str | None) -> bytes:
    """What tells arrays apart by what is in them.

    >>> digest(np.array([1, 2])) == digest(np.array([1, 2])), digest(np.array([1, 2])) == digest(np.array([1.0, 2.0]))
    (True, False)
    """
    found = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str}{part.shape}".encode())
            found.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        else:
            found.update(f"|{part!r}|".encode())
    return found.digest()
