"""For honesty: the same windows by a short DuckDB program on the same machine.

It reads the files once into panes of a second (or every window from the rows), joins windows with panes, and forgets
everything when it ends: no streams, no state, no recovery, no late rows, no files that come later, no second machine.
Where that is enough, it is the better tool.
"""

from __future__ import annotations

import tempfile

import pyarrow.parquet as pq

from benchmarks.expected import check
from benchmarks.processes import Finished, contend
from benchmarks.report import Picture, Result
from benchmarks.workload import Rows, sliding


def run(quick: bool) -> Result:
    rows = Rows(200_000, 200) if quick else Rows(2_000_000, 2_000)
    counts = (1, 5) if quick else (1, 5, 20, 80)
    naive_counts = (1, 5) if quick else (1, 5, 20)
    folder = rows.folder()
    table = rows.table()
    panes: dict[int, Finished] = {}
    naive: dict[int, Finished] = {}
    ours: dict[int, Finished] = {}
    compared = 0
    for count in counts:
        with tempfile.NamedTemporaryFile(suffix=".parquet") as kept:
            command = ("duckdb_loop", folder, "--windows", str(count), "--keep", kept.name)
            panes[count] = contend(*command)
            compared += _check(table, count, kept.name)
            if count in naive_counts:
                naive[count] = contend(*command, "--naive")
                compared += _check(table, count, kept.name)
        if count in (counts[0], counts[-1]):
            ours[count] = contend("punctual_once", folder, "--windows", str(count))
    return Result(
        name="duckdb_loop",
        title=f"{rows.count:,} rows, N sliding windows: a DuckDB loop wins on one machine at this size",
        columns=["windows", "DuckDB, panes by hand", "DuckDB, naive", "Punctual", "DuckDB is faster by"],
        rows=[
            [
                n,
                panes[n].cpu,
                naive[n].cpu if n in naive else None,
                ours[n].cpu if n in ours else None,
                ours[n].cpu / panes[n].cpu if n in ours else None,
            ]
            for n in counts
        ],
        goals=[],
        pictures=[
            Picture(
                "sliding windows",
                "CPU seconds of the process tree",
                {
                    "DuckDB, panes by hand": [(n, panes[n].cpu) for n in counts],
                    "DuckDB, every window from the rows": [(n, naive[n].cpu) for n in sorted(naive)],
                    "Punctual": [(n, ours[n].cpu) for n in sorted(ours)],
                },
            )
        ],
        notes=[f"{compared:,} sampled answers of DuckDB equal those recomputed from the rows"],
        facts={
            "panes": {n: [f.wall, f.cpu] for n, f in panes.items()},
            "naive": {n: [f.wall, f.cpu] for n, f in naive.items()},
            "punctual": {n: [f.wall, f.cpu, f.said] for n, f in ours.items()},
        },
    )


def _check(table: object, count: int, path: str) -> int:
    found: dict[int, dict[str | None, tuple[float, float]]] = {}
    for row in pq.read_table(path).to_pylist():
        found.setdefault(row["instant"] * 1_000_000, {})[row["k"]] = (row["a"], row["m"])
    return check(table, sliding(count)[-1], found)
