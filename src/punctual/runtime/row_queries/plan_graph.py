"""The plan of a running job as a graph with the rows that each operator has made, and who made too many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from punctual.errors import RunError

PATIENCE_S = 300.0
"""How long a join by equality may work at rows of which too many pairs could fit, when nothing says how many do."""
NESTED_LOOPS = frozenset(("BroadcastNestedLoopJoin", "CartesianProduct"))
_NODE = re.compile(r'^\s*(\d+) \[id="node\d+" label="(\w+)[^"]*" tooltip="(.*)$')
_EDGE = re.compile(r'^\s*(\d+)->(\d+)(?: \[label="([\d,]+)")?')
_ANSWER = re.compile(r"^MapInArrow answer_([^(]+)\(")


@dataclass(frozen=True, slots=True)
class Excess:
    """A slot that goes beyond its bound: what its operator does, and the numbers."""

    slot: str
    fact: str


class RunawayError(RunError):
    """A query's join made, or would make, more rows than it may; ``fact`` has the numbers."""

    def __init__(self, query: str, excess: Excess) -> None:
        super().__init__(
            "run.runaway", f'query "{query}": {excess.fact}',
            hint="join by more columns or shorter windows, or raise max_join_rows",
        )  # fmt: skip
        self.query = query
        self.excess = excess


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """Operators by number, each with what it says of itself; ``above`` is whom it gives its rows, ``made`` how many."""

    names: Mapping[int, str]
    texts: Mapping[int, str]
    above: Mapping[int, int]
    made: Mapping[int, int]

    def below(self, node: int) -> list[int]:
        return [one for one, other in self.above.items() if other == node]

    def slot(self, node: int) -> str | None:
        """The slot that an operator works for."""
        at: int | None = node
        while at is not None:
            answer = _ANSWER.match(self.texts.get(at, ""))
            if answer is not None:
                return answer[1]
            at = self.above.get(at)
        return None

    def inputs(self, node: int) -> tuple[int, ...]:
        """How many rows each input of an operator has had, as far as somebody counts them."""
        return tuple(self._rows(one) for one in self.below(node))

    def _rows(self, node: int) -> int:
        if node in self.made:
            return self.made[node]
        below = self.below(node)
        return self._rows(below[0]) if len(below) == 1 else 0

    def answered(self, slot: str) -> bool:
        """Whether a slot has its answer."""
        answers = (node for node, text in self.texts.items() if (m := _ANSWER.match(text)) and m[1] == slot)
        return any(self.made.get(node, 0) for node in answers)


def plan_graph(dot: str) -> PlanGraph:
    """The graph that Spark writes of a plan.

    >>> graph = plan_graph('0 [id="node0" label="Sort" tooltip="Sort"];\\n1->0 [label="1,200" labeltooltip="rows"];')
    >>> graph.names, graph.made
    ({0: 'Sort'}, {1: 1200})
    """
    names, texts, above, made = {}, {}, {}, {}
    for line in dot.split("\n"):
        node, edge = _NODE.match(line), _EDGE.match(line)
        if node is not None:
            names[int(node[1])], texts[int(node[1])] = node[2], node[3]
        elif edge is not None:
            above[int(edge[1])] = int(edge[2])
            if edge[3]:
                made[int(edge[1])] = int(edge[3].replace(",", ""))
    return PlanGraph(names, texts, above, made)


def excess_of(
    graph: PlanGraph, limits: Mapping[str, int], since: dict[tuple[int, ...], float], now: float
) -> Excess | None:
    """The first slot that goes beyond its limit.

    ``since`` remembers from look to look when a join was first seen with the inputs that it has.
    """
    for node, name in graph.names.items():
        slot = graph.slot(node)
        if slot is not None and slot in limits:
            for fact in _excesses(graph, node, name, slot, limits[slot], since, now):
                return Excess(slot, fact)
    return None


def _excesses(
    graph: PlanGraph, node: int, name: str, slot: str, limit: int, since: dict[tuple[int, ...], float], now: float
) -> Iterator[str]:
    made = graph.made.get(node, 0)
    if made > limit:
        yield f"its {name} had made {made:,} rows and was not done, and may make {limit:,}"
    if "Join" not in name and name not in NESTED_LOOPS:
        return
    inputs = graph.inputs(node)
    pairs = prod(inputs) if len(inputs) == 2 else 0
    if pairs <= limit or graph.answered(slot):
        return
    rows = " and ".join(f"{count:,}" for count in inputs)
    if name in NESTED_LOOPS:
        yield f"its {name} compares each of {rows} rows with each other: {pairs:,} pairs, and may be {limit:,}"
    elif now - since.setdefault((node, *inputs), now) > PATIENCE_S:
        yield (
            f"its {name} of {rows} rows had made {made:,} after {now - since[node, *inputs]:.0f} seconds and was not "
            f"done; it compares up to {pairs:,} pairs, and may {limit:,}"
        )
