"""Rows that were kept, as the JSON that they were read from: what is fed again once it is mended.

Rows of one stream keep its declared columns. Those of united streams keep the values of their own stream as texts
(``plan.united.ROW``), which become values again here, so that a row reads the same whichever query met it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson

from punctual.clock import iso
from punctual.plan.relation import Stream
from punctual.plan.united import common_columns, given_columns

WHOLE = {"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG", "SHORT", "BYTE"}


def row_text(stream: Stream, row: dict[str, Any]) -> str:
    """A ranked row of this stream: its event time, then what it declares besides.

    ``row`` has the event time (``t``) and either the declared columns (``tie0``, ...) or their texts (``w``).
    """
    if row.get("w") is not None:
        values = {c.name: _value(text, c.type) for c, text in zip(given_columns(stream), row["w"])}
    else:
        ties = [column.name for column in common_columns([stream]) if column.name != stream.event_time]
        given = {column.name for column in given_columns(stream)}
        values = {name: row[f"tie{place}"] for place, name in enumerate(ties) if name in given}
    if stream.event_time in (column.name for column in given_columns(stream)):
        others = {name: value for name, value in values.items() if name != stream.event_time}
        values = {stream.event_time: iso(row["t"]), **others}
    return orjson.dumps(values, default=str).decode()


def _value(text: str | None, declared: str) -> Any:
    """The value that Spark wrote as this text.

    >>> _value("1.50", "DOUBLE"), _value("1.50", "DECIMAL(10, 2)"), _value("7", "INT"), _value("true", "BOOLEAN")
    (1.5, '1.50', 7, True)
    >>> _value("2025-03-01 00:00:01.5", "TIMESTAMP_NTZ").isoformat()
    '2025-03-01T00:00:01.500000'
    """
    if text is None:
        return None
    kind = declared.upper()
    if kind in WHOLE:
        return int(text)
    match kind:
        case "DOUBLE":
            return float(text)
        case "FLOAT" | "REAL":
            return float(np.float32(text))
        case "BOOLEAN":
            return text == "true"
        case "TIMESTAMP_NTZ":
            return datetime.fromisoformat(text)
        case "TIMESTAMP":
            time = datetime.fromisoformat(text)
            return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        case _:
            return text
