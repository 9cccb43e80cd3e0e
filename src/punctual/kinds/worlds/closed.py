"""Answers that need no worlds: what is said of all of them follows from the laws of the rows.

Expected sums and counts are sums of expectations. A sum of normal values is normal, so its probabilities and intervals
are known. How many uncertain rows exist has Poisson's binomial law. A query has a closed form where all that it says
has one: no condition and no HAVING differs between worlds.

What is said of a group is over the worlds in which it has rows. A sum has no value without rows, so its expectation is
that of all worlds over the probability that there are any.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import F64, Bools
from punctual.kernel.draw import count_laws, expected_sums, normal_above, normal_interval, sum_variances
from punctual.kernel.draw.bundle_values import TYPES, Bundle
from punctual.kinds.worlds.affine import affine, is_affine
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.simulate import GroupsInWorlds, is_drawn
from punctual.kinds.worlds.summaries import ENDS, Said
from punctual.plan.uncertain import GivenBy
from punctual.plan.world_expression import (
    Constant,
    DrawnAttribute,
    Leaf,
    Operation,
    WorldAggregate,
    WorldExpression,
    leaves,
)
from punctual.plan.worlds import Called, Folded, Summed, Worlds

MIRRORED = {"<": ">", "<=": ">=", ">=": "<=", ">": "<"}
OPPOSITE = {"<": ">=", "<=": ">", ">=": "<", ">": "<="}
Law = Literal["expected", "normal", "count"]


def closed_forms(body: Worlds) -> list[Law] | None:
    """By which law each summary is known; None where one of them needs worlds."""
    if body.drawn_keys or body.having is not None or (body.where is not None and is_drawn(body.where)):
        return None
    if any(isinstance(one, Called) for one in body.aggregates):
        return None
    laws = [_law(body, summed) for summed in body.summaries]
    # A row may stand in several joined ones, so these are not independent; sums of expectations need not care.
    joined = len(body.statement.windows) > 1 or bool(body.statement.tables)
    if joined and (body.existence or any(law != "expected" for law in laws)):
        return None
    return [law for law in laws if law is not None] if all(law is not None for law in laws) else None


def _law(body: Worlds, summed: Summed) -> Law | None:
    if summed.summary == "SAME":
        return "expected"
    number = _number(summed.of if summed.summary != "PROBABILITY" else _compared(summed.of))
    if number is None:
        return None
    folded = _fold(body, number)
    if folded.where is not None and is_drawn(folded.where):
        return None
    if folded.function == "count" and not _is_drawn(folded):
        if summed.summary == "EXPECTED":
            return "expected"
        known = summed.summary == "PROBABILITY" or (summed.summary == "INTERVAL" and not body.grouped)
        return "count" if known else None
    if folded.function not in ("sum", "avg") or folded.argument is None or not is_affine(folded.argument):
        return None
    if folded.function == "avg" and body.existence and not folded.stored:
        return None  # a ratio
    if summed.summary == "EXPECTED":
        return "expected"
    normal = all(_is_normal(body, leaf) for leaf in leaves(folded.argument) if isinstance(leaf, DrawnAttribute))
    exists = not body.existence or folded.stored
    return "normal" if normal and exists and summed.summary in ("PROBABILITY", "INTERVAL") else None


def _fold(body: Worlds, number: int) -> Folded:
    folded = body.aggregates[number]
    assert isinstance(folded, Folded), "no closed form has functions"
    return folded


def _is_drawn(folded: Folded) -> bool:
    return folded.argument is not None and is_drawn(folded.argument)


def _is_normal(body: Worlds, leaf: DrawnAttribute) -> bool:
    law = body.attributes[leaf.number].law
    return isinstance(law, GivenBy) and law.kind == "NORMAL"


def _number(expression: WorldExpression | None) -> int | None:
    return expression.number if isinstance(expression, WorldAggregate) else None


def _compared(condition: WorldExpression) -> WorldExpression | None:
    """The aggregate that a condition compares with a constant."""
    condition = _without_not(condition)
    parts = condition.arguments if isinstance(condition, Operation) and condition.name in MIRRORED else ()
    found = [part for part in parts if isinstance(part, WorldAggregate)]
    constants = [part for part in parts if isinstance(part, Constant) and isinstance(part.value, int | float)]
    return found[0] if len(found) == len(constants) == 1 else None


def _without_not(condition: WorldExpression) -> WorldExpression:
    """The comparison that NOT makes of one: it holds where that does not, and neither does where a side is NULL."""
    if isinstance(condition, Operation) and condition.name == "not":
        inner = _without_not(condition.arguments[0])
        if isinstance(inner, Operation) and inner.name in OPPOSITE:
            return Operation(OPPOSITE[inner.name], inner.arguments, inner.span)
    return condition


class ClosedForms:
    """What is said of the groups of a window without any world. Raises nothing: `closed_forms` said that it can."""

    def __init__(self, body: Worlds, groups: GroupsInWorlds) -> None:
        self._body, self._groups = body, groups
        part = groups.everything
        self._rows, self._group, self._count = part.rows, part.group, groups.groups
        self._leaf = groups.rows_of_window.leaves(part.rows, range(1))
        self._p, self._rule = groups.rows_of_window.probabilities(part.rows)

    def probability(self) -> Said:
        """Of each result row."""
        return Said(pa.array(self._exists()))

    def _exists(self) -> F64:
        """In which part of the worlds each group has rows."""
        if self._p is None or not self._body.grouped:
            return np.ones(self._count)
        laws = count_laws(self._group, self._count, self._p, self._rule)
        return np.array([law.at_least(1) for law in laws])

    def said(self, summed: Summed) -> Said | None:
        """What a summary says; None where its value is the same in all worlds and was folded."""
        if summed.summary == "SAME":
            return None
        number = _number(summed.of if summed.summary != "PROBABILITY" else _compared(summed.of))
        assert number is not None, "no closed form"
        folded = _fold(self._body, number)
        with np.errstate(invalid="ignore", divide="ignore"):  # a group that is in no world is in no answer
            return self._of_count(summed, folded) if folded.function == "count" else self._of_sum(summed, folded)

    # -- counts ------------------------------------------------------------------------------------

    def _of_count(self, summed: Summed, folded: Folded) -> Said:
        counted = self._counted(folded)
        p = np.where(counted, np.ones(self._rows.size) if self._p is None or folded.stored else self._p, 0.0)
        there = self._exists()
        if summed.summary == "EXPECTED":
            return Said(pa.array(expected_sums(self._group, self._count, p) / there))
        laws = count_laws(self._group, self._count, p, None if folded.stored else self._rule)
        if summed.summary == "INTERVAL":
            ends = [law.interval(summed.parameter) for law in laws]
            low, high = (pa.array([float(end[side]) for end in ends], pa.float64()) for side in (0, 1))
            return Said(pa.StructArray.from_arrays([low, high], fields=list(ENDS)))
        operator, limit = _comparison(summed.of)
        strictly = operator in (">", "<=")
        above = np.array([law.above(limit) if strictly else law.at_least(limit) for law in laws], np.float64)
        share = np.minimum(above / there, 1.0)
        return Said(pa.array(share if operator in (">", ">=") else 1.0 - share))

    def _counted(self, folded: Folded) -> Bools:
        """Which rows an aggregate counts: for which its FILTER holds, and that have a value."""
        return self._groups.counted(folded, self._leaf)

    # -- sums --------------------------------------------------------------------------------------

    def _of_sum(self, summed: Summed, folded: Folded) -> Said:
        assert folded.argument is not None
        counted = self._counted(folded)
        mean, variance = self._moments(folded.argument)
        p = None if folded.stored else self._p
        counted &= self._has_value(folded.argument)
        known = counted & np.isfinite(mean)
        odd = counted & ~np.isfinite(mean) & (True if p is None else p > 0.0)
        weight = known.astype(np.float64) if p is None else np.where(known, p, 0.0)
        sums = expected_sums(self._group, self._count, np.where(known, mean, 0.0), weight)
        some = np.bincount(self._group, known | odd, self._count) > 0
        there = self._any_of(known | odd, p)
        divisor = np.ones(self._count)
        if folded.function == "avg":
            divisor = np.maximum(np.bincount(self._group, known, self._count), 1.0)
        beyond = self._beyond(odd, mean)
        middle = np.where(beyond == 0.0, sums / divisor, beyond)
        if summed.summary == "EXPECTED":
            return Said(pa.array(middle / there, mask=~some))
        means, spreads = np.where(known, mean, 0.0), np.where(known, variance, 0.0)
        spread = sum_variances(self._group, self._count, means, spreads, weight)
        sd = np.sqrt(spread) / divisor
        if summed.summary == "INTERVAL":
            low, high = normal_interval(middle, sd, summed.parameter)
            struct = pa.StructArray.from_arrays(
                [pa.array(low), pa.array(high)], fields=list(ENDS), mask=pa.array(~some)
            )
            return Said(struct)
        operator, limit = _comparison(summed.of)
        above = normal_above(middle, sd, limit, or_equal=operator in (">=", "<"))
        above = np.where(np.isnan(middle), 1.0, above)  # NaN is greater than any number
        share = above if operator in (">", ">=") else 1.0 - above
        return Said(pa.array(np.where(some, share, 0.0)))

    def _has_value(self, argument: WorldExpression) -> Bools:
        """For which rows an expression is not NULL: NaN and the infinite are values."""
        size = self._rows.size

        def leaf(one: Leaf) -> Bundle:
            if not isinstance(one, DrawnAttribute):
                return self._leaf(one)
            column = self._groups.rows_of_window.attributes[one.number]
            kind = column.certain.kind
            return Bundle(np.zeros((size, 1), TYPES[kind]), column.there()[self._rows][:, None], kind)

        known = evaluate(argument, leaf).known
        return np.ones(size, np.bool_) if known is None else np.broadcast_to(known, (size, 1)).ravel()

    def _beyond(self, odd: Bools, values: F64) -> F64:
        """What the sum of each group is where some of its values are not finite, 0 where all are."""
        some = [odd & which for which in (np.isnan(values), values == np.inf, values == -np.inf)]
        nan, above, below = (np.bincount(self._group, one, self._count) > 0 for one in some)
        infinite = np.where(above, np.inf, np.where(below, -np.inf, 0.0))
        return np.where(nan | (above & below), np.nan, infinite)

    def _any_of(self, rows: Bools, p: F64 | None) -> F64:
        """In which part of the worlds each group has one of these rows."""
        if p is None:
            return np.ones(self._count)
        laws = count_laws(self._group, self._count, np.where(rows, p, 0.0), self._rule)
        return np.array([law.at_least(1) for law in laws])

    def _moments(self, argument: WorldExpression) -> tuple[F64, F64]:
        """Mean and variance of an expression of each row; NaN where it is NULL."""
        certain, factors = affine(argument, self._leaf, self._rows.size)
        mean, variance = certain, np.zeros(self._rows.size)
        for number, factor in factors.items():
            own_mean, own_variance, _third = self._groups.rows_of_window.moments(number, self._rows)
            mean = mean + factor * own_mean
            variance = variance + factor * factor * own_variance
        return mean, variance


def _comparison(condition: WorldExpression) -> tuple[str, float]:
    """The operator and the number that an aggregate is compared with."""
    condition = _without_not(condition)
    assert isinstance(condition, Operation)
    first, second = condition.arguments
    if isinstance(first, Constant):
        first, second = second, first
        operator = MIRRORED[condition.name]
    else:
        operator = condition.name
    assert isinstance(second, Constant)
    assert isinstance(second.value, int | float)
    return operator, float(second.value)
