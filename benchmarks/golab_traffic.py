"""Golab, Bijay and Ozsu's seven queries on real traffic: what their cost model says, and what the engine does.

Travel times of 449 road segments of Aarhus, a week of August 2014, one report per segment in five minutes. The paper's
panes are minutes; here the data's step takes their place, so all of its times are multiplied by five: Q1 looks at 50
minutes and may wait for 10. A *step* is five minutes, and the paper's costs per minute are costs per step. Each query
asks for the greatest travel time, over all roads (one group, as in the paper) or ``GROUP BY`` road.

Counted merges are below the model's: steps in which nothing was reported (8 % of the week's) have no pane to merge.

The data is not part of the project (its repository is GPL-3.0): ``PUNCTUAL_DATA`` names a folder with
``aarhus_traffic/aarhus_traffic_2014-08_2014-09.parquet``, made of the streams ``AarhusTrafficData*`` of the repository
CityBench/Benchmark on GitHub, commit 8884af6d907d7171910ae322ee66e32b89ebc491: columns timestamp, report_id,
avg_measured_time_s and others, values untouched, sorted by time. Without it this benchmark says so and ends.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.engines import WarmBackend, warm
from benchmarks.executions import Execution, Run, run_in_turns
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import CACHE
from punctual.clock import SECOND

PLACE = "aarhus_traffic/aarhus_traffic_2014-08_2014-09.parquet"
QUERIES = ((10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5))
"""Range and bound of Q1 to Q7, in steps."""
METHODS = ("none", "conservative", "aggressive", "hybrid", "exact", "greedy")
PUBLISHED = {"conservative": 358 / 30, "aggressive": 14.5, "hybrid": 11.4, "exact": 10.4}
"""Merges per step; conservative is misprinted as 11.63 in the paper, exact is ours."""
STEP_US = 300 * SECOND
DAY_STEPS = 288
FIRST_DAY, DAYS = datetime(2014, 8, 11, tzinfo=UTC), 7
CYCLE = 30
ROUNDS = 3
COLUMNS = (
    "groups",
    "method",
    "merges/step by the model",
    "counted",
    "executions/step",
    "answers/step",
    "CPU, scan one by one",
    "CPU, scan together",
    "CPU, auto together",
)


def days(count: int) -> pa.Table:
    """So many days of reports; says so and ends where the data is not there."""
    named = os.environ.get("PUNCTUAL_DATA")
    path = Path(named or ".") / PLACE
    if named is None or not path.exists():
        print(f"golab_traffic was left out: PUNCTUAL_DATA names no folder with {PLACE}", file=sys.stderr)
        raise SystemExit(0)
    begin = int(FIRST_DAY.timestamp()) * SECOND
    rows = pq.read_table(path, columns=["timestamp", "report_id", "avg_measured_time_s"])
    at = rows.column("timestamp").cast(pa.timestamp("us")).cast(pa.int64())
    inside = pc.and_(pc.greater_equal(at, begin), pc.less(at, begin + count * DAY_STEPS * STEP_US))
    times = at.cast(pa.timestamp("us", "UTC"))
    whole = pa.table({"ts": times, "k": rows.column("report_id"), "v": rows.column("avg_measured_time_s")})
    return whole.filter(inside).combine_chunks()


def folder(rows: pa.Table, count: int) -> Path:
    """The rows as one file per day, outside of the project."""
    path = CACHE / f"aarhus_{FIRST_DAY:%Y%m%d}_days{count}"
    if not path.exists():
        making = path.with_name(f".{path.name}.{os.getpid()}")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        begin = int(FIRST_DAY.timestamp()) * SECOND
        times = rows.column("ts").cast(pa.int64()).to_numpy()
        cuts = np.searchsorted(times, begin + np.arange(count + 1) * DAY_STEPS * STEP_US)
        for number, (start, stop) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist())):
            name = making / f"{number:05d}.parquet"
            pq.write_table(rows.slice(start, stop - start), name)
            os.utime(name, (1e9 + number, 1e9 + number))
        making.rename(path)
    return path


def program(path: Path, method: str, *, by_road: bool, merge: str = "scan", placement: str = "driver") -> str:
    """Q1 to Q7."""
    select, group = ("k, ", " GROUP BY k") if by_road else ("", "")
    lines = [
        f"SET cadence = {method};",
        f"SET window_merge = {merge};",
        f"SET placement = {placement};",
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME WATERMARK 1 SECOND, k INT KEY, v INT) "
        f"FROM FILES '{path}' FORMAT PARQUET;",
    ]
    lines += [
        f"CREATE QUERY q{number} AS SELECT {select}max(v) AS m "
        f"FROM s [RANGE {5 * length} MINUTES SLIDE {5 * bound} MINUTES]{group};"
        for number, (length, bound) in enumerate(QUERIES, 1)
    ]
    return "\n".join(lines)


def run(quick: bool) -> Result:
    count = 2 if quick else DAYS
    rows = days(count)
    path = folder(rows, count)
    table, counted, facts = [], {}, {}
    compared = 0
    with warm() as backend:
        warm_up = {method: program(path, method, by_road=True) for method in METHODS[:2]}
        run_in_turns(backend, warm_up, one_by_one=True)
        for by_road in (False, True):
            groups = pc.count_distinct(rows.column("k")).as_py() if by_road else 1
            apart, whole, folded = _runs(backend, path, by_road=by_road)
            for one in (*apart.values(), *(one for turn in whole + folded for one in turn.values())):
                compared += _check(rows, one, by_road=by_road)
            steps = _steps(rows)
            cpu = {
                "one by one": {m: sum(c.cpu for c in one.measured()) / steps for m, one in apart.items()},
                "scan": {m: _median_cpu(whole, m) / steps for m in METHODS},
                "auto": {m: _median_cpu(folded, m) / steps for m in METHODS},
            }
            for method, one in apart.items():
                calls = _whole_cycles(rows, one)
                length = _length(rows)
                merges = sum(c.merges for c in calls) / length / groups
                counted[by_road, method] = merges
                table.append(
                    [
                        groups,
                        method,
                        float(one.plan.cost_per_unit),
                        merges,
                        len(calls) / length,
                        sum(c.answers for c in calls) / length,
                        *(taken[method] / taken["none"] for taken in cpu.values()),
                    ]
                )
            facts["by road" if by_road else "all roads"] = {"CPU seconds per step": cpu}
        compared += _clustered(backend, path, rows)
    model = {row[1]: row[2] for row in table}
    assert all(abs(model[method] - told) < 1e-9 for method, told in PUBLISHED.items()), model
    auto = [facts["by road"]["CPU seconds per step"]["auto"][m] for m in ("exact", "none")]
    scan = [facts["by road"]["CPU seconds per step"]["scan"][m] for m in ("exact", "none")]
    apart_cpu = [facts["by road"]["CPU seconds per step"]["one by one"][m] for m in ("exact", "none")]
    return Result(
        name="golab_traffic",
        title=f"Golab's Q1-Q7 on {rows.num_rows:,} travel times of Aarhus, a step is five minutes",
        columns=COLUMNS,
        rows=table,
        goals=[
            Goal(
                "merges per step over all roads, largest part that counted and model differ by",
                0.05,
                max(abs(counted[False, m] / model[m] - 1) for m in METHODS),
            ),
            Goal("by road, exact over none, CPU: scan one by one", 1.0, apart_cpu[0] / apart_cpu[1]),
            Goal("by road, exact over none, CPU: scan together", 1.0, scan[0] / scan[1]),
            Goal("by road, exact over none, CPU: auto together", 1.0, auto[0] / auto[1]),
        ],
        pictures=[
            Picture(
                "",
                "merges per step, all roads",
                {
                    "model": [(place, model[m]) for place, m in enumerate(METHODS)],
                    "counted": [(place, counted[False, m]) for place, m in enumerate(METHODS)],
                },
                logarithmic=False,
                labels=METHODS,
            ),
            Picture(
                "",
                "CPU by road, none = 1",
                {
                    name: [(place, row[column]) for place, row in enumerate(table[len(METHODS) :])]
                    for name, column in (("scan, one by one", 6), ("scan, together", 7), ("auto, together", 8))
                },
                logarithmic=False,
                labels=METHODS,
            ),
        ],
        notes=[
            f"{compared:,} sampled values equal those recomputed from the rows",
            "scans in the shards of a cluster gave the same answers as on the driver",
        ],
        facts=facts,
    )


Turns = list[dict[str, Run]]


def _runs(backend: WarmBackend, path: Path, *, by_road: bool) -> tuple[dict[str, Run], Turns, Turns]:
    scans = {method: program(path, method, by_road=by_road) for method in METHODS}
    folds = {method: program(path, method, by_road=by_road, merge="auto") for method in METHODS}
    apart = run_in_turns(backend, scans, one_by_one=True)
    whole = [run_in_turns(backend, scans, one_by_one=False) for _round in range(ROUNDS)]
    folded = [run_in_turns(backend, folds, one_by_one=False) for _round in range(ROUNDS)]
    return apart, whole, folded


def _median_cpu(turns: Turns, method: str) -> float:
    return median(sum(call.cpu for call in turn[method].measured()) for turn in turns)


def _last(rows: pa.Table) -> int:
    return int(pc.max(rows.column("ts").cast(pa.int64())).as_py())


def _steps(rows: pa.Table) -> float:
    """Steps that are answered after the first day, whose last one waits for the next day's rows."""
    return (_last(rows) - int(FIRST_DAY.timestamp()) * SECOND) / STEP_US - (DAY_STEPS - 2)


def _length(rows: pa.Table) -> int:
    """As many of the last steps as are whole cycles of conservative."""
    return int(_steps(rows)) // CYCLE * CYCLE


def _whole_cycles(rows: pa.Table, one: Run) -> list[Execution]:
    since = _last(rows) // STEP_US * STEP_US - _length(rows) * STEP_US
    return [call for call in one.measured() if call.at > since]


def _check(rows: pa.Table, one: Run, *, by_road: bool) -> int:
    """Sampled answers of every query are the greatest values of their windows; bounds are kept."""
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    values, roads = rows.column("v").to_numpy(), rows.column("k").to_numpy()
    compared = 0
    for number, (length, bound) in enumerate(QUERIES, 1):
        answers = pa.concat_tables(one.tables(f"q{number}"))
        at = answers.column("at").to_numpy()
        assert np.diff(at).max() <= bound * STEP_US, f"q{number} waited longer than its bound"
        for place in np.linspace(0, at.size - 1, 5).astype(int).tolist():
            begin, stop = np.searchsorted(times, [at[place] - length * STEP_US, at[place]], side="right")
            expected = dict(_greatest(roads[begin:stop] if by_road else None, values[begin:stop]))
            given = {row.get("k"): row["m"] for row in answers.column("rows")[place].as_py()}
            assert given == expected, f"q{number} at {at[place]}"
            compared += len(given)
    return compared


def _greatest(roads: np.ndarray | None, values: np.ndarray) -> Iterator[tuple[int | None, int]]:
    if roads is None:
        yield None, int(values.max())
        return
    for road in np.unique(roads).tolist():
        yield road, int(values[roads == road].max())


def _clustered(backend: WarmBackend, path: Path, rows: pa.Table) -> int:
    """Scans in Spark's tasks answer as on the driver, row by row; how many sampled values were right."""
    programs = {
        placement: program(path, "exact", by_road=True, placement=placement) for placement in ("driver", "cluster")
    }
    found = run_in_turns(backend, programs, one_by_one=False)
    for number in range(1, len(QUERIES) + 1):
        driver, cluster = (
            pa.concat_tables(found[placement].tables(f"q{number}")).select(["at", "rows", "complete"]).to_pylist()
            for placement in ("driver", "cluster")
        )
        assert driver == cluster, f"q{number} differs in shards"
    return _check(rows, found["cluster"], by_road=True)
