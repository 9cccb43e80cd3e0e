"""Memory of a live program under a constant load: flat once its longest window has passed.

``punctual run`` in a process of its own reads a JSON file of 20,000 rows each second and answers fifty queries, the
longest window five minutes. Every ten seconds the proportional set size of its driver, JVM and Python workers is read.
What is compared is the last third against the third before it: by then every window has passed several times.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

import numpy as np
import psutil

from benchmarks.processes import ROOT, resident_mib
from benchmarks.report import Goal, Picture, Result

ROWS_PER_SECOND = 20_000
QUERIES = 50
LONGEST_S = 300
EVERY_S = 10
PARTS = ("driver", "jvm", "workers")

Sample = tuple[float, dict[str, float]]


def run(quick: bool) -> Result:
    seconds = 40 if quick else 1_800
    with tempfile.TemporaryDirectory() as folder:
        samples, answers = measure(Path(folder), seconds)
    third = len(samples) // 3
    before, last = samples[third : 2 * third], samples[2 * third :]
    rows = [[part, _mean(before, part), _mean(last, part)] for part in PARTS]
    together = [sum(row[1] for row in rows), sum(row[2] for row in rows)]
    return Result(
        name="memory_over_time",
        title=f"Resident MiB under {ROWS_PER_SECOND:,} rows per second, {QUERIES} queries, {seconds:,} seconds",
        columns=["process", "second third", "last third"],
        rows=[*rows, ["together", *together]],
        goals=[
            Goal("all processes, the last third over the one before", 1.05, together[1] / together[0]),
            *(Goal(f"{part}, the same", 1.10, row[2] / row[1]) for part, row in zip(PARTS, rows)),
        ],
        pictures=[
            Picture(
                "second", "MiB",
                {part: [(at, sample[part]) for at, sample in samples] for part in PARTS},
                logarithmic=False,
            )
        ],
        notes=[f"{answers:,} answers"],
        facts={"samples": samples},
    )  # fmt: skip


def _mean(samples: list[Sample], part: str) -> float:
    return mean(sample[part] for _at, sample in samples)


def measure(folder: Path, seconds: int) -> tuple[list[Sample], int]:
    """Samples of memory, and how many answers there were."""
    source = folder / "rows"
    source.mkdir()
    (folder / "program.sql").write_text(_program(source))
    command = [sys.executable, "-m", "punctual.cli.main", "run", "--no-web", "--state", str(folder / "state")]
    command += ["--out", str(folder / "out"), str(folder / "program.sql")]
    chance = np.random.default_rng(1)
    samples: list[Sample] = []
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
        try:
            began = time.monotonic()
            for second in range(seconds):
                _write_rows(source, second, chance)
                time.sleep(max(0.0, began + second + 1 - time.monotonic()))
                if process.poll() is not None:
                    raise RuntimeError((folder / "said").read_text(errors="replace"))
                if second % EVERY_S == EVERY_S - 1:
                    samples.append((time.monotonic() - began, resident_mib(psutil.Process(process.pid))))
        finally:
            process.terminate()
            process.wait(60)
    answers = sum(path.read_bytes().count(b"\n") for path in (folder / "out").glob("*.jsonl"))
    if not answers:
        raise RuntimeError((folder / "said").read_text(errors="replace"))
    return samples, answers


def _program(source: Path) -> str:
    stream = f"CREATE STREAM s (t TIMESTAMP EVENT TIME, k INT, x DOUBLE) FROM FILES '{source}' FORMAT JSON;\n"
    return stream + "".join(
        f"CREATE QUERY q{i} AS SELECT k, avg(x) AS mean, max(x) AS top, count(*) AS n "
        f"FROM s [RANGE {(i + 1) * LONGEST_S // QUERIES} SECONDS] WHERE x > {i} GROUP BY k PERIOD 10 SECONDS;\n"
        for i in range(QUERIES)
    )


def _write_rows(source: Path, second: int, chance: np.random.Generator) -> None:
    """A file that is whole from the moment it has its name."""
    now = time.time_ns() // 1_000_000_000
    date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    micros = np.sort(chance.integers(0, 1_000_000, ROWS_PER_SECOND)).tolist()
    keys = chance.integers(0, 20, ROWS_PER_SECOND).tolist()
    values = (chance.random(ROWS_PER_SECOND) * 100).round(3).tolist()
    text = "".join(f'{{"t": "{date}.{u:06d}Z", "k": {k}, "x": {x}}}\n' for u, k, x in zip(micros, keys, values))
    unfinished = source / f".{second:06d}"
    unfinished.write_text(text)
    unfinished.rename(source / f"{second:06d}.json")
