"""Who makes too many rows, by the graph that Spark writes of a running plan."""

from __future__ import annotations

import pytest

from punctual.runtime.row_queries.plan_graph import PATIENCE_S, excess_of, plan_graph

HEAD = """
  0 [id="node0" label="Coalesce" tooltip="Coalesce 2"];
  1 [id="node1" label="MapInArrow" tooltip="MapInArrow answer_1.0(c0#7L)#8, [product#9], false"];
  2 [id="node2" label="HashAggregate" tooltip="HashAggregate(keys=[], functions=[count(1)])"];
  3 [id="node3" label="JOIN" tooltip="JOIN"];
  4 [id="node4" label="Project" tooltip="Project [v#2]"];
  5 [id="node5" label="MapInArrow" tooltip="MapInArrow window_0(id#1L)#2, [v#2], false"];
  6 [id="node6" label="MapInArrow" tooltip="MapInArrow window_1(id#3L)#4, [w#5], false"];
  1->0;
  2->1;
  3->2 [label="MADE" labeltooltip="MADE rows"];
  4->3;
  5->4 [label="LEFT" labeltooltip="LEFT rows"];
  6->3 [label="RIGHT" labeltooltip="RIGHT rows"];
"""
LIMIT = 10_000


def graph(join: str, made: str, left: str, right: str, answered: bool = False) -> str:
    text = HEAD.replace("JOIN", join).replace("MADE", made).replace("LEFT", left).replace("RIGHT", right)
    return text.replace("1->0;", '1->0 [label="1"];') if answered else text


@pytest.mark.parametrize(
    ("dot", "said"),
    [
        (graph("SortMergeJoin", "10,001", "100", "90"), "its SortMergeJoin had made 10,001 rows"),
        (graph("SortMergeJoin", "10,000", "1,000", "900"), None),
        (graph("CartesianProduct", "0", "1,000", "900"), "1,000 and 900 rows with each other: 900,000 pairs"),
        (graph("BroadcastNestedLoopJoin", "3", "1,000", "900", answered=True), None),
        (graph("BroadcastNestedLoopJoin", "3", "100", "100"), None),
    ],
)
def test_excess_is_told_with_its_numbers(dot: str, said: str | None) -> None:
    found = excess_of(plan_graph(dot), {"1.0": LIMIT}, {}, 0.0)
    assert (found is None) == (said is None)
    if found is not None and said is not None:
        assert found.slot == "1.0"
        assert said in found.fact
        assert "10,000" in found.fact
    assert excess_of(plan_graph(dot), {"2.0": 1}, {}, 0.0) is None


def test_a_join_by_equality_has_time_for_the_pairs_that_it_may_have() -> None:
    since: dict[tuple[int, ...], float] = {}
    dot = graph("SortMergeJoin", "5", "1,000", "900")
    assert excess_of(plan_graph(dot), {"1.0": LIMIT}, since, 0.0) is None
    other = graph("SortMergeJoin", "5", "1,001", "900")
    assert excess_of(plan_graph(other), {"1.0": LIMIT}, since, PATIENCE_S) is None, "it still reads"
    found = excess_of(plan_graph(other), {"1.0": LIMIT}, since, 2 * PATIENCE_S + 1)
    assert found is not None
    assert "up to 900,900 pairs" in found.fact
