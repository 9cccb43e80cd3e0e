"""When shall we be there, and on which way? Arrival times on a road network whose travel times are partly unknown.

Every road reports its travel time every five minutes; where no vehicle passed, the report says nothing, and any time
that was measured on that road within the hour may be true. In each possible world SciPy finds the fastest way. The
standing query says what all worlds together say: the expected time, an interval, the likeliest routes.

With ``PUNCTUAL_DATA`` naming a folder that has ``aarhus_traffic`` (CityBench, GPL-3.0, not part of this project) these
are the roads of Aarhus on a morning of August 2014; otherwise a small city is generated. ``python examples/roads.py``
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import punctual
from punctual.engine.engine import Engine

PLACE = Path("aarhus_traffic")
BEGIN = datetime(2014, 8, 12, 6, tzinfo=UTC)
HOURS = 4
SLOT_S = 300
"""How often a road reports."""
PROGRAM = """
CREATE STREAM reports (
    time     TIMESTAMP EVENT TIME WATERMARK 0 SECONDS,
    road     STRING    KEY,
    origin   STRING,
    target   STRING,
    slot     BIGINT,
    vehicles INT,
    seconds  DOUBLE    ~ EMPIRICAL BY road IF vehicles = 0 OR seconds <= 0
) FROM FEED;

CREATE QUERY trip AS
SELECT EXPECTED(arrival(origin, target, slot, seconds, '{home}', '{work}')) AS minutes,
       INTERVAL(arrival(origin, target, slot, seconds, '{home}', '{work}'), 90%) AS between,
       HISTOGRAM(route(origin, target, slot, seconds, '{home}', '{work}'), 3) AS routes
FROM reports [RANGE 1 HOUR]
PERIOD 30 MINUTES ROUNDS 200;
"""


def ways(origin: Any, target: Any, slot: Any, seconds: Any, home: str, work: str) -> tuple[Any, list[str | None]]:
    """Minutes and route of the fastest way in each world, by the last report of each road.

    Arguments are arrays of reports by worlds; origin, target and slot are the same in all worlds.
    """
    ends = np.stack([origin[:, 0], target[:, 0]]).astype(str)
    names, places = np.unique(ends, return_inverse=True)
    places = places.reshape(2, -1)
    known = {str(name): place for place, name in enumerate(names)}
    worlds = seconds.shape[1]
    if home not in known or work not in known:
        return np.full(worlds, np.nan), [None] * worlds
    by_road = np.lexsort((slot[:, 0], places[1], places[0]))
    newer = np.append((np.diff(places[:, by_road]) == 0).all(axis=0), False)
    last = by_road[~newer]
    minutes, routes = np.empty(worlds), []
    for world in range(worlds):
        roads = csr_array((seconds[last, world], (places[0, last], places[1, last])), (names.size, names.size))
        times, before = dijkstra(roads, indices=known[home], return_predecessors=True)
        minutes[world] = times[known[work]] / 60
        place, route = known[work], [work]
        while before[place] >= 0:
            place = before[place]
            route.append(str(names[place]))
        routes.append(" > ".join(reversed(route)) if np.isfinite(minutes[world]) else None)
    return minutes, routes


def arrival(origin: Any, target: Any, slot: Any, seconds: Any, home: str, work: str) -> Any:
    """Minutes from home to work in each world; NULL where there is no way."""
    minutes = ways(origin, target, slot, seconds, home, work)[0]
    return np.ma.masked_invalid(minutes)


def route(origin: Any, target: Any, slot: Any, seconds: Any, home: str, work: str) -> list[str | None]:
    """The places on the fastest way in each world."""
    return ways(origin, target, slot, seconds, home, work)[1]


def generated(size: int = 4, hours: float = HOURS, seed: int = 1) -> pd.DataFrame:
    """Reports of a city of ``size`` by ``size`` crossings, with a rush hour; a third of them rest on no vehicle."""
    draw = np.random.default_rng(seed)
    names = [f"{chr(ord('A') + row)}{column + 1}" for row in range(size) for column in range(size)]
    near = [(a, b) for a in range(size * size) for b in (a + 1, a + size) if b < size * size]
    near = [(a, b) for a, b in near if b == a + size or b // size == a // size]
    roads = [pair for a, b in near for pair in ((a, b), (b, a))]
    usual = draw.uniform(60, 180, len(roads))
    rows = []
    for slot in range(round(hours * 3600 / SLOT_S)):
        rush = 1 + 1.5 * np.exp(-(((slot * SLOT_S / 3600 - 2) / 0.7) ** 2))
        times = usual * (1 + (rush - 1) * draw.uniform(0, 1, len(roads))) * draw.lognormal(0, 0.15, len(roads))
        seen = draw.random(len(roads)) > 1 / 3
        for (a, b), time, one in zip(roads, times.round(1).tolist(), seen.tolist()):
            at = BEGIN + timedelta(seconds=slot * SLOT_S + 1)
            rows.append((at, f"{names[a]}-{names[b]}", names[a], names[b], slot, int(one), time))
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["time", "road", "origin", "target", "slot", "vehicles", "seconds"]


def real(folder: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """A morning of Aarhus, a report of every road every five minutes; and the streets of its crossings."""
    edges = pd.read_csv(folder / "edges_metadata.csv")
    begin = BEGIN.replace(tzinfo=None)
    wanted = [("timestamp", ">", begin), ("timestamp", "<=", begin + timedelta(hours=HOURS))]
    columns = ["timestamp", "report_id", "avg_measured_time_s", "vehicle_count"]
    path = folder / "aarhus_traffic_2014-08_2014-09.parquet"
    reports = pq.read_table(path, columns=columns, filters=wanted).to_pandas()
    found = reports.merge(edges, left_on="report_id", right_on="REPORT_ID").drop_duplicates(["timestamp", "report_id"])
    times = found["timestamp"].dt.tz_localize("UTC")
    origin, target = found["POINT_1_NAME"].astype(str), found["POINT_2_NAME"].astype(str)
    rows = pd.DataFrame({
        "time": times, "road": origin + "-" + target, "origin": origin, "target": target,
        "slot": (times - pd.Timestamp(BEGIN)).dt.total_seconds() // SLOT_S, "vehicles": found["vehicle_count"],
        "seconds": found["avg_measured_time_s"].astype(float),
    })  # fmt: skip
    starts = dict(zip(edges["POINT_1_NAME"].astype(str), edges["POINT_1_STREET"]))
    ends = dict(zip(edges["POINT_2_NAME"].astype(str), edges["POINT_2_STREET"]))
    return rows.astype({"slot": int}), {**ends, **starts}


def ask(engine: Engine, reports: pd.DataFrame, home: str, work: str) -> pd.DataFrame:
    """The answers of the standing query, over all reports."""
    engine.world_function("arrival", arrival, "DOUBLE")
    engine.world_function("route", route, "STRING")
    engine.sql(PROGRAM.format(home=home, work=work))
    engine.open()
    engine.feed("reports", reports)
    engine.tick()
    engine.end()
    return engine.answers("trip")


def streets(written: str, names: dict[str, str]) -> str:
    """A route by its streets, each once; by its crossings where these have no streets."""
    passed: list[str] = []
    for crossing in written.split(" > "):
        name = names.get(crossing, crossing)
        if name not in passed:
            passed.append(name)
    return " > ".join(passed)


def farthest(reports: pd.DataFrame) -> tuple[str, str]:
    """Two crossings that are far apart by the usual times."""
    sure = reports[(reports["vehicles"] > 0) & (reports["seconds"] > 0)]
    usual = sure.groupby(["origin", "target"])["seconds"].median()
    names = sorted({name for pair in usual.index for name in pair})
    place = {name: number for number, name in enumerate(names)}
    pairs: NDArray[np.int64] = np.array([[place[a], place[b]] for a, b in usual.index])
    times = dijkstra(csr_array((usual.to_numpy(), (pairs[:, 0], pairs[:, 1])), (len(names), len(names))))
    times[~np.isfinite(times)] = 0
    home, work = np.unravel_index(times.argmax(), times.shape)
    return names[home], names[work]


def main() -> int:
    folder = Path(os.environ.get("PUNCTUAL_DATA", ".")) / PLACE
    if folder.exists():
        reports, names = real(folder)
        print(f"Roads of Aarhus on the morning of {BEGIN:%d %B %Y}: {len(reports):,} reports.")
    else:
        reports, names = generated(), {}
        print(f"A generated city (PUNCTUAL_DATA names no folder with {PLACE}): {len(reports):,} reports.")
    home, work = farthest(reports)
    print(f"From {streets(home, names)} ({home}) to {streets(work, names)} ({work}).")
    print("Starting Spark, ten to fifteen seconds ...", flush=True)
    with punctual.connect(live=False, report=print) as engine:
        for answer in ask(engine, reports, home, work).itertuples():
            between = answer.between
            print(f"\n{answer.at:%H:%M}  {answer.minutes:.1f} minutes, with 90 % between {between['low']:.1f} and "
                  f"{between['high']:.1f}")  # fmt: skip
            for likely in answer.routes:
                print(f"   {likely['probability']:4.0%}  {streets(likely['value'], names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
