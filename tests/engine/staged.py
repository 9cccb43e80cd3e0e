"""A live engine whose queries have several answers, on a clock that moves when told to; what its answers must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from punctual.clock import SECOND, ManualClock, Micros, iso
from punctual.engine.engine import Engine
from punctual.ports.storage import Files
from punctual.runtime.backend import Backend
from tests.inprocess.backend import InProcess
from tests.kinds.sample_of import FACTOR, MODULUS

START = 1_800_000_000 * SECOND
STAGES = {"three": (1, 3, 5), "two": (2, 4), "slow": (1_000, 2_000)}
"""In seconds."""
LENGTHS = {"three": 20, "two": 10, "slow": 6}
PROGRAM = """
    CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, x BIGINT) FROM FEED;
    CREATE QUERY three AS SELECT SAMPLE_OF(5, x) FROM s [RANGE 20 SECONDS]
      PERIOD 5 SECONDS ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS;
    CREATE QUERY plain AS SELECT count(*) AS n FROM s [RANGE 20 SECONDS] PERIOD 5 SECONDS;
    CREATE QUERY two AS SELECT SAMPLE_OF(5, x) FROM s [RANGE 10 SECONDS]
      PERIOD 5 SECONDS ANSWERS WITHIN 2 SECONDS, 4 SECONDS;
"""
SLOW = """
    CREATE QUERY slow AS SELECT SAMPLE_OF(5, x) FROM s [RANGE 6 SECONDS]
      PERIOD 5 SECONDS ANSWERS WITHIN 1000 SECONDS, 2000 SECONDS;
"""


def rows(begin: int, end: int) -> list[tuple[Micros, int]]:
    """One a second: event time and value."""
    return [(START + second * SECOND, second * 37 % 101) for second in range(begin, end)]


def sample(query: str, at: Micros, number: int) -> list[dict[str, int]]:
    """What an answer has, if rows came from the start on."""
    length = LENGTHS[query] * SECOND
    inside = [(t, x) for t, x in rows(0, (at - START) // SECOND + 1) if at - length < t <= at]
    best = sorted(inside, key=lambda row: (row[1] * FACTOR % MODULUS, row))[:5]
    return [{"sample": x} for _t, x in best[: number + 1]]


class Staged:
    """One state, opened and closed as often as one likes, on one clock."""

    def __init__(
        self,
        folder: Path,
        program: str = PROGRAM,
        *,
        live: bool = True,
        files: Files | None = None,
        backend: Callable[[], Backend] = InProcess,
        options: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.program, self.live = folder, program, live
        self.files, self.backend, self.options = files, backend, options
        self.clock = ManualClock(START + 10_000 * SECOND)
        self.fed = 0
        self.engine = self.open()

    def open(self) -> Engine:
        """Once more, on the same state."""
        engine = Engine(
            str(self.folder / "state"), str(self.folder / "out"), live=self.live, clock=self.clock, files=self.files,
            backend=self.backend, options=self.options,
        )  # fmt: skip
        engine.sql(self.program)
        engine.open()
        self.engine = engine
        return engine

    def restart(self, after_s: float = 0.0) -> None:
        """Closed for so long."""
        self.engine.close()
        self.clock.sleep(int(after_s * SECOND))
        self.open()

    def feed(self, seconds: int) -> None:
        """Rows of so many seconds more, and what they release."""
        self.engine.feed("s", [(iso(t), x) for t, x in rows(self.fed, self.fed + seconds)])
        self.fed += seconds
        self.engine.tick()

    def later(self, seconds: float) -> None:
        """So much later, nothing having come."""
        self.clock.sleep(int(seconds * SECOND))
        self.engine.tick()

    def all(self) -> list[tuple[str, dict[str, Any]]]:
        """Every answer in the order of the log."""
        return [(block.query, row) for block in self.engine.records() for row in block.table.to_pylist()]

    def of(self, query: str) -> list[tuple[int, int]]:
        """The answers of a query: instant in seconds since the start, and number."""
        return [((row["at"] - START) // SECOND, row["number"]) for name, row in self.all() if name == query]

    def check(self) -> None:
        """Answers of an instant are numbered from 0, once each, of one release, with the rows that they must have."""
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for query, row in self.all():
            found.setdefault((query, row["at"]), []).append(row)
        for (query, at), several in found.items():
            assert [row["number"] for row in several] == list(range(len(several))), (query, at)
            assert len({row["released"] for row in several}) == 1, (query, at)
            assert len(several) <= len(STAGES.get(query, (0,)))
            for row in several if query in STAGES else ():
                assert row["said"] == row["number"]
                assert row["rows"] == sample(query, at, row["number"]), (query, at)
                assert (row["released"] is None) == (not self.live)
                if self.live:
                    assert row["deadline"] == row["released"] + STAGES[query][row["number"]] * SECOND
                    assert row["on_time"] == (row["answered"] <= row["deadline"])
