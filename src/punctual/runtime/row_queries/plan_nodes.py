"""The nodes of a plan of Spark's by name, read from its tree as text: one call to the JVM instead of hundreds.

A node's name is the first word of its line, after the branches of the tree. What follows it may hold anything, even
lines that look like nodes: those who ask must be safe where a node seems to be there that is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_NODE = re.compile(r"^(?P<branch>[ :]*[:+]- |)(?:\*\(\d+\) |\* )?(?P<name>\w+)(?P<rest>.*)$")
_WINDOW = re.compile(r"^window_(?P<number>\d+)\(.*\)#\d+L?, \[(?P<columns>[^\[\]]*)\], (?:true|false)\b")
_COLUMN = re.compile(r"^[^#]*#(\d+)L?$")


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node; ``rest`` is what its line says of it, ``leaf`` whether nothing hangs below it.

    What is below a node has a greater ``depth``.
    """

    name: str
    rest: str
    leaf: bool
    depth: int = 0


def plan_nodes(plan: Any) -> list[PlanNode]:
    """The nodes of a logical or physical plan, each before those below it; with those of its subqueries."""
    return tree_nodes(str(plan.toString()))


def tree_nodes(tree: str) -> list[PlanNode]:
    """The nodes of a tree as Spark prints it.

    >>> [(node.name, node.leaf) for node in tree_nodes("Sort [a]\\n+- *(1) Range (0, 1)\\n")]
    [('Sort', False), ('Range', True)]
    """
    found = []
    for number, line in enumerate(tree.split("\n")):
        match = _NODE.match(line)
        if match is not None and (match["branch"] or number == 0):
            found.append((len(match["branch"]), match["name"], match["rest"].strip()))
    depths = [depth for depth, _name, _rest in found] + [0]
    return [PlanNode(name, rest, depths[i + 1] <= depth, depth) for i, (depth, name, rest) in enumerate(found)]


def window_read(node: PlanNode) -> tuple[int, list[str] | None] | None:
    """The number of the window that a node reads, and the numbers of its columns where these are plain; None where it
    reads none.

    >>> window_read(PlanNode("MapInArrow", "window_3(id#1L)#2, [k#7, v#8L], false", False))
    (3, ['7', '8'])
    """
    found = _WINDOW.match(node.rest) if node.name == "MapInArrow" else None
    return None if found is None else (int(found["number"]), plain_columns(found["columns"]))


def plain_columns(text: str) -> list[str] | None:
    """The numbers of columns in a list that has nothing else, None where it has.

    >>> plain_columns("k#7, v#8L"), plain_columns("coalesce(k#7, )")
    (['7', '8'], None)
    """
    found = [_COLUMN.match(one) for one in text.split(", ")]
    return [one[1] for one in found if one is not None] if all(found) else None


def stands(frame: Any) -> bool:
    """Whether the plan of a frame may be executed again and reads again.

    What an exchange, a broadcast or a subquery found is kept with the plan: executed again it would answer with old
    rows. Some operators shuffle without an exchange of their own (a LIMIT over several partitions), which the lineage
    of the rows says.
    """
    execution = frame._jdf.queryExecution()
    names = {node.name for node in plan_nodes(execution.executedPlan())}
    if any("Exchange" in name or "Subquery" in name for name in names):
        return False
    return "Shuffled" not in execution.toRdd().toDebugString()
