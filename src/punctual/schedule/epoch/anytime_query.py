"""An anytime query: between a start and a deadline it needs some core time, and any more makes its answer better.

A query with several deadlines is several anytime queries, one after the other: :func:`stages`. Times and core times are
in one unit, whichever it is; core time counts every core, so two cores give two seconds per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from punctual.errors import PlanError


@dataclass(frozen=True, slots=True)
class AnytimeQuery:
    """Alive from ``start`` to ``deadline``; ``essential`` is the core time that its answer needs by then."""

    start: float
    deadline: float
    essential: float

    def __post_init__(self) -> None:
        if not (isfinite(self.start) and isfinite(self.deadline) and self.start < self.deadline):
            raise PlanError(
                "plan.bad-anytime-query",
                f"there is no lifetime from {self.start} to {self.deadline}",
                hint="give a deadline after the start, both finite",
            )
        if not (isfinite(self.essential) and self.essential >= 0):
            raise PlanError(
                "plan.bad-anytime-query",
                f"{self.essential} is not a core time",
                hint="give a finite number that is not negative",
            )

    @property
    def lifetime(self) -> float:
        """How long it is alive."""
        return self.deadline - self.start


def stages(start: float, deadlines: Sequence[float], essential: Sequence[float]) -> list[AnytimeQuery]:
    """The stages of a query with several deadlines: each begins where the one before it ends.

    >>> stages(0, [1, 3], [0.5, 0.25])
    [AnytimeQuery(start=0, deadline=1, essential=0.5), AnytimeQuery(start=1, deadline=3, essential=0.25)]
    """
    if len(deadlines) != len(essential):
        raise PlanError(
            "plan.bad-anytime-query",
            f"there are {len(deadlines)} deadlines and {len(essential)} essential times",
            hint="give one essential time for each deadline",
        )
    return [AnytimeQuery(*lifetime, needed) for lifetime, needed in zip(pairwise([start, *deadlines]), essential)]


def check_cores(cores: float) -> None:
    """Raise where there is no such number of cores."""
    if not (isfinite(cores) and cores > 0):
        raise PlanError("plan.bad-cores", f"{cores} is not a number of cores", hint="give a finite number above zero")
