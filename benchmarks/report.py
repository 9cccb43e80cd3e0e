"""A result as a table on the terminal, as JSON and as a picture.

Measurements are kept with what they were measured on, and goals with whether they were met: a goal that was missed
stays in the table.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
from rich.console import Console
from rich.table import Table

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator

RESULTS = Path(__file__).parent / "results"
QUICK = Path(__file__).parents[1] / "build" / "benchmarks"
"""Where results of the quick form go: they check the benchmark, not the program."""

MOST_PLACES = 9
"""So many places of an axis have room for their numbers."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Goal:
    """What was hoped for, and what came: ``measured`` must be at most (or at least) ``bound``."""

    what: str
    bound: float
    measured: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


@dataclass(frozen=True, slots=True)
class Picture:
    """Lines over a common axis, or bars when ``bars``: then each point's x is its place and ``labels`` names it."""

    x: str
    y: str
    series: Mapping[str, Sequence[Point]]
    logarithmic: bool = True
    labels: Sequence[str] = ()
    dashed: Sequence[str] = ()
    """Series that were extrapolated and not measured."""
    spread: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By series, the standard deviation at each point, drawn as a bar."""


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's outcome."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    goals: Sequence[Goal]
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Every measurement behind the table."""


def publish(result: Result, *, quick: bool) -> None:
    """Print the table; write JSON and the picture."""
    _print(result)
    folder = QUICK if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    body = {**asdict(result), "goals": [{**asdict(goal), "met": goal.met} for goal in result.goals]}
    body["measured_on"] = _machine(quick=quick)
    (folder / f"{result.name}.json").write_text(json.dumps(body, indent=1) + "\n")
    _draw(result, folder / f"{result.name}.png")


def _machine(*, quick: bool) -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {name: importlib.metadata.version(name) for name in ("pyspark", "pyarrow", "numba", "duckdb")}
    return {
        "quick": quick,
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory),
        "load_before": round(os.getloadavg()[2], 1),
        "python": platform.python_version(),
        **versions,
    }


def _print(result: Result) -> None:
    console = Console(highlight=False)
    table = Table(*result.columns, title=result.title, title_justify="left")
    for row in result.rows:
        table.add_row(*(_text(value) for value in row))
    console.print(table)
    for goal in result.goals:
        verdict = "met   " if goal.met else "missed"
        sign = "at least" if goal.at_least else "at most"
        console.print(f"{verdict}  {goal.what}: {_text(goal.measured)} (goal: {sign} {_text(goal.bound)})")
    for note in result.notes:
        console.print(f"  {note}")
    console.print()


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _draw(result: Result, path: Path) -> None:
    count = len(result.pictures)
    width = count if count <= 3 else 2 if count == 4 else 3
    height = -(-count // width)
    figure, axes = plt.subplots(height, width, figsize=(6.4 * width, 4.2 * height), squeeze=False)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    for axis, picture in zip(axes.flat, result.pictures):
        if picture.labels:
            _bars(axis, picture)
        else:
            _lines(axis, picture)
        axis.set_xlabel(picture.x)
        axis.set_ylabel(picture.y)
        axis.set_ylim(bottom=None if picture.logarithmic and not picture.labels else 0)
        axis.grid(alpha=0.3)
        if len(picture.series) > 1:
            # Bars reach to the top, so nothing may stand there.
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18), "ncols": 2} if picture.labels else {}
            axis.legend(frameon=False, fontsize=8, **below)
    figure.suptitle(result.title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _lines(axis: Any, picture: Picture) -> None:
    for name, points in picture.series.items():
        xs, ys = zip(*points)
        line = "--o" if name in picture.dashed else "-o"
        spread = picture.spread.get(name)
        axis.errorbar(xs, ys, yerr=spread, fmt=line, label=name, markersize=4, capsize=4)
    if picture.logarithmic:
        axis.set_xscale("log")
        axis.set_yscale("log")
        places = sorted({x for points in picture.series.values() for x, _y in points})
        if len(places) <= MOST_PLACES:  # as numbers, not as powers of ten
            axis.set_xticks(places, [f"{place:,g}" for place in places])
            axis.xaxis.set_minor_locator(NullLocator())


def _bars(axis: Any, picture: Picture) -> None:
    width = 0.8 / len(picture.series)
    for number, (name, points) in enumerate(picture.series.items()):
        places = [x + (number - (len(picture.series) - 1) / 2) * width for x, _y in points]
        axis.bar(places, [y for _x, y in points], width, label=name)
    axis.set_xticks(range(len(picture.labels)), picture.labels, fontsize=8)
