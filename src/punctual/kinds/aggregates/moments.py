"""What an aggregate over a sample needs besides its own value: how many values there are, and sums of their powers.

Of a sample, counts, sums and averages are estimates, and how far they may be off follows from these. They are uses of
synopses like others, so they come from the same cells. Where rows cannot be samples nobody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from punctual.plan.aggregates import Aggregate, Aggregates
from punctual.plan.expression import Expression, cast, compose
from punctual.plan.shared import ROWS, NeededUse, UnitSynopsis

COUNTED = frozenset(("count", "count_if"))
SUMMED = frozenset(("sum", "avg"))
ENDS = frozenset(("min", "max"))


@dataclass(frozen=True, slots=True)
class MomentPlaces:
    """Where, among the values of a reader, those of a summed call are: as many as there are values, and the sums of
    their first three powers."""

    count: int
    sum: int
    squares: int
    cubes: int


def not_estimated(body: Aggregates) -> tuple[str, ...]:
    """The calls of which nothing can be said when some of their rows are not there, as one writes them."""
    calls = [call for call in body.calls if call.function not in COUNTED | SUMMED | ENDS or _of_different(call)]
    return tuple(dict.fromkeys(f"{call.function}({'DISTINCT ' if _of_different(call) else ''}...)" for call in calls))


def _of_different(call: Aggregate) -> bool:
    """Whether DISTINCT counts: least and greatest values are the same without it."""
    return call.distinct and call.function not in ENDS


def moment_uses(body: Aggregates) -> list[NeededUse]:
    """What is read besides the calls' own values: first of all how many rows there are."""
    uses = [NeededUse("count", ROWS, (), body.rows.where)]
    for call in body.calls:
        if call.function in SUMMED:
            uses += _powers(call)
    return uses


def moment_types(body: Aggregates) -> list[pa.DataType]:
    """The types of the same."""
    summed = sum(call.function in SUMMED for call in body.calls)
    return [pa.int64(), *([pa.int64(), pa.float64(), pa.float64(), pa.float64()] * summed)]


def moment_places(body: Aggregates) -> tuple[int, list[MomentPlaces | None]]:
    """Where the count of rows is, and the moments of each call; None of one that needs none."""
    rows = len(body.calls)
    place = rows + 1
    found: list[MomentPlaces | None] = []
    for call in body.calls:
        if call.function in SUMMED:
            found.append(MomentPlaces(place, place + 1, place + 2, place + 3))
            place += 4
        else:
            found.append(None)
    return rows, found


def _powers(call: Aggregate) -> list[NeededUse]:
    assert call.argument is not None, f"{call.function} has an argument"
    value = cast(call.argument, "DOUBLE")
    powers: list[Expression] = [value, compose(value, " * ", value), compose(value, " * ", value, " * ", value)]
    counted = NeededUse("count", UnitSynopsis("count", call.argument), (), call.where)
    return [counted, *(NeededUse("sum", UnitSynopsis("sum", power), (), call.where) for power in powers)]
