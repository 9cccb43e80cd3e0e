"""Table 2's workload of Wei, Prasad, Son and Stankovic: eight streams, eight relations, three queries for each stream.

The queries are those that the paper prints for S0, for every stream: a join with the next stream, statistics of the
sensors in a relation, a count by type. Ranges, periods and deadlines are its seconds times a factor. The curves are
ten times convex, ten times linear, four times concave; the paper does not say whose. Here averages are convex and half
of the joins concave, as its text has it (4.3), and the rest is linear.

IDs and types are uniform; a fifth of the IDs is in a relation, which has the selectivity of 0.2. In the paper a row of
a join meets 0.4 others: 4,000 rows in a window, selectivity 0.0001. Here windows are longer and rates higher until two
cores are saturated, so there are as many more IDs (0.4 at 15,000 rows per second, times four times the paper's): with
the selectivity as printed joins would have several rows of output for each that they read, and their cost would grow
with the square of the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from punctual.clock import SECOND, Micros

STREAMS = 8
IDS, TYPES = 150_000, 4
LISTED = IDS // 5
CONVEX_COUNTS, CONCAVE_JOINS = 2, 4

Load = Callable[[float], float]
"""Rows per second of a stream by seconds since the start."""


@dataclass(frozen=True, slots=True)
class TimedQuery:
    """A query as the judge has to know it: seconds, and its curve."""

    name: str
    kind: str
    period_s: float
    deadline_s: float
    curve: str
    ranges_s: tuple[float, ...]


def queries(factor: float, streams: int = STREAMS) -> list[TimedQuery]:
    """The 24 queries, times multiplied by ``factor``; fewer for a form with fewer streams.

    >>> from collections import Counter
    >>> sorted(Counter(query.curve for query in queries(8)).items())
    [('CONCAVE', 4), ('CONVEX', 10), ('LINEAR', 10)]
    """
    found = []
    for stream in range(streams):
        join_curve = "CONCAVE" if stream < CONCAVE_JOINS else "LINEAR"
        count_curve = "CONVEX" if stream < CONVEX_COUNTS else "LINEAR"
        found += [
            TimedQuery(f"join{stream}", "join", 2 * factor, factor, join_curve, (4 * factor, 4 * factor)),
            TimedQuery(f"stats{stream}", "stats", 2 * factor, factor, "CONVEX", (2 * factor,)),
            TimedQuery(f"types{stream}", "types", factor, factor, count_curve, (factor,)),
        ]
    return found


def program(folder: Path, factor: float, streams: int = STREAMS) -> str:
    """The program over files that somebody writes into ``folder/s0`` to ``folder/s7``."""
    lines = [
        f"CREATE STREAM S{n} (ts TIMESTAMP EVENT TIME, id INT, value DOUBLE, type STRING) "
        f"FROM FILES '{folder / f's{n}'}' FORMAT PARQUET;\n"
        f"CREATE TABLE R{n} (id INT) FROM FILES '{folder / f'r{n}.csv'}' FORMAT CSV;"
        for n in range(streams)
    ]
    for query in queries(factor, streams):
        here = int(query.name[-1])
        text = _TEXTS[query.kind].format(here=here, there=(here + 1) % streams, range=_span(query.ranges_s[0]))
        times = f"PERIOD {_span(query.period_s)} DEADLINE {_span(query.deadline_s)}"
        lines.append(f"CREATE QUERY {query.name} AS {text} {times} QUALITY {query.curve};")
    return "\n".join(lines)


_TEXTS = {
    "join": (
        "SELECT a.id, a.type, a.value AS value, b.value AS other "
        "FROM S{here} [RANGE {range}] AS a, S{there} [RANGE {range}] AS b "
        "WHERE a.type = b.type AND a.id = b.id AND a.value <> b.value"
    ),
    "stats": (
        "SELECT avg(s.value) AS mean, min(s.value) AS low, max(s.value) AS high "
        "FROM S{here} [RANGE {range}] AS s, R{here} AS r WHERE s.id = r.id"
    ),
    "types": "SELECT type, count(*) AS n FROM S{here} [RANGE {range}] GROUP BY type",
}


def _span(seconds: float) -> str:
    return f"{round(1000 * seconds)} MILLISECONDS"


def write_relations(folder: Path, streams: int = STREAMS) -> None:
    """A fifth of the IDs in each, another fifth for each stream; and the folders of the streams."""
    for number in range(streams):
        (folder / f"s{number}").mkdir(parents=True)
        listed = np.random.default_rng(100 + number).permutation(IDS)[:LISTED]
        (folder / f"r{number}.csv").write_text("id\n" + "\n".join(map(str, np.sort(listed))) + "\n")


def arrivals(chance: np.random.Generator, rate: float, begin: Micros, end: Micros) -> pa.Table:
    """Rows of a stream in (begin + 1, end], a Poisson number of them, and one just after ``end`` that completes it."""
    count = int(chance.poisson(rate * (end - begin) / SECOND))
    times = np.append(np.sort(chance.integers(begin + 2, end + 1, count)), end + 1)
    names = np.array([f"sensor-{number}" for number in range(TYPES)])
    return pa.table({
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "id": pa.array(chance.integers(0, IDS, count + 1), pa.int32()),
        "value": np.round(chance.normal(100, 15, count + 1), 3),
        "type": names[chance.integers(0, TYPES, count + 1)],
    })  # fmt: skip


def steady(rate: float) -> Load:
    return lambda _second: rate


def swinging(low: float, high: float, period_s: float) -> Load:
    """The high rate for half a period, then the low one, as the paper's Figure 10 (c) has it."""
    return lambda second: high if second % period_s < period_s / 2 else low


def burst(rate: float, times: float, begin_s: float, seconds: float) -> Load:
    return lambda second: times * rate if begin_s <= second < begin_s + seconds else rate


def due(wanted: Sequence[TimedQuery], begin: Micros, end: Micros) -> list[tuple[TimedQuery, Micros]]:
    """Every answer that is due: instants after ``begin``, through ``end``."""
    found = []
    for query in wanted:
        period = round(query.period_s * SECOND)
        first = (begin // period + 1) * period
        found += [(query, at) for at in range(first, end + 1, period)]
    return found
