"""How many rows came too late for a window: counts by pane, kept as long as a window may need them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.panes.lift import merge
from punctual.kernel.panes.spec import UnitSpec

I64 = NDArray[np.int64]


class LateRows:
    """Late rows of one stream. Few panes ever have any, so plain sorted arrays do."""

    def __init__(self, spec: UnitSpec) -> None:
        self._spec = spec
        self._cells: pa.Table | None = None
        self._ends = np.empty(0, np.int64)
        self._running = np.zeros(1, np.int64)

    def add(self, cells: pa.Table) -> None:
        """Count the late rows of a batch."""
        self._keep(cells if self._cells is None else merge([self._cells, cells], self._spec))

    def count(self, instants: I64, length: Micros) -> I64 | None:
        """For every window (at - length, at], how many of its rows came too late; None when there are none at all."""
        if self._cells is None:
            return None
        after = np.searchsorted(self._ends, instants, "right")
        before = np.searchsorted(self._ends, instants - length, "right")
        return self._running[after] - self._running[before]

    def drop(self, before: Micros) -> None:
        """Forget panes that end at or before this."""
        if self._cells is not None and self._ends[0] <= before:
            kept = self._cells.filter(pa.compute.greater(self._cells.column("hi"), before))
            self._keep(kept if kept.num_rows else None)

    def export(self) -> pa.Table | None:
        """All cells that are kept."""
        return self._cells

    def _keep(self, cells: pa.Table | None) -> None:
        self._cells = cells
        if cells is None:
            return
        ends = cells.column("hi").to_numpy()
        order = np.argsort(ends, kind="stable")
        self._ends = ends[order]
        counts = cells.column("s0.n").to_numpy()[order]
        self._running = np.concatenate([[0], np.cumsum(counts)])
