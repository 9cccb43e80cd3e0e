"""Queries over worlds on Spark: the same bytes as in process, whoever makes the rows; lists, which Spark reads."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.engine.test_missing_values import DECLARED, rows_of
from tests.engine.test_worlds import ROUNDS, SPEED_SQL, START, TAGS_SQL, answers, by_key, in_window, speeds, tags
from tests.oracles import possible_worlds as oracle
from tests.spark.backends import Cut, Shared

pytestmark = pytest.mark.spark

PERIOD = f"PERIOD 10 SECONDS ROUNDS {ROUNDS};"
SPEEDS = SPEED_SQL + f"""
CREATE QUERY plain AS SELECT k, avg(x) AS m, INTERVAL(sum(x * n), 80%) AS i FROM speed [RANGE 10 SECONDS]
WHERE x > 40 GROUP BY k {PERIOD}
CREATE QUERY by_spark AS SELECT upper(k) AS u, max(x) AS m FROM speed [RANGE 10 SECONDS]
WHERE x < 90 AND length(k) = 2 GROUP BY upper(k) HAVING avg(x) > 45 {PERIOD}
CREATE QUERY dated AS SELECT date(t) AS day, k, avg(x) AS m FROM speed [RANGE 10 SECONDS]
WHERE t > TIMESTAMP '2023-11-14 22:13:22Z' AND n * 0.1 <> 0.3 AND x + n * 0.1 > 10 GROUP BY date(t), k {PERIOD}
CREATE QUERY pairs AS SELECT a.k, count(*) AS n, EXPECTED(sum(a.x * b.x)) AS e
FROM speed [RANGE 3 SECONDS] AS a, speed [RANGE 2 SECONDS] AS b WHERE a.k = b.k AND a.x > b.x GROUP BY a.k {PERIOD}
CREATE QUERY counted AS SELECT count(*) AS n, sum(n) AS s, avg(x) AS m FROM speed [RANGE 10 SECONDS] {PERIOD}
"""


@pytest.mark.parametrize("backend", [Shared, Cut])
def test_the_same_bytes_as_in_process(spark: SparkSession, tmp_path: Path, backend: type[Shared]) -> None:
    programs = [
        ("speeds", SPEEDS, speeds()),
        ("tags", TAGS_SQL + f"""CREATE QUERY q AS SELECT k, EXPECTED(sum(x)) AS e, PROBABILITY(max(x) > 50) AS p
            FROM tags [RANGE 10 SECONDS] GROUP BY k {PERIOD}""", tags()),
        ("weather", DECLARED.format(missing=" IF load > 80") + f"""CREATE QUERY q AS SELECT k, avg(load) AS l,
            avg(temp) AS t, max(rain) AS r FROM weather [RANGE 4 SECONDS] GROUP BY k {PERIOD}""", rows_of()),
    ]  # fmt: skip
    for name, program, rows in programs:
        here = answers(tmp_path / f"{name} here", program, rows)
        there = answers(tmp_path / f"{name} there", program, rows, backend=backend)
        assert here == there
        assert all(len(some) >= 2 for some in here.values())


MACHINES = oracle.Stream(
    "machines",
    {
        "t": pa.int64(), "id": pa.string(), "states": pa.list_(pa.string()), "weights": pa.list_(pa.float64()),
        "codes": pa.list_(pa.int32()),
    },
    {"state": oracle.discrete("states", "weights"), "code": oracle.discrete("codes", "weights")},
)
MACHINES_SQL = """
CREATE STREAM machines (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, id STRING KEY, states ARRAY<STRING>,
    weights ARRAY<DOUBLE>, codes ARRAY<INT>, state STRING ~ DISCRETE(states, weights),
    code INT ~ DISCRETE(codes, weights)) FROM FILES 'in' FORMAT JSON;
"""


def machines() -> list[oracle.Row]:
    draw = random.Random(2)
    names = ["idle", "busy", "down", "lost"]
    rows = []
    for number in range(60):
        some = draw.sample(range(4), draw.randrange(1, 5))
        weights = [draw.choice([0.0, 1.0, 2.5]) for _one in some]
        weights[0] = weights[0] or 1.0
        row = {"t": START + number * 200_000 + 1, "id": f"m{number % 7}", "states": [names[n] for n in some]}
        rows.append({**row, "weights": weights, "codes": some})
    return rows


def test_lists_of_strings_and_numbers(spark: SparkSession, tmp_path: Path) -> None:
    rows = machines()
    program = MACHINES_SQL + (
        "CREATE QUERY q AS SELECT id, count(*) FILTER (WHERE state = 'busy' OR state > 'k') AS n, sum(code) AS s,"
        " HISTOGRAM(max(state), 2) AS h FROM machines [RANGE 10 SECONDS] GROUP BY id PERIOD 10 SECONDS"
        f" ROUNDS {ROUNDS};"
    )
    (answer,) = answers(tmp_path, program, rows, {"closed_forms": "off"}, Shared)["q"]
    every = oracle.worlds(MACHINES, in_window(rows, answer), ROUNDS, seed=0)
    text = (
        "SELECT id, count(*) FILTER (WHERE state = 'busy' OR state > 'k') AS n, sum(code) AS s, max(state) AS h"
        " FROM world GROUP BY id"
    )
    types = {"id": pa.string(), "state": pa.string(), "code": pa.int32()}
    results = oracle.over_worlds(text, every, types)
    for name in ("n", "s"):
        means = oracle.expectation(results, ["id"], name)
        assert {key: row[name] for key, row in by_key(answer, "id").items()} == pytest.approx(means, rel=1e-12)
    for (key,), row in by_key(answer, "id").items():
        values = [one["h"] for world in results for one in world if one["id"] == key]
        shares = sorted((-values.count(value), value) for value in set(values))[:2]
        assert row["h"] == [{"value": value, "probability": -count / len(values)} for count, value in shares]
