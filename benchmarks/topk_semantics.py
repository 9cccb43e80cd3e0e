"""All eight semantics on one window of real rows, as a picture for the docs.

The engine answers ``TOP 5`` of every day of the example's icebergs under each semantics; the day on which they differ
most is drawn, to ``docs/pictures/semantics.png``: its rows in rank order, the probability that each is right, the
probability to be among the five northernmost, readings of one iceberg (which exclude each other) joined, and below who
is named by whom at which place. Nothing is measured; ``Pr_5`` of the rows is computed here in NumPy and compared with
what the engine says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from benchmarks.ranking_checks import top_probability
from benchmarks.ranking_runs import WarmInProcess
from benchmarks.report import QUICK, Goal, Picture, Result
from punctual.clock import iso
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
K = 5
MOST = 18
"""Rows that have room in the picture."""
BEHIND = 2
"""So many rows are drawn behind the last that anybody names."""
SEMANTICS = {
    "PK": "most often among the 5 best",
    "GLOBAL": "the same",
    "PT(0.33)": "among them with at least 0.33",
    "U_TOPK": "likeliest together the 5 best",
    "U_KRANKS": "likeliest at each rank",
    "EXPECTED_RANK": "smallest expected rank",
    "PRF(1, 0.8, 0.6, 0.4, 0.2)": "weights falling by 0.2 per rank",
    "PRFE(0.9)": "weights falling by a tenth a rank",
}
EXISTS, BEST, RULE, INK = "#c9d6e2", "#1f5f8b", "#b4632d", "#22303c"


@dataclass(frozen=True, slots=True)
class Reading:
    """A row, with its own probability and that to be among the best."""

    name: str
    lat: float
    sure: float
    best: float


def program() -> str:
    """The example's stream with a query for each semantics."""
    found = re.search(r"CREATE STREAM.*?;", (EXAMPLES / "icebergs.sql").read_text(), re.DOTALL)
    assert found is not None
    queries = [
        f"CREATE QUERY q{i} AS SELECT TOP {K} BY {semantics} iceberg, sensor, lat FROM sightings [RANGE 1 DAY] "
        "ORDER BY lat DESC PERIOD 1 DAY;"
        for i, semantics in enumerate(SEMANTICS)
    ]
    return "\n".join([found[0], *queries])


def answered() -> list[list[dict[str, Any]]]:
    """The answers of each semantics, day by day."""
    sink = MemorySink()
    with Engine(live=False, backend=WarmInProcess, base=str(EXAMPLES)) as engine:
        engine.add_sink("memory", sink)
        engine.sql(program())
        engine.run_once()
    whole = (pa.concat_tables(block.table for block in sink.blocks(f"q{i}")) for i in range(len(SEMANTICS)))
    return [table.to_pylist() for table in whole]


def named(row: dict[str, Any]) -> str:
    return f"{row['iceberg']} {row['sensor']}"


def chosen(answers: Sequence[Sequence[dict[str, Any]]]) -> int:
    """The day on which most semantics say something of their own about few enough rows to draw, the first of them."""

    def variety(day: int) -> int:
        said = [tuple(named(row) for row in one[day]["rows"]) for one in answers]
        place = [reading.name for reading in window(answers[0][day]["at"])]
        return len(set(said)) if max(map(place.index, set().union(*said))) < MOST else 0

    return max(range(len(answers[0])), key=variety)


@cache
def window(at: int) -> list[Reading]:
    """The readings of the day that ends at this instant, the northernmost first."""
    rows = [row for path in sorted((EXAMPLES / "data" / "icebergs").glob("*.parquet"))
            for row in pq.read_table(path).to_pylist()]  # fmt: skip
    day = [row for row in rows if row["date"].isoformat()[:10] == iso(at)[:10]]
    day.sort(key=lambda row: (-row["lat"], row["iceberg"], row["sensor"], row["lon"]))
    sure = np.array([0.45 if row["flag"] == 1 else 0.25 for row in day])
    rule = np.array([row["iceberg"] for row in day])
    return [
        Reading(named(row), row["lat"], float(sure[place]), top_probability(sure, rule, place, K))
        for place, row in enumerate(day)
    ]


def run(quick: bool) -> Result:
    answers = answered()
    day = chosen(answers)
    at = answers[0][day]["at"]
    readings = window(at)
    place = {reading.name: number for number, reading in enumerate(readings)}
    said = {name: answers[i][day]["rows"] for i, name in enumerate(SEMANTICS)}
    for row in (*said["PK"], *said["PT(0.33)"]):
        assert abs(readings[place[named(row)]].best - row["probability"]) < 1e-12
    readings = readings[: 1 + BEHIND + max(place[named(row)] for rows in said.values() for row in rows)]
    folder = QUICK if quick else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    draw(readings, said, iso(at)[:10], folder / "semantics.png")
    best = {
        "probability": [(float(number), one.sure) for number, one in enumerate(readings, 1)],
        f"among the {K} best": [(float(number), one.best) for number, one in enumerate(readings, 1)],
    }
    different = sum(
        [named(row) for row in one] != [named(row) for row in other] for one, other in combinations(said.values(), 2)
    )
    return Result(
        name="topk_semantics",
        title=f"Eight semantics on the icebergs of {iso(at)[:10]}: rows of TOP {K}, with their place by latitude",
        columns=("semantics", *(f"rank {rank}" for rank in range(1, K + 1))),
        rows=[
            [name, *(f"{named(row)} ({place[named(row)] + 1})" for row in rows), *[None] * (K - len(rows))]
            for name, rows in said.items()
        ],
        goals=[Goal("pairs of semantics that answer differently, of 28", 20, different, at_least=True)],
        pictures=[Picture("place in the order of latitude", "probability", best, logarithmic=False)],
    )


def draw(readings: Sequence[Reading], said: dict[str, list[dict[str, Any]]], day: str, path: Path) -> None:
    """The picture: bars above, who is named by whom below."""
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(12, 8.6), height_ratios=(1, 1.25), sharex=True, gridspec_kw={"hspace": 0.36}
    )
    _bars(above, readings)
    place = {reading.name: number for number, reading in enumerate(readings)}
    colours = plt.get_cmap("YlGnBu_r")
    for x in range(len(readings)):
        below.axvline(x, color="#f2f5f7", linewidth=1, zorder=0)
    for line, (name, rows) in enumerate(said.items()):
        y = len(said) - 1 - line
        below.axhline(y, color="#e6ebef", linewidth=1, zorder=0)
        ranks: dict[int, list[int]] = {}
        for row in rows:
            ranks.setdefault(place[named(row)], []).append(row["rank"])
        for x, which in ranks.items():
            box = FancyBboxPatch((x - 0.36, y - 0.32), 0.72, 0.64, boxstyle="round,pad=0,rounding_size=0.14",
                                 facecolor=colours((which[0] - 1) / 7), edgecolor="none")  # fmt: skip
            below.add_patch(box)
            ink = "white" if which[0] <= 3 else INK
            size = 12 if len(which) == 1 else 10
            text = "+".join(map(str, which))
            below.text(x, y, text, ha="center", va="center", color=ink, fontsize=size, weight="bold")
        short = "PRF(1, 0.8, ..., 0.2)" if name.startswith("PRF(") else name
        below.text(-0.75, y + 0.14, short, ha="right", va="center", fontsize=11, weight="bold", color=INK)
        below.text(-0.75, y - 0.2, SEMANTICS[name], ha="right", va="center", fontsize=8.5, color="#5b6b78")
    below.set_ylim(-0.6, len(said) - 0.4)
    below.set_yticks([])
    below.tick_params(axis="x", length=0, labelbottom=False)
    below.set_title(f"Rows that TOP {K} names; the number is their rank in the answer", loc="left", fontsize=11.5)
    for side in ("top", "right", "left", "bottom"):
        below.spines[side].set_visible(False)
    figure.suptitle(f"One window, eight answers: the northernmost Antarctic icebergs of {day}",
                    x=0.015, ha="left", fontsize=15, weight="bold", color=INK)  # fmt: skip
    asked = f"SELECT TOP {K} BY ... iceberg, sensor, lat FROM sightings [RANGE 1 DAY] ORDER BY lat DESC PERIOD 1 DAY"
    figure.text(0.015, 0.93, asked, fontsize=10, family="monospace", color="#5b6b78")
    figure.subplots_adjust(left=0.2, right=0.985, top=0.885, bottom=0.02)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _bars(axis: Axes, shown: Sequence[Reading]) -> None:
    xs = np.arange(len(shown))
    axis.bar(xs, [one.sure for one in shown], 0.72, color=EXISTS, label="right at all")
    among = f"right, and among the {K} northernmost (Pr$_{K}$)"
    axis.bar(xs, [one.best for one in shown], 0.44, color=BEST, label=among)
    for x, one in enumerate(shown):
        axis.text(x, one.sure + 0.008, f"{one.best:.2f}", ha="center", va="bottom", fontsize=9, color=BEST)
    by_iceberg: dict[str, list[int]] = {}
    for x, one in enumerate(shown):
        by_iceberg.setdefault(one.name.split()[0], []).append(x)
    joined = [places for places in by_iceberg.values() if len(places) > 1]
    for number, places in enumerate(joined):
        y = 0.53 + 0.022 * (number % 3)
        axis.plot([places[0], places[0], places[-1], places[-1]], [y - 0.012, y, y, y - 0.012], color=RULE,
                  linewidth=1.6, label="of one iceberg: at most one is right" if not number else None)  # fmt: skip
    axis.set_xticks(xs, [f"{one.name.replace(' ', chr(10))}\n{-one.lat:.1f} S" for one in shown], fontsize=8.8)
    axis.tick_params(axis="x", length=0, labelbottom=True)
    axis.set_ylim(0, 0.6)
    axis.set_xlim(-0.6, len(shown) - 0.4)
    axis.set_ylabel("probability", fontsize=10.5)
    axis.legend(frameon=False, fontsize=9.5, ncols=3, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2)
    axis.grid(axis="y", alpha=0.25)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
