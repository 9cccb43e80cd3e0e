"""What a run says of possible worlds, who calls functions of Python for it, and who is told what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from punctual.clock import Micros
from punctual.kernel.arrays.shared import SharedWorlds
from punctual.kernel.draw.function_calls import FunctionCall
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kinds.clause import Clause
from punctual.plan.worlds import Called
from punctual.runtime.backend import JobLimit


class WorldsStopError(Exception):
    """What a query needs of worlds cannot be had: a function of Python raised, returned something else, or did not end,
    or Spark cannot answer in more rounds. The query stops."""

    def __init__(self, query: str, clause: Clause | None, fact: str) -> None:
        super().__init__(fact if clause is None else f"{clause.name}: {fact}")
        self.query = query
        self.clause = clause
        self.fact = fact


class Functions(Protocol):
    """Calls functions of Python, somewhere else."""

    def results(self, query: str, calls: Sequence[tuple[Called, FunctionCall]], texts: pa.Array) -> list[pa.Array]:
        """What the functions give for each of these calls, a value for each world of it.

        ``texts`` are the strings that the codes of arguments stand for. Raises ``WorldsStopError``.
        """
        ...


class RowsOfRounds(Protocol):
    """Asks Spark for the result rows of a query in some rounds, where it answers in every round."""

    @property
    def most_rows(self) -> int:
        """How many rows all rounds of an answer may have together."""
        ...

    def rows(self, at: Micros, rounds: range, limit: JobLimit | None = None) -> list[pa.Array]:
        """The columns of its result rows in these rounds, round after round.

        With a limit it is a job beside others. Raises ``WorldsStopError``, and ``OverdueError`` where the limit ended
        it.
        """
        ...

    def now(self) -> float:
        """The time by a steady clock, in microseconds."""
        ...


class RoundMeter(Protocol):
    """Learns what rounds cost."""

    def now(self) -> float:
        """Core time of this thread so far, in microseconds."""
        ...

    def told(self, query: str, ready_us: float, drawn_us: float, drawn: int, rounds: int) -> None:
        """An answer took so long besides its rounds, and so long for these; it was to have so many new ones."""
        ...

    def take_spent_us(self) -> float:
        """Core time of all answers that were told of since this was last asked."""
        ...


@dataclass(frozen=True, slots=True)
class WorldRun:
    """The seed of all draws, whether what needs no worlds is computed without them, and who calls functions."""

    seed: int = 0
    closed_forms: bool = True
    meter: RoundMeter | None = None
    functions: Functions | None = None
    by_rows: RowsOfRounds | None = None
    shared: SharedWorlds | None = None
    """What the queries of a pass have in common; None: each draws for itself."""
    kept: KeptFolds | None = None
    """The first rounds of panes; None: no rounds are kept."""

    def for_pass(self, *, shares: bool = True) -> WorldRun:
        """The same for the queries of one pass, which share what they have in common, or do not."""
        return replace(self, shared=SharedWorlds() if shares else None)
