"""How often the 95 % intervals of answers over worlds hold: over windows of their own rows, and over seeds.

SQL programs on the engine in process (no Spark), 100 rounds an answer, closed forms off. What is true is computed from
the laws of the rows. *Windows*: 2,000 windows without a common row. *Seeds*: one window of two groups, drawn anew with
1,000 seeds. Values with a long tail are missing ones that are any of those observed (EMPIRICAL), lognormal (sigma
1.5) or Pareto (1.5). An expectation of them may have no interval: *with one* says how many have. *Below* is the part of
all intervals that lie below the truth; it is half of what misses where both sides are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.engine.world_coverage import CASES, Outcome, outcomes

from benchmarks.report import Goal, Picture, Point, Result

LOW, HIGH = 0.93, 0.97
SEEDED = ("normal, 8 rows", "rows that may not exist, 10", "20 Pareto, 5 missing", "100 lognormal, 20 missing")
LABELS = [name.replace(", ", "\n").replace(" ", "\n") for name in CASES]
Outcomes = dict[tuple[str, str, str], Outcome]
"""By case, column and what they are over."""
FEW_WHOLE_NUMBERS = "normal, seldom above 80"
"""A count that is 0 in nearly all worlds: no interval holds with any probability that one likes."""


def run(quick: bool) -> Result:
    windows, seeds = (60, 20) if quick else (2_000, 1_000)
    found: Outcomes = {}
    with TemporaryDirectory() as folder:
        for number, (name, case) in enumerate(CASES.items()):
            ways = {"windows": outcomes(Path(folder) / f"w{number}", case, windows=windows, groups=1, seeds=[0])}
            if name in SEEDED:
                ways["seeds"] = outcomes(Path(folder) / f"s{number}", case, windows=1, groups=2, seeds=range(seeds))
            for way, columns in ways.items():
                found |= {(name, column, way): outcome for column, outcome in columns.items()}
    judged = {key: one for key, one in found.items() if key[0] != FEW_WHOLE_NUMBERS and one.known >= 0.1 * one.answers}
    return Result(
        name="world_coverage",
        title="How often 95 % intervals of answers over worlds hold",
        columns=["rows", "column", "over", "answers", "with one", "hold", "below", "half-width over truth"],
        rows=[line(key, one) for key, one in found.items()],
        goals=[
            Goal(f"{what}: {side}", bound, extreme([one.coverage for one in some]), at_least=extreme is min)
            for what, some in groups(judged).items()
            for side, bound, extreme in (("least", LOW, min), ("greatest", HIGH, max))
        ],
        pictures=[
            Picture(
                "", "part of the intervals that misses", by_case(found, lambda one: 1.0 - one.coverage), labels=LABELS
            ),
            Picture(
                "", "part of the answers with an interval", by_case(found, lambda one: one.with_interval), labels=LABELS
            ),
        ],
        notes=[
            f"{name}, {column}: {one.known} of {one.answers} have an interval, {one.held} hold (not among the goals)"
            for (name, column, way), one in found.items()
            if (name, column, way) not in judged and way == "windows"
        ],
        facts={"outcomes": [[*key, one.answers, one.known, one.held, one.below] for key, one in found.items()]},
    )


def line(key: tuple[str, str, str], one: Outcome) -> list[Any]:
    width = float(np.nanmedian(one.widths)) if one.widths else np.nan
    below = one.below / one.known if one.known else np.nan
    return [*key, one.answers, one.with_interval, *(number_of(value) for value in (one.coverage, below, width))]


def by_case(found: Outcomes, value: Callable[[Outcome], float]) -> dict[str, list[Point]]:
    """Of the first column of each case."""
    curves: dict[str, list[Point]] = {"windows": [], "seeds": []}
    for place, name in enumerate(CASES):
        for way, points in curves.items():
            of = [one for key, one in found.items() if (key[0], key[2]) == (name, way)]
            points += [(place, float(np.nan_to_num(value(of[0]))))] if of else []
    return curves


def groups(found: Outcomes) -> dict[str, list[Outcome]]:
    """What goals are about."""
    probabilities = ("high", "many")
    return {
        "expectations, windows": [one for key, one in found.items() if key[2] == "windows" and not tailed(key)
                                  and key[1] not in probabilities],
        "expectations, seeds": [one for key, one in found.items() if key[2] == "seeds" and not tailed(key)
                                and key[1] not in probabilities],
        "probabilities": [one for key, one in found.items() if key[1] in probabilities],
        "long tails, windows": [one for key, one in found.items() if key[2] == "windows" and tailed(key)],
        "long tails, seeds": [one for key, one in found.items() if key[2] == "seeds" and tailed(key)],
    }  # fmt: skip


def tailed(key: tuple[str, str, str]) -> bool:
    return "missing" in key[0]


def number_of(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else round(value, 4)
