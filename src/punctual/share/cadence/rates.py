"""Exact sums of costs per unit of time."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm


def rate_of(costs: Iterable[tuple[Fraction, int]]) -> Fraction:
    """The sum of ``cost / step`` over all pairs; thousands of different steps are added over one denominator.

    >>> rate_of([(Fraction(1), 2), (Fraction(1, 2), 3)])
    Fraction(2, 3)
    """
    by_step: dict[int, Fraction] = {}
    for cost, step in costs:
        by_step[step] = by_step.get(step, Fraction(0)) + cost
    steps = lcm(*by_step)
    parts = lcm(*(cost.denominator for cost in by_step.values()))
    total = sum(cost.numerator * (parts // cost.denominator) * (steps // step) for step, cost in by_step.items())
    return Fraction(total, steps * parts)
