"""What outlives a change of program.

When queries come and go, a unit may keep other synopses, other cuts and other pane edges than before. Cells say
themselves what they hold, so the new unit reads the old one's as far as they go. Whether a query's window is covered by
them is said by :func:`covered_from`, once, when the query is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from punctual.clock import Micros
from punctual.kernel.window.layout import covers, progressions_for
from punctual.plan.query import Join
from punctual.plan.shared import BandColumn, Reader, Unit, UnitSynopsis
from punctual.schedule.due import BEGINNING


def unit_to_json(unit: Unit) -> dict[str, Any]:
    """A unit as the state keeps it."""
    return asdict(unit)


def unit_from_json(body: Mapping[str, Any]) -> Unit:
    """The unit that :func:`unit_to_json` wrote."""
    return Unit(
        stream=body["stream"],
        joins=tuple(Join(j["table"], j["alias"], j["how"], tuple((a, b) for a, b in j["on"])) for j in body["joins"]),
        mask=tuple(body["mask"]),
        keys=tuple(body["keys"]),
        bands=tuple(BandColumn(b["column"], b["kind"], tuple(b["cuts"])) for b in body["bands"]),
        synopses=tuple(
            UnitSynopsis(s["kind"], s["argument"], tuple(s["parameters"]), s["ignore_nulls"]) for s in body["synopses"]
        ),
        windows=tuple((r, s) for r, s in body["windows"]),
    )


def covered_from(reader: Reader, unit: Unit, old: Unit | None, horizon: Micros, greatest: Micros | None) -> Micros:
    """Windows that start here or later rest on every row: the store covers them for this reader.

    ``horizon`` is what the old unit still keeps from; ``greatest`` the largest event time accepted so far.
    """
    if greatest is None:
        return BEGINNING
    if old is None or old.identity != unit.identity:
        return greatest
    wanted = {unit.synopses[use.synopsis] for use in reader.uses}
    window = (reader.query.range_us, reader.query.cadence.us)
    edges = covers(progressions_for(old.windows), progressions_for([window]))
    cuts = {band.column: set(band.cuts) for band in old.bands}
    decided = all(
        set(comparison.values) <= cuts[comparison.column]
        for conditions in (reader.where, *(use.conditions for use in reader.uses))
        for conjunction in conditions
        for comparison in conjunction
    )
    return horizon if wanted <= set(old.synopses) and edges and decided else greatest
