"""How the windows of a row query may be samples, read from its physical plan.

The answer over a sample has to be a part of the whole answer, so that nothing in it is wrong and only rows are missing.
That holds by the columns by which a query may be dealt to shards (``shards.py``), and row by row where each row of
the answer comes from one row of a window. Where there is any doubt nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from punctual.plan.row_query import RowSampling, RowStatement
from punctual.runtime.row_queries.plan_nodes import PlanNode, window_read
from punctual.runtime.row_queries.shards import AGGREGATES, is_harmless, preserved_window, shard_keys

REASONS = {
    "Window": "a window function may need any rows of its window",
    "Generate": "a row may become several",
    "GlobalLimit": "LIMIT takes some rows of all",
    "CollectLimit": "LIMIT takes some rows of all",
}
"""What stands in the way, by the operator of Spark's."""


def why_never(statement: RowStatement) -> str | None:
    """Why a query is not sampled, whatever its plan; None where that depends on it."""
    if statement.tail:
        return "LIMIT takes some rows of all"
    if any(window.rows is not None for window in statement.windows):
        return "a window by ROWS counts all of them"
    return "a subquery with a window is answered for itself" if statement.answers else None


def row_sampling(nodes: Sequence[PlanNode], columns: Sequence[Sequence[tuple[str, pa.DataType]]]) -> RowSampling:
    """How a query may be sampled that has this plan, without its ORDER BY; ``columns`` are those of its windows.

    >>> from punctual.runtime.row_queries.plan_nodes import tree_nodes
    >>> tree = "Filter (v#8 > 1)\\n+- MapInArrow window_0(i#1L)#2, [k#7, v#8], false\\n"
    >>> row_sampling(tree_nodes(tree), [[("k", pa.string()), ("v", pa.float64())]])
    RowSampling(by=(), why_not=None, preserved=None)
    """
    keys = shard_keys(nodes, columns)
    if keys is not None:
        return RowSampling(tuple(keys), preserved=preserved_window(nodes))
    others = [node for node in nodes if window_read(node) is None and not is_harmless(node)]
    if not others and len(columns) == 1 and sum(window_read(node) is not None for node in nodes) == 1:
        return RowSampling()
    return RowSampling(why_not=_reason(others))


def _reason(others: Sequence[PlanNode]) -> str:
    for node in others:
        if node.name in REASONS:
            return REASONS[node.name]
    if others and all(node.name in AGGREGATES for node in others):
        return "its aggregates need all rows of their groups, and no column of the stream is in all of these"
    return "its windows have no columns that are equal in all rows that belong together"
