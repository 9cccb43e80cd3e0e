"""What the contenders of ``rows_per_second`` have in common: the task, the clock, and an account of the answers.

It needs no more than psutil, since some contenders run in an environment of their own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import Meter

START = 1_700_000_000
"""The second in which event times begin. No row is at a whole second, so edges of windows do not matter."""

Answer = tuple[int, float, float]
"""The end of a window in seconds, its average and its greatest value."""


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of the last ``length`` seconds, every ``slide`` seconds."""

    length: int
    slide: int


@dataclass(frozen=True, slots=True)
class Task:
    """Files to process one by one, for at most so many seconds after the first few."""

    folder: str
    kind: str
    windows: list[Window]
    seconds: float
    warm: int
    """Files that warm everything up and are not counted."""
    span: int
    """Seconds of event time in a file."""

    @property
    def files(self) -> list[str]:
        return sorted(str(path) for path in Path(self.folder).iterdir())


def windows_of(count: int) -> list[Window]:
    """From 10 s every 2 s to 120 s every 5 s. Lengths are multiples of slides: Flink refuses all others."""
    return [Window((2 + i % 4) * (5 + i // 4), 2 + i % 4) for i in range(count)]


def given_task() -> Task:
    """The task of the command line: ``FORMAT WINDOWS FOLDER WARM SPAN SECONDS``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["JSON", "PARQUET"])
    parser.add_argument("windows", type=int)
    parser.add_argument("folder")
    parser.add_argument("warm", type=int)
    parser.add_argument("span", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    return Task(given.folder, given.kind, windows_of(given.windows), given.seconds, given.warm, given.span)


def file_by_file(task: Task, take: Callable[[str], object]) -> tuple[int, Meter]:
    """Hand each file to ``take``, until none is left or the time is over: how many were counted, and the meter."""
    files = task.files
    for file in files[: task.warm]:
        take(file)
    counted = 0
    with Meter() as meter:
        began = time.perf_counter()
        for file in files[task.warm :]:
            take(file)
            counted += 1
            if time.perf_counter() - began >= task.seconds:
                break
    return counted, meter


def report(files: float, meter: Meter, through: int, answers: Iterable[Answer]) -> None:
    """Print what was measured, and number and sum of the answers of each instant.

    ``through`` is the last instant that every window has answered.
    """
    account: dict[int, list[float]] = {}
    for instant, average, greatest in answers:
        entry = account.setdefault(instant, [0, 0.0])
        entry[0] += 1
        entry[1] += average + greatest
    said = {"files": files, "seconds": meter.wall, "cpu": meter.cpu, "through": through, "answers": account}
    print(json.dumps(said))
