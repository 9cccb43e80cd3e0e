"""Many small pictures of the same lines on one sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

MARKS = {"NS": "o", "IN": "s", "INCO": "^", "DP": "D", "GA": "x"}


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over a common axis."""

    x: str
    y: str
    series: Mapping[str, Sequence[tuple[float, float]]]


def draw_grid(panels: Sequence[Sequence[Panel]], title: str, path: Path) -> None:
    """Rows of panels; the lines are named once."""
    rows, columns = len(panels), max(len(row) for row in panels)
    figure, axes = plt.subplots(rows, columns, figsize=(3.6 * columns, 2.6 * rows), squeeze=False, sharex="col")
    for number, row in enumerate(panels):
        for axis, panel in zip(axes[number], row):
            for name, points in panel.series.items():
                xs, ys = zip(*points)
                axis.plot(xs, ys, marker=MARKS.get(name, "o"), label=name, markersize=5, linewidth=1.4)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            if number == rows - 1:
                axis.set_xlabel(panel.x)
        axes[number][0].set_ylabel(row[0].y)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), frameon=False)
    figure.suptitle(title, x=0.02, ha="left", fontsize=12)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(path, dpi=110)
    plt.close(figure)
