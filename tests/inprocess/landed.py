"""Landed rows without Spark: JSON lines and Parquet files as Arrow, malformed rows set aside with their reason.

What Spark's reader does with the declared types is done here cell by cell in Python: slow, plain and apart from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from punctual.own_names import ORIGIN, RAW, REASON
from tests.reference.duck import arrow_type

Columns = Sequence[tuple[str, str]]
EXTRA = (REASON, RAW, ORIGIN)


def read_landed(paths: Sequence[str], columns: Columns) -> pa.Table:
    """The rows of the files: declared columns, then ours."""
    tables = [_parquet(path, columns) if path.endswith(".parquet") else _json(path, columns) for path in paths]
    declared = [(name, arrow_type(kind)) for name, kind in columns]
    schema = pa.schema([*declared, *((name, pa.string()) for name in EXTRA)])
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])


def _parquet(path: str, columns: Columns) -> pa.Table:
    table = pq.read_table(path)
    cells: dict[str, Any] = {
        name: table.column(name) if name in table.column_names else pa.nulls(table.num_rows, arrow_type(kind))
        for name, kind in columns
    }
    return pa.table({**cells, **_extra([None] * table.num_rows, [None] * table.num_rows, path)})


def _json(path: str, columns: Columns) -> pa.Table:
    cells: dict[str, list[Any]] = {name: [] for name, _kind in columns}
    reasons: list[str | None] = []
    raws: list[str | None] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            wrong = []
            for name, kind in columns:
                try:
                    cells[name].append(None if row.get(name) is None else _cell(row[name], kind))
                except (ValueError, TypeError, ArithmeticError):
                    cells[name].append(None)
                    wrong.append(f'column "{name}" is not {kind}')
            reasons.append("; ".join(wrong) or None)
            raws.append(line.rstrip("\n") if wrong else None)
    arrays = {name: pa.array(cells[name], arrow_type(kind)) for name, kind in columns}
    return pa.table({**arrays, **_extra(reasons, raws, path)})


def _extra(reasons: list[str | None], raws: list[str | None], path: str) -> dict[str, pa.Array]:
    values = (reasons, raws, [path] * len(reasons))
    return {name: pa.array(value, pa.string()) for name, value in zip(EXTRA, values)}


def _cell(cell: Any, kind: str) -> Any:
    if kind.startswith("DECIMAL"):
        return Decimal(str(cell)).quantize(Decimal(1).scaleb(-arrow_type(kind).scale))
    return READ[kind](cell)


def _strict(*types: type) -> Callable[[Any], Any]:
    def read(cell: Any) -> Any:
        if type(cell) not in types:
            raise TypeError(cell)
        return types[0](cell)

    return read


def _real(cell: Any) -> float:
    # Spark reads NaN and the infinities also as strings.
    if isinstance(cell, str) and cell not in ("NaN", "Infinity", "-Infinity"):
        raise TypeError(cell)
    return float(cell)


READ: dict[str, Callable[[Any], Any]] = {
    "TINYINT": _strict(int),
    "SMALLINT": _strict(int),
    "INT": _strict(int),
    "BIGINT": _strict(int),
    "FLOAT": _real,
    "DOUBLE": _real,
    "BOOLEAN": _strict(bool),
    "STRING": _strict(str),
    "TIMESTAMP": datetime.fromisoformat,
    "DATE": date.fromisoformat,
}
