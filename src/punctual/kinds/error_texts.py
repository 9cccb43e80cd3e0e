"""What answers say of their error, as JSON: intervals of columns, an entry for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.ports.sinks.json_text import TEXT, fragments, joined, joined_lists

I64 = NDArray[np.int64]


def interval_texts(
    name: str, confidence: float | None, low: pa.Array | None, high: pa.Array | None, order: I64, lengths: I64
) -> pa.Array:
    """``"column":{...}`` for each answer; one without any end has no interval."""
    quoted = orjson.dumps(name).decode()
    nothing = pa.repeat(pa.scalar(f'{quoted}:{{"confidence":null}}', TEXT), lengths.size)
    if confidence is None or low is None or high is None:
        return nothing
    ends = [end.take(pa.array(order)) for end in (low, high)]
    lists = [joined(["[", joined_lists(lengths, fragments(end), ","), "]"]) for end in ends]
    said = orjson.dumps(confidence if confidence < 1 else 1).decode()
    texts = joined([f'{quoted}:{{"confidence":{said},"low":', lists[0], ',"high":', lists[1], "}"])
    some = np.logical_or(*(end.is_valid().to_numpy(zero_copy_only=False) for end in ends))
    answer = np.repeat(np.arange(lengths.size), lengths)
    has_one = np.bincount(answer, some, lengths.size) > 0
    return pc.if_else(pa.array(has_one), texts, nothing)


def json_objects(members: Sequence[pa.Array], count: int) -> pa.Array:
    """JSON objects of members that are texts; null where there are none."""
    if not members:
        return pa.nulls(count, pa.string())
    parts: list[str | pa.Array] = []
    for member in members:
        parts += ["," if parts else "{", member]
    return joined([*parts, "}"]).cast(pa.string())
