"""How long answers take in a live engine: from when their last row could be read until they are handed out.

Fifty windows over one stream, 20,000 JSON rows fed each second. The rows of second k complete the instants of second
k - 1: an answer's latency is the time from the return of ``feed`` until a listener has the answer. It holds the wait
for the next look at the source (``tick``), reading, committing, answering and logging. The engine looks ten times per
second: with a look per second the latency would say when in the second it began. The first seconds warm up.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.engines import WarmBackend, warm
from benchmarks.report import Picture, Result
from punctual.clock import SECOND
from punctual.engine.engine import Engine
from punctual.ports.answers import AnswerBlock

ROWS_PER_SECOND = 20_000
QUERIES = 50
PATIENCE_S = 120


def run(quick: bool) -> Result:
    seconds, warming = (6, 3) if quick else (60, 15)
    with warm() as backend:
        latencies = measure(backend, seconds + warming)[warming:]
    all_of_them = np.concatenate(latencies)
    rows = [[name, float(np.percentile(all_of_them, share))] for name, share in (("median", 50), ("99 %", 99))]
    return Result(
        name="live_latency",
        title=f"Latency of {QUERIES} live queries over {ROWS_PER_SECOND:,} rows per second",
        columns=["of answers", "seconds"],
        rows=[*rows, ["answers", float(all_of_them.size)]],
        goals=[],
        pictures=[
            Picture(
                "second", "seconds until an answer",
                {"median": [(float(k), float(np.median(one))) for k, one in enumerate(latencies) if one.size]},
                logarithmic=False,
            )
        ],
        facts={"latencies s": dict(map(tuple, rows))},
    )  # fmt: skip


def measure(backend: WarmBackend, seconds: int) -> list[np.ndarray]:
    """Latencies of the answers of each second."""
    program = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k INT, x DOUBLE) FROM FEED;\n" + "".join(
        f"CREATE QUERY q{i} AS SELECT k, avg(x) AS mean, count(*) AS n FROM s [RANGE {5 + i} SECONDS] "
        f"WHERE x > {i} GROUP BY k PERIOD 1 SECOND;\n"
        for i in range(QUERIES)
    )
    chance = np.random.default_rng(1)
    heard: dict[int, list[float]] = {}
    enough = threading.Event()

    def listen(blocks: list[AnswerBlock]) -> None:
        now = time.monotonic()
        for block in blocks:
            for at in block.table["at"].to_pylist():
                heard.setdefault(at, []).append(now)
        if heard and max(heard) >= begin + (seconds - 1) * SECOND:
            enough.set()

    fed: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(str(Path(folder) / "state"), backend=lambda: backend, options={"tick": "100 ms"})
        engine.sql(program)
        engine.listen(listen)
        with engine:
            engine.open()
            begin = (time.time_ns() // 1_000_000_000 - seconds) * SECOND
            engine.start()
            for second in range(seconds + 1):
                started = time.monotonic()
                times = begin + second * SECOND + np.sort(chance.integers(1, SECOND, ROWS_PER_SECOND))
                engine.feed("s", pa.table({
                    "t": pa.array(times, pa.timestamp("us", tz="UTC")),
                    "k": pa.array(chance.integers(0, 20, ROWS_PER_SECOND), pa.int32()),
                    "x": pa.array(chance.random(ROWS_PER_SECOND) * 100),
                }))  # fmt: skip
                fed.append(time.monotonic())
                time.sleep(max(0.0, 1.0 - (time.monotonic() - started)))
            enough.wait(PATIENCE_S)
            engine.stop()
    instants = ((second, begin + second * SECOND) for second in range(1, seconds))
    return [np.array([when - fed[second] for when in heard.get(at, [])]) for second, at in instants]
