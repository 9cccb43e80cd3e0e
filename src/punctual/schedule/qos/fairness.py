"""How evenly quality is spread over the queries that have a curve."""

from __future__ import annotations

from collections.abc import Sequence


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 where all are equal, one by their number where one has it all; 1 of none.

    >>> jain([0.5, 0.5]), jain([1.0, 0.0]), jain([])
    (1.0, 0.5, 1.0)
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else 1.0
