"""Result rows of answers: which of them stay, and in which order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.panes.keys import encode
from punctual.kernel.panes.keys import order as spark_order
from punctual.plan.query import Query

I64 = NDArray[np.int64]


def arranged(query: Query, instant: I64, having: pa.Array | None, order: list[pa.Array]) -> pa.Array | None:
    """Which rows stay, in which order; None when all of them as they are (by instant, then by keys)."""
    if having is None and not order and query.limit is None:
        return None
    kept = np.arange(instant.size)
    if having is not None:
        kept = kept[pc.fill_null(having, False).to_numpy(zero_copy_only=False)]
    if order:
        ranks: list[NDArray[np.int64]] = [kept]
        for item, array in reversed(list(zip(query.order, order))):
            chosen = array.take(pa.array(kept))
            codes, distinct = encode([chosen], len(chosen))  # equal values must have equal ranks
            rank = spark_order(distinct).astype(np.int64)[codes]
            ranks.append(rank if item.ascending else -rank)
            null = pc.is_null(chosen).to_numpy(zero_copy_only=False)
            ranks.append((null != item.nulls_first).astype(np.int64))
        ranks.append(instant[kept])
        kept = kept[np.lexsort(ranks)]
    if query.limit is not None:
        at = instant[kept]
        place = np.arange(at.size) - np.searchsorted(at, at)
        kept = kept[place < query.limit]
    return pa.array(kept)
