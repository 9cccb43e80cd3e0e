"""How much planning may cost: steps are counted, never timed, so a plan is the same on every machine.

A step is about a microsecond of one core. Whatever bounds and costs a program has, one plan takes at most a few times
:data:`MOST_STEPS`, and lists at most :data:`MOST_RUNS` executions; all plans that an explanation makes for comparison
take at most :data:`MOST_COMPARED` together.
"""

from __future__ import annotations

MOST_STEPS = 125_000
"""For one search, or for counting what the executions of one plan cost."""
MOST_COMPARED = 1_000_000
"""For all plans of an explanation that nobody runs."""
STEPS_PER_MEMBER = 20
"""What it takes to put a query into a plan, besides looking for the plan."""
MOST_RUNS = 50_000
"""A cycle of more executions than this is not written down."""


class OutOfSteps(Exception):
    """What was looked for takes too long; callers have something coarser, or say so."""


class Effort:
    """Counts steps up to a limit.

    Parameters
    ----------
    most : int
    within : Effort, optional
        The steps are counted there too, but its limit ends nothing: whoever owns it looks at ``left``.
    """

    def __init__(self, most: int = MOST_STEPS, within: Effort | None = None) -> None:
        self._most = most
        self._within = within
        self.spent = 0

    @property
    def left(self) -> int:
        """Steps to go, 0 when there are none."""
        return max(0, self._most - self.spent)

    def spend(self, steps: int) -> None:
        """Count steps.

        >>> effort = Effort(5)
        >>> effort.spend(3), effort.left
        (None, 2)
        """
        self.count(steps)
        if self.spent > self._most:
            raise OutOfSteps

    def count(self, steps: int) -> None:
        """Count steps that were taken already, whatever is left."""
        self.spent += steps
        if self._within is not None:
            self._within.count(steps)
