"""The rows that every operator of an executed plan gave out, by Spark's own counters.

A plan is looked at once: its tree comes as one JSON text, and the counters that matter are put into a list of Java's.
From then on the text of that list is all that is read after an execution: one call, whatever the number of operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from punctual.kernel.sample.draw import DrawReport
from punctual.plan.operators import Operator, OperatorNode, OperatorRows

OUT = "number of output rows"
LONGEST_ABOUT = 100
_RANGE = re.compile(r"Range \((\d+), ")
_VALUE = re.compile(r"value: (-?\d+)\)")
_ATTRIBUTE = re.compile(r"#\d+L?")
_THROUGH = ("WholeStageCodegen", "InputAdapter", "Coalesce", "ColumnarToRow", "RowToColumnar")
"""Nodes that are no operators: rows pass through them."""
_KINDS: tuple[tuple[str, Operator], ...] = (
    ("Filter", "select"),
    ("Project", "project"),
    ("BroadcastNestedLoopJoin", "pairs"),
    ("CartesianProduct", "pairs"),
    ("TakeOrderedAndProject", "limit"),
    ("WindowGroupLimit", "limit"),
    ("Window", "window"),
    ("Generate", "generate"),
    ("Expand", "generate"),
    ("Union", "union"),
)
"""By the beginning of a node's name."""


class PlanNodeInfo(msgspec.Struct, rename="camel"):
    """A node as Spark describes it (``SparkPlanInfo``)."""

    node_name: str
    simple_string: str
    children: list[PlanNodeInfo]
    metrics: list[dict[str, Any]]

    @property
    def counter(self) -> int | None:
        """The number of the counter of its rows."""
        return next((int(one["accumulatorId"]) for one in self.metrics if one["name"] == OUT), None)


@dataclass(frozen=True, slots=True)
class CountedPlan:
    """A slot's operators, and the number of each one's counter where it has one, in the order of the tree."""

    operators: OperatorNode
    counters: tuple[int | None, ...]

    def rows(self, values: dict[int, int], answered: int, draws: Mapping[int, DrawReport]) -> OperatorRows:
        """What an execution gave out, by the values of counters; its answer had so many rows.

        A limit does not count: what it lets through is what the answer has. Of a window that others read too, counters
        say what all of them keep: what this query keeps is in the report of its draw.
        """
        numbered = self.operators.numbered()
        rows = [0.0] * len(numbered)
        for number, (node, below) in reversed(list(enumerate(numbered))):
            counter, rows_in = self.counters[number], [rows[child] for child in below]
            if node.kind == "answer":
                rows[number] = float(answered)
            elif node.window is not None and node.window in draws:
                rows[number] = float(draws[node.window].kept)
            elif counter is not None:
                rows[number] = float(values[counter])
            elif rows_in:
                rows[number] = sum(rows_in) if node.kind == "union" else rows_in[0]
                rows[number] = min(rows[number], float(answered)) if node.kind == "limit" else rows[number]
        nodes = (
            replace(node, rows=int(out)) if node.kind == "table" else node
            for (node, _below), out in zip(numbered, rows)
        )
        return OperatorRows(_rebuilt(self.operators, nodes), tuple(rows))


class MeteredPlan:
    """The counters of a plan that may be executed again; ``plans`` has one for each of its slots."""

    def __init__(self, plans: Sequence[CountedPlan], counters: Any) -> None:
        self.plans = plans
        self._numbers = [number for plan in plans for number in plan.counters if number is not None]
        self._counters = counters

    def read(self) -> dict[int, int]:
        """The values of all counters after an execution."""
        return dict(zip(self._numbers, map(int, _VALUE.findall(str(self._counters.toString()))), strict=True))


class PlanMeters:
    """Looks at executed plans of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._mapper: Any = None

    def meter(
        self, frame: DataFrame, slots: int, marks: Sequence[Mapping[int, int] | None] = ()
    ) -> MeteredPlan | None:
        """The counters of a frame of so many slots; None where its plan is not what we know.

        ``marks`` has, for each slot, which of its windows is meant by a number that stands for a shared one.
        """
        try:
            if self._mapper is None:
                self._mapper = self._jvm.com.fasterxml.jackson.databind.ObjectMapper()
                self._mapper.registerModule(self._jvm.com.fasterxml.jackson.module.scala.DefaultScalaModule())
            plan = frame._jdf.queryExecution().executedPlan()
            info = self._jvm.org.apache.spark.sql.execution.SparkPlanInfo.fromSparkPlan(plan)
            text = self._mapper.writeValueAsString(info)
            plans = counted_plans(msgspec.json.decode(text, type=PlanNodeInfo))
            if len(plans) != slots:
                return None
            plans = [_renumbered(plan, own or {}) for plan, own in zip_longest(plans, marks)]
            counters = self._jvm.java.util.ArrayList()
            for number in (one for plan in plans for one in plan.counters if one is not None):
                counters.add(self._jvm.org.apache.spark.util.AccumulatorContext.get(number))
            return MeteredPlan(plans, counters)
        except (Py4JError, msgspec.DecodeError):  # answers do not need it
            return None


def counted_plans(info: PlanNodeInfo) -> list[CountedPlan]:
    """The operators of each slot of a union, in their order."""
    if info.node_name == "MapInArrow":
        counters: list[int | None] = []
        return [CountedPlan(_operator(info, counters, answer=True), tuple(counters))]
    return [plan for child in info.children for plan in counted_plans(child)]


def _operator(info: PlanNodeInfo, counters: list[int | None], *, answer: bool = False) -> OperatorNode:
    """The operator of a node; the counters of it and of those below it are put to the others."""
    while len(info.children) == 1 and _passes(info.node_name):
        (info,) = info.children
    # A window that others read too is cached: its own counter says what this query took.
    reads = not answer and info.node_name in ("MapInArrow", "InMemoryTableScan")
    window = _window(info) if reads else None
    counters.append(info.counter)
    if window is not None:
        return OperatorNode("read", (), "", window)
    kind: Operator = "answer" if answer else _kind(info)
    children = tuple(_operator(child, counters) for child in info.children)
    return OperatorNode(kind, children, "" if answer else _about(info))


def _renumbered(plan: CountedPlan, marks: Mapping[int, int]) -> CountedPlan:
    """The plan with numbers of its query's windows in place of those of shared ones."""
    nodes = (
        node if node.window is None else replace(node, window=marks.get(node.window, node.window))
        for node in plan.operators.nodes()
    )
    return replace(plan, operators=_rebuilt(plan.operators, nodes)) if marks else plan


def _passes(name: str) -> bool:
    return name.startswith(_THROUGH) or "Exchange" in name or name == "AQEShuffleRead"


def _window(info: PlanNodeInfo) -> int | None:
    """The number of the window that a stage reads: that of the range below it."""
    while len(info.children) == 1:
        (info,) = info.children
    found = _RANGE.match(info.simple_string)
    return None if found is None else int(found[1])


def _kind(info: PlanNodeInfo) -> Operator:
    name = info.node_name
    if not info.children:
        return "table"
    for beginning, kind in _KINDS:
        if name.startswith(beginning):
            return kind
    if name.endswith("Join"):
        return "semijoin" if any(how in info.simple_string for how in ("LeftSemi", "LeftAnti", "Existence")) else "join"
    if name.endswith("Aggregate"):
        return "aggregate"
    if name.endswith("Limit"):
        return "limit"
    return "sort" if name == "Sort" else "union" if len(info.children) > 1 else "other"


def _about(info: PlanNodeInfo) -> str:
    text = _ATTRIBUTE.sub("", info.simple_string)
    return text if len(text) <= LONGEST_ABOUT else text[: LONGEST_ABOUT - 3] + "..."


def _rebuilt(operators: OperatorNode, nodes: Iterator[OperatorNode]) -> OperatorNode:
    """The same tree of these nodes, which come in its order."""
    node = next(nodes)
    return replace(node, children=tuple(_rebuilt(child, nodes) for child in operators.children))
