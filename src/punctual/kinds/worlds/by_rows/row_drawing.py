"""The rounds of one window that Spark answers: result rows of a range of rounds at a time.

What Spark finds in a round follows from rows, seed and the number of the round, so it does not matter in which ranges
rounds are asked for. Result rows come round after round: those of several ranges, one after the other, are what a
single job would give for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import InternalError
from punctual.kinds.world_run import RowsOfRounds
from punctual.kinds.worlds.by_rows.result_rows import ResultRows, result_rows
from punctual.kinds.worlds.rounds.needed_rounds import MOST_ROUNDS, needed_rounds
from punctual.kinds.worlds.rounds.window_drawing import MOST_NUMBERS
from punctual.kinds.worlds.summaries import Summaries
from punctual.plan.worlds import Worlds


class RowDrawing:
    """The worlds of a query at one instant; ``columns`` are the result rows of its first rounds."""

    varies = True

    def __init__(
        self, body: Worlds, at: Micros, asked: RowsOfRounds | None, columns: Sequence[pa.Array], rounds: int
    ) -> None:
        self._body, self._at, self._asked = body, at, asked
        self._columns = list(columns)
        self.rounds = rounds
        self.for_tails = 0
        """Nobody knows which rows an expectation of Spark's rests on, nor how seldom values of it are drawn."""
        self.drawn_us = 0.0
        """How long Spark was asked for more rounds."""
        self._found: ResultRows | None = None

    @property
    def marked(self) -> int:
        """How many missing values had to be any value of the window."""
        return self._result.marked

    @property
    def most(self) -> int:
        """No more rounds are drawn: there would be too many rows, or numbers of groups by rounds, for the driver.

        Groups may become more with every round: as many of them are expected as came in the second half so far.
        """
        rows, rounds, found = max(1, len(self._columns[0])), self.rounds, self._result
        most_rows = 0 if self._asked is None else self._asked.most_rows * rounds // rows
        more = (found.groups - found.earlier) / max(1, rounds - rounds // 2)
        base = max(1.0, found.groups - more * rounds)
        numbers = (sqrt(base * base + 4 * more * MOST_NUMBERS) - base) / (2 * more) if more else MOST_NUMBERS / base
        return max(rounds, min(MOST_ROUNDS, most_rows, int(numbers)))

    def until(self, rounds: int) -> None:
        """Have so many rounds at least, or as many as there may be."""
        end = rounds if rounds <= self.rounds else min(rounds, self.most)
        if end <= self.rounds:
            return
        if self._asked is None:
            raise InternalError("nobody asks Spark for more rounds here")
        began = self._asked.now()
        more = self._asked.rows(self._at, range(self.rounds, end))
        self.drawn_us += self._asked.now() - began
        self._columns = [pa.concat_arrays([one, other]) for one, other in zip(self._columns, more, strict=True)]
        self.rounds, self._found = end, None

    def said(self, rounds: int) -> Summaries:
        """What the rounds so far say."""
        return self._result.said

    def look(self) -> tuple[Summaries, int]:
        """What the rounds so far say, and how many CONFIDENCE asks for by that."""
        said = self._result.said
        return said, needed_rounds(self._body.effort, said, said.rounds)

    @property
    def _result(self) -> ResultRows:
        if self._found is None:
            self._found = result_rows(self._body, self._columns, self.rounds)
        return self._found
