"""Chen, Chen, Ozsu and Xiao's workloads of rankings: bounds, k, and rows of one stream or of many.

Bounds are uniform in 1-40 seconds or Gaussian (40, 5), k uniform in 2 to the largest or Gaussian (largest, a tenth of
it); ``uu``, ``ug``, ``gu`` and ``gg`` name both, bounds first. Of 99 draws the one of median savings is taken. A window
of ``RANGE_S`` seconds holds n rows:

* *synthetic*: scores and probabilities uniform, no rules;
* *icebergs*: the example's readings of Antarctic icebergs, an iceberg's readings of a day drawn together, again and
  again, as the paper draws its own; they exclude each other, and most days of most icebergs have one reading;
* *streams*: N streams of w rows per window each, scores and probabilities uniform, united; what is ranked are streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ranking_runs import Batches
from benchmarks.workload import EPOCH_US
from punctual.clock import SECOND
from punctual.share.cadence import Group, plan

ICEBERGS = Path(__file__).parents[1] / "examples" / "data" / "icebergs"
METHODS = {"NS": "none", "IN": "intra", "INCO": "combined", "DP": "exact", "GA": "greedy"}
"""The paper's names, and ours."""
RANGE_S = 20
MEASURED_S = {"u": 40, "g": 120}
"""By how bounds are drawn: every query is due, those of Gaussian bounds about three times."""
DRAWS = 99
COLUMNS = "t TIMESTAMP EVENT TIME, id BIGINT, stream STRING KEY, v DOUBLE, p DOUBLE PROBABILITY, r STRING RULE"


@dataclass(frozen=True, slots=True)
class Query:
    """Seconds that may pass between two answers, and how many rows are wanted."""

    bound: int
    k: int


@dataclass(frozen=True, slots=True)
class Workload:
    """``rows`` a window over all ``streams``; x queries with k up to ``largest``."""

    family: str
    distribution: str = "uu"
    x: int = 20
    rows: int = 2_000
    largest: int = 100
    streams: int = 1

    def queries(self) -> list[Query]:
        """Fewer queries are the first of many, and another range of k scales it: points of a figure are comparable."""
        return drawn(self.distribution, typical_draw(self.distribution), self.x, self.largest)

    def names(self) -> list[str]:
        return [f"s{number}" for number in range(self.streams)]

    def program(self, cadence: str, *, sharing: bool = True, queries: Sequence[Query] | None = None) -> str:
        """The queries under a method of cadence."""
        lines = [f"SET cadence = {cadence};", f"SET sharing = {'on' if sharing else 'off'};"]
        lines += [f"CREATE STREAM {name} ({COLUMNS}) FROM FEED;" for name in self.names()]
        top = "TOP {} STREAMS stream" if self.family == "streams" else "TOP {} id"
        union = " UNION ALL ".join(f"{name} [RANGE {RANGE_S} SECONDS]" for name in self.names())
        lines += [
            f"CREATE QUERY q{i} AS SELECT {top.format(query.k)} FROM {union} ORDER BY v DESC "
            f"FREQUENCY {query.bound} SECONDS;"
            for i, query in enumerate(self.queries() if queries is None else queries)
        ]
        return "\n".join(lines)

    @property
    def measured_s(self) -> int:
        """Seconds of stream that are measured, after those that fill the window."""
        return MEASURED_S[self.distribution[0]]

    def table(self) -> pa.Table:
        """All rows in the order of time."""
        random = np.random.default_rng(self.rows + self.streams)
        per_second = self.rows // RANGE_S
        count = per_second * (RANGE_S + self.measured_s)
        if self.family == "icebergs":
            columns = _icebergs(count, random)
        else:
            columns = {"v": random.random(count), "p": 1 - random.random(count), "r": pa.nulls(count, pa.string())}
        times = EPOCH_US + 1 + np.arange(count) * SECOND // per_second
        names = np.array(self.names())[np.arange(count) % self.streams]
        at = pa.array(times, pa.timestamp("us", "UTC"))
        return pa.table({"t": at, "id": np.arange(count), "stream": names, **columns})

    def by_stream(self, rows: pa.Table) -> dict[str, pa.Table]:
        """The rows of each stream."""
        order = np.arange(rows.num_rows) % self.streams
        return {name: rows.take(np.flatnonzero(order == number)) for number, name in enumerate(self.names())}

    def batches(self) -> Batches:
        """The first fills the windows, the second is measured."""
        rows = self.table()
        filled = self.rows
        return [self.by_stream(rows.slice(0, filled)), self.by_stream(rows.slice(filled))]


def drawn(distribution: str, draw: int, x: int, largest: int) -> list[Query]:
    """The first x queries of a draw."""
    bounds, ks = (Random(f"{distribution} {what} {draw}") for what in ("bounds", "k"))
    queries = []
    for _query in range(x):
        bound = bounds.randint(1, 40) if distribution[0] == "u" else max(1, round(bounds.gauss(40, 5)))
        share = ks.random() if distribution[1] == "u" else max(0.0, ks.gauss(1.0, 0.1))
        queries.append(Query(bound, 2 + round((largest - 2) * share)))
    return queries


@cache
def typical_draw(distribution: str, x: int = 20, largest: int = 100) -> int:
    """Of many draws the one whose exact plan saves neither much nor little, by the model: the median."""

    def saved(draw: int) -> Fraction:
        groups = [Group(query.bound, Fraction(query.k)) for query in drawn(distribution, draw, x, largest)]
        return plan(groups, "exact").cost_per_unit / plan(groups, "none").cost_per_unit

    return sorted(range(DRAWS), key=saved)[DRAWS // 2]


@cache
def _readings() -> pa.Table:
    return pa.concat_tables(pq.read_table(path) for path in sorted(ICEBERGS.glob("*.parquet")))


def _icebergs(count: int, random: np.random.Generator) -> dict[str, pa.Array]:
    """So many readings: latitudes as scores, probabilities as in ``examples/icebergs.sql``."""
    readings = _readings()
    which = [f"{berg} {day:%Y%m%d}" for berg, day in zip(readings["iceberg"].to_pylist(), readings["date"].to_pylist())]
    _labels, group = np.unique(np.array(which), return_inverse=True)
    members = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    drawn = random.integers(0, sizes.size, count)  # more than enough, as each has a row at least
    rows = np.concatenate([members[starts[one] : starts[one] + sizes[one]] for one in drawn.tolist()])[:count]
    label = np.repeat(np.arange(count), sizes[drawn])[:count]
    sure = np.where(readings["flag"].to_numpy()[rows] == 1, 0.45, 0.25)
    return {
        "v": pa.array(readings["lat"].to_numpy()[rows]),
        "p": pa.array(sure),
        "r": pa.array([f"r{one}" for one in label.tolist()]),
    }
