"""What a run says of possible worlds, and who calls functions of Python for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from punctual.kernel.draw.function_calls import FunctionCall
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


@dataclass(frozen=True, slots=True)
class WorldRun:
    """The seed of all draws, whether what needs no worlds is computed without them, and who calls functions."""

    seed: int = 0
    closed_forms: bool = True
    functions: Functions | None = None
