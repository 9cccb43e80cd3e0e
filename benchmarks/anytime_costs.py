"""What a round of each of the five anytime queries costs: measured on the engine in this process, without Spark.

A pass is timed with few rounds and with many, in turn, the best of several. The difference is what rounds cost; what is
left is the pass: reading the window and writing the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.inprocess.backend import InProcess

from benchmarks.anytime_workload import SELECTS, STREAMS, write
from benchmarks.world_width import timed_passes
from punctual.engine.engine import Engine

FEW, MANY = 40, 1_000


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of a round, and of everything else in the pass that answers."""

    one_round: float
    rest: float


def measured(*, quick: bool) -> dict[str, Cost]:
    """Costs by kind of query, over a window of some thousand rows."""
    few, many, times = (5, 40, 1) if quick else (FEW, MANY, 5)
    sizes = {} if quick else {"branches": 20, "machines": 50, "quarters": 2, "side": 30, "hours": 2}
    with TemporaryDirectory() as folder:
        write(Path(folder), **sizes)
        found = {}
        for kind, select in SELECTS.items():
            short, long = [], []
            passed(Path(folder), select, few)
            for _time in range(times):
                short.append(passed(Path(folder), select, few))
                long.append(passed(Path(folder), select, many))
            one_round = max(min(long) - min(short), 0.0) / (many - few)
            found[kind] = Cost(one_round, max(min(short) - few * one_round, 0.0))
        return found


def passed(folder: Path, select: str, rounds: int, answers: int = 1) -> float:
    """CPU seconds of the passes that answer a query once, each answer with so many rounds more."""
    with TemporaryDirectory() as out, timed_passes() as taken:
        engine = Engine(out=out, base=str(folder), live=False, backend=lambda: InProcess(1))
        with engine:
            select = select.format(east=5, north=5)
            engine.sql(STREAMS.format(folder=folder))
            within = ", ".join(f"{second + 1} SECONDS" for second in range(answers))
            engine.sql(f"CREATE QUERY q AS {select} ANSWERS WITHIN {within} ROUNDS {rounds};")
            engine.run_once()
        assert (Path(out) / "q.jsonl").read_text().count("\n") == answers
    return sum(taken)


def rounds_of(costs: Mapping[str, Cost]) -> dict[str, float]:
    """The costs of rounds alone, over their mean."""
    mean = sum(cost.one_round for cost in costs.values()) / len(costs)
    return {kind: cost.one_round / mean for kind, cost in costs.items()}
