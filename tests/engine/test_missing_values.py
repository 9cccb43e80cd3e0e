"""Missing values in every world: EMPIRICAL, INTERPOLATED and NEAREST, from the query's own window."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND
from punctual.explain.look import look_at
from tests.engine.test_worlds import ROUNDS, START, answers, by_key, in_window
from tests.oracles import possible_worlds as oracle

COLUMNS = {
    "t": pa.int64(), "k": pa.string(), "lat": pa.float64(), "lon": pa.float64(), "load": pa.int32(),
    "temp": pa.float64(), "rain": pa.float64(),
}
DECLARED = """
CREATE STREAM weather (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, lat DOUBLE, lon DOUBLE,
    load INT ~ EMPIRICAL BY k{missing}, temp DOUBLE ~ INTERPOLATED BY k WITHIN 2 SECONDS,
    rain DOUBLE ~ NEAREST 3 BY (lat, lon)) FROM FILES 'in' FORMAT JSON;
"""
WITHIN_US = 2 * SECOND
LAWS = {
    "load": oracle.empirical("load", "k"),
    "temp": oracle.interpolated("temp", "k", WITHIN_US),
    "rain": oracle.nearest("rain", ["lat", "lon"], 3),
}
WEATHER = oracle.Stream(
    "weather", COLUMNS, LAWS, {name: (lambda row, name=name: row[name] is None) for name in LAWS}  # type: ignore[misc]
)
TYPES = {"k": pa.string(), "load": pa.int32(), "temp": pa.float64(), "rain": pa.float64()}


def rows_of(*, lonely: bool = True) -> list[oracle.Row]:
    draw = random.Random(11)
    rows = []
    for number in range(210):
        row: dict[str, Any] = {"t": START + number * 150_000 + 1, "k": f"k{draw.randrange(3)}"}
        row |= {"lat": draw.uniform(0, 9), "lon": draw.uniform(0, 9)}
        row["load"] = None if draw.random() < 0.3 else draw.randrange(100)
        row["temp"] = None if draw.random() < 0.4 else round(draw.gauss(10, 5), 2)
        row["rain"] = None if draw.random() < 0.3 else round(draw.expovariate(1), 3)
        rows.append(row)
    if lonely:
        rows[120] |= {"k": "nobody else", "load": None, "temp": None}
    return rows


@pytest.mark.parametrize(("column", "range_s"), [("load", 10), ("temp", 10), ("rain", 10), ("temp", 4)])
def test_missing_values_are_found_in_the_window(tmp_path: Path, column: str, range_s: int) -> None:
    rows = rows_of()
    program = DECLARED.format(missing="") + (
        f"CREATE QUERY q AS SELECT k, avg({column}) AS m, PROBABILITY(max({column}) > 12) AS p"
        f" FROM weather [RANGE {range_s} SECONDS] GROUP BY k PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    )
    found = answers(tmp_path, program, rows, {"closed_forms": "off"})["q"]
    assert len(found) == 3
    marked = 0
    for answer in found:
        window = in_window(rows, answer, range_s)
        around = [{**row, "inside": False} for row in in_window(rows, answer, range_s + 2) if row not in window]
        stream = oracle.Stream(WEATHER.name, COLUMNS, {column: LAWS[column]}, WEATHER.missing)
        every = oracle.worlds(stream, window, ROUNDS, seed=0, around=around if column == "temp" else ())
        text = f"SELECT k, avg({column}) AS m, (max({column}) > 12)::INT AS p FROM world GROUP BY k"
        results = oracle.over_worlds(text, every, TYPES)
        for name in ("m", "p"):
            means = oracle.expectation(results, ["k"], name)
            assert {key: row[name] for key, row in by_key(answer, "k").items()} == pytest.approx(means, rel=1e-9)
        marked += answer.get("marked") or 0
    assert marked == (1 if column in ("load", "temp") else 0), "of nobody else's key nothing was seen"


def test_another_query_changes_nothing(tmp_path: Path) -> None:
    query = (
        "CREATE QUERY q AS SELECT k, avg(temp) AS m, max(load) AS l FROM weather [RANGE 4 SECONDS] GROUP BY k"
        f" PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    )
    longer = "CREATE QUERY other AS SELECT avg(temp) AS m FROM weather [RANGE 1 MINUTE] PERIOD 10 SECONDS;"
    declared = DECLARED.format(missing="")
    alone = answers(tmp_path / "alone", declared + query, rows_of())["q"]
    beside = answers(tmp_path / "beside", declared + query + longer, rows_of())["q"]
    assert alone == beside


@pytest.mark.parametrize(("condition", "way"), [
    ("load > 80", "read as they are"), ("load > 80 AND (k <> 'k7' OR lat IS NULL)", "read as they are"),
    ("load > 80 AND k LIKE 'k%'", "made by Spark"),
])  # fmt: skip
def test_what_is_treated_as_missing(tmp_path: Path, condition: str, way: str) -> None:
    """Kernels judge ``IF`` where they know it, Spark where not; the answers are those of rows that have NULL there."""
    query = (
        f"CREATE QUERY q AS SELECT k, avg(load) AS m FROM weather [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
        f" ROUNDS {ROUNDS};"
    )
    rows = rows_of(lonely=False)
    program = DECLARED.format(missing=f" IF {condition}") + query
    (said,) = look_at(program + "EXPLAIN SHARING;", ".", {}, types=False).explanations()
    assert f"rows that are {way}" in said
    found = answers(tmp_path, program, rows, {"closed_forms": "off"})["q"]
    assert found
    for answer in found:
        window = in_window(rows, answer)
        seen = [{**row, "load": None if (row["load"] or 0) > 80 else row["load"]} for row in window]
        identity = WEATHER.identities(window)  # draws are named by the row as it came
        stream = oracle.Stream(WEATHER.name, COLUMNS, {"load": LAWS["load"]}, WEATHER.missing)
        stream.identities = lambda _rows, identity=identity: identity  # type: ignore[method-assign,misc]
        every = oracle.worlds(stream, seen, ROUNDS, seed=0)
        results = oracle.over_worlds("SELECT k, avg(load) AS m FROM world GROUP BY k", every, TYPES)
        means = oracle.expectation(results, ["k"], "m")
        assert {key: row["m"] for key, row in by_key(answer, "k").items()} == pytest.approx(means, rel=1e-9)
