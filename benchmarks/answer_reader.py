"""Who reads the files of answers, in a process of its own: it notes by its own clock when each line stood there.

``Reader(folder)`` starts it, ``ended`` lets it look once more and gives what it saw. Lines are only taken apart at the
end: what that takes must not make others look late.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from benchmarks.processes import ROOT
from punctual.clock import Micros, instant_us

LOOKS_PER_SECOND = 100


class Answer(msgspec.Struct, frozen=True):
    """An answer as its line says it; its rows are passed over."""

    query: str
    at: str
    number: int
    released: str
    answered: str
    deadline: str | None = None
    on_time: bool | None = None
    rounds: int = 0
    reached: bool = True
    error: Any = None


class Seen(msgspec.Struct, frozen=True):
    """What is kept of an answer: times in microseconds, ``seen`` by the reader's clock."""

    query: str
    at: Micros
    number: int
    released: Micros
    deadline: Micros
    answered: Micros
    seen: Micros
    on_time: bool
    rounds: int
    reached: bool
    half_width: float | None
    """Mean over all rows and columns that have an interval."""


class Tail:
    """Lines that were appended to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open()
        self._begun = ""

    def lines(self) -> list[str]:
        *whole, self._begun = (self._begun + self._file.read()).split("\n")
        return whole


class Reader:
    """The process, from when it is made until it is ``ended``."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.answer_reader", str(folder)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it looks

    def ended(self) -> list[Seen]:
        said, _errors = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the reader of answers ended with {self._process.returncode}")
        return msgspec.json.decode(said, type=list[Seen])


def half_width(error: Any) -> float | None:
    """Of the 95 % intervals of an answer, the mean; None where it has none.

    >>> half_width({"n": {"low": [1.0, None, 4.0], "high": [3.0, None, 8.0]}, "w": {"confidence": None}})
    1.5
    """
    if not error:
        return None
    found = [
        (high - low) / 2
        for one in error.values()
        if isinstance(one, dict)
        for low, high in zip(one.get("low") or (), one.get("high") or ())
        if low is not None and high is not None
    ]
    return sum(found) / len(found) if found else None


def _seen(when: Micros, line: str, read: msgspec.json.Decoder[Answer]) -> Seen | None:
    """What is kept of a line; nothing where nobody said by when it was due."""
    one = read.decode(line)
    if one.deadline is None or one.on_time is None:
        return None
    at, released, deadline, answered = map(instant_us, (one.at, one.released, one.deadline, one.answered))
    return Seen(
        one.query, at, one.number, released, deadline, answered, when, one.on_time, one.rounds, one.reached,
        half_width(one.error),
    )  # fmt: skip


def _main(arguments: Sequence[str]) -> int:
    folder, tails, came = Path(arguments[0]), dict[Path, Tail](), list[tuple[Micros, str]]()
    print("looks", flush=True)
    going = True
    while going:
        ready, _write, _other = select.select([sys.stdin], [], [], 1 / LOOKS_PER_SECOND)
        going = not ready
        for path in folder.glob("*.jsonl"):
            if path not in tails:
                tails[path] = Tail(path)
            lines = tails[path].lines()
            now = time.time_ns() // 1_000
            came += [(now, line) for line in lines]
    read = msgspec.json.Decoder(Answer)
    found = [one for when, line in came if (one := _seen(when, line, read)) is not None]
    sys.stdout.write(msgspec.json.encode(found).decode())
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
