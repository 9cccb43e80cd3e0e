"""A program with many windows for tests that answer it in several ways, and its answers to the byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.runtime.backend import Backend

START = 1_700_000_000 * SECOND
Row = tuple[str, str | None, float | None, int, str]

STREAMS = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, k STRING, x DOUBLE, n INT, name STRING,
                 double_n INT AS (n * 2)) FROM FEED;
CREATE STREAM other (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, k STRING, x DOUBLE) FROM FEED;
CREATE TABLE owners (id STRING, owner STRING) FROM FILES 'owners.csv' FORMAT CSV;
"""
SELECTS: Mapping[str, tuple[str, str]] = {
    "sums": ("k, sum(x) AS s, avg(x) AS a, stddev(x) AS d, count(*) AS c", "GROUP BY k"),
    "whole": ("sum(x) AS s, min(name) AS first_name, max(x) AS top, count(x) AS c", ""),
    "having": ("k, sum(n) AS total", "WHERE x > 0.25 GROUP BY k HAVING count(*) > 1 ORDER BY total DESC LIMIT 2"),
    "filtered": ("k, sum(x) FILTER (WHERE n > 3) AS big, count_if(name LIKE 'a%') AS a", "GROUP BY k"),
    "ends": ("k, first(name) AS f, last(x) AS l", "WHERE length(name) > 1 GROUP BY k"),
    "quantiles": ("approx_percentile(x, array(0.1, 0.5, 0.9)) AS p, approx_count_distinct(n) AS d", ""),
    "distinct": ("count(DISTINCT name) AS names, count(DISTINCT n) AS numbers", ""),
    "expressions": ("upper(k) AS key, sum(x) / nullif(count(x), 0) AS mean, now() AS seen", "GROUP BY upper(k)"),
    "derived": ("sum(double_n) AS s, max(double_n) AS m", "WHERE k = 'a' OR k = 'b'"),
}
"""Columns and clauses of queries over one stream, by the name of the query."""
WINDOWS = ((7, "PERIOD 5 SECONDS"), (3, "PERIOD 4 SECONDS"), (20, "FREQUENCY 6 SECONDS"))


def queries() -> dict[str, str]:
    """Every SELECT over every window, a join with a table and a union of streams, by name."""
    found = {}
    for name, (columns, clauses) in SELECTS.items():
        for length, cadence in WINDOWS:
            found[f"{name}_{length}"] = f"SELECT {columns} FROM s [RANGE {length} SECONDS] {clauses} {cadence}"
    found["joined"] = (
        "SELECT owner, sum(x) AS s, count(*) AS c FROM s [RANGE 9 SECONDS] JOIN owners ON k = id "
        "GROUP BY owner PERIOD 5 SECONDS"
    )
    found["kept"] = (
        "SELECT coalesce(owner, 'nobody') AS o, max(x) AS m FROM s [RANGE 9 SECONDS] LEFT JOIN owners ON k = id "
        "GROUP BY coalesce(owner, 'nobody') PERIOD 5 SECONDS"
    )
    found["united"] = (
        "SELECT k, sum(x) AS s, count(*) AS c FROM (s [RANGE 8 SECONDS] UNION ALL other [RANGE 8 SECONDS]) "
        "GROUP BY k PERIOD 5 SECONDS"
    )
    return found


def program(names: Sequence[str] | None = None) -> str:
    """The program, with all queries or with some."""
    chosen = queries() if names is None else {name: queries()[name] for name in names}
    return STREAMS + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in chosen.items())


def rows(second: int) -> list[Row]:
    """Rows of about a second: doubles whose sum depends on order, NULLs, ties, and some that are late or early."""
    found: list[Row] = []
    for number in range(8):
        mixed = (second * 8 + number) * 2_654_435_761 % 2**32
        at = START + second * SECOND + mixed % 1_500_000 - (mixed % 7 == 0) * SECOND
        key = None if mixed % 11 == 0 else "abcd"[mixed % 4]
        value = None if mixed % 13 == 0 else (mixed % 1000) / 7 * 10.0 ** (mixed % 5 * 4 - 8)
        found.append((iso(at), key, value, mixed % 6, "ab" * (mixed % 3) + "xyz"[mixed % 3]))
    return found


def opened(folder: Path, backend: Callable[[], Backend], options: Mapping[str, str], text: str) -> Engine:
    """An engine that runs a program in a folder, for the first time or again."""
    folder.mkdir(exist_ok=True)
    (folder / "owners.csv").write_text("id,owner\na,ann\nb,ben\nb,bea\n")
    engine = Engine(
        str(folder / "state"), str(folder / "out"), backend=backend, live=False, options=dict(options),
        clock=ManualClock(START), base=str(folder),
    )  # fmt: skip
    engine.sql(text)
    engine.open()
    return engine


def feed(engine: Engine, first: int, seconds: int) -> None:
    """Rows of some seconds as one batch."""
    new = [rows(second) for second in range(first, first + seconds)]
    engine.feed("s", [row for several in new for row in several])
    engine.feed("other", [row[:3] for several in new for row in several[::3]])
    engine.tick()


def played(
    folder: Path, backend: Callable[[], Backend], options: Mapping[str, str], text: str, batch: int = 4
) -> dict[str, bytes]:
    """Answers of forty seconds as they are written, by query."""
    with opened(folder, backend, options, text) as engine:
        for first in range(0, 40, batch):
            feed(engine, first, batch)
        engine.end()
        assert engine.stopped() == frozenset()
    return written(folder)


def written(folder: Path) -> dict[str, bytes]:
    """The lines of every query."""
    return {path.stem: path.read_bytes() for path in sorted((folder / "out").glob("*.jsonl"))}
