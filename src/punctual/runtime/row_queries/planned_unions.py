"""Plans of unions of slots that were made before, and which of them serves for what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from punctual.runtime.row_queries.operator_rows import MeteredPlan
from punctual.runtime.row_queries.shared_windows import WindowUse

MOST_UNIONS = 32
"""How many unions are kept planned: a program has one for each set of queries that are due together."""
MOST_EMPTY = 1.5
"""A plan with so many times the slots that are asked is run before one is made: an empty slot is not free."""
RECURS = 3
"""Slots that were asked for so often, and have no union of their own, will be again."""
MOST_ASKED = 1_024

Shape = frozenset[tuple[int, int, tuple[bool, ...]]]
"""The slots of a union: the number of a query, a place, and which windows others read too; in any order."""


@dataclass(slots=True)
class PlannedUnion:
    """Slots as one frame, in their order; whether it may be executed again, and the counters of its operators.

    ``marks`` says of a slot which of its windows a shared one is, by the number that the plan has for that. ``shared``
    are those windows of all slots: empty ones read them too, and would leave nothing for the next job to find.
    """

    frame: DataFrame
    slots: tuple[str, ...]
    marks: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    shared: tuple[WindowUse, ...] = ()
    stands: bool = False
    runs: int = 0
    looked: bool = False
    meter: MeteredPlan | None = None


class PlannedUnions:
    """Those of one session, the latest used."""

    def __init__(self) -> None:
        self._unions: dict[Shape, PlannedUnion] = {}
        self._asked: Counter[Shape] = Counter()

    def known(self, shape: Shape) -> PlannedUnion | None:
        """A union that was planned before and has these slots; None: one is to be planned.

        One with some more slots serves as well, unless the same ones are asked for again and again: others stay empty.
        """
        if shape not in self._unions:
            larger = None if self._recurs(shape) else self._larger(shape)
            if larger is None:
                return None
            shape = larger
        found = self._unions[shape] = self._unions.pop(shape)
        return found

    def keep(self, shape: Shape, union: PlannedUnion) -> None:
        """One more; the one that was not used for longest goes where there are too many."""
        if len(self._unions) >= MOST_UNIONS:
            del self._unions[next(iter(self._unions))]
        self._unions[shape] = union

    def clear(self) -> None:
        """Forget all of them."""
        self._unions.clear()
        self._asked.clear()

    def _recurs(self, shape: Shape) -> bool:
        if len(self._asked) >= MOST_ASKED:
            self._asked.clear()
        self._asked[shape] += 1
        if self._asked[shape] < RECURS:
            return False
        del self._asked[shape]
        return True

    def _larger(self, shape: Shape) -> Shape | None:
        """The smallest that has these slots and not too many others."""
        most = MOST_EMPTY * len(shape)
        able = (known for known, union in self._unions.items() if union.stands and len(known) <= most)
        found = [known for known in able if shape <= known]
        return min(found, key=len, default=None)
