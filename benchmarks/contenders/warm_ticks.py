"""Ticks of one file each, in a process of its own, of whichever checkout is on the path: wall and CPU seconds of each.

    python -m benchmarks.contenders.warm_ticks FORMAT QUERIES FOLDER WARM

The first ``WARM`` files warm everything up and are not counted. Prints one JSON object: the seconds of every other
tick, and a sum over all answers, by which two checkouts that read the same files can be compared.
"""

from __future__ import annotations

import json
import os
import sys

from benchmarks.processes import Meter, resident_mib
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink


def program(folder: str, kind: str, queries: int) -> str:
    """A stream over the files, and queries that differ in their windows."""
    stream = (
        f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, v DOUBLE, n INT) FROM FILES '{folder}' FORMAT {kind};"
    )
    several = (
        f"CREATE QUERY q{i} AS SELECT avg(v) AS a, max(v) AS m "
        f"FROM s [RANGE {10 + i} SECONDS SLIDE {10 + i % 4} SECONDS];"
        for i in range(queries)
    )
    return "\n".join([stream, *several])


def main() -> None:
    kind, queries, folder, warm = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    sink = MemorySink()
    taken = []
    rows = 0
    with Engine(live=False, options={"max_files_per_tick": "1"}) as engine:
        engine.add_sink("memory", sink)
        engine.sql(program(folder, kind, queries))
        engine.open()
        for number in range(len(os.listdir(folder))):
            with Meter() as meter:
                settled = engine.tick()
            assert settled is not None
            rows += settled.rows
            if number >= warm:
                taken.append((meter.wall, meter.cpu))
        memory = resident_mib()
    answers = 0
    whole = 0.0
    for number in range(queries):
        for block in sink.blocks(f"q{number}"):
            for rows_of_one in block.table.column("rows").to_pylist():
                answers += 1
                whole += sum(one["a"] + one["m"] for one in rows_of_one)
    print(json.dumps({"ticks": taken, "rows": rows, "answers": answers, "sum": whole, "memory": memory}))


if __name__ == "__main__":
    main()
