"""How often the 95 % intervals of answers over worlds hold: what was asked, what is true, and how often it was inside.

Also for `benchmarks/world_coverage.py`. What is true follows from the laws of the rows, by formulas of this module.
Answers are independent of each other: windows follow each other without a gap and groups have rows of their own, so no
two answers of a run rest on the same draw; or the same rows are answered with other seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess
from tests.oracles.possible_worlds import Row

START = 1_700_000_000 * SECOND
Rows = Sequence[Row]


@dataclass(frozen=True)
class Case:
    """A query and its truth.

    ``columns`` are those of the stream besides time and key, ``rows`` draws those of one answer, and ``select`` has a
    column for each member of what ``truth`` says of them.
    """

    columns: str
    select: str
    rows: Callable[[np.random.Generator], list[dict[str, Any]]]
    truth: Callable[[Rows], dict[str, float]]
    effort: str = "ROUNDS 100"


@dataclass
class Outcome:
    """Of one column of a case: how many answers there are, how many have an interval, and how many of these hold.

    ``widths`` are half-widths over the truth.
    """

    answers: int = 0
    known: int = 0
    held: int = 0
    below: int = 0
    """Intervals that lie below the truth."""
    widths: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        return self.held / self.known if self.known else math.nan

    @property
    def with_interval(self) -> float:
        return self.known / self.answers

    def add(self, low: float | None, high: float | None, truth: float) -> None:
        self.answers += 1
        if low is None or high is None:
            return
        slack = 1e-9 * abs(truth)
        self.known += 1
        self.held += low - slack <= truth <= high + slack
        self.below += high + slack < truth
        self.widths.append((high - low) / 2 / abs(truth) if truth else math.nan)


def outcomes(folder: Path, case: Case, *, windows: int, groups: int, seeds: Iterable[int]) -> dict[str, Outcome]:
    """Play the case once for each seed, always with the same rows."""
    random = np.random.default_rng([windows, groups])
    rows: list[Row] = []
    truths: dict[tuple[int, str], dict[str, float]] = {}
    for window in range(windows):
        for group in range(groups):
            own = [{"t": START + window * SECOND + 1 + n, "k": f"k{group}", **row}
                   for n, row in enumerate(case.rows(random))]  # fmt: skip
            truths[window, f"k{group}"] = case.truth(own)
            rows += own
    rows += [{**rows[-1], "t": START + windows * SECOND + SECOND // 2}]  # completes the last window, and is in none
    program = (
        f"CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, {case.columns})"
        f" FROM FILES 'in' FORMAT PARQUET; CREATE QUERY q AS SELECT k, {case.select} FROM s [RANGE 1 SECOND] GROUP BY k"
        f" PERIOD 1 SECOND {case.effort};"
    )
    _write(folder, rows)
    found: dict[str, Outcome] = {name: Outcome() for name in next(iter(truths.values()))}
    for seed in seeds:
        said = _answers(folder, program, seed)
        assert [one["at"] for one in said] == [iso(START + window * SECOND) for window in range(1, windows + 1)]
        for window, answer in enumerate(said):
            assert answer["basis"] == "worlds"
            for place, row in enumerate(answer["rows"]):
                for name, outcome in found.items():
                    ends = answer["error"][name]
                    low, high = (None if ends["confidence"] is None else ends[end][place] for end in ("low", "high"))
                    outcome.add(low, high, truths[window, row["k"]][name])
    return found


def _write(folder: Path, rows: Rows) -> None:
    (folder / "in").mkdir(parents=True)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["t"] = pa.array(columns["t"], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table(columns), folder / "in" / "rows.parquet")


def _answers(folder: Path, program: str, seed: int) -> list[dict[str, Any]]:
    """By worlds, though some of it is known without any."""
    out = folder / f"seed{seed}"
    engine = Engine(
        out=str(out), base=str(folder), live=False, clock=ManualClock(START),
        options={"closed_forms": "off", "seed": str(seed)}, backend=lambda: InProcess(1),
    )  # fmt: skip
    with engine:
        engine.sql(program)
        engine.run_once()
    return [json.loads(line) for line in (out / "q.jsonl").read_text().splitlines()]


# -- cases -----------------------------------------------------------------------------------------


def _normal_rows(random: np.random.Generator) -> list[dict[str, Any]]:
    """Eight, whose sum is above 400 with any probability, but neither surely nor never."""
    means, deviations = random.normal(50.0, 20.0, 8), random.uniform(0.5, 9.0, 8)
    means += 50.0 - means.mean() + random.uniform(-2.0, 2.0) * math.sqrt((deviations**2).sum()) / 8
    return [{"x": x, "sd": sd} for x, sd in zip(means.tolist(), deviations.tolist())]


def _normal_truth(rows: Rows) -> dict[str, float]:
    law = NormalDist(math.fsum(row["x"] for row in rows), math.sqrt(math.fsum(row["sd"] ** 2 for row in rows)))
    above = [1.0 - NormalDist(row["x"], row["sd"]).cdf(50.0) for row in rows]
    return {"total": law.mean, "mean": law.mean / len(rows), "high": 1.0 - law.cdf(400.0), "above": math.fsum(above)}


NORMAL = Case(
    "x DOUBLE ~ NORMAL(x, sd), sd DOUBLE",
    "EXPECTED(sum(x)) AS total, EXPECTED(avg(x)) AS mean, PROBABILITY(sum(x) > 400) AS high,"
    " EXPECTED(count(*) FILTER (WHERE x > 50)) AS above",
    _normal_rows,
    _normal_truth,
)

UNTIL = Case(
    "x DOUBLE ~ NORMAL(x, sd), sd DOUBLE",
    "EXPECTED(avg(x)) AS mean",
    _normal_rows,
    lambda rows: {"mean": _normal_truth(rows)["mean"]},
    "CONFIDENCE 95% WITHIN 0.2",
)


def _rare_rows(random: np.random.Generator) -> list[dict[str, Any]]:
    return [{"x": 50.0, "sd": sd} for sd in random.uniform(9.0, 15.0, 6).tolist()]


RARE = Case(
    "x DOUBLE ~ NORMAL(x, sd), sd DOUBLE",
    "EXPECTED(count(*) FILTER (WHERE x > 80)) AS above",
    _rare_rows,
    lambda rows: {"above": math.fsum(1.0 - NormalDist(row["x"], row["sd"]).cdf(80.0) for row in rows)},
)


def _tag_rows(random: np.random.Generator) -> list[dict[str, Any]]:
    p = [1.0, *random.choice([0.05, 0.3, 0.5, 0.85], 9).tolist()]  # one is always there, so the group is
    return [{"p": one, "n": n} for one, n in zip(p, random.integers(1, 100, 10).tolist())]


def _tag_truth(rows: Rows) -> dict[str, float]:
    law, totals = np.ones(1), math.fsum(row["p"] * row["n"] for row in rows)
    for row in rows:
        law = np.convolve(law, [1.0 - row["p"], row["p"]])
    # The average is the certain row's and that of others: over how many of them exist, by exchange of sum and mean.
    mean = 0.0
    for row in rows:
        others = np.ones(1)
        for other in rows:
            if other is not row:
                others = np.convolve(others, [1.0 - other["p"], other["p"]])
        mean += row["p"] * row["n"] * float((others / np.arange(1, others.size + 1)).sum())
    return {"number": math.fsum(row["p"] for row in rows), "many": float(law[5:].sum()), "total": totals, "mean": mean}


EXISTING = Case(
    "p DOUBLE PROBABILITY, n INT",
    "EXPECTED(count(*)) AS number, PROBABILITY(count(*) >= 5) AS many, EXPECTED(sum(n)) AS total,"
    " EXPECTED(avg(n)) AS mean",
    _tag_rows,
    _tag_truth,
)


def lognormal(random: np.random.Generator, size: int) -> list[float]:
    found: list[float] = random.lognormal(0.0, 1.5, size).tolist()
    return found


def pareto(random: np.random.Generator, size: int) -> list[float]:
    found: list[float] = (random.pareto(1.5, size) + 1.0).tolist()
    return found


Tail = Callable[[np.random.Generator, int], list[float]]


def empirical(tail: Tail, observed: int, missing: int) -> Case:
    """Values of which some are missing, and are any of those that were observed."""

    def drawn(random: np.random.Generator) -> list[dict[str, Any]]:
        known = [{"v": value, "lost": False} for value in tail(random, observed)]
        return known + [{"v": None, "lost": True} for _row in range(missing)]

    def truth(rows: Rows) -> dict[str, float]:
        known = np.sort([row["v"] for row in rows if not row["lost"]])
        above = float((known > 3.0).mean())
        none_greater = (np.arange(1, known.size + 1) / known.size) ** missing
        peak = float((known * np.diff(none_greater, prepend=0.0)).sum())
        mean = math.fsum(known) / known.size
        return {"total": mean * len(rows), "mean": mean, "peak": peak, "above": above * len(rows)}

    select = (
        "EXPECTED(sum(v)) AS total, EXPECTED(avg(v)) AS mean, EXPECTED(max(v) FILTER (WHERE lost)) AS peak,"
        " EXPECTED(count(*) FILTER (WHERE v > 3)) AS above"
    )
    return Case("v DOUBLE ~ EMPIRICAL BY k, lost BOOLEAN", select, drawn, truth)


CASES = {
    "normal, 8 rows": NORMAL,
    "normal, rounds by CONFIDENCE": UNTIL,
    "normal, seldom above 80": RARE,
    "rows that may not exist, 10": EXISTING,
    "20 lognormal, 5 missing": empirical(lognormal, 20, 5),
    "20 Pareto, 5 missing": empirical(pareto, 20, 5),
    "100 lognormal, 2 missing": empirical(lognormal, 100, 2),
    "100 Pareto, 2 missing": empirical(pareto, 100, 2),
    "100 lognormal, 20 missing": empirical(lognormal, 100, 20),
    "100 Pareto, 20 missing": empirical(pareto, 100, 20),
    "200 Pareto, 1 missing": empirical(pareto, 200, 1),
}
