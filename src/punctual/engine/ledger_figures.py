"""What the newest records of a ledger say of each query and of the program, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from punctual.store.ledger import SCHEMA, LedgerFiles

NEWEST = 20_000
"""So many records are looked at, rather more than less: whole files."""
NEWEST_FILES = 60
"""Of no more files than these: an hour's."""
LAST = 32
"""Medians are those of so many last answers of a query."""
OF_PROGRAM = ("load", "lag_seconds", "level", "fairness")
COLUMNS = ["record", "query", "predicted_ms", "used_ms", "on_time", "load", "lag_seconds", "level", "fairness"]


def newest_records(files: LedgerFiles, unsealed: pa.Table | None) -> pa.Table:
    """The newest records, in order; ``unsealed`` are those that are in no file yet."""
    found = [] if unsealed is None else [unsealed]
    for name in reversed(files.names()[-NEWEST_FILES:]):
        if sum(table.num_rows for table in found) >= NEWEST:
            break
        found += files.read([name])
    return pa.concat_tables([SCHEMA.empty_table(), *reversed(found)])


def figures(records: pa.Table) -> tuple[dict[str, Any], Mapping[str, dict[str, Any]]]:
    """Load, lag and level as of the last batch; by query medians of its last answers, and how many came too late."""
    frame: pd.DataFrame = records.select(COLUMNS).to_pandas(use_threads=False)
    ticks = frame[frame["record"] == "tick"].tail(1)
    program = {name: _number(ticks[name].iloc[0]) if len(ticks) else None for name in OF_PROGRAM}
    queries = {
        str(name): {
            "answers": len(several),
            "predicted_ms": _median(several["predicted_ms"].tail(LAST)),
            "used_ms": _median(several["used_ms"].tail(LAST)),
            "misses": int(several["on_time"].eq(False).sum()),
        }
        for name, several in frame[frame["record"] == "firing"].groupby("query", sort=False)
    }
    return program, queries


def _median(values: pd.Series) -> float | None:
    """Of those that are known; None where none is."""
    known = values.dropna()
    return _number(known.median()) if len(known) else None


def _number(value: float) -> float | None:
    return None if pd.isna(value) else round(float(value), 3)
