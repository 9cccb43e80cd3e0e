"""Two streams and joins of their windows, as programs of Punctual and as what plain Structured Streaming needs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PERIOD_S, SHORT_S, LONG_S = 10, 10, 60
START_US = 1_700_000_000_000_000
"""A multiple of the period."""
KEYS = 20_000
SEED = 11


def write_streams(folder: Path, per_second: int, files: int) -> None:
    """A file of each stream for each period, in ``a`` and ``b``; no time is a multiple of the period.

    Then one with a single row that nothing joins: it is later than all others, so that all periods are answered.
    """
    random = np.random.default_rng(SEED)
    keys = pa.array([f"key {number}" for number in range(KEYS)])
    rows = per_second * PERIOD_S
    for stream, value in (("a", "v"), ("b", "w")):
        (folder / stream).mkdir(parents=True)
        for number in range(files + 1):
            begin = START_US + number * PERIOD_S * 1_000_000
            times = begin + 1 + np.sort(random.integers(0, PERIOD_S * 1_000_000 - 2, rows))
            table = pa.table({
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "k": keys.take(pa.array(random.integers(0, KEYS, rows))),
                value: np.round(random.normal(0, 1, rows), 3),
            })  # fmt: skip
            if number == files:
                table = table.slice(0, 1).set_column(1, "k", pa.array([f"none {stream}"]))
            path = folder / stream / f"{number:04d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def least(query: int) -> float:
    """How much more than the other a value must be in a query."""
    return 2.0 + query / 10


def program(folder: Path, queries: int) -> str:
    """All pairs of a row of the last period of ``a`` with a row of the last minute of ``b``."""
    streams = [
        f"CREATE STREAM {name} (ts TIMESTAMP EVENT TIME, k STRING, {value} DOUBLE) "
        f"FROM FILES '{folder / name}' FORMAT PARQUET;"
        for name, value in (("a", "v"), ("b", "w"))
    ]
    joins = [
        f"CREATE QUERY q{number} AS SELECT a.k, a.v, b.w FROM a [RANGE {SHORT_S} SECONDS] JOIN "
        f"b [RANGE {LONG_S} SECONDS] ON a.k = b.k AND a.v > b.w + {least(number)} PERIOD {PERIOD_S} SECONDS;"
        for number in range(queries)
    ]
    return "\n".join([*streams, *joins])


def condition(query: int) -> str:
    """The same pairs for a join of streams. Its last line says no more than the others: Spark forgets rows by it."""
    end = f"(unix_micros(a.ts) div {PERIOD_S}000000 + 1) * {PERIOD_S}000000"
    return f"""
        a.k = b.k AND a.v > b.w + {least(query)}
        AND unix_micros(b.ts) > {end} - {LONG_S}000000 AND unix_micros(b.ts) <= {end}
        AND b.ts > a.ts - INTERVAL {LONG_S} SECONDS AND b.ts < a.ts + INTERVAL {PERIOD_S} SECONDS
    """
