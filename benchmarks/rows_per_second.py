"""Rows per second on the machine's cores, sustained: Punctual against its peers over the same files.

Each contender is a process of its own that takes files in their order, one as one step or ten as one, answers every
window whose end was passed, and keeps what open windows need. The clock starts after a few files. All answers are
compared with those recomputed from the rows. What each does is written at the top of its module in
``benchmarks/contenders/sustained``.

Polars and Flink are no dependencies of this project. They are measured when the environment variable PUNCTUAL_PEERS
names a Python that has them (``pip install polars psutil apache-flink``), and left out when it does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.contenders.sustained.task import START, windows_of
from benchmarks.processes import ROOT, Finished, measured
from benchmarks.report import Goal, Picture, Result
from benchmarks.warm_ticks import write_files
from punctual.runtime.jvm.java import find_java

GOALS = {1: 1 / 3, 80: 1.0}
ROWS_PER_SECOND_OF_EVENT_TIME = 10_000
HALF_A_GAP_US = 50
"""No row is at a whole second: peers do not agree to which window it would belong."""
LONGEST_S = 240
"""A contender that takes longer is ended, and the result says so."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A module of ``benchmarks.contenders.sustained``, and what it needs besides this environment."""

    name: str
    module: str
    package: str | None = None
    formats: tuple[str, ...] = ("JSON", "PARQUET")
    may_take_too_long: bool = False
    together: tuple[int, ...] = (1, 10)
    """How many files it takes at once."""


CONTENDERS = (
    Contender("Punctual", "punctual_ticks"),
    Contender("DuckDB", "duckdb_panes"),
    Contender("Polars", "polars_panes", "polars"),
    Contender("Flink SQL", "flink_hops", "pyflink", ("JSON",), may_take_too_long=True, together=(1,)),
    Contender("Spark streaming", "spark_queries", may_take_too_long=True, together=(1,)),
)
Found = dict[tuple[str, int, int, str], Finished]
"""By format, number of windows, files at once and contender."""


def run(quick: bool) -> Result:
    rows, warm, seconds = (60_000, 2, 5.0) if quick else (200_000, 20, 60.0)
    files = {"JSON": 22, "PARQUET": 22} if quick else {"JSON": 300, "PARQUET": 600}
    counts = (1, 4) if quick else (1, 80)
    span = rows // ROWS_PER_SECOND_OF_EVENT_TIME
    peers = os.environ.get("PUNCTUAL_PEERS")
    contenders = [one for one in CONTENDERS if one.package is None or _has(peers, one.package)]
    left_out = [one.name for one in CONTENDERS if one not in contenders]
    notes = [f"left out, since PUNCTUAL_PEERS names no Python that has it: {', '.join(left_out)}"] if left_out else []
    found: Found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind, number in files.items():
            write_files(Path(scratch) / kind, kind, rows, number, START * 1_000_000 + HALF_A_GAP_US)
        values = _values(Path(scratch) / "PARQUET")
        for kind in files:
            for count in counts:
                wanted = _expected(values, count)
                for together, one in _runs(contenders, kind):
                    arguments = [kind, str(count), f"{scratch}/{kind}", str(warm), str(span), str(seconds)]
                    finished = _contend(one, [*arguments, str(together)], peers)
                    if finished is None:
                        notes.append(f"{one.name}, {kind}, {count} windows: not finished after {LONGEST_S} s")
                        continue
                    finished.said["compared"] = _check(one.name, finished.said, wanted)
                    found[kind, count, together, one.name] = finished
    for one in contenders:
        notes += [f"{one.name} does not read {kind} here" for kind in files if kind not in one.formats]
    notes.append("as many answers as the last column says equal those recomputed from the rows")
    return _result(found, rows, counts, notes)


def _runs(contenders: Sequence[Contender], kind: str) -> list[tuple[int, Contender]]:
    return [
        (together, one)
        for together in (1, 10)
        for one in contenders
        if kind in one.formats and together in one.together
    ]


def _has(python: str | None, package: str) -> bool:
    return (
        python is not None and subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode == 0
    )


def _contend(one: Contender, arguments: list[str], peers: str | None) -> Finished | None:
    path = f"{ROOT}" if one.package else f"{ROOT}/src:{ROOT}"
    java = f"JAVA_HOME={find_java(os.environ).home}"
    python = peers if one.package else None
    command = ["env", f"PYTHONPATH={path}", java, "timeout", str(LONGEST_S), python or sys.executable]
    try:
        return measured([*command, "-m", f"benchmarks.contenders.sustained.{one.module}", *arguments])
    except RuntimeError as error:
        if one.may_take_too_long and "ended with 124:" in str(error):
            return None
        raise


def _values(folder: Path) -> np.ndarray:
    """Column ``v`` of all files: a line per second of event time."""
    columns = [pq.read_table(file, columns=["v"]).column("v").to_numpy() for file in sorted(folder.iterdir())]
    return np.concatenate(columns).reshape(-1, ROWS_PER_SECOND_OF_EVENT_TIME)


def _expected(values: np.ndarray, count: int) -> dict[int, tuple[int, float]]:
    """Number and sum of the answers of each instant that has a row after it."""
    sums, greatest = values.sum(axis=1), values.max(axis=1)
    found: dict[int, tuple[int, float]] = {}
    for window in windows_of(count):
        first = START // window.slide * window.slide + window.slide
        for instant in range(first, START + len(values), window.slide):
            part = slice(max(0, instant - START - window.length), instant - START)
            average = sums[part].sum() / (ROWS_PER_SECOND_OF_EVENT_TIME * (part.stop - part.start))
            number, total = found.get(instant, (0, 0.0))
            found[instant] = (number + 1, total + float(average + greatest[part].max()))
    return found


def _check(name: str, said: dict[str, Any], wanted: Mapping[int, tuple[int, float]]) -> int:
    """Compare all answers up to the last instant that the contender has answered in full; how many there were."""
    given = {int(at): entry for at, entry in said.pop("answers").items() if int(at) <= said["through"]}
    told = {at: entry for at, entry in wanted.items() if at <= said["through"]}
    assert given.keys() == told.keys(), f"{name}: other instants: {sorted(given.keys() ^ told.keys())[:10]}"
    for at, (number, total) in told.items():
        got = given[at]
        same = got[0] == number and abs(got[1] - total) <= 1e-9 * abs(total)
        assert same, f"{name} at {at}: {got} and not {(number, total)}"
    return sum(number for number, _total in told.values())


def _result(found: Found, rows: int, counts: tuple[int, ...], notes: list[str]) -> Result:
    def rate(kind: str, count: int, together: int, name: str) -> float:
        said = found[kind, count, together, name].said
        return float(said["files"] * rows / said["seconds"])

    lines = []
    for (kind, count, together, name), finished in found.items():
        own = rate(kind, count, together, name)
        passed = finished.said["files"] * rows
        cpu = finished.said["cpu"] / passed * 1e6 if passed else None
        ratio = rate(kind, count, together, "Punctual") / own if own else None
        said = finished.said
        lines.append([kind, count, together, name, own, cpu, ratio, said["seconds"], said["compared"]])
    goals = [
        Goal(
            f"{kind}, {count} windows, {together} files at once: our rows per second over DuckDB's",
            GOALS[count],
            rate(kind, count, together, "Punctual") / rate(kind, count, together, "DuckDB"),
            at_least=True,
        )
        for kind in ("JSON", "PARQUET")
        for count in counts
        for together in (1, 10)
        if count in GOALS
    ]
    names = list(dict.fromkeys(name for _kind, _count, _together, name in found))
    pictures = [
        Picture(
            kind,
            "rows per second",
            {
                f"{count} windows, {together} files at once": [
                    (place, rate(kind, count, together, name))
                    for place, name in enumerate(names)
                    if (kind, count, together, name) in found
                ]
                for count in counts
                for together in (1, 10)
            },
            labels=names,
        )
        for kind in ("JSON", "PARQUET")
    ]
    return Result(
        name="rows_per_second",
        title=f"Files of {rows:,} rows, N sliding windows: rows per second, sustained",
        columns=[
            "format",
            "windows",
            "files at once",
            "contender",
            "rows/s",
            "CPU s per M rows",
            "ours over it",
            "measured s",
            "compared",
        ],
        rows=lines,
        goals=goals,
        pictures=pictures,
        notes=notes,
        facts={" ".join(map(str, point)): [one.wall, one.cpu, one.said] for point, one in found.items()},
    )
