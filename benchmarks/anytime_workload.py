"""The workload of Ge and others (anytime queries on multicores), generated: status of bank machines, and a forecast.

Their data are not at hand, so it is made, with their columns and their share of missing values; their SQL is not in the
text that we have, so Q1 to Q4 are what the text says of them, and Q5 is ours. Metadata of machines stand in every row,
since values that are found among others are not joined yet.

``python -m benchmarks.anytime_workload examples/data/machines`` writes the data of ``examples/machines.sql``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from punctual.clock import SECOND, instant_us

START = instant_us("2012-04-21T17:00:00Z")
QUARTER, HOUR = 15 * 60 * SECOND, 3600 * SECOND
REGIONS = ("R18", "R19", "R20", "R21")
INVALID_STATUS, INVALID_WEATHER = 0.1, 0.18
"""How many values are not there or make no sense; of the forecast as many as in theirs."""
ROUNDS = 100
"""What an answer rests on at least."""
LIFETIMES_S, MOST_ANSWERS = (1.0, 6.0), 3

STREAMS = """
CREATE STREAM status (
    healthtime     TIMESTAMP EVENT TIME,
    ipAddr         STRING    KEY,
    numConnections INT       ~ EMPIRICAL BY branch IF numConnections < 0,
    policyStatus   INT,
    activityFlag   INT       ~ EMPIRICAL BY branch,
    machine        STRING,
    branch         STRING,
    region         STRING,
    east           DOUBLE,
    north          DOUBLE
) FROM FILES '{folder}/status' FORMAT PARQUET;

CREATE STREAM tomorrow (
    forecast TIMESTAMP EVENT TIME,
    place    STRING    KEY,
    region   STRING,
    lat      DOUBLE,
    lon      DOUBLE,
    rain     DOUBLE    ~ NEAREST 10 BY (lat, lon) IF rain < 0,
    wind     DOUBLE    ~ NEAREST 10 BY (lat, lon),
    cloud    DOUBLE    ~ INTERPOLATED BY place WITHIN 2 HOURS
) FROM FILES '{folder}/tomorrow' FORMAT PARQUET;
"""

SELECTS = {
    "q1": "SELECT ipAddr, branch, numConnections AS load FROM status [RANGE 15 MINUTES]"
    " WHERE machine = 'atm' AND (east - {east}) * (east - {east}) + (north - {north}) * (north - {north}) <= 4"
    " AND numConnections < 20 AND activityFlag = 1 HAVING PROBABILITY >= 0.8",
    "q2": "SELECT branch, HISTOGRAM(avg(numConnections), 10) AS load FROM status [RANGE 15 MINUTES]"
    " WHERE region IN ('R20', 'R21') GROUP BY branch",
    "q3": "SELECT ipAddr, branch, region FROM status [RANGE 15 MINUTES] WHERE activityFlag = 3",
    "q4": "SELECT place, lat, lon FROM tomorrow [RANGE 1 HOUR] WHERE rain < 0.2 AND wind < 8 AND cloud < 60",
    "q5": "SELECT region, INTERVAL(avg(wind), 95%) AS wind FROM tomorrow [RANGE 1 HOUR] GROUP BY region",
}
"""The five queries; Q1 asks around a place."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that somebody asks: when, and by when each of its answers is due, seconds after that."""

    name: str
    kind: str
    at_s: float
    deadlines_s: tuple[float, ...]
    select: str

    @property
    def statement(self) -> str:
        """Asked once, at the newest instant: it has no period."""
        within = ", ".join(f"{round(1000 * deadline)} MILLISECONDS" for deadline in self.deadlines_s)
        return f"CREATE QUERY {self.name} AS {self.select} ANSWERS WITHIN {within} ROUNDS {ROUNDS};"


def asked(seed: int, rate: float, seconds: float) -> list[Asked]:
    """Queries that come at random, so many a second: any of the five, 1 to 3 answers in 1 to 6 seconds."""
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0.0, seconds, random.poisson(rate * seconds)))
    found = []
    for number, at in enumerate(times.tolist()):
        kind = str(random.choice(list(SELECTS)))
        lifetime, answers = float(random.uniform(*LIFETIMES_S)), int(random.integers(1, MOST_ANSWERS + 1))
        deadlines = tuple(round(lifetime * (n + 1) / answers, 3) for n in range(answers))
        east, north = (round(float(where), 1) for where in random.uniform(0.0, 10.0, 2))
        found.append(Asked(f"a{number}", kind, at, deadlines, SELECTS[kind].format(east=east, north=north)))
    return found


def status(random: np.random.Generator, branches: int, machines: int, instants: int) -> pa.Table:
    """Every quarter of an hour a row of each machine: so many to a branch, so many branches to a region."""
    columns: dict[str, list[Any]] = {name: [] for name in STATUS.names}
    places = {(region, n): random.uniform(0.0, 10.0, 2) for region in REGIONS for n in range(branches)}
    busy = {place: float(random.uniform(5.0, 40.0)) for place in places}
    for instant in range(1, instants + 1):
        day = 1.0 + 0.5 * math.sin(2 * math.pi * instant / 96)
        for number, ((region, branch), (east, north)) in enumerate(places.items()):
            for machine in range(machines):
                kind = "atm" if machine < machines // 2 else "workstation" if machine < machines - 1 else "server"
                load = int(random.poisson(busy[region, branch] * day * (3.0 if kind == "server" else 1.0)))
                flag = int(random.choice([1, 2, 3, 4, 5], p=[0.88, 0.05, 0.03, 0.02, 0.02]))
                columns["healthtime"].append(START + instant * QUARTER - number)
                columns["ipAddr"].append(f"172.{number}.{machine // 250}.{machine % 250 + 1}")
                columns["numConnections"].append(load if random.random() >= INVALID_STATUS else -1)
                columns["policyStatus"].append(int(random.choice([1, 2, 3], p=[0.9, 0.07, 0.03])))
                columns["activityFlag"].append(flag if random.random() >= INVALID_STATUS else None)
                columns["machine"].append(kind)
                columns["branch"].append(f"{region}-{branch}")
                columns["region"].append(region)
                columns["east"].append(round(float(east), 2))
                columns["north"].append(round(float(north), 2))
    return pa.table(columns, schema=STATUS)


def tomorrow(random: np.random.Generator, side: int, hours: int) -> pa.Table:
    """Every hour a forecast for each place of a square grid, which is not quite even; a quarter of it is a region."""
    columns: dict[str, list[Any]] = {name: [] for name in TOMORROW.names}
    grid = np.stack(np.meshgrid(range(side), range(side), indexing="ij"), axis=-1)
    where = ((grid + random.uniform(-0.3, 0.3, grid.shape)) * 0.25 + [45.0, -123.0]).round(4)
    for hour in range(1, hours + 1):
        front = side * hour / (hours + 1)
        for row in range(side):
            for column in range(side):
                wet = math.exp(-abs(column - front) / 2)
                columns["forecast"].append(START + hour * HOUR - row * side - column)
                columns["place"].append(f"p{row}-{column}")
                columns["region"].append(REGIONS[2 * (2 * row // side) + 2 * column // side])
                lat, lon = where[row, column].tolist()
                columns["lat"].append(lat)
                columns["lon"].append(lon)
                rain = round(float(random.gamma(1.0, 0.2 + 3.0 * wet)), 2)
                columns["rain"].append(rain if random.random() >= INVALID_WEATHER else -9999.0)
                for name, value in (("wind", random.gamma(4.0, 1.0 + 2.0 * wet)), ("cloud", 100 * random.beta(2, 2))):
                    columns[name].append(round(float(value), 1) if random.random() >= INVALID_WEATHER else None)
    return pa.table(columns, schema=TOMORROW)


TIME = pa.timestamp("us", tz="UTC")
STATUS = pa.schema([
    ("healthtime", TIME), ("ipAddr", pa.string()), ("numConnections", pa.int32()), ("policyStatus", pa.int32()),
    ("activityFlag", pa.int32()), ("machine", pa.string()), ("branch", pa.string()), ("region", pa.string()),
    ("east", pa.float64()), ("north", pa.float64()),
])  # fmt: skip
TOMORROW = pa.schema([
    ("forecast", TIME), ("place", pa.string()), ("region", pa.string()), ("lat", pa.float64()), ("lon", pa.float64()),
    ("rain", pa.float64()), ("wind", pa.float64()), ("cloud", pa.float64()),
])  # fmt: skip


def write(
    folder: Path, *, branches: int = 4, machines: int = 8, quarters: int = 8, side: int = 8, hours: int = 5
) -> None:
    """Both streams, a file each."""
    random = np.random.default_rng(2012)
    tables = {"status": status(random, branches, machines, quarters), "tomorrow": tomorrow(random, side, hours)}
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(table.sort_by(table.column_names[0]), folder / name / "2012-04-21.parquet")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
