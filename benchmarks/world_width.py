"""How intervals narrow with rounds and time, what twenty queries of one window cost, and one Spark SQL query a world.

SQL programs on the engine in process (no Spark), closed forms off; times are CPU of the passes that answer, the best of
several, taken in turn, so compare by ratios.

*Width*: one query with eight stages (ANSWERS WITHIN, `--once`: stage i has i times ROUNDS), half-widths of an
expectation and of a probability by rounds, and by the CPU time of an answer with so many rounds of its own.
*Twenty queries*: of one window, due together, over one of them. *Thresholds* ask for the same average with other
thresholds, *functions* for five aggregates of one attribute with other thresholds, *filters* for the same average where
other conditions hold, *groups* for the same average by other keys, *aggregates* for other expressions of one attribute,
*columns* for the averages of twenty attributes. The last four cannot be 1.5 times one: each query has numbers of its
own to fold, and of *columns* also to draw. *Spark SQL*: the same sum by group of the same worlds as literal tables of
a session, one query a world, on one core.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tests.inprocess.backend import InProcess

from benchmarks.report import Goal, Picture, Point, Result
from punctual.clock import SECOND, ManualClock
from punctual.engine.answers.answering import Answering
from punctual.engine.engine import Engine
from punctual.kernel.draw import Normal, draw_numbers, source

START = 1_700_000_000 * SECOND
STAGES = 8
GROUPS = 10
GOAL_TWENTY, GOAL_SPARK = 1.5, 500.0
COLUMNS, KEYS = [f"x{n}" for n in range(20)], [f"g{n}" for n in range(20)]
STREAM = (
    "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE,"
    f" y DOUBLE, {', '.join(f'{x} DOUBLE ~ NORMAL({x}, sd)' for x in COLUMNS)}, {', '.join(f'{g} INT' for g in KEYS)})"
    " FROM FILES 'in' FORMAT PARQUET;"
)
OVER = "FROM s [RANGE 1 SECOND] GROUP BY k PERIOD 1 SECOND"
WIDTH = f"SELECT k, EXPECTED(max(x)) AS peak, PROBABILITY(max(x) > 75) AS high {OVER}"
THRESHOLDS = [f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > {50 + n / 10}) AS p {OVER}" for n in range(20)]
FUNCTIONS = [
    f"SELECT k, {f}(x) AS a, PROBABILITY({f}(x) > {50 + n / 10}) AS p {OVER}"
    for n in range(4)
    for f in ("avg", "sum", "min", "max", "count")
]
FILTERS = [f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p {OVER}".replace(
    "GROUP BY", f"WHERE x > {40 + n / 2} GROUP BY") for n in range(20)]  # fmt: skip
GROUPED = [f"SELECT {g}, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p {OVER}".replace("BY k", f"BY {g}") for g in KEYS]
OF_COLUMNS = [f"SELECT k, avg({x}) AS a, PROBABILITY(avg({x}) > 50) AS p {OVER}" for x in COLUMNS]
AGGREGATES = [f"SELECT k, PROBABILITY(sum(x * {n + 1} + y) > 9) AS p, max(x + {n}) AS m {OVER}" for n in range(20)]
SETS = {
    "thresholds": THRESHOLDS, "functions": FUNCTIONS, "filters": FILTERS, "groups": GROUPED, "aggregates": AGGREGATES,
    "columns": OF_COLUMNS,
}  # fmt: skip


class Window:
    """One window of so many rows, each with a normal value."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder, random = folder / str(rows), np.random.default_rng(rows)
        (self._folder / "in").mkdir(parents=True)
        times = START + 1 + np.arange(rows + 1) * (900_000 // (rows + 1))
        times[-1] = START + SECOND  # which completes the window
        self.mean, self.sd = random.normal(50.0, 9.0, rows + 1), random.uniform(1.0, 5.0, rows + 1)
        self.key = [f"k{n % GROUPS}" for n in range(rows + 1)]
        columns = {"k": self.key, "x": self.mean, "sd": self.sd, "y": random.normal(5.0, 1.0, rows + 1)}
        keys = {name: (np.arange(rows + 1) // (n + 1) % GROUPS).astype(np.int32) for n, name in enumerate(KEYS)}
        columns |= {**dict.fromkeys(COLUMNS, self.mean), **keys}
        table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), **columns})
        pq.write_table(table, self._folder / "in" / "rows.parquet")
        self._runs = 0

    def answer(self, queries: list[str]) -> tuple[float, dict[str, list[dict[str, Any]]]]:
        """CPU seconds of the pass that answers these queries, and their answers."""
        self._runs += 1
        out = self._folder / f"out{self._runs}"
        engine = Engine(
            out=str(out), base=str(self._folder), live=False, clock=ManualClock(START),
            options={"closed_forms": "off"}, backend=lambda: InProcess(1),
        )  # fmt: skip
        with engine, timed_passes() as taken:
            engine.sql(STREAM + "".join(f"CREATE QUERY q{n} AS {one};" for n, one in enumerate(queries)))
            engine.run_once()
        read = {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in out.glob("*.jsonl")}
        return sum(taken), read


@contextmanager
def timed_passes(clock: Callable[[], float] = process_time) -> Iterator[list[float]]:
    """Seconds of every pass of engines that run meanwhile."""
    taken: list[float] = []
    answer = Answering.answer

    def timed(*arguments: Any, **named: Any) -> Any:
        began = clock()
        try:
            return answer(*arguments, **named)
        finally:
            taken.append(clock() - began)

    Answering.answer = timed  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        Answering.answer = answer  # type: ignore[method-assign]


def run(quick: bool) -> Result:
    rounds, times = (40, 1) if quick else (500, 5)
    sizes = ((200, 100), (400, 100)) if quick else ((1_000, 100), (1_000, 1_000), (10_000, 1_000))
    with TemporaryDirectory() as folder:
        narrow = Window(Path(folder) / "narrow", 200 if quick else 1_000)
        widths = staged_widths(narrow, rounds)
        seconds = [min(narrow.answer([f"{WIDTH} ROUNDS {rounds * (n + 1)}"])[0] for _time in range(times))
                   for n in range(STAGES)]  # fmt: skip
        lines, ratios = [], dict[tuple[str, int, int], float]()
        windows = {rows: Window(Path(folder), rows) for rows in {rows for rows, _drawn in sizes}}
        for rows, drawn in sizes:
            for name, queries in SETS.items():
                asked = [f"{one} ROUNDS {drawn}" for one in queries]
                one, twenty = in_turn(windows[rows], [asked[:1], asked], min(times, 2) if rows > 1_000 else times)
                ratios[name, rows, drawn] = twenty / one
                of = f"{name}, {rows:,} rows, {drawn:,} rounds"
                lines.append(["20 queries", of, 1e3 * one, 1e3 * twenty, twenty / one])
    spark_s, kernel_s, worlds = spark_against_kernel(*((200, 5) if quick else (1_000, 40)))
    of_spark = ["Spark SQL a world", f"median of {worlds} worlds", 1e3 * kernel_s, 1e3 * spark_s, spark_s / kernel_s]
    slopes = {name: float(np.polyfit(*np.log(np.array(points).T), 1)[0]) for name, points in widths.items()}
    return Result(
        name="world_width",
        title="Intervals by rounds and time, and what queries of one window share",
        columns=["what", "of", "one, ms", "other, ms", "ratio"],
        rows=[*lines, of_spark],
        goals=[
            *(Goal(f"20 queries over one: {name}, {rows:,} rows, {drawn:,} rounds", GOAL_TWENTY, ratio)
              for (name, rows, drawn), ratio in ratios.items()),
            Goal("one Spark SQL query over ours, a world of 1,000 rows", GOAL_SPARK, spark_s / kernel_s, at_least=True),
        ],
        pictures=[
            Picture("rounds", "half-width over that of the first answer", relative(widths)),
            Picture(
                "CPU time over that of the first answer", "half-width over that of the first answer",
                {name: [(seconds[n] / seconds[0], y) for n, (_x, y) in enumerate(points)]
                 for name, points in relative(widths).items()},
            ),
        ],
        notes=[f"half-widths of {name} fall with rounds to the power {slope:.2f}" for name, slope in slopes.items()],
        facts={"widths": widths, "seconds": seconds},
    )  # fmt: skip


def staged_widths(window: Window, rounds: int) -> dict[str, list[Point]]:
    """Half-widths of the answers of one instant: the mean over its groups, by rounds."""
    within = ", ".join(f"{n + 1} SECONDS" for n in range(STAGES))
    (answers,) = window.answer([f"{WIDTH} ANSWERS WITHIN {within} ROUNDS {rounds}"])[1].values()
    found: dict[str, list[Point]] = {"EXPECTED": [], "PROBABILITY": []}
    for number, answer in enumerate(answers):
        assert (answer["number"], answer["rounds"]) == (number, rounds * (number + 1))
        for name, column in (("EXPECTED", "peak"), ("PROBABILITY", "high")):
            ends = answer["error"][column]
            halves = np.subtract(ends["high"], ends["low"]) / 2
            found[name].append((answer["rounds"], float(halves.mean())))
    return found


def relative(widths: dict[str, list[Point]]) -> dict[str, list[Point]]:
    return {name: [(x, y / points[0][1]) for x, y in points] for name, points in widths.items()}


def in_turn(window: Window, programs: list[list[str]], times: int) -> list[float]:
    """CPU seconds of the fastest run of each."""
    for program in programs:
        window.answer(program[:2])
    fastest = [np.inf] * len(programs)
    for _time in range(times):
        for number, program in enumerate(programs):
            fastest[number] = min(fastest[number], window.answer(program)[0])
    return fastest


def spark_against_kernel(rows: int, worlds: int) -> tuple[float, float, int]:
    """Seconds by the wall clock of one world: a Spark SQL query over its table, and our answer with 1,000 rounds."""
    with TemporaryDirectory() as folder:
        window = Window(Path(folder), rows)
        query = [f"SELECT k, PROBABILITY(sum(x) > 5000) AS p {OVER} ROUNDS 1000"]
        window.answer(query)
        kernel = np.inf
        for _time in range(5):
            with timed_passes(perf_counter) as taken:
                window.answer(query)
            kernel = min(kernel, sum(taken) / 1_000)
        identity, law = np.arange(rows + 1, dtype=np.uint64), Normal(window.mean, window.sd)
        values = draw_numbers(source(0, "s", "x"), identity, law, range(worlds))
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
            "spark.sql.shuffle.partitions", "1").getOrCreate()  # fmt: skip
        spark.sparkContext.setLogLevel("OFF")
        try:
            taken_s = []
            for world in range(worlds):
                table = pa.table({"k": window.key, "x": values[:, world]})
                spark.createDataFrame(table).createOrReplaceTempView("world")
                began = perf_counter()
                found = spark.sql("SELECT k, sum(x) AS total FROM world GROUP BY k").collect()
                taken_s.append(perf_counter() - began)
                totals = {row["k"]: row["total"] for row in found}
                mine = np.bincount([int(key[1:]) for key in window.key], values[:, world])
                assert np.allclose([totals[f"k{n}"] for n in range(GROUPS)], mine)
        finally:
            spark.stop()
    return float(np.median(taken_s[worlds // 2 :])), kernel, worlds
