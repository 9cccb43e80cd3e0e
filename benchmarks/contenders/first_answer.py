"""``punctual run --once`` with its phases timed, from the start of the process; ends at its first answer.

It runs on any checkout of Punctual that ``PYTHONPATH`` names, so what it times is what all of them have.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.processes import tree_cpu


def age() -> float:
    """Seconds since this process began; as a time of day its birth would be off by up to a second."""
    born = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - born


BORN = time.time() - age()
MARKS: dict[str, tuple[float, float]] = {"python": (time.time() - BORN, tree_cpu())}


def mark(name: str) -> None:
    """Wall and CPU seconds of the whole tree since the process began, the first time that it comes by."""
    MARKS.setdefault(name, (time.time() - BORN, tree_cpu()))


def marking(owner: Any, name: str, label: str) -> None:
    """Mark when a function of a module or class has returned."""
    real: Callable[..., Any] = getattr(owner, name)

    def timed(*arguments: Any, **named: Any) -> Any:
        try:
            return real(*arguments, **named)
        finally:
            mark(label)

    setattr(owner, name, timed)


def main() -> None:
    from punctual.cli import main as command
    from punctual.cli.terminal import Screen
    from punctual.engine.engine import Engine
    from punctual.runtime import session, spark

    mark("imports")
    marking(Engine, "sql", "compiled")
    marking(session, "start", "session")
    marking(spark.SparkBackend, "typecheck", "types")
    marking(Engine, "open", "open")
    marking(spark.SparkBackend, "tick", "first tick")

    def first(_screen: Screen, _blocks: Any) -> None:
        mark("first answer")
        print(json.dumps(MARKS), flush=True)
        for process in psutil.Process().children(recursive=True):
            process.kill()
        os._exit(0)

    Screen.show = first  # type: ignore[method-assign]
    command.main(["run", sys.argv[1], "--once"])


if __name__ == "__main__":
    main()
