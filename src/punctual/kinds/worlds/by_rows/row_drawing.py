"""The rounds of one window that Spark answers: result rows of a range of rounds at a time.

What Spark finds in a round follows from rows, seed and the number of the round, so it does not matter in which ranges
rounds are asked for, nor by whom. Result rows come round after round: those of several ranges, one after the other, are
what a single job would give for all of them. What is said rests on the ranges from the first round on, as far as they
go without a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from threading import RLock

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import InternalError
from punctual.kinds.world_run import RowsOfRounds
from punctual.kinds.worlds.by_rows.result_rows import ResultRows, result_rows
from punctual.kinds.worlds.rounds.needed_rounds import MOST_ROUNDS, needed_rounds
from punctual.kinds.worlds.rounds.window_drawing import MOST_AHEAD, MOST_NUMBERS
from punctual.kinds.worlds.summaries import Summaries
from punctual.kinds.worlds.world_rows import Remarks
from punctual.plan.worlds import Worlds
from punctual.runtime.backend import JobLimit

ROWS_AHEAD = 1 << 18
"""Nor are more result rows drawn ahead of an answer, unless it asks for them: all of them are looked at when it is
due."""
LOOKS = 2
"""How many result rows there may be is looked at again with so many times the rounds."""


class RowDrawing:
    """The worlds of a query at one instant; ``columns`` are the result rows of its first ``rounds``, if there are any.

    Several threads may draw at once.
    """

    varies = True

    def __init__(
        self,
        body: Worlds,
        at: Micros,
        asked: RowsOfRounds | None,
        columns: Sequence[pa.Array] = (),
        rounds: int = 0,
        answers: int = 1,
    ) -> None:
        self._body, self._at, self._asked, self._answers = body, at, asked, answers
        self._lock = RLock()
        self._parts: list[list[pa.Array]] = [list(columns)] if rounds else []
        self._later: list[tuple[range, list[pa.Array]]] = []
        self._free: list[range] = []
        """Rounds that somebody has begun and given back."""
        self._begun = self.rounds = rounds
        self._found: tuple[int, ResultRows] | None = None
        self._most = MOST_ROUNDS, MOST_ROUNDS, 0
        """No more rounds at all, and ahead of answers, by so many."""
        self.for_tails = 0
        """Nobody knows which rows an expectation of Spark's rests on, nor how seldom values of it are drawn."""
        self.drawn_us = 0.0
        """How long Spark was asked for more rounds by who answers."""
        self.asked_for = 0
        """How many rounds CONFIDENCE asks for, once somebody has looked."""

    # -- how far it is -----------------------------------------------------------------------------

    @property
    def remarks(self) -> Remarks:
        """What is to be said of the rows of its windows."""
        return self._result.remarks

    @property
    def most(self) -> int:
        """No more rounds are drawn: there would be too many rows, or numbers of groups by rounds, for the driver."""
        return max(self.rounds, self._bounds[0])

    @property
    def own(self) -> int:
        """How many rounds each answer of the instant is to add; 0 where so many are needed as the data ask for."""
        return self._body.effort.rounds if self._body.effort.confidence is None else 0

    @property
    def needed(self) -> int:
        """How many rounds are needed in all, by what was seen of the data; 0 where each answer adds its own."""
        if self._body.effort.confidence is None:
            return 0
        return min(self.asked_for, self.most) if self.asked_for else self._body.effort.rounds

    @property
    def full(self) -> bool:
        """Whether more rounds would be too many to say quickly what they are."""
        return self.rounds >= self._most_ahead

    @property
    def begun(self) -> bool:
        """Whether somebody is at all rounds that there may be."""
        with self._lock:
            return not self._free and self._begun >= self._most_ahead

    @property
    def _most_ahead(self) -> int:
        most, ahead = self._bounds
        return min(most, max(self._answers * self._body.effort.rounds, self.needed, ahead))

    @property
    def _bounds(self) -> tuple[int, int]:
        """How many rounds there may be, and how many before somebody answers, by the result rows so far.

        Groups may become more with every round: as many of them are expected as came in the second half so far.
        """
        rounds = self.rounds
        if rounds >= max(1, LOOKS * self._most[2]):
            found, rows = self._result, max(1, sum(len(part[0]) for part in self._parts))
            most_rows = 0 if self._asked is None else self._asked.most_rows * rounds // rows
            more = (found.groups - found.earlier) / max(1, rounds - rounds // 2)
            base = max(1.0, found.groups - more * rounds)
            numbers, ahead = (_rounds_of(numbers, base, more) for numbers in (MOST_NUMBERS, MOST_AHEAD))
            self._most = min(MOST_ROUNDS, most_rows, numbers), min(ahead, ROWS_AHEAD * rounds // rows), rounds
        return self._most[0], self._most[1]

    # -- who draws ahead ---------------------------------------------------------------------------

    def begin(self, rounds: int) -> None:
        """Nothing: jobs draw, and what they cost they say themselves."""

    def draw(self, rounds: int, limit: JobLimit | None = None) -> int:
        """Draw so many more rounds by a job; how many were drawn, fewer where there may be no more."""
        some = self._taken(rounds)
        if not some:
            return 0
        try:
            columns = self._rows(some, limit)
        except BaseException:
            with self._lock:
                self._free = sorted([*self._free, some], key=lambda one: one.start)
            raise
        self._put(some, columns)
        if self._body.effort.confidence is not None and not self.asked_for and self.rounds >= self._body.effort.rounds:
            self.look()
        return len(some)

    def _taken(self, count: int) -> range:
        """The next rounds that nobody has begun, so many at most: those that were given back before all others."""
        with self._lock:
            while self._free:
                first, *rest = self._free
                some = range(max(first.start, self.rounds), first.stop)
                left = some[count:]
                self._free = [left, *rest] if left else rest
                if some:
                    return some[:count]
            some = range(self._begun, max(self._begun, min(self._begun + count, self._most_ahead)))
            self._begun = some.stop
            return some

    # -- who answers -------------------------------------------------------------------------------

    def finish(self, number: int) -> None:
        """Draw what the answer of this number is to rest on, however long that takes."""
        self.until(max(self.own * (number + 1), self.needed))

    def until(self, rounds: int) -> None:
        """Have so many rounds at least, or as many as there may be; what others have begun is not waited for."""
        end = rounds if rounds <= self.rounds else min(rounds, self.most)
        some = range(self.rounds, end)
        if not some or self._asked is None:
            return
        began = self._asked.now()
        columns = self._rows(some, None)
        self.drawn_us += self._asked.now() - began
        self._put(some, columns)

    def said(self, rounds: int) -> Summaries:
        """What the rounds so far say."""
        return self._result.said

    def look(self) -> tuple[Summaries, int]:
        """What the rounds so far say, and how many CONFIDENCE asks for by that."""
        said = self._result.said
        self.asked_for = needed_rounds(self._body.effort, said, said.rounds)
        return said, self.asked_for

    # -- result rows -------------------------------------------------------------------------------

    def _rows(self, rounds: range, limit: JobLimit | None) -> list[pa.Array]:
        if self._asked is None:
            raise InternalError("nobody asks Spark for more rounds here")
        return self._asked.rows(self._at, rounds, limit)

    def _put(self, some: range, columns: list[pa.Array]) -> None:
        """Result rows of some rounds. Some of these may be there already: they are the same."""
        with self._lock:
            self._begun = max(self._begun, some.stop)
            self._later.append((some, columns))
            for known, rows in sorted(self._later, key=lambda one: one[0].start):
                if known.start <= self.rounds < known.stop:
                    first = int(np.searchsorted(rows[0].to_numpy(zero_copy_only=False), self.rounds))
                    self._parts.append([column.slice(first) for column in rows])
                    self.rounds = known.stop
            self._later = [one for one in self._later if one[0].start > self.rounds]

    @property
    def _result(self) -> ResultRows:
        with self._lock:
            rounds = self.rounds
            if self._found is not None and self._found[0] == rounds:
                return self._found[1]
            self._parts = [[pa.concat_arrays(several) for several in zip(*self._parts)]]
            columns = self._parts[0]
        found = result_rows(self._body, columns, rounds)
        self._found = rounds, found
        return found


def _rounds_of(numbers: int, base: float, more: float) -> int:
    """So many rounds have that many numbers, of ``base`` groups and ``more`` with every round."""
    return int((sqrt(base * base + 4 * more * numbers) - base) / (2 * more) if more else numbers / base)
