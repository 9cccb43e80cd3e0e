"""What a column says after ``~``: a distribution that each row gives, or how a value that is missing is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.clock import Micros, duration_text
from punctual.plan.expression import Expression
from punctual.plan.world_expression import OfColumns


@dataclass(frozen=True, slots=True)
class GivenBy:
    """NORMAL(mean, sd), UNIFORM(low, high) or DISCRETE(values, weights): ``parameters`` are columns of the stream."""

    kind: Literal["NORMAL", "UNIFORM", "DISCRETE"]
    parameters: tuple[str, str]

    @property
    def written(self) -> str:
        """As a program says it."""
        return f"{self.kind}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True)
class FoundBy:
    """EMPIRICAL, INTERPOLATED or NEAREST: where the value is NULL, or ``missing_if`` holds, others stand for it.

    ``by`` are columns of the stream; ``neighbours`` is how many NEAREST looks at, ``within_us`` how far INTERPOLATED
    looks in time, None: as far as the window goes. ``known_if`` is ``missing_if`` where kernels know it.
    """

    kind: Literal["EMPIRICAL", "INTERPOLATED", "NEAREST"]
    by: tuple[str, ...]
    neighbours: int | None = None
    within_us: Micros | None = None
    missing_if: Expression | None = None
    known_if: OfColumns | None = None

    @property
    def written(self) -> str:
        """As a program says it."""
        count = "" if self.neighbours is None else f" {self.neighbours}"
        by = self.by[0] if len(self.by) == 1 else f"({', '.join(self.by)})"
        within = "" if self.within_us is None else f" WITHIN {duration_text(self.within_us)}"
        missing = "" if self.missing_if is None else f" IF {self.missing_if.written}"
        return f"{self.kind}{count} BY {by}{within}{missing}"


Uncertainty = GivenBy | FoundBy
