"""What outlives a change of program.

When queries come and go, a unit may keep other synopses, other cuts and other pane edges than before. Cells say
themselves what they hold, so the new unit reads the old one's as far as they go. Whether a query's window is covered by
them is said by :func:`covered_from`, once, when the query is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from punctual.clock import Micros
from punctual.kernel.panes.layout import covers, progressions_for
from punctual.plan.shared import Reader, Unit, UnitSynopsis
from punctual.schedule.due import BEGINNING

UnitVersions = tuple[tuple[str, Micros], ...]
"""Names in the state that a unit has had, oldest first, each with the largest event time when it began."""
VERSIONS_KEPT = 32
"""Older versions of a unit are forgotten: a query that would need them says that its windows are not covered."""


def covered_from(
    reader: Reader, unit: Unit, versions: Sequence[tuple[Unit, Micros]], through: Micros, greatest: Micros | None
) -> Micros:
    """Windows that start here or later rest on every row: the store covers them for this reader.

    ``unit`` is what it reads from now on; ``versions`` what stood in its place without a break until now, oldest first,
    each with the largest event time when it began. ``through`` and ``greatest`` are those of the stream now.
    """
    if greatest is None:
        return BEGINNING
    wanted = {unit.synopses[use.synopsis] for use in reader.uses}
    start = greatest
    for version, since in reversed(versions):
        if not _serves(version, reader, wanted):
            break
        start = since
    if start == greatest or through == BEGINNING:
        return start
    return max(start, through - max(length for length, _step in versions[-1][0].windows))


def _serves(version: Unit, reader: Reader, wanted: set[UnitSynopsis]) -> bool:
    """Whether the cells of a unit hold what the reader wants, cut where it cuts."""
    window = (reader.query.range_us, reader.step)
    edges = covers(progressions_for(version.windows), progressions_for([window]))
    cuts = {band.column: set(band.cuts) for band in version.bands}
    decided = all(
        set(comparison.values) <= cuts[comparison.column]
        for conditions in (reader.where, *(use.conditions for use in reader.uses))
        for conjunction in conditions
        for comparison in conjunction
    )
    return wanted <= set(version.synopses) and edges and decided


def continued(
    former: Mapping[str, UnitVersions], units: Mapping[str, tuple[str, Unit]], greatest: Callable[[Unit], Micros | None]
) -> dict[str, UnitVersions]:
    """The versions of every unit that stands now: those it had, and a new one where it changes.

    ``units`` maps what a unit is (``RunningProgram.unit_identity``) to its name in the state. One that did not run
    until now begins anew, whatever the store still holds of it: rows have passed that it did not see.

    >>> from punctual.plan.shared import Unit
    >>> unit = Unit("s", (), (), (), (), (), ((60, 60),))
    >>> continued({"gone": (("g", 1),), "p": (("a", 3),)}, {"p": ("b", unit)}, lambda unit: 9)
    {'p': (('a', 3), ('b', 9))}
    """
    found: dict[str, UnitVersions] = {}
    for place, (key, unit) in units.items():
        versions = former.get(place, ())
        if not versions or versions[-1][0] != key:
            seen = greatest(unit)
            versions = (*versions, (key, BEGINNING if seen is None else seen))
        found[place] = versions[-VERSIONS_KEPT:]
    return found
