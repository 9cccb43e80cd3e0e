"""Plans of unions of slots that were made before, and which of them serves for what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from punctual.runtime.row_queries.operator_rows import MeteredPlan
from punctual.runtime.row_queries.shared_windows import SharedUse, Way

MOST_UNIONS = 32
"""How many unions are kept planned: a program has one for each set of queries that are due together."""
MOST_EMPTY = 4.0
"""A plan with so many times the slots that are asked is run before one is made: an empty slot is not free."""
RECURS = 3
"""Slots that were asked for so often, and have no union of their own, will be again."""
MOST_ASKED = 1_024

Ways = tuple[Way | None, ...]
"""How a slot reads each of its windows: as others do, or None by itself."""
Slots = frozenset[str]


@dataclass(slots=True, eq=False)
class PlannedUnion:
    """Slots as one frame, in their order; whether it may be executed again, and the counters of its operators.

    ``ways`` say how each slot reads its windows. ``shared`` are those that several read, of all slots: empty ones read
    them too, and would leave nothing for the next job to find.
    """

    frame: DataFrame
    slots: tuple[str, ...]
    ways: Mapping[str, Ways] = field(default_factory=dict)
    shared: tuple[SharedUse, ...] = ()
    stands: bool = False
    runs: int = 0
    looked: bool = False
    meter: MeteredPlan | None = None

    def marks(self, slot: str) -> dict[int, int]:
        """Which of the windows of a slot a shared one is, by the number that the plan has for that."""
        return {way[0]: number for number, way in enumerate(self.ways.get(slot, ())) if way is not None}


class PlannedUnions:
    """Those of one session, the latest used."""

    def __init__(self) -> None:
        self._unions: list[PlannedUnion] = []
        self._asked: Counter[Slots] = Counter()

    def known(self, asked: Slots, fits: Callable[[PlannedUnion], bool]) -> PlannedUnion | None:
        """A union that was planned before, has these slots and ``fits`` what they read; None: one is to be planned.

        One with more slots serves as well, unless the same ones are asked for again and again: others stay empty.
        """
        most = MOST_EMPTY * len(asked)
        able = (one for one in self._unions if len(one.slots) <= most and asked <= set(one.slots))
        found = next((one for one in sorted(able, key=_size) if fits(one)), None)
        if found is None or (len(found.slots) > len(asked) and (not found.stands or self._recurs(asked))):
            return None
        self._unions.remove(found)
        self._unions.append(found)
        return found

    def keep(self, union: PlannedUnion) -> None:
        """One more; the one that was not used for longest goes where there are too many."""
        self._unions = [*self._unions, union][-MOST_UNIONS:]

    def clear(self) -> None:
        """Forget all of them."""
        self._unions.clear()
        self._asked.clear()

    def _recurs(self, asked: Slots) -> bool:
        if len(self._asked) >= MOST_ASKED:
            self._asked.clear()
        self._asked[asked] += 1
        if self._asked[asked] < RECURS:
            return False
        del self._asked[asked]
        return True


def _size(union: PlannedUnion) -> int:
    return len(union.slots)
