"""How estimates are held against what is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.quality_bias import _truth, errors

from punctual.clock import SECOND, iso

TRADES = Path(__file__).parents[2] / "examples" / "data" / "trades"
AT = 1_700_000_040 * SECOND


def answer(at: int, *rows: tuple[str, float]) -> dict[str, Any]:
    return {
        "at": iso(at),
        "rows": [{"symbol": symbol, "trades": n, "dollars": n, "price": n, "vwap": n} for symbol, n in rows],
        "error": {
            "trades": {"confidence": 0.95, "low": [n - 5 for _s, n in rows], "high": [n + 5 for _s, n in rows]},
            "dollars": {"confidence": None},
        },
    }


def test_errors_are_relative_and_intervals_hold_or_not() -> None:
    truth = {(AT, "A"): (100.0,) * 4, (AT, "B"): (100.0,) * 4, (AT, "C"): (100.0,) * 4, (AT, "few"): (99.0,) * 4}
    found = errors([answer(AT, ("A", 110.0), ("B", 98.0))], truth, keep=30)
    assert found["trades"].relative.tolist() == pytest.approx([0.1, -0.02, -1.0])  # of C nothing was sampled
    assert (found["trades"].intervals, found["trades"].held, found["trades"].coverage) == (2, 1, 0.5)
    assert found["price"].relative.tolist() == pytest.approx([0.1, -0.02])
    assert found["dollars"].coverage is None


def test_what_is_so_counts_every_trade_of_whole_minutes_once() -> None:
    truth = _truth(TRADES)
    tables = pa.concat_tables(pq.read_table(path, columns=["time"]) for path in TRADES.glob("*.parquet"))
    times = tables["time"].cast(pa.timestamp("us")).cast("int64").to_pylist()
    whole = max(times) // 60_000_000 * 60_000_000
    assert sum(rows for rows, *_rest in truth.values()) == sum(time <= whole for time in times)
    assert all(at % 60_000_000 == 0 for at, _symbol in truth)
