"""Which synopsis each aggregate reads."""

from __future__ import annotations

from punctual.kinds.aggregates.moments import moment_uses
from punctual.plan.aggregates import Aggregate, Aggregates
from punctual.plan.expression import compose
from punctual.plan.functions import FUNCTIONS
from punctual.plan.shared import ROWS, NeededUse, Needs, UnitSynopsis

PERCENTILE_VALUES = 1024
"""Distinct values that a percentile's synopsis keeps exactly before it falls back to log buckets."""
DEFAULT_RSD = 0.05
"""Spark's relative standard deviation of approx_count_distinct."""


def needs(body: Aggregates, *, sampled: bool) -> Needs:
    """The rows of the body, and a use for each of its calls; further ones where the rows may be samples."""
    uses = [NeededUse(one.function, _synopsis(one), one.parameters, one.where, one.span) for one in body.calls]
    return Needs(body.rows, (*uses, *(moment_uses(body) if sampled else ())), sampled=sampled)


def _synopsis(aggregate: Aggregate) -> UnitSynopsis:
    function = FUNCTIONS[aggregate.function]
    if aggregate.argument is None:
        return ROWS
    kind = function.synopsis
    if aggregate.distinct:
        assert function.distinct is not None, f"{function.name} with DISTINCT was bound"
        kind = function.distinct
    parameters: tuple[int | None, ...] = ()
    if kind == "values":
        parameters = (None if aggregate.distinct else PERCENTILE_VALUES,)
    elif kind == "distinct":
        rsd = aggregate.parameters[0] if aggregate.parameters else DEFAULT_RSD
        assert isinstance(rsd, int | float)
        parameters = (round(1e6 * rsd),)
    argument = aggregate.argument
    if aggregate.function == "count_if":
        argument = compose("CASE WHEN ", argument, " THEN 1 END")
    return UnitSynopsis(kind, argument, parameters, aggregate.ignore_nulls)
