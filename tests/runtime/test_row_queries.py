"""Row queries without a JVM: which job has which slot, the order that travels, and how answers are sorted."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

from punctual.kernel.sample.budget import ScanBudget
from punctual.kernel.sample.draw import Draw, DrawReport
from punctual.plan.row_query import RowStatement, RowWindow, SparkText
from punctual.runtime.backend import QueryTypes, RowWork, WindowTypes
from punctual.runtime.operators.answer_rows import in_order
from punctual.runtime.operators.slot_order import read, slot_order, written
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder
from punctual.runtime.row_queries.plan_nodes import tree_nodes
from punctual.runtime.row_queries.shards import in_shards, joined_draws
from punctual.runtime.row_queries.shared_windows import SharedWindows, SlotReads, WindowUse
from punctual.runtime.row_queries.slots import MOST_INSTANTS, MOST_SLOTS, dealt, places_for, windows_of


@pytest.mark.parametrize("seed", range(20))
def test_every_work_is_in_one_slot(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.choice([1, 1, 2, 3, 17, 40]) for _ in range(rng.randint(1, 40))]
    numbers = iter(range(sum(sizes)))
    asked = {
        f"q{query}": {(rng.choice([1, 2]) * at, 0): next(numbers) for at in range(size)}
        for query, size in enumerate(sizes)
    }
    jobs = list(dealt(asked))
    for query, works in asked.items():
        assert [number for job in jobs for number in job.get(query, {}).values()] == [works[at] for at in sorted(works)]
    for job in jobs:
        instants = len({place for places in job.values() for place in places})
        assert sum(len(places_for(places, instants)) for places in job.values()) <= MOST_SLOTS
        assert instants <= MOST_INSTANTS
        at = {(place, next(at for at, n in asked[query].items() if n == number)) for query, places in job.items()
              for place, number in places.items()}  # fmt: skip
        assert len(at) == instants, "a place is one instant"


def test_what_is_due_at_an_instant_is_one_job() -> None:
    assert len(list(dealt({query: {(5, 0): query} for query in range(MOST_SLOTS)}))) == 1


def test_an_order_travels_as_text_and_lists_a_file_once() -> None:
    files = [RetainedFile(f"/state/{number}", 8, 100, number, number + 5) for number in range(3)]
    long, short = WindowOrder(tuple(files), -10, 10), WindowOrder((files[2],), 3, 10)
    last = WindowOrder(tuple(files), -(2**62), 10, 3, ("k", "n"))
    order = slot_order({"1.0": ((long, short), 7), "1.1": ((short, short), 8), "2.1": ((last,), 1)})
    again = read(written(order))
    assert again == order
    assert len(again.files) == 3
    assert (again.window("1.0", 0), again.window("1.0", 1), again.window("1.1", 0)) == (long, short, short)
    assert again.window("2.1", 0) == last
    assert again.slots["1.1"].max_rows == 8
    assert again.window("2.0", 0) is None


def timed_work(query: str, at: int = 10) -> RowWork:
    """A query that joins two windows, samples of which know how much time there is."""
    budget = ScanBudget(by=1_000, row_us=1.0)
    windows = (WindowOrder((), 0, at, draw=Draw(0.5, "o", ("k",), number=n, budget=budget)) for n in range(2))
    statement = RowStatement(SparkText(), ())
    return RowWork(query, statement, QueryTypes((), (), (), (), ()), at, tuple(windows), 1, left_us=(1.0, 2.0))


@pytest.mark.parametrize("tasks", [2, None])
def test_scans_on_other_machines_know_nothing_of_time(tasks: int | None) -> None:
    """Neither those of a query's own windows, nor those of windows that several share."""
    works, asked = [timed_work("p"), timed_work("q")], {"1.0": 0, "2.0": 1}
    windows = windows_of(list(asked), asked, works, tasks)
    uses = [WindowUse(RowWindow(name, 10, ("k",)), WindowTypes((("k", pa.string()),), "t"), ()) for name in "sr"]
    shared = SharedWindows(lambda *_arguments: None)
    reads = [SlotReads(n, slot, 0, uses, works[n].windows) for slot, n in asked.items()]
    slots = shared.slots(shared.of_job(reads), windows)
    assert len(slots) == 2
    of_shared = [draw for (order,), _rows in slots.values() for draw in order.draws]
    alone = [draw for several in windows.values() for order in several for draw in order.draws]
    assert len(of_shared) == len(alone) == 4
    assert {draw.budget is None for draw in (*of_shared, *alone)} == {tasks is None}


def test_shards_of_a_sample_know_nothing_of_time() -> None:
    """Each would use another share, and an answer has one."""
    parts = in_shards(timed_work("q"), (("k",), ("k",)), 3)
    draws = [window.draw for part in parts for window in part.windows]
    assert draws == [Draw(0.5, "o", ("k",), number=n) for _part in range(3) for n in range(2)]
    assert [window.share and window.share.part for part in parts for window in part.windows] == [0, 0, 1, 1, 2, 2]


def test_shards_report_as_one() -> None:
    """One of them has no row of the first window, so nobody read the second."""
    reports = [{0: DrawReport(8, 3, 0.5, at=7), 1: DrawReport(4, 4, 0.5, at=8)}, {0: DrawReport(0, 0, 0.5, at=6)}]
    whole = {0: DrawReport(8, 3, 0.5, at=6), 1: DrawReport(4, 4, 0.5, at=8)}
    assert joined_draws(reports) == joined_draws(reports[::-1]) == whole


def test_answers_are_sorted_as_spark_sorts() -> None:
    """NULL first, NaN last, strings by their bytes, the columns from the first on; nested values in one order."""
    nan = math.nan
    rows = [
        (None, "b", [2], None), (-1.0, "é", [1], None), (-1.0, "f", [1], None), (0.5, None, None, None),
        (0.5, "", [3], None), (0.5, "", [4], None), (nan, "a", [], None),
    ]
    types = [pa.float64(), pa.string(), pa.list_(pa.int32()), pa.null()]

    def table(order: list[int]) -> pa.Table:
        columns = zip(*(rows[place] for place in order))
        return pa.table({f"c{i}": pa.array(list(column), kind) for i, (column, kind) in enumerate(zip(columns, types))})

    expected = table([0, 2, 1, 3, 4, 5, 6])
    rng = random.Random(0)
    for _ in range(10):
        order = rng.sample(range(len(rows)), len(rows))
        assert str(in_order(table(order)).to_pylist()) == str(expected.to_pylist())
    assert in_order(pa.table({"c0": pa.nulls(2)})).num_rows == 2


def test_nodes_of_a_plan() -> None:
    tree = """*(3) Project [k#1]
+- *(3) SortMergeJoin [k#1], [k#2], Inner
   :- *(1) Filter (v#3 > scalar-subquery#4 [])
   :  :  +- Subquery scalar-subquery#4, [id=#10]
   :  :     +- LocalTableScan <empty>
   :  +- Scan x
and a literal that goes on
   +- Exchange SinglePartition, ENSURE_REQUIREMENTS
      +- *(2) Range (0, 1, step=1, splits=1)
"""
    nodes = tree_nodes(tree)
    assert [node.name for node in nodes] == [
        "Project", "SortMergeJoin", "Filter", "Subquery", "LocalTableScan", "Scan", "Exchange", "Range",
    ]
    assert [node.name for node in nodes if node.leaf] == ["LocalTableScan", "Scan", "Range"]
