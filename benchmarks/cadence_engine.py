"""The papers' eight cadences on the real engine, with 10 to 100 queries of one sharing class.

A stream of 100 keys with a row of each in every second; query i asks for ``max(v) GROUP BY k`` over a window of
cost + 1 seconds and may wait for its bound. Bounds (1-40 seconds, or Gaussian 40, 5) and costs (2-100 merges, or
Gaussian 100, 10) are drawn as by Chen, Chen, Ozsu and Xiao; panes are seconds, so an execution takes as many merges a
key as its cost. ``SET window_merge = scan`` throughout. What is measured, and what *one by one* and *together* mean:
``executions.py``.

Latency needs an engine that cannot keep up. It is computed, not measured live: the CPU seconds that each execution was
measured to take go through a queue of one server (``edf_queue.py``), by a clock at which ``none`` has a load of 1.5 in
every workload. Beside it the same with counted merges in place of seconds, which is the papers' model.

Ratios: ``none`` is 1 in its workload. Sampled answers are recomputed in NumPy, and no query may wait longer than its
bound.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.edf_queue import latency
from benchmarks.engines import WarmBackend, warm
from benchmarks.executions import Execution, Run, run_in_turns
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import CACHE, EPOCH_US
from punctual.clock import SECOND
from punctual.share.cadence import METHODS

LOAD = 1.5
FILE_S, FILES = 160, 3
"""The first file fills the windows; the others are measured."""
LONGEST_S = 150
DISTRIBUTIONS = ("uu", "ug", "gu", "gg")
"""Bounds, then costs: uniform or Gaussian."""
COUNTS = tuple(range(10, 101, 10))
SHOWN = (10, 50, 100)
"""Where the other distributions are measured, and passes as a whole."""
TOGETHER = 3
"""So often."""
COLUMNS = (
    "drawn",
    "queries",
    "method",
    "merges predicted",
    "counted",
    "predicted : counted",
    "executions",
    "answers",
    "CPU one by one",
    "answers/CPU s",
    "latency",
    "latency, by merges",
    "merges together",
    "CPU together",
)


@dataclass(frozen=True, slots=True)
class Query:
    """Bound and cost, in seconds and merges."""

    bound: int
    cost: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One method on one workload, per second of stream time."""

    predicted: float
    merges: float
    executions: float
    answers: float
    cpu: float
    latency: float
    latency_by_merges: float
    merges_together: float | None
    cpu_together: float | None

    @property
    def throughput(self) -> float:
        return self.answers / self.cpu

    def figures(self, base: Measured) -> list[float | None]:
        """As in the table: all but the third of those of ``base``."""

        def over(mine: float | None, its: float | None) -> float | None:
            return None if mine is None or not its else mine / its

        return [
            over(self.predicted, base.predicted),
            over(self.merges, base.merges),
            self.predicted / self.merges,
            over(self.executions, base.executions),
            over(self.answers, base.answers),
            over(self.cpu, base.cpu),
            over(self.throughput, base.throughput),
            over(self.latency, base.latency),
            over(self.latency_by_merges, base.latency_by_merges),
            over(self.merges_together, base.merges_together),
            over(self.cpu_together, base.cpu_together),
        ]


def drawn(distribution: str, count: int) -> list[Query]:
    """Queries as the paper draws them; bounds without a common divisor, so that panes are seconds."""
    random = Random(f"{distribution} {count}")
    bound = {"u": lambda: random.randint(1, 40), "g": lambda: max(1, round(random.gauss(40, 5)))}[distribution[0]]
    cost = {"u": lambda: random.randint(2, 100), "g": lambda: max(2, round(random.gauss(100, 10)))}[distribution[1]]
    while True:
        queries = [Query(bound(), min(LONGEST_S - 1, cost())) for _query in range(count)]
        if gcd(*(query.bound for query in queries)) == 1:
            return queries


def table(keys: int) -> pa.Table:
    """A row of every key in every second, ordered by time; no event time is a whole second."""
    random = np.random.default_rng(7)
    count = FILE_S * FILES * keys
    times = EPOCH_US + np.repeat(np.arange(FILE_S * FILES), keys) * SECOND + random.integers(1, SECOND, count)
    names = np.array([f"k{number:05d}" for number in range(keys)])
    key = np.tile(names, FILE_S * FILES)
    order = np.argsort(times, kind="stable")
    return pa.table(
        {
            "ts": pa.array(times[order], pa.timestamp("us", "UTC")),
            "k": key[order],
            "v": random.normal(50, 10, count).round(3),
        }
    )


def folder(rows: pa.Table, keys: int) -> Path:
    """The rows as files of ``FILE_S`` seconds."""
    path = CACHE / f"every_second_keys{keys}_files{FILES}_of{FILE_S}"
    if not path.exists():
        making = path.with_name(f".{path.name}.{os.getpid()}")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        for number in range(FILES):
            name = making / f"{number:05d}.parquet"
            pq.write_table(rows.slice(number * FILE_S * keys, FILE_S * keys), name)
            os.utime(name, (1e9 + number, 1e9 + number))
        making.rename(path)
    return path


def program(path: Path, queries: Sequence[Query], method: str) -> str:
    """The workload, all windows merged by scans."""
    lines = [
        f"SET cadence = {method};",
        "SET window_merge = scan;",
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME WATERMARK 1 SECOND, k STRING KEY, v DOUBLE) "
        f"FROM FILES '{path}' FORMAT PARQUET;",
    ]
    lines += [
        f"CREATE QUERY q{i} AS SELECT k, max(v) AS m FROM s [RANGE {query.cost + 1} SECONDS] GROUP BY k "
        f"FREQUENCY {query.bound} SECONDS;"
        for i, query in enumerate(queries)
    ]
    return "\n".join(lines)


def run(quick: bool) -> Result:
    keys = 20 if quick else 100
    counts, shown = ((10,), (10,)) if quick else (COUNTS, SHOWN)
    rows = table(keys)
    path = folder(rows, keys)
    found: dict[tuple[str, int], dict[str, Measured]] = {}
    spent: list[Execution] = []
    compared = 0
    with warm() as backend:
        warm_up = {method: program(path, drawn("uu", 20), method) for method in METHODS}
        for one_by_one in (True, False):
            run_in_turns(backend, warm_up, one_by_one=one_by_one)
        for distribution in DISTRIBUTIONS[:: 3 if quick else 1]:
            for count in counts if distribution == "uu" else shown:
                queries = drawn(distribution, count)
                apart, whole = _runs(backend, path, queries, TOGETHER if count in shown else 0)
                compared += sum(_check(rows, queries, one) for turn in (apart, *whole) for one in turn.values())
                found[distribution, count] = _measured(queries, keys, apart, whole)
                for one in apart.values():
                    spent += one.measured()
    return _result(found, _fitted(spent), compared, keys, counts)


def _runs(
    backend: WarmBackend, path: Path, queries: Sequence[Query], rounds: int
) -> tuple[dict[str, Run], list[dict[str, Run]]]:
    """One run of each method one by one, and so many together: those are short, and their median is taken."""
    programs = {method: program(path, queries, method) for method in METHODS}
    apart = run_in_turns(backend, programs, one_by_one=True)
    return apart, [run_in_turns(backend, programs, one_by_one=False) for _round in range(rounds)]


def _measured(
    queries: Sequence[Query], keys: int, apart: dict[str, Run], whole: list[dict[str, Run]]
) -> dict[str, Measured]:
    # The first tick answers what is complete by a second before its last row, the end what is by the last row.
    begin, end = EPOCH_US + (FILE_S - 2) * SECOND, EPOCH_US + (FILE_S * FILES - 1) * SECOND
    seconds = (end - begin) / SECOND
    bounds = {f"q{i}": float(query.bound) for i, query in enumerate(queries)}
    counted = {method: one.measured() for method, one in apart.items()}
    for calls in counted.values():
        assert all(begin < call.at <= end for call in calls)
    slowed = LOAD * seconds / sum(call.cpu for call in counted["none"])
    a_merge = LOAD * seconds / sum(call.merges for call in counted["none"])
    found = {}
    for method, calls in counted.items():
        plan = apart[method].plan
        passes = [turn[method].measured() for turn in whole]
        found[method] = Measured(
            float(plan.cost_per_unit) * keys * SECOND / plan.unit_us,
            sum(call.merges for call in calls) / seconds,
            len(calls) / seconds,
            sum(call.answers for call in calls) / seconds,
            sum(call.cpu for call in calls) / seconds,
            latency(calls, [slowed * call.cpu for call in calls], bounds),
            latency(calls, [a_merge * call.merges for call in calls], bounds),
            sum(call.merges for call in passes[0]) / seconds if passes else None,
            median(sum(call.cpu for call in one) for one in passes) / seconds if passes else None,
        )
    return found


def _fitted(spent: Sequence[Execution]) -> dict[str, float]:
    """What an execution, an answer and a merge take, by least squares over all executions of all methods."""
    columns = np.array([(1, one.answers, one.merges) for one in spent], float)
    cpu = np.array([one.cpu for one in spent])
    kernel = np.array([one.kernel for one in spent])
    whole, inside = (np.linalg.lstsq(columns, taken, rcond=None)[0] for taken in (cpu, kernel))
    left = cpu - columns @ whole
    return {
        "execution_us": 1e6 * float(whole[0]),
        "answer_us": 1e6 * float(whole[1]),
        "merge_ns": 1e9 * float(whole[2]),
        "answer_in_kernel_us": 1e6 * float(inside[1]),
        "explained": 1 - float(left.var() / cpu.var()),
    }


def _check(rows: pa.Table, queries: Sequence[Query], one: Run) -> int:
    """No gap exceeds a bound; some answers of three queries are what the rows say. How many were compared."""
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    values = rows.column("v").to_numpy()
    encoded = rows.column("k").combine_chunks().dictionary_encode()
    names, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    compared = 0
    for number, query in enumerate(queries):
        tables = one.tables(f"q{number}")
        at = np.concatenate([answers.column("at").to_numpy() for answers in tables])
        assert np.all(np.diff(at) > 0)
        assert np.diff(at).max(initial=0) <= query.bound * SECOND, f"q{number} waited longer than its bound"
        assert at[0] - EPOCH_US <= query.bound * SECOND
        assert EPOCH_US + (FILE_S * FILES - 1) * SECOND - at[-1] < query.bound * SECOND
        if number not in (0, len(queries) // 2, len(queries) - 1):
            continue
        answers = pa.concat_tables(tables)
        for place in {0, len(at) // 2, len(at) - 1}:
            begin, stop = np.searchsorted(times, [at[place] - (query.cost + 1) * SECOND, at[place]], side="right")
            greatest = np.full(len(names), -np.inf)
            np.maximum.at(greatest, codes[begin:stop], values[begin:stop])
            given = {row["k"]: row["m"] for row in answers.column("rows")[place].as_py()}
            assert given == {name: m for name, m in zip(names, greatest.tolist()) if m > -np.inf}
            compared += len(given)
    return compared


def _result(
    found: dict[tuple[str, int], dict[str, Measured]],
    fit: dict[str, float],
    compared: int,
    keys: int,
    counts: Sequence[int],
) -> Result:
    table_rows = [
        [distribution, count, method, *one.figures(by_method["none"])]
        for (distribution, count), by_method in found.items()
        for method, one in by_method.items()
    ]
    place = {name: number for number, name in enumerate(COLUMNS)}

    def curves(column: str) -> dict[str, list[tuple[float, float]]]:
        return {
            method: [(row[1], row[place[column]]) for row in table_rows if row[0] == "uu" and row[2] == method]
            for method in METHODS
            if method != "none"
        }

    last = counts[-1]
    exact = next(row for row in table_rows if row[:3] == ["uu", last, "exact"])
    worst = max(abs(row[place["predicted : counted"]] - 1) for row in table_rows)
    return Result(
        name="cadence_engine",
        title=f"Cadences on the engine, bounds and costs uniform, of what none takes ({keys} keys, scans)",
        columns=COLUMNS,
        rows=table_rows,
        goals=[
            Goal("predicted against counted merges, largest difference", 0.05, worst),
            Goal(f"uu, {last} queries, exact over none: merges counted", 1.0, exact[place["counted"]]),
            Goal(f"uu, {last} queries, exact over none: CPU one by one", 1.0, exact[place["CPU one by one"]]),
            Goal(f"uu, {last} queries, exact over none: latency", 1.0, exact[place["latency"]]),
            Goal(f"uu, {last} queries, exact over none: CPU together", 1.0, exact[place["CPU together"]]),
        ],
        pictures=[
            Picture("queries", label, curves(column), logarithmic=column == "latency")
            for column, label in (
                ("counted", "merges per second, none = 1"),
                ("CPU one by one", "CPU per second, none = 1"),
                ("answers/CPU s", "answers per CPU second, none = 1"),
                ("latency", f"latency at none's load {LOAD}, none = 1"),
            )
        ],
        notes=[
            f"{compared:,} sampled values equal those recomputed from the rows; no gap exceeded its bound",
            f"an execution takes {fit['execution_us']:.0f} us, an answer of {keys} rows {fit['answer_us']:.0f} us "
            f"({fit['answer_in_kernel_us']:.0f} of them in the kernel), a merge {fit['merge_ns']:.0f} ns "
            f"(least squares over all executions, {100 * fit['explained']:.0f} % explained)",
        ],
        facts={
            "fit": fit,
            "per second of stream time": {
                f"{distribution} {count} {method}": [getattr(one, name) for name in Measured.__slots__]
                for (distribution, count), by_method in found.items()
                for method, one in by_method.items()
            },
            "fields": list(Measured.__slots__),
        },
    )
