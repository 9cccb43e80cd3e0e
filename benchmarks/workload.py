"""Rows and programs that every benchmark shares: seeded, made once, outside of what is measured.

A row is (``ts``, ``k``, ``v``): event times in order at a steady rate with jitter, keys uniform, values normal and
rounded to thousandths. No event time is a whole millisecond, so windows that are open on the left and windows that are
open on the right hold the same rows, and engines that disagree about edges can be compared.

Files are kept in the system's temporary folder under a name that says what is in them; their modification times are
in order, so every engine reads them in the same order.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CACHE = Path(tempfile.gettempdir()) / "punctual-benchmarks"
EPOCH_US = 1_700_000_000_000_000
SEED = 7


@dataclass(frozen=True, slots=True)
class Rows:
    """``count`` rows over ``seconds`` of event time, ``keys`` keys, in ``files`` Parquet files."""

    count: int
    seconds: int
    keys: int = 20
    files: int = 40

    def folder(self) -> str:
        """Where the files are; made when they are not there yet."""
        path = CACHE / f"rows{self.count}_seconds{self.seconds}_keys{self.keys}_files{self.files}_seed{SEED}"
        if not path.exists():
            making = path.with_name(f".{path.name}.{os.getpid()}")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir(parents=True)
            table = self.table()
            for number, start, stop in self._cuts():
                name = making / f"{number:05d}.parquet"
                pq.write_table(table.slice(start, stop - start), name)
                os.utime(name, (1e9 + number, 1e9 + number))
            making.rename(path)
        return str(path)

    def table(self) -> pa.Table:
        """All rows."""
        random = np.random.default_rng(SEED)
        gap = self.seconds * 1_000_000 / self.count
        times = EPOCH_US + (np.arange(self.count) * gap + random.integers(0, max(1, int(gap)), self.count)).astype("i8")
        times |= 1  # odd, so never a whole millisecond
        names = np.array([f"k{number:07d}" for number in range(self.keys)])
        return pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "k": names[random.integers(0, self.keys, self.count)],
                "v": random.normal(50, 10, self.count).round(3),
            }
        )

    def _cuts(self) -> Iterator[tuple[int, int, int]]:
        for number in range(self.files):
            yield number, number * self.count // self.files, (number + 1) * self.count // self.files


@dataclass(frozen=True, slots=True)
class Window:
    """A window in seconds, and what rows it looks at."""

    range_s: int
    slide_s: int
    where: str = ""


def sliding(count: int) -> list[Window]:
    """The windows that engines are compared by: ranges from 10 s in steps of 5, slides of 2 to 5 s."""
    return [Window(10 + 5 * i, 2 + i % 4) for i in range(count)]


def program(
    folder: str, windows: list[Window], *, aggregates: str = "avg(v) AS a, max(v) AS m", by_key: bool = True
) -> str:
    """A program of one stream and a query ``q<i>`` for each window, answered at multiples of its slide."""
    lines = [
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME WATERMARK 1 SECOND, k STRING KEY, v DOUBLE) "
        f"FROM FILES '{folder}' FORMAT PARQUET;"
    ]
    select, group = ("k, ", " GROUP BY k") if by_key else ("", "")
    for number, window in enumerate(windows):
        where = f" WHERE {window.where}" if window.where else ""
        lines.append(
            f"CREATE QUERY q{number} AS SELECT {select}{aggregates} FROM s [RANGE {window.range_s} SECONDS]"
            f"{where}{group} PERIOD {window.slide_s} SECONDS;"
        )
    return "\n".join(lines)
