"""A row query in shards: the same plan over parts of its windows, and one answer of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from punctual.runtime.backend import RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError, in_order
from punctual.runtime.operators.window_rows import Share
from punctual.runtime.row_queries.shard_keys import ShardKeys


def in_shards(work: RowWork, keys: ShardKeys, parts: int) -> list[RowWork]:
    """The work, of which each part has the rows that share a hash of these columns of their windows."""
    return [
        replace(work, windows=tuple(
            replace(window, share=Share(part, parts, columns)) for window, columns in zip(work.windows, keys)
        ))
        for part in range(parts)
    ]  # fmt: skip


def joined(work: RowWork, answers: Sequence[pa.Table]) -> pa.Table:
    """The answer that the parts have together, in the order that it has without them."""
    if len(answers) == 1:
        return answers[0]
    whole = pa.concat_tables(answers)
    if whole.num_rows > work.max_rows:
        raise TooManyRowsError(work.query, whole.num_rows, work.max_rows)
    return in_order(whole.combine_chunks())
