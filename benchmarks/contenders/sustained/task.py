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
    """Files to process in their order, for at most so many seconds after the first few."""

    folder: str
    kind: str
    windows: list[Window]
    seconds: float
    warm: int
    """Files that warm everything up and are not counted."""
    span: int
    """Seconds of event time in a file."""
    together: int = 1
    """How many files are taken at once."""

    @property
    def files(self) -> list[str]:
        return sorted(str(path) for path in Path(self.folder).iterdir())


def windows_of(count: int) -> list[Window]:
    """From 10 s every 2 s to 120 s every 5 s. Lengths are multiples of slides: Flink refuses all others."""
    return [Window((2 + i % 4) * (5 + i // 4), 2 + i % 4) for i in range(count)]


def given_task() -> Task:
    """The task of the command line: ``FORMAT WINDOWS FOLDER WARM SPAN SECONDS TOGETHER``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["JSON", "PARQUET"])
    parser.add_argument("windows", type=int)
    parser.add_argument("folder")
    parser.add_argument("warm", type=int)
    parser.add_argument("span", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("together", type=int)
    given = parser.parse_args()
    windows = windows_of(given.windows)
    return Task(given.folder, given.kind, windows, given.seconds, given.warm, given.span, given.together)


def some_by_some(task: Task, take: Callable[[list[str]], object]) -> tuple[int, Meter]:
    """Hand so many files at once to ``take``, until none is left or the time is over.

    How many files were counted, and the meter.
    """
    files = task.files
    steps = [files[first : first + task.together] for first in range(0, len(files), task.together)]
    warm = -(-task.warm // task.together)
    for step in steps[:warm]:
        take(step)
    counted = 0
    with Meter() as meter:
        began = time.perf_counter()
        for step in steps[warm:]:
            take(step)
            counted += len(step)
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
