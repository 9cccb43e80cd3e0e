"""Row queries over two streams, in a process of its own: wall and CPU seconds of each warm tick.

    python -m benchmarks.contenders.row_joins QUERIES FOLDER WARM [--anew]

With ``--anew`` every plan is made again for each instant, as for queries whose plans cannot be run again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks.join_workload import program
from benchmarks.processes import Meter
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink
from punctual.runtime.row_queries import row_plans


def main() -> None:
    queries, folder, warm = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    if "--anew" in sys.argv:
        row_plans.stands = lambda _frame: False
    sink = MemorySink()
    taken = []
    with Engine(live=False, options={"max_files_per_tick": "1"}) as engine:
        engine.add_sink("memory", sink)
        engine.sql(program(folder, queries))
        engine.open()
        for number in range(len(os.listdir(folder / "a"))):
            with Meter() as meter:
                assert engine.tick() is not None
            if number >= warm:
                taken.append((meter.wall, meter.cpu))
        engine.end()
    rows = [0] * queries
    total = [0] * queries
    for number in range(queries):
        for block in sink.blocks(f"q{number}"):
            for answer in block.table.column("rows").to_pylist():
                rows[number] += len(answer)
                total[number] += sum(round(1000 * (row["v"] + row["w"])) for row in answer)
    print(json.dumps({"ticks": taken, "rows": rows, "total": total}))


if __name__ == "__main__":
    main()
