"""The world around a live engine, in a process of its own: it writes what streams bring, and sees answers appear.

One loop and one clock, that of the reader. Files of all streams are renamed into place when the last of their rows has
happened, and every line of an answer is noted with the time at which it stood in its file. So who was late is judged
without asking the engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from benchmarks.answer_reader import Tail
from benchmarks.processes import ROOT
from benchmarks.quality_workload import arrivals
from punctual.clock import Micros, instant_us

LOOKS_PER_SECOND = 20


class SeenAnswer(msgspec.Struct):
    """What is noted of an answer; its rows, which may be many, are passed over."""

    query: str
    at: str
    quality: float
    kept: float
    on_time: bool


_READ = msgspec.json.Decoder(SeenAnswer)


@dataclass(frozen=True, slots=True)
class Script:
    """What happens: ``rates`` are rows per second of each stream, one for every ``step`` from ``begin`` on."""

    folder: str
    out: str
    streams: int
    begin: Micros
    step: Micros
    rates: tuple[float, ...]
    seed: int
    after: Micros
    last: Micros
    wanted: int
    """How many answers there will be of instants after ``after``, through ``last``."""
    until: Micros
    """How long they are waited for."""


@dataclass(slots=True)
class Seen:
    """Answers with when they were seen; instants with when the files were there that complete them."""

    answers: list[tuple[Micros, dict[str, Any]]]
    written: dict[Micros, Micros]
    rows: int


def start(script: Script) -> subprocess.Popen[bytes]:
    """The world as a process; ``seen`` waits for its end."""
    command = [sys.executable, "-m", "benchmarks.quality_world", json.dumps(asdict(script))]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def seen(world: subprocess.Popen[bytes]) -> Seen:
    said, _errors = world.communicate()
    if world.returncode:
        raise RuntimeError(f"the world ended with {world.returncode}")
    found = json.loads(said)
    written = {int(at): when for at, when in found["written"].items()}
    return Seen([(when, answer) for when, answer in found["answers"]], written, found["rows"])


def _came(script: Script, found: Seen) -> int:
    return sum(script.after < instant_us(answer["at"]) <= script.last for _when, answer in found.answers)


def _now() -> Micros:
    return time.time_ns() // 1000


def _play(script: Script) -> Seen:
    chance = np.random.default_rng(script.seed)
    found = Seen([], {}, 0)
    tails: dict[Path, Tail] = {}
    pending = list(enumerate(script.rates))
    while _now() < script.until and (pending or _came(script, found) < script.wanted):
        _look(Path(script.out), tails, found)
        if pending and _now() >= script.begin + (pending[0][0] + 1) * script.step:
            number, rate = pending.pop(0)
            end = script.begin + (number + 1) * script.step
            found.rows += _write(script, chance, rate, end - script.step, end)
            found.written[end] = _now()
        time.sleep(1 / LOOKS_PER_SECOND)
    _look(Path(script.out), tails, found)
    return found


def _write(script: Script, chance: np.random.Generator, rate: float, begin: Micros, end: Micros) -> int:
    """A file of each stream, all of them in place at once."""
    rows, names, folder = 0, [], Path(script.folder)
    for stream in range(script.streams):
        table = arrivals(chance, rate, begin, end)
        rows += table.num_rows
        names.append((folder / f"s{stream}" / f".{end}", folder / f"s{stream}" / f"{end}.parquet"))
        pq.write_table(table, names[-1][0], compression="none")
    for hidden, shown in names:
        hidden.rename(shown)
    return rows


def _look(out: Path, tails: dict[Path, Tail], found: Seen) -> None:
    came: list[tuple[Micros, str]] = []
    for path in out.glob("*.jsonl"):
        if path not in tails:
            tails[path] = Tail(path)
        came += [(_now(), line) for line in tails[path].lines()]
    # What reading them takes must not make the others look late.
    found.answers += [(when, msgspec.structs.asdict(_READ.decode(line))) for when, line in came]


def _main(arguments: Sequence[str]) -> int:
    fields = json.loads(arguments[0])
    found = _play(Script(**{**fields, "rates": tuple(fields["rates"])}))
    print(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
