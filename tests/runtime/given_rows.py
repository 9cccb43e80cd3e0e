"""Rows that give distributions, good and bad ones, and what is wrong with each, asked one rule after the other."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from punctual.clock import SECOND, ManualClock
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead
from punctual.runtime.backend import Backend

START = 1_700_000_000 * SECOND
NAN, INF = math.nan, math.inf
Row = dict[str, Any]
Law = tuple[str, str, tuple[str, str]]

TYPES = {
    "t": pa.timestamp("us", tz="UTC"), "id": pa.int32(), "a": pa.float64(), "a_sd": pa.float32(),
    "lo": pa.decimal128(6, 2), "hi": pa.decimal128(8, 4), "names": pa.list_(pa.string()),
    "weights": pa.list_(pa.float64()), "xs": pa.list_(pa.float32()), "ns": pa.list_(pa.int32()),
}  # fmt: skip
NUMBER_LAWS: tuple[Law, ...] = (("a", "NORMAL", ("a", "a_sd")), ("it's b", "UNIFORM", ("lo", "hi")))
LAWS: tuple[Law, ...] = (
    *NUMBER_LAWS, ("s", "DISCRETE", ("names", "weights")), ("x", "DISCRETE", ("xs", "ns")),
)  # fmt: skip
NUMBERS = "t TIMESTAMP EVENT TIME, id INT, a DOUBLE ~ NORMAL(a, a_sd), a_sd FLOAT, " \
    "`it's b` DOUBLE ~ UNIFORM(lo, hi), lo DECIMAL(6,2), hi DECIMAL(8,4)"
DERIVED = NUMBERS.replace("a_sd FLOAT", "dev FLOAT, a_sd FLOAT AS (dev)")
LISTS = f"{NUMBERS}, s STRING ~ DISCRETE(names, weights), names ARRAY<STRING>, weights ARRAY<DOUBLE>, " \
    "x FLOAT ~ DISCRETE(xs, ns), xs ARRAY<FLOAT>, ns ARRAY<INT>"

ODD: list[tuple[list[Any], list[Any]]] = [
    ([None, NAN, INF, -INF, -1e300, 0.0], [None, NAN, INF, -INF, -0.25, -0.0, 0.0, 3.4e38]),
    (
        [None, Decimal("1.10"), Decimal("-9.94"), Decimal("-9999.99")],
        [None, Decimal("1.1000"), Decimal("1.0999"), Decimal("-9.9400"), Decimal("-9999.99")],
    ),
    (
        [None, [], ["p"], ["p", None], ["p", ""]],
        [None, [], [1.0], [1.0, None], [0.0, 0.0], [0.0, 1e-300], [-0.25, 1.0], [NAN, 1.0], [INF, 1.0], [1, 1, 1]],
    ),
    ([None, [], [1.5], [1.5, None], [NAN, 0.5], [0.5, -INF]], [None, [], [0], [2], [0, 1], [-1, 2], [None, 1]]),
]
GOOD: list[tuple[Any, Any]] = [
    (50.5, 0.5), (Decimal("1.00"), Decimal("2.5000")), (["p", "q"], [1.0, 3.0]), ([0.5, 1.5], [1, 0]),
]


def drawn(seed: int, count: int) -> list[Row]:
    """Most laws of a row are good, so that those that are asked last are bad alone, too."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        row: Row = {"t": START + 1 + number, "id": number}
        for (_column, _kind, names), (ones, others), good in zip(LAWS, ODD, GOOD):
            pair = good if rng.random() < 0.7 else (rng.choice(ones), rng.choice(others))
            row |= dict(zip(names, pair))
        rows.append(row)
    return rows


def every_pair() -> list[Row]:
    """Each odd pair of parameters, the other laws being good."""
    rows: list[Row] = []
    for odd, (ones, others) in enumerate(ODD):
        for pair in ((one, other) for one in ones for other in others):
            row: Row = {"t": START + 1 + len(rows), "id": len(rows)}
            for law, (_column, _kind, names) in enumerate(LAWS):
                row |= dict(zip(names, pair if law == odd else GOOD[law]))
            rows.append(row)
    return rows


def reason(row: Row, laws: tuple[Law, ...]) -> str | None:
    for column, kind, (first, second) in laws:
        one, other = row[first], row[second]
        if one is None or other is None:
            return f"missing parameter of {column}"
        if not _means_something(kind, one, other):
            return f"bad parameter of {column}"
    return None


def _means_something(kind: str, one: Any, other: Any) -> bool:
    match kind:
        case "NORMAL":
            return math.isfinite(one) and math.isfinite(other) and other >= 0
        case "UNIFORM":
            return bool(one <= other)
    numbers = [n for n in (*one, *other) if not isinstance(n, str)]
    if len(one) != len(other) or None in numbers or not all(map(math.isfinite, numbers)):
        return False
    return all(weight >= 0 for weight in other) and sum(other) > 0


def arrays(rows: list[Row]) -> dict[str, pa.Array]:
    return {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}


def answered(folder: Path, columns: str, rows: list[Row], backend: Backend, value: str) -> Any:
    """Through the engine: what a query over all rows answers."""
    table = pa.table(arrays(rows))
    if "names" not in columns:
        table = table.drop_columns(["names", "weights", "xs", "ns"])
    if "dev" in columns:
        table = table.rename_columns([{"a_sd": "dev"}.get(name, name) for name in table.column_names])
    with Engine(str(folder), clock=ManualClock(2 * START), backend=lambda: backend, live=False) as engine:
        engine.sql(f"CREATE STREAM s ({columns}) FROM FEED;")
        engine.sql(f"CREATE QUERY q AS SELECT {value} AS v FROM s [RANGE 1 SECOND] PERIOD 1 SECOND;")
        engine.open()
        engine.feed("s", table)
        engine.tick()
        engine.advance({"s": START + SECOND})
        (*_blocks, last) = engine.records()
        return last.table.to_pylist()[-1]["rows"][0]["v"]


def check(folder: Path, columns: str, rows: list[Row], backend: Backend) -> None:
    """Every row is judged as its rules say, and the others are counted."""
    laws = LAWS if "names" in columns else NUMBER_LAWS
    expected = {row["id"]: why for row in rows if (why := reason(row, laws)) is not None}
    assert answered(folder, columns, rows, backend, "count(*)") == len(rows) - len(expected)
    assert {json.loads(one["row"])["id"]: one["reason"] for one in read_dead(str(folder), None)} == expected
    assert set(expected.values()) == {f"{what} parameter of {law[0]}" for law in laws for what in ("missing", "bad")}
