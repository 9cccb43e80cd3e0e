"""The nodes of a plan of Spark's by name, read from its tree as text: one call to the JVM instead of hundreds.

A node's name is the first word of its line, after the branches of the tree. What follows it may hold anything, even
lines that look like nodes: those who ask must be safe where a node seems to be there that is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_NODE = re.compile(r"^(?P<branch>[ :]*[:+]- |)(?:\*\(\d+\) |\* )?(?P<name>\w+)(?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node; ``rest`` is what its line says of it, ``leaf`` whether nothing hangs below it."""

    name: str
    rest: str
    leaf: bool


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
    return [PlanNode(name, rest, depths[i + 1] <= depth) for i, (depth, name, rest) in enumerate(found)]


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
