"""By what a query sorts its windows before anything else is done with them, read from its physical plan.

A join by equality sorts both sides. Queries that sort a window alike can share it sorted. Where the text of a plan
leaves any doubt the answer is that it does not sort, which costs time and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from punctual.runtime.row_queries.plan_nodes import PlanNode, window_read

WindowSort = tuple[tuple[str, bool, bool], ...]
"""Columns, each with whether it descends and whether NULLs come first."""

BETWEEN = frozenset(("Filter", "Project"))
"""Operators that keep the order of rows and do not make columns that a window has."""
_SORT = re.compile(r"^\[(?P<keys>[^\[\]()]*)\], false, \d+$")
_KEY = re.compile(r"^[^#]*#(\d+)L? (ASC|DESC) NULLS (FIRST|LAST)$")


def window_sorts(nodes: Sequence[PlanNode], columns: Sequence[Sequence[str]]) -> tuple[WindowSort, ...]:
    """The sort of each window, given its columns; empty where there is none, or not everywhere the same.

    >>> from punctual.runtime.row_queries.plan_nodes import tree_nodes
    >>> tree = "Sort [k#7 ASC NULLS FIRST], false, 0\\n+- MapInArrow window_0(id#1L)#2, [k#7, v#8], false\\n"
    >>> window_sorts(tree_nodes(tree), [("k", "v")])
    ((('k', False, True),),)
    """
    found: list[set[WindowSort]] = [set() for _window in columns]
    for place, node in enumerate(nodes):
        read = window_read(node)
        if read is not None and read[0] < len(columns):
            number, written = read
            found[number].add(_sort(_above(nodes, place), written or (), columns[number]))
    return tuple(sorts.pop() if len(sorts) == 1 else () for sorts in found)


def _above(nodes: Sequence[PlanNode], place: int) -> PlanNode:
    """The first operator above that may change the order."""
    above, depth = nodes[place], nodes[place].depth
    for node in reversed(nodes[:place]):
        if node.depth < depth:
            above, depth = node, node.depth
            if node.name not in BETWEEN:
                break
    return above


def _sort(above: PlanNode, numbers: Sequence[str], columns: Sequence[str]) -> WindowSort:
    """``numbers`` are those of the window's columns in the plan."""
    sort = _SORT.match(above.rest) if above.name == "Sort" else None
    if sort is None or len(numbers) != len(columns):
        return ()
    keys = [_KEY.match(key) for key in sort["keys"].split(", ")]
    if not all(key is not None and key[1] in numbers for key in keys):
        return ()
    return tuple((columns[numbers.index(key[1])], key[2] == "DESC", key[3] == "FIRST") for key in keys if key)
