"""The groups that a unit has seen: keys as small numbers that stay the same between passes.

Model: a group's number is the place of its key in the dictionary; new keys are appended. Ranks follow Spark's order of
keys and change when keys arrive, so they are worked out when they are asked for.

Cost: an insertion hashes the dictionary together with the new keys, a rank sorts it; neither is more than what cells
of the same groups have cost, as groups without a live cell are removed by `keep` before they are the majority.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from punctual.kernel.panes.keys import encode, order
from punctual.kernel.panes.spec import I64


class Groups:
    """A dictionary of group keys; without key columns there is the one group 0."""

    def __init__(self, columns: int) -> None:
        self.keys: list[pa.Array] = [pa.nulls(0)] * columns
        """One array per key column; of no type until the first keys arrive."""
        self._ranks: I64 | None = None

    def __len__(self) -> int:
        return len(self.keys[0]) if self.keys else 1

    def know_types(self, keys: Sequence[pa.Array]) -> None:
        """Take the columns' types from keys, as long as there is no group."""
        if not len(self):
            self.keys = [key[:0] for key in keys]

    def numbers(self, keys: Sequence[pa.Array], rows: int) -> I64:
        """The numbers of keys, new ones appended."""
        if not self.keys:
            return np.zeros(rows, dtype=np.int64)
        codes, found = encode(keys, rows)
        known = len(self)
        if not known:
            self.keys, self._ranks = found, None
            return codes
        both = [pa.concat_arrays([old, new]) for old, new in zip(self.keys, found)]
        numbers, union = encode(both, known + len(found[0]))
        if len(union[0]) > known:
            self.keys, self._ranks = union, None
        return numbers[known:][codes]

    def ranks(self) -> I64:
        """Each group's rank in Spark's ascending order of keys."""
        if self._ranks is None:
            self._ranks = order(self.keys) if self.keys else np.zeros(len(self), dtype=np.int64)
        return self._ranks

    def keep(self, alive: I64) -> I64:
        """Keep the groups of the sorted numbers only; the new number of each old one, -1 where it is gone."""
        moved = np.full(len(self), -1, dtype=np.int64)
        moved[alive] = np.arange(alive.size)
        if self.keys:
            self.keys, self._ranks = [key.take(pa.array(alive)) for key in self.keys], None
        return moved
