"""Pieces of explanations: two columns, and numbers with their nouns."""

from __future__ import annotations

COLUMN = 38


def line(left: str, right: str) -> str:
    """Two columns, or one after the other where the first is too long."""
    return f"{left:<{COLUMN}}{right}" if len(left) < COLUMN else f"{left}  {right}"


def count(number: int, one: str, many: str) -> str:
    """A number and its noun.

    >>> count(1, "query", "queries"), count(2, "query", "queries")
    ('1 query', '2 queries')
    """
    return f"{number} {one if number == 1 else many}"
