"""How many rows came too late for a window: counts by pane, kept as long as a window may need them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.kernel.panes.lift import merge
from punctual.kernel.panes.spec import UnitSpec
from punctual.schedule.late_counts import LateCounts


class LateRows:
    """Late rows of one stream. Few panes ever have any, so plain sorted arrays do."""

    def __init__(self, spec: UnitSpec) -> None:
        self.spec = spec
        self._cells: pa.Table | None = None
        self._counts = LateCounts.none()

    def add(self, cells: pa.Table) -> None:
        """Count the late rows of a batch."""
        self._keep(cells if self._cells is None else merge([self._cells, cells], self.spec))

    @property
    def counts(self) -> LateCounts:
        """As they are now: a value that does not change when more rows come."""
        return self._counts

    def drop(self, before: Micros) -> None:
        """Forget panes that end at or before this."""
        if self._cells is not None and self._counts.ends[0] <= before:
            kept = self._cells.filter(pa.compute.greater(self._cells.column("hi"), before))
            self._keep(kept if kept.num_rows else None)

    def export(self) -> pa.Table | None:
        """All cells that are kept."""
        return self._cells

    def _keep(self, cells: pa.Table | None) -> None:
        self._cells = cells
        if cells is None:
            self._counts = LateCounts.none()
            return
        ends = cells.column("hi").to_numpy()
        order = np.argsort(ends, kind="stable")
        counts = cells.column("s0.n").to_numpy()[order]
        self._counts = LateCounts(ends[order], np.concatenate([[0], np.cumsum(counts)]))
