"""Rows enriched by static tables, inside a task: every table is looked up by its keys.

A table travels to the workers once (as a broadcast of its Arrow bytes, when its content changes), and a worker numbers
its keys once: a table costs no job per tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.lookup import LookupTable
from punctual.own_names import joined_column, joined_flag
from punctual.store.products import from_ipc

MOST_TABLES = 32


class Carried(Protocol):
    """Bytes that are in the worker once somebody asks for them."""

    @property
    def value(self) -> bytes: ...


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Enrichment by a table: ``on`` pairs columns of the row with columns of the table.

    ``token`` names the content of the table. ``outer`` keeps rows for which there is none.
    """

    alias: str
    on: tuple[tuple[str, str], ...]
    outer: bool
    token: str
    table: Carried


def enrich(
    lookup: Lookup, columns: Mapping[str, pa.Array], wanted: frozenset[str]
) -> tuple[NDArray[np.int64] | None, dict[str, pa.Array]]:
    """Which rows are left, in order (None: all, each once), and the wanted columns of their table rows."""
    table, keys = _loaded(lookup)
    rows, found = keys.find([columns[name] for name, _column in lookup.on], outer=lookup.outer)
    count = len(columns[lookup.on[0][0]])
    places = pa.array(found, mask=found < 0)
    added = {
        joined_column(lookup.alias, name): table.column(name).combine_chunks().take(places)
        for name in table.column_names
        if joined_column(lookup.alias, name) in wanted
    }
    added[joined_flag(lookup.alias)] = places.is_valid()
    whole = rows.size == count and (lookup.outer or bool((found >= 0).all()))
    return (None if whole and keys.unique else rows), added


_TABLES: dict[tuple[str, tuple[str, ...]], tuple[pa.Table, LookupTable]] = {}
"""By content and key columns, in this worker."""


def _loaded(lookup: Lookup) -> tuple[pa.Table, LookupTable]:
    key = (lookup.token, tuple(column for _row, column in lookup.on))
    if key not in _TABLES:
        if len(_TABLES) >= MOST_TABLES:
            _TABLES.clear()
        table = from_ipc(lookup.table.value)
        _TABLES[key] = table, LookupTable([table.column(name) for name in key[1]])
    return _TABLES[key]
