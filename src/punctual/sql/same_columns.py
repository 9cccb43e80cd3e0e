"""Columns that a join makes equal: by their values rows of all windows can be kept or left out together."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.sql.expressions.bind_predicate import INTEGERS
from punctual.sql.expressions.scope import Relation, Resolved

PLAIN = frozenset(("STRING", "BINARY", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "FLOAT", "DOUBLE"))
"""Types whose equal values have one hash (``kernel/arrays/row_hashes.py``); integers of all widths have the same."""

Place = tuple[str, str]
"""A FROM item and a column of it, in lower case."""


def same_columns(
    windows: Sequence[Relation], equal: Sequence[tuple[Resolved, Resolved]]
) -> tuple[tuple[str, ...], ...]:
    """For each window columns of which the first are equal in all rows of a join, the second ones, and so on.

    ``equal`` are equalities of columns that all rows satisfy, also with those of tables. Columns count only where
    equal values have equal hashes: of one type, or integers. Empty where nothing is equal in all windows.
    """
    together: dict[Place, set[Place]] = {}
    for pair in equal:
        one, other = (_place(column) for column in pair)
        kinds = {_hashed_as(column.column.type) for column in pair}
        if len(kinds) != 1 or kinds == {None}:
            continue
        merged = together.get(one, {one}) | together.get(other, {other})
        together |= dict.fromkeys(merged, merged)
    chosen = []
    for name in (column.name.lower() for column in windows[0].columns):
        equal_ones = together.get((windows[0].alias.lower(), name), set())
        row = [_first(relation, equal_ones) for relation in windows]
        columns = [name for name in row if name is not None]
        if len(columns) == len(windows) and columns not in chosen:
            chosen.append(columns)
    return tuple(zip(*chosen))


def _place(column: Resolved) -> Place:
    return column.relation.alias.lower(), column.column.name.lower()


def _hashed_as(declared: str) -> str | None:
    """What columns must agree in for equal values to have equal hashes; None where that is not known."""
    if declared in INTEGERS:
        return "integer"
    return declared if declared in PLAIN or declared.startswith("DECIMAL") else None


def _first(relation: Relation, equal: set[Place]) -> str | None:
    """The first column of a FROM item that is one of these."""
    names = {name for alias, name in equal if alias == relation.alias.lower()}
    return next((column.name for column in relation.columns if column.name.lower() in names), None)
