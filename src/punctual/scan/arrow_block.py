"""A block whose columns are there, or are made by asking for them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from punctual.scan.block import Faults, Sifted


class ArrowBlock:
    """Rows of which each column is made once, by ``read``, when it is first asked for.

    Parameters
    ----------
    rows : int
    read : callable
        A declared column by its name, as its declared type.
    faults : Faults, optional
        Rows that do not fit.
    sifted : Sifted, optional
        What was shed before it.
    """

    def __init__(
        self,
        rows: int,
        read: Callable[[str], pa.Array],
        faults: Faults | None = None,
        sifted: Sifted | None = None,
    ) -> None:
        self.rows = rows
        self.faults = faults
        self.sifted = sifted
        self._read = read
        self._made: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        if name not in self._made:
            self._made[name] = self._read(name)
        return self._made[name]
