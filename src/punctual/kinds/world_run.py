"""What a run says of possible worlds, who calls functions of Python for it, and who is told what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from punctual.kernel.arrays.shared import SharedWorlds
from punctual.kernel.draw.function_calls import FunctionCall
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kinds.clause import Clause
from punctual.plan.worlds import Called


class FunctionStopError(Exception):
    """A function of Python cannot be used: it raised, returned something else, or did not end. Its query stops."""

    def __init__(self, query: str, clause: Clause, fact: str) -> None:
        super().__init__(f"{clause.name}: {fact}")
        self.query = query
        self.clause = clause
        self.fact = fact


class Functions(Protocol):
    """Calls functions of Python, somewhere else."""

    def results(self, query: str, calls: Sequence[tuple[Called, FunctionCall]], texts: pa.Array) -> list[pa.Array]:
        """What the functions give for each of these calls, a value for each world of it.

        ``texts`` are the strings that the codes of arguments stand for. Raises ``FunctionStopError``.
        """
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
    shared: SharedWorlds | None = None
    """What the queries of a pass have in common; None: each draws for itself."""
    kept: KeptFolds | None = None
    """The first rounds of panes; None: no rounds are kept."""

    def sharing(self) -> WorldRun:
        """The same for a pass."""
        return replace(self, shared=SharedWorlds())
