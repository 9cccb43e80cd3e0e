"""Small blocks of answers for tests of the store and the sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from punctual.ports.answers import AnswerBlock, answer_schema


def block(
    query: str,
    columns: Sequence[tuple[str, pa.DataType]],
    rows: Sequence[Sequence[Mapping[str, Any]]],
    **fields: Sequence[Any],
) -> AnswerBlock:
    """One answer for each list of rows; other fields from ``fields``, or plain ones."""
    count = len(rows)
    plain: dict[str, Sequence[Any]] = {
        "number": [0] * count, "at": [1_000_000 * (at + 1) for at in range(count)], "from": [0] * count, "rows": rows,
        "basis": ["exact"] * count, "quality": [1.0] * count, "kept": [1.0] * count, "complete": [True] * count,
        "error": [None] * count, "released": [None] * count, "deadline": [None] * count, "answered": [None] * count,
        "on_time": [None] * count, "execution": [f"s/1s#{at}" for at in range(count)], "late_rows": [0] * count,
    }
    return AnswerBlock(query, pa.table(plain | fields, schema=answer_schema(columns)))
