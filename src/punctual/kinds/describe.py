"""Pieces of EXPLAIN that kinds and the printed plan have in common."""

from __future__ import annotations

from punctual.plan.rows import Comparison
from punctual.plan.shared import Reader, Use


def described_use(reader: Reader, use: Use, synopsis: str) -> str:
    """A use of a synopsis, which is described already, and the FILTER that is its own."""
    extra = [c for mine, where in zip(use.conditions, reader.where) for c in mine if c not in where]
    text = f"{use.function} of {synopsis}"
    return text + (f" filter {' and '.join(described_comparison(c) for c in extra)}" if extra else "")


def described_comparison(comparison: Comparison) -> str:
    """A comparison as its author would write it.

    >>> from punctual.plan.expression import column_of
    >>> described_comparison(Comparison(column_of("lane"), "in", (1, 2)))
    'lane in (1, 2)'
    """
    values = ", ".join(repr(value) for value in comparison.values)
    if comparison.operator == "in":
        return f"{comparison.column.written} in ({values})"
    return f"{comparison.column.written} {comparison.operator} {values}"
