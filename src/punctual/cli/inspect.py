"""``punctual status`` and ``punctual dead``: look into a state, also while another process runs it."""

from __future__ import annotations

import argparse
import sys

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from punctual.engine.status import read_dead, read_status


def status(arguments: argparse.Namespace) -> int:
    """Print streams, queries and sizes."""
    found = read_status(arguments.state)
    if arguments.json:
        sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
        return 0
    console = Console(highlight=False)
    size = found["bytes"] / 2**20
    console.print(f"{found['batches']} batches, {found['answer_records']} records of answers, {size:.1f} MiB")
    streams = Table("stream", "accepted", "late", "dead letters", "lag", "complete through", box=None, pad_edge=False)
    for name, stream in found["streams"].items():
        counts = (f"{stream['accepted']:,}", f"{stream['late_rows']:,}", f"{stream['dead_letters']:,}")
        lag = "-" if stream["lag_seconds"] is None else f"{stream['lag_seconds']:.1f} s"
        streams.add_row(Text(name), *counts, lag, stream["complete_through"] or "-")
    console.print(streams)
    queries = Table("query", "status", box=None, pad_edge=False)
    for name, query in found["queries"].items():
        queries.add_row(Text(name), query["status"])
    console.print(queries)
    if found["cadence"]:
        plans = Table("cadence plan", "queries", "groups that run", "since", box=None, pad_edge=False)
        for plan in found["cadence"]:
            plans.add_row(plan["method"], f"{plan['queries']:,}", f"{plan['runs']:,}", plan["since"] or "the start")
        console.print(plans)
    for query in found["queries"].values():
        if query["reason"]:
            console.print(Text("\n" + query["reason"]), soft_wrap=True)
    return 0


def dead(arguments: argparse.Namespace) -> int:
    """Print dead letters as JSON lines, so that they can be read, counted, mended and fed again."""
    for letter in read_dead(arguments.state, arguments.stream):
        sys.stdout.write(orjson.dumps(letter).decode() + "\n")
    return 0
