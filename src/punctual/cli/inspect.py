"""``punctual status``, ``dead`` and ``ledger``: look into a state, also while another process runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from punctual.clock import Micros, instant_us
from punctual.engine.status import read_dead, read_ledger, read_status
from punctual.ports.sinks.json_text import object_texts

TICK = (
    "record", "recorded", "batch", "rows", "shed_rows", "bytes", "seconds", "load", "lag_seconds", "level", "fairness",
    "predicted_ms", "high_ms", "used_ms",
)  # fmt: skip
FIRING = (
    "record", "recorded", "query", "at", "number", "level", "kept", "quality", "predicted_ms", "high_ms", "used_ms",
    "released", "deadline", "answered", "slack_seconds", "on_time",
)  # fmt: skip
SHEDDING = ("record", "recorded", "stream", "level", "share", "why")
"""The fields of records, in the order of their JSON."""
FIELDS = {"tick": TICK, "firing": FIRING, "shedding": SHEDDING}
DIGITS = 6


def status(arguments: argparse.Namespace) -> int:
    """Print streams, queries and sizes."""
    found = read_status(arguments.state)
    if arguments.json:
        sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
        return 0
    console = Console(highlight=False)
    size = found["bytes"] / 2**20
    said = f"{found['batches']} batches, {found['answer_records']} records of answers, {size:.1f} MiB"
    said += "" if found["load"] is None else f", load {found['load']:.0%}"
    said += "" if found["level"] is None else f", level {found['level']:.2f}"
    console.print(said)
    headings = ("stream", "accepted", "shed", "late", "dead letters", "lag", "complete through")
    streams = Table(*headings, box=None, pad_edge=False)
    for name, stream in found["streams"].items():
        counts = [f"{stream[name]:,}" for name in ("accepted", "shed_rows", "late_rows", "dead_letters")]
        lag = "-" if stream["lag_seconds"] is None else f"{stream['lag_seconds']:.1f} s"
        streams.add_row(Text(name), *counts, lag, stream["complete_through"] or "-")
    console.print(streams)
    queries = Table("query", "status", "predicted", "used", "misses", box=None, pad_edge=False)
    for name, query in found["queries"].items():
        core_time = query["core_time"] or {"predicted_ms": None, "used_ms": None, "misses": None}
        times = ["-" if core_time[key] is None else _ms(core_time[key]) for key in ("predicted_ms", "used_ms")]
        misses = "-" if core_time["misses"] is None else f"{core_time['misses']:,}"
        queries.add_row(Text(name), query["status"], *times, misses)
    console.print(queries)
    if found["cadence"]:
        plans = Table("cadence plan", "queries", "groups that run", "since", box=None, pad_edge=False)
        for plan in found["cadence"]:
            plans.add_row(plan["method"], f"{plan['queries']:,}", f"{plan['runs']:,}", plan["since"] or "the start")
        console.print(plans)
    for text in found["warnings"]:
        console.print(Text(f"\nwarning: {text}"), soft_wrap=True)
    for query in found["queries"].values():
        if query["reason"]:
            console.print(Text("\n" + query["reason"]), soft_wrap=True)
    return 0


def _ms(value: float) -> str:
    """
    >>> _ms(0.0123), _ms(12.34), _ms(1010.4)
    ('0.0123 ms', '12.3 ms', '1,010 ms')
    """
    return f"{value:.3g} ms" if value < 100 else f"{value:,.0f} ms"


def dead(arguments: argparse.Namespace) -> int:
    """Print dead letters as JSON lines, so that they can be read, counted, mended and fed again."""
    for letter in read_dead(arguments.state, arguments.stream):
        sys.stdout.write(orjson.dumps(letter).decode() + "\n")
    return 0


def ledger(arguments: argparse.Namespace) -> int:
    """Print what batches and answers used as JSON lines, oldest first."""
    for records in read_ledger(arguments.state, arguments.query, arguments.since):
        for text in _lines(records):
            sys.stdout.write(text)
    return 0


def _lines(records: pa.Table) -> Iterator[str]:
    """Records as JSON lines: runs of one kind together."""
    kind = records.column("record").to_numpy()
    edges = [0, *(np.flatnonzero(kind[1:] != kind[:-1]) + 1).tolist(), len(kind)]
    for start, end in pairwise(edges):
        if start < end:
            run = records.slice(start, end - start)
            names = FIELDS[kind[start]]
            values = [_rounded(run.column(name).combine_chunks()) for name in names]
            yield "\n".join(object_texts([f'"{name}"' for name in names], values).to_pylist()) + "\n"


def _rounded(column: pa.Array) -> pa.Array:
    return pc.round(column, DIGITS) if pa.types.is_floating(column.type) else column


def moment(text: str) -> Micros:
    """A time as it is given on the command line."""
    try:
        return instant_us(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a time is such as 2026-01-31T12:00:00Z, not {text!r}") from None
