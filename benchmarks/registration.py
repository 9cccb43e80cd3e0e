"""What it costs to add one more query from Python, when few are there and when a thousand are.

Queries of three streams with windows, thresholds and periods of their own, added one by one with ``engine.sql`` to a
running engine. Each is parsed, typechecked by Spark's analyzer, planned, registered and written to the state.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import mean

from benchmarks.engines import warm
from benchmarks.report import Goal, Picture, Result
from punctual.engine.engine import Engine

STREAMS = "".join(
    f"CREATE STREAM {name} (t TIMESTAMP EVENT TIME, k INT, x INT) FROM FEED;\n" for name in ("a", "b", "c")
)


def query(number: int, chance: random.Random) -> str:
    return (
        f"CREATE QUERY q{number} AS SELECT k, sum(x) AS total, count(*) AS n "
        f"FROM {'abc'[number % 3]} [RANGE {chance.randint(1, 30)} MINUTES] WHERE x > {number} GROUP BY k "
        f"PERIOD {chance.choice([1, 2, 5])} MINUTES"
    )


def run(quick: bool) -> Result:
    count, part = (60, 10) if quick else (1_000, 100)
    chance, took = random.Random(7), []
    with warm() as backend, tempfile.TemporaryDirectory() as folder:
        with Engine(str(Path(folder) / "warm"), backend=lambda: backend) as engine:  # warms the analyzer
            engine.sql(STREAMS)
            engine.open()
            for number in range(10 if quick else 50):
                engine.sql(query(number, chance))
        with Engine(str(Path(folder) / "state"), backend=lambda: backend) as engine:
            engine.sql(STREAMS)
            engine.open()
            engine.start()
            for number in range(count):
                began = time.perf_counter()
                engine.sql(query(number, chance))
                took.append(1000 * (time.perf_counter() - began))
            engine.stop()
    first, last = mean(took[:part]), mean(took[-part:])
    return Result(
        name="registration",
        title=f"Adding {count:,} queries one by one",
        columns=["queries", "ms per query"],
        rows=[[f"the first {part}", first], [f"the last {part}", last]],
        goals=[
            Goal("the last over the first", 2.0, last / first),
            Goal("ms per query among the last", 50.0, last),
        ],
        pictures=[
            Picture(
                "queries that are there", "ms to add one more",
                {"engine.sql": [(float(at), mean(took[at : at + part])) for at in range(0, count, part)]},
                logarithmic=False,
            )
        ],
        facts={"ms": took},
    )  # fmt: skip
