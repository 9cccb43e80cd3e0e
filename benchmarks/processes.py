"""CPU seconds and memory of whole process trees: a driver, its JVM, the JVM's Python workers.

Wall time on a shared machine says as much about the neighbours as about the program, so ratios are made of CPU seconds.
A program that ran to its end is measured exactly: this process adopts every orphan (``PR_SET_CHILD_SUBREAPER``) and
waits for it, so the kernel's own account of waited-for children holds the whole tree, however a worker ended. A live
tree is read from ``/proc``: what each process used, plus what each has inherited from children that it waited for.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PR_SET_CHILD_SUBREAPER = 36
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ran to its end: wall and CPU seconds of its tree, and what it printed."""

    wall: float
    cpu: float
    said: dict[str, Any]


def contend(module: str, *arguments: str) -> Finished:
    """Run ``benchmarks.contenders.<module>`` and measure its tree. Its last line of output is a JSON object."""
    return measured([sys.executable, "-m", f"benchmarks.contenders.{module}", *arguments])


def measured(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Finished:
    """Run a command to its end, with all that it leaves behind, and measure its tree."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _waited_for()
    began = time.perf_counter()
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    wall = time.perf_counter() - began
    while True:  # orphans: workers that outlived the JVM which started them
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    if run.returncode != 0:
        said = run.stderr.decode(errors="replace")
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}:\n{said}")
    lines = run.stdout.decode().strip().splitlines()
    return Finished(wall, _waited_for() - before, json.loads(lines[-1]) if lines else {})


def _waited_for() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(slots=True)
class Meter:
    """Wall and CPU seconds of this process and all below it, between ``with`` and its end."""

    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> Meter:
        self.cpu = -tree_cpu()
        self.wall = -time.perf_counter()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += tree_cpu()


def tree_cpu() -> float:
    """CPU seconds of this process and all below it so far."""
    return sum(sum(times[:4]) for times in _tree(lambda process: process.cpu_times()))


def resident_mib(driver: psutil.Process | None = None) -> dict[str, float]:
    """Resident memory of a driver (by default this process), its JVM and the JVM's Python workers, in MiB.

    Pages that forked workers share are counted once (proportional set size).
    """
    driver = driver or psutil.Process()
    found = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
    for name, pid, size in _tree(lambda p: (p.name(), p.pid, p.memory_full_info().pss), driver):
        role = "driver" if pid == driver.pid else "jvm" if name.startswith("java") else "workers"
        found[role] += size / 2**20
    return found


def _tree(look: Any, top: psutil.Process | None = None) -> list[Any]:
    top = top or psutil.Process()
    found = []
    for process in [top, *top.children(recursive=True)]:
        try:
            found.append(look(process))
        except psutil.NoSuchProcess:
            continue
    return found
