"""Functions of Python over worlds in Spark's workers: the same bytes as in process, and what goes wrong there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from punctual.engine.world_functions import with_world_function
from punctual.errors import BindError
from punctual.kinds.program import EMPTY
from tests.engine.test_world_functions import Functions, run
from tests.engine.test_worlds import SPEED_SQL, TAGS_SQL, speeds, tags
from tests.spark.backends import Cut, Shared
from tests.spark.test_stop import running, until

pytestmark = pytest.mark.spark

PERIOD = "PERIOD 10 SECONDS ROUNDS 60;"
SPEEDS = SPEED_SQL + f"""
CREATE QUERY plain AS SELECT k, spread(x, n) AS y, HISTOGRAM(leader(k, x, '!'), 3) AS h, avg(x) AS m
FROM speed [RANGE 10 SECONDS] WHERE x > 40 GROUP BY k {PERIOD}
CREATE QUERY by_spark AS SELECT upper(k) AS u, EXPECTED(total(x * n)) AS t FROM speed [RANGE 10 SECONDS]
WHERE length(k) = 2 GROUP BY upper(k) HAVING total(x) > 500 {PERIOD}
CREATE QUERY drawn AS SELECT floor(x / 40) AS f, spread(x, 2) AS y FROM speed [RANGE 10 SECONDS]
GROUP BY floor(x / 40) {PERIOD}
"""
TAGGED = TAGS_SQL + f"""
CREATE QUERY q AS SELECT k, EXPECTED(total(x)) AS e, total(x) AS stored, PROBABILITY(total(x) > 100) AS p
FROM tags [RANGE 10 SECONDS] GROUP BY k {PERIOD}
"""


def functions() -> Functions:
    """Functions that belong to no module, as those of a notebook: workers get them whole."""

    def spread(x: Any, n: Any) -> Any:
        return (x * n).max(axis=0) - (x * n).min(axis=0)

    def total(x: Any, present: Any) -> Any:
        return np.where(present, x, 0).sum(axis=0)

    def leader(k: Any, x: Any, tail: Any) -> Any:
        return [f"{k[row, world]}{tail}" for world, row in enumerate(x.argmax(axis=0))]

    return {"spread": (spread, "DOUBLE"), "total": (total, "DOUBLE"), "leader": (leader, "STRING")}


@pytest.mark.parametrize("backend", [Shared, Cut])
def test_the_same_bytes_as_in_process(spark: SparkSession, tmp_path: Path, backend: type[Shared]) -> None:
    for name, program, rows in (("speeds", SPEEDS, speeds()), ("tags", TAGGED, tags())):
        here = run(tmp_path / f"{name} here", program, rows, functions())
        there = run(tmp_path / f"{name} there", program, rows, functions(), backend=backend)
        assert here.answers == there.answers
        assert (here.said, there.said) == ([], [])
        assert all(len(some) >= 2 for some in here.answers.values())


def raises(x: Any) -> Any:
    return {"road": 1}["street"]


def returns_too_much(x: Any) -> Any:
    return x


def sleeps(x: Any) -> Any:
    time.sleep(3_600)


def runs_in_circles(x: Any) -> Any:
    while True:
        pass


def dies(x: Any) -> Any:
    os._exit(7)


def of_no_module(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same as a function of a notebook."""
    return type(function)(function.__code__, {"time": time, "os": os}, function.__name__)


@pytest.mark.parametrize(("function", "facts"), [
    (raises, ["odd: KeyError: 'street' (test_world_functions.py, line ", ", in raises)"]),
    (returns_too_much, ["odd: it returned a float64 array of shape", "one DOUBLE for each of 25 worlds is wanted"]),
    (sleeps, ["odd was still at work after 20s (SET max_function_time)"]),
    (runs_in_circles, ["odd was still at work after 20s (SET max_function_time)"]),
    (dies, ["a worker that called odd died"]),
])  # fmt: skip
def test_a_function_that_fails_stops_its_query_and_no_other(
    spark: SparkSession, tmp_path: Path, function: Callable[..., Any], facts: list[str]
) -> None:
    program = SPEEDS + f"CREATE QUERY q AS SELECT k, odd(x) AS y FROM speed [RANGE 10 SECONDS] GROUP BY k {PERIOD}"
    several = {**functions(), "odd": (of_no_module(function), "DOUBLE")}
    options = {"max_function_time": "20 seconds"} if "after 20s" in facts[0] else {}
    ran = run(tmp_path / "odd", program, speeds(), several, options, Shared)
    assert ran.stopped == {"q"}
    why = ran.why("q")
    assert [fact for fact in facts if fact not in why] == [], why
    assert "odd(x)" in why
    alone = run(tmp_path / "alone", SPEEDS, speeds(), functions())
    assert {name: ran.answers[name] for name in alone.answers} == alone.answers
    until(lambda: not running(spark))
    assert spark.range(3).count() == 3


def test_no_function_is_called_like_one_of_sparks(spark: SparkSession) -> None:
    names = [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]
    taken = []
    for name in names:
        try:
            with_world_function(EMPTY, name, raises, "DOUBLE")
            taken.append(name)
        except BindError:
            pass
    assert taken == []
    assert len(names) > 400
