"""The ``punctual`` command as a process of its own, and what can be seen of it from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

PATIENCE_S = 240
"""A start takes half a minute on a busy machine; a test that waits longer than this has found a hang."""
WALL_CLOCK = ("released", "deadline", "answered", "on_time")


COMMAND = "import sys; from punctual.cli.main import main; sys.exit(main())"


def start(
    *arguments: str | Path, folder: Path, environment: Mapping[str, str] | None = None, before: str = ""
) -> subprocess.Popen[str]:
    """Start ``punctual``; its temporary files stay below ``folder``, so that a killed one leaves nothing behind.

    ``before`` is Python that runs first in the new process.
    """
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{COMMAND}", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), **(environment or {})},
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a process that ends by itself."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def until(happened: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """Wait until something is true; fails when the process ends before it is."""
    give_up = time.monotonic() + PATIENCE_S
    while not (found := happened()):
        assert process.poll() is None, f"ended with {process.returncode}: {process.communicate()}"
        assert time.monotonic() < give_up, "nothing happened"
        time.sleep(0.01)
    return found


def batches(state: Path) -> int:
    """How many batches a state has committed."""
    names = [*state.glob("batches/*.json"), *state.glob("base/*.json")]
    return max((int(p.name[:12]) + 1 for p in names if not p.name.endswith(".plan.json")), default=0)


def jvm_of(state: Path) -> psutil.Process | None:
    """The JVM that the state's lock names, if it runs."""
    try:
        number = json.loads((state / "punctual.lock").read_text())["jvm"]
        return None if number is None else psutil.Process(number)
    except (OSError, ValueError, KeyError, psutil.NoSuchProcess):
        return None


def has_ended(process: psutil.Process) -> bool:
    """Whether a process is gone; a dead one that nobody has waited for counts as gone (a container's first process
    may never wait for orphans)."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def answers(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The answers of every query of an output folder, without what depends on the wall clock."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.stem] = [{k: v for k, v in line.items() if k not in WALL_CLOCK} for line in lines]
    return found


def lines(folder: Path) -> dict[str, str]:
    """The files of an output folder as they are."""
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.jsonl"))}
