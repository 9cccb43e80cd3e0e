"""Punctual over the files of a folder, and then the resident memory of driver, JVM and workers."""

from __future__ import annotations

import argparse
import json

from benchmarks.processes import resident_mib
from benchmarks.workload import Window, program
from punctual.engine.engine import Engine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--windows", type=int, required=True)
    parser.add_argument("--groups", action="store_true", help="few answers, as there are very many groups")
    arguments = parser.parse_args()
    windows = [Window(10 + i, 10) for i in range(arguments.windows)]
    if arguments.groups:
        windows = [Window(100 * (i + 1), 100) for i in range(arguments.windows)]
    engine = Engine(live=False, options={"max_files_per_tick": "2"})
    with engine:
        engine.sql(program(arguments.folder, windows))
        engine.open()
        while engine.tick() is not None:
            pass
        memory = resident_mib()
        cells = engine._opened().core.held.holders.cells
    print(json.dumps({**memory, "cells": cells}))


if __name__ == "__main__":
    main()
