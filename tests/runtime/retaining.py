"""A tick of one stream that retains rows, on any data plane."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from punctual.config import Options
from punctual.kinds.program import compile_program, share
from punctual.ports.feeds.sources import feed_for
from punctual.runtime.backend import SliceWork, Tick
from punctual.runtime.lower import Branch, branches
from punctual.sql.program import Program
from punctual.store.products import Produced, outputs

BEGINNING = -(2**62)
COLUMNS = "k STRING, x DOUBLE, n INT, price DECIMAL(10,2), day DATE, seen TIMESTAMP"
PLAIN = f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, {COLUMNS}) FROM FILES 'in' FORMAT JSON;\n"
DERIVED = PLAIN.replace("n INT", "n INT, twice INT AS (n * 2)")
DERIVED_TIME = """
CREATE STREAM s (us BIGINT, ts TIMESTAMP EVENT TIME AS (timestamp_micros(us)), n INT) FROM FILES 'in' FORMAT JSON;
"""
SUM = "CREATE QUERY q AS SELECT k, sum(x) AS v FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k;\n"


def compiled(text: str, folder: Path) -> Program:
    (folder / "in").mkdir(exist_ok=True)
    return compile_program(text, base=str(folder))


def branches_of(program: Program, retained: tuple[str, ...]) -> tuple[Branch, ...]:
    catalog = program.catalog
    units = [(f"unit {number}", unit) for number, unit in enumerate(share(catalog.queries.values()).units)]
    return branches(catalog.streams["s"], units, lambda _join: True, catalog.streams, catalog.tables, retained)


def write(folder: Path, name: str, rows: Sequence[object]) -> None:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    (folder / "in" / name).write_text("".join(f"{line}\n" for line in lines))


def ticked(
    tick: Callable[[Tick], pa.Table], program: Program, branches: tuple[Branch, ...], incoming: Path | None,
    through: int = BEGINNING,
) -> list[Produced]:  # fmt: skip
    """What a tick over all files yields; rows at or before ``through`` are late."""
    feed = feed_for(program.catalog.streams["s"], Options(), "", live=False)
    feed.look(0)
    planned = feed.plan()
    assert planned is not None
    work = SliceWork("s", feed, planned, branches, None, through, BEGINNING, 2**62, False)
    return list(outputs(tick(Tick((work,), {}, 4, None if incoming is None else str(incoming)))))
