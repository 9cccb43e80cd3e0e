"""The operators that answer a row query, as a tree: what Spark planned, in words that costs are counted in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Operator = Literal[
    "read", "table", "select", "project", "join", "semijoin", "pairs", "sort", "aggregate", "window", "generate",
    "union", "limit", "answer", "other",
]  # fmt: skip
"""``join`` is one by equality, ``semijoin`` one that keeps or drops rows of its left side, ``pairs`` looks at every
pair; ``generate`` makes several rows of one; ``answer`` orders and writes the rows of the answer."""


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator and those that it reads from. ``about`` is what it does, as text.

    ``window`` is the number of the window that it reads; ``rows`` are those of a static table.
    """

    kind: Operator
    children: tuple[OperatorNode, ...] = ()
    about: str = ""
    window: int | None = None
    rows: int | None = None

    def nodes(self) -> Iterator[OperatorNode]:
        """This one and all below it, each before those that it reads from; numbers of operators count in this order."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def numbered(self) -> list[tuple[OperatorNode, tuple[int, ...]]]:
        """The same, each with the numbers of the operators that it reads from.

        >>> join = OperatorNode("join", (OperatorNode("read", window=0), OperatorNode("read", window=1)))
        >>> [(node.kind, below) for node, below in OperatorNode("answer", (join,)).numbered()]
        [('answer', (1,)), ('join', (2, 3)), ('read', ()), ('read', ())]
        """
        found: list[tuple[OperatorNode, tuple[int, ...]]] = []

        def add(node: OperatorNode) -> int:
            number = len(found)
            found.append((node, ()))
            found[number] = (node, tuple(add(child) for child in node.children))
            return number

        add(self)
        return found


@dataclass(frozen=True, slots=True)
class OperatorRows:
    """An execution: the rows that each operator of a plan gave out, in the order of ``OperatorNode.nodes``."""

    operators: OperatorNode
    rows: tuple[float, ...]
