"""``punctual check`` and ``punctual explain``: look at a program without running it."""

from __future__ import annotations

import argparse
import sys

import orjson

from punctual.cli.program_file import given_options, read_program
from punctual.engine.status import read_costs
from punctual.explain.answered_from import PANES
from punctual.explain.look import look_at


def check(arguments: argparse.Namespace) -> int:
    """Check names, clauses and types; exit 0 when all is well."""
    text, base = read_program(arguments.program)
    found = look_at(text, base, given_options(arguments.set), types=True)
    queries, streams = len(found.catalog.queries), len(found.catalog.streams)
    print(
        f"{arguments.program}: {queries} queries over {streams} streams, {len(found.plan.units)} shared units: all well"
    )
    for name, said in found.answered_from().items():
        if said != PANES:
            print(f'  query "{name}" is answered {said}')
    for warning in found.warnings():
        print(f"  warning: {warning}")
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print the shared plan or the schedule; needs no JVM."""
    text, base = read_program(arguments.program)
    costs = read_costs(arguments.state)
    found = look_at(text, base, given_options(arguments.set), types=False, costs=costs)
    if arguments.json:
        sys.stdout.write(orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    elif arguments.schedule:
        sys.stdout.write(found.schedule())
    else:
        sys.stdout.write(found.sharing())
    return 0
