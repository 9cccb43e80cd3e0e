"""The demo: half an hour of real trades, four standing queries, one read of the data.

Runs ``examples/trades.sql`` to the end of its data, prints answers as they come, and says where to look next.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import punctual
from punctual.clock import iso
from punctual.ports.answers import AnswerBlock

HERE = Path(__file__).parent
SHOWN = 3
"""Answers of each query that are printed in full."""


def show(blocks: list[AnswerBlock], shown: dict[str, int]) -> None:
    """Print the first answers of each query, row by row."""
    for block in blocks:
        for answer in block.table.slice(0, max(0, SHOWN - shown.get(block.query, 0))).to_pylist():
            shown[block.query] = shown.get(block.query, 0) + 1
            print(f"\n{block.query}  at {iso(answer['at'])}  over the rows since {iso(answer['from'])}")
            for row in answer["rows"]:
                print("   " + "   ".join(f"{name} {_text(value)}" for name, value in row.items()))
        shown[block.query + " in all"] = shown.get(block.query + " in all", 0) + block.table.num_rows


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}"
    return str(value)


def main() -> int:
    began = time.monotonic()
    print("Punctual answers four standing queries over 20,068 real trades (AIG, BAC, IBM, 2013-10-07).")
    print("Starting Spark, ten to fifteen seconds ...", flush=True)
    shown: dict[str, int] = {}
    with punctual.connect(base=str(HERE), live=False) as engine:
        engine.sql((HERE / "trades.sql").read_text())
        engine.listen(lambda blocks: show(blocks, shown))
        engine.run_once()
    counts = ", ".join(f"{name.split()[0]} {n}" for name, n in shown.items() if name.endswith(" in all"))
    print(f"\nAnswers in all: {counts}. {time.monotonic() - began:.0f} seconds, most of them Spark's start.")
    print(
        "\nWhere to look next:\n"
        "  the program           examples/trades.sql\n"
        "  every answer as JSON  .venv/bin/punctual run examples/trades.sql --once --out answers\n"
        "  what queries share    .venv/bin/punctual explain examples/trades.sql\n"
        "  the language          docs/language.md"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
