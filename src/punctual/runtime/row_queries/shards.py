"""A row query in shards: by which columns its windows are dealt to them, by its physical plan, and one answer of all.

A query over large windows is answered shard by shard where each row of the answer comes from rows of one shard: joins
by equal columns, and groups that have the columns of the shard among their keys. Only plans of a few operators are
judged, and only plain columns count; where the text of a plan leaves any doubt there are no shards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from punctual.kernel.sample.draw import joined_report, untimed
from punctual.runtime.backend import Draws, RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError, in_order
from punctual.runtime.operators.window_rows import Share
from punctual.runtime.row_queries.plan_nodes import PlanNode, plain_columns, window_read

ShardKeys = tuple[tuple[str, ...], ...]
"""For each window the columns that are hashed, which belong to those of the other windows one by one."""

HARMLESS = frozenset(("Filter", "Project", "Coalesce", "Range", "ColumnarToRow", "InputAdapter", "WholeStageCodegen"))
AGGREGATES = frozenset(("HashAggregate", "SortAggregate", "ObjectHashAggregate"))
JOINS = frozenset(("Inner", "LeftOuter", "LeftSemi", "LeftAnti"))
"""Joins whose rows all have a row of the left side."""
_KEYS = re.compile(r"^\(?keys?=\[(?P<keys>[^\[\]()]*)\], functions=")
_JOIN = re.compile(r"^\[(?P<left>[^\[\]()]*)\], \[(?P<right>[^\[\]()]*)\], (?P<kind>\w+)")
_LOCAL_SORT = re.compile(r"^\[.*\], false, \d+$")


def shard_keys(nodes: Sequence[PlanNode], columns: Sequence[Sequence[tuple[str, pa.DataType]]]) -> ShardKeys | None:
    """The columns by which windows with these columns may be dealt, None where they may not.

    >>> from punctual.runtime.row_queries.plan_nodes import tree_nodes
    >>> tree = "HashAggregate(keys=[k#7], functions=[sum(v#8)])\\n+- MapInArrow window_0(i#1L)#2, [k#7, v#8], false\\n"
    >>> shard_keys(tree_nodes(tree), [[("k", pa.string()), ("v", pa.float64())]])
    (('k',),)
    """
    where: dict[str, tuple[int, str]] = {}
    groups: list[set[str]] = []
    joins: list[re.Match[str]] = []
    read: list[int] = []
    for node in nodes:
        window = window_read(node)
        if window is not None:
            number, written = window
            read.append(number)
            if written is None or number >= len(columns) or len(written) != len(columns[number]):
                return None
            where |= {
                column: (number, name)
                for column, (name, kind) in zip(written, columns[number])
                if not pa.types.is_nested(kind)
            }
        elif node.name in AGGREGATES:
            keys = _KEYS.match(node.rest)
            group = plain_columns(keys["keys"]) if keys is not None else None
            if not group:
                return None
            groups.append(set(group))
        elif node.name == "SortMergeJoin":
            join = _JOIN.match(node.rest)
            if join is None or join["kind"] not in JOINS:
                return None
            joins.append(join)
        elif not is_harmless(node):
            return None
    if sorted(read) != list(range(len(columns))) or len(joins) != len(columns) - 1 or len(columns) > 2:
        return None
    chosen = list(_pairs(joins, groups, where))
    return tuple(zip(*chosen)) if chosen else None


def preserved_window(nodes: Sequence[PlanNode]) -> int | None:
    """The window that every row of the answer has a row of, where the other one of the two need not have one.

    It is on the left side of a join, which stands first. Only for plans that have shard keys.

    >>> from punctual.runtime.row_queries.plan_nodes import tree_nodes
    >>> sides = ":- MapInArrow window_1(i#1L)#2, [k#7], false\\n+- MapInArrow window_0(i#1L)#3, [j#8], false\\n"
    >>> trees = [f"SortMergeJoin [k#7], [j#8], {kind}\\n{sides}" for kind in ("Inner", "LeftAnti")]
    >>> [preserved_window(tree_nodes(tree)) for tree in trees]
    [None, 1]
    """
    for place, node in enumerate(nodes):
        join = _JOIN.match(node.rest) if node.name == "SortMergeJoin" else None
        if join is not None and join["kind"] != "Inner":
            return next(found[0] for found in map(window_read, nodes[place:]) if found is not None)
    return None


def is_harmless(node: PlanNode) -> bool:
    """Whether an operator works row by row, or sorts rows for the one above it."""
    if node.name == "Sort":
        return _LOCAL_SORT.match(node.rest) is not None
    return node.name in HARMLESS or (node.name == "MapInArrow" and node.rest.startswith("answer_"))


def _pairs(
    joins: Sequence[re.Match[str]], groups: Sequence[set[str]], where: dict[str, tuple[int, str]]
) -> Iterator[tuple[str, ...]]:
    """Columns of the windows that are equal in every row, and keys of every group."""
    if not joins:
        common = set.intersection(*groups) if groups else set()
        yield from ((where[column][1],) for column in sorted(common, key=int) if column in where)
        return
    left, right = plain_columns(joins[0]["left"]) or [], plain_columns(joins[0]["right"]) or []
    if len(left) != len(right):
        return
    for one, other in zip(left, right):
        keys = {one, other} if joins[0]["kind"] == "Inner" else {one}
        if one in where and other in where and all(keys & group for group in groups):
            (window, name), (_second, second_name) = where[one], where[other]
            yield (name, second_name) if window == 0 else (second_name, name)


def in_shards(work: RowWork, keys: ShardKeys, parts: int) -> list[RowWork]:
    """The work, of which each part has the rows that share a hash of these columns of their windows.

    The parts of a sample have the share that was decided, whatever the time: an answer rests on one share.
    """
    windows = [replace(window, draw=untimed(window.draw)) for window in work.windows]
    return [
        replace(work, windows=tuple(
            replace(window, share=Share(part, parts, columns)) for window, columns in zip(windows, keys)
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


def joined_draws(parts: Sequence[Draws]) -> Draws:
    """What became of the draws of all parts together, by window."""
    windows = sorted({number for part in parts for number in part})
    return {number: joined_report([part[number] for part in parts if number in part]) for number in windows}
