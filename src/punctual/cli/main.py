"""The command line: ``punctual run | check | explain | status | dead | ledger``.

Exit codes: 0 well, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
from collections.abc import Sequence

from punctual.cli.inspect import dead, ledger, moment, status
from punctual.cli.look import check, explain
from punctual.cli.run import run
from punctual.errors import ConfigError, PunctualError

EPILOG = "The language: docs/language.md. Answers: docs/answers.md. Running it: docs/operations.md."

_NOWHERE = logging.NullHandler()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the process' exit code."""
    parsed = _parser().parse_args(arguments)
    # Libraries that log to nobody in particular (py4j does when the JVM dies) have nothing to say to a terminal.
    logging.getLogger().addHandler(_NOWHERE)
    try:
        code: int = parsed.command(parsed)
        sys.stdout.flush()
    except ConfigError as error:
        print(error.render(), file=sys.stderr)
        return 2
    except PunctualError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough; what is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="punctual",
        description="Many standing queries over streams, each answered on time, on Spark.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="run a program")
    _program(one)
    one.add_argument("--once", action="store_true", help="read what is there to its end, answer all that is due, exit")
    one.add_argument("--out", metavar="DIR", help="write <query>.jsonl files there, one answer per line")
    one.add_argument("--state", metavar="DIR", help="keep the state there and resume from it")
    one.add_argument("--master", metavar="URL", help="Spark's master (default: this machine)")
    one.add_argument("--speed", metavar="X", type=_positive, help="replay by event time at X times life")
    web = one.add_mutually_exclusive_group()
    web.add_argument("--web", metavar="PORT", type=int, help="serve the status page there")
    web.add_argument("--no-web", action="store_true", help="serve no status page")
    _options(one)
    one.set_defaults(command=run)

    one = commands.add_parser("check", help="names, clauses, types and plan; reads no data, nothing runs")
    _program(one)
    _options(one)
    one.set_defaults(command=check)

    one = commands.add_parser("explain", help="print the shared plan")
    _program(one)
    what = one.add_mutually_exclusive_group()
    what.add_argument("--sharing", action="store_true", help="what queries share (the default)")
    what.add_argument("--schedule", action="store_true", help="when queries answer")
    one.add_argument("--json", action="store_true", help="for programs")
    one.add_argument("--state", metavar="DIR", help="say what row queries cost, by what this state has learned")
    _options(one)
    one.set_defaults(command=explain)

    one = commands.add_parser("status", help="how far a state has come")
    one.add_argument("--state", metavar="DIR", required=True)
    one.add_argument("--json", action="store_true", help="for programs")
    one.set_defaults(command=status)

    one = commands.add_parser("dead", help="dead letters, one JSON object per line")
    one.add_argument("--state", metavar="DIR", required=True)
    one.add_argument("--stream", metavar="NAME")
    one.set_defaults(command=dead)

    one = commands.add_parser("ledger", help="core time of batches and answers, one JSON object per line")
    one.add_argument("--state", metavar="DIR", required=True)
    one.add_argument("--query", metavar="NAME", help="the answers of this query alone")
    one.add_argument("--since", metavar="T", type=moment, help="what was recorded at this time or later")
    one.set_defaults(command=ledger)
    return parser


def _program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="program.sql")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", metavar="k=v", action="append", default=[], help="set an option, over the program's")


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a speed is a number above 0, not {text!r}")
    return value


if __name__ == "__main__":
    sys.exit(main())
