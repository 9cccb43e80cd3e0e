"""What rounds of possible worlds cost a query: to make its window ready, and for each of them.

Windows are about as full from instant to instant, so what the last ones took says what the next one will. Nothing of it
is kept with the state: the first answer of a run teaches it.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.estimate.execution_cost import ExecutionCost

ALPHA = 0.3
"""How much of the last answer is in it."""


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Microseconds of core time: to make a window ready and to say what its rounds are, and for a round.

    ``rounds`` is how many an answer is to have beyond those before it.
    """

    ready_us: float
    round_us: float
    rounds: float

    @staticmethod
    def seen(known: RoundCost | None, ready_us: float, drawn_us: float, drawn: int, rounds: float) -> RoundCost:
        """What is known after one more answer, for which so many rounds were drawn.

        >>> one = RoundCost.seen(None, 1_000.0, 5_000.0, 100, 100)
        >>> one
        RoundCost(ready_us=1000.0, round_us=50.0, rounds=100)
        >>> RoundCost.seen(one, 2_000.0, 0.0, 0, 100)
        RoundCost(ready_us=1300.0, round_us=50.0, rounds=100)
        """
        if known is None:
            return RoundCost(ready_us, drawn_us / drawn if drawn else 0.0, rounds)
        ready = known.ready_us + ALPHA * (ready_us - known.ready_us)
        each = known.round_us + ALPHA * (drawn_us / drawn - known.round_us) if drawn else known.round_us
        return RoundCost(ready, each, rounds)

    @property
    def execution(self) -> ExecutionCost:
        """An answer with all of its rounds."""
        return ExecutionCost(alone_fixed_us=self.ready_us, alone_work_us=self.rounds * self.round_us)
