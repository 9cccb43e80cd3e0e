"""What the benchmarks of rankings rest on: their definition of Pr_k, their workloads, and how passes are cut."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import topk_semantics
from benchmarks.ranking_checks import check, top_probability, without_rules
from benchmarks.ranking_runs import Cut, WarmInProcess, run_in_turns
from benchmarks.topk_workloads import MEASURED_S, METHODS, RANGE_S, Workload
from benchmarks.workload import EPOCH_US

from punctual.catalog import Catalog
from punctual.clock import SECOND
from punctual.kinds.program import compile_program
from tests.oracles import worlds

SMALL = Workload("synthetic", rows=100, x=3, largest=4)
FAMILIES = [SMALL, replace(SMALL, family="icebergs"), replace(SMALL, family="streams", streams=3)]


@pytest.mark.parametrize("seed", range(20))
def test_the_definition_is_that_of_the_worlds(seed: int) -> None:
    chance = random.Random(seed)
    labels = [chance.choice(["a", "b", None, None]) for _row in range(8)]
    sizes = Counter(labels)
    prob = [Fraction(chance.randint(1, 16), 16 * (sizes[label] if label else 1)) for label in labels]
    rows = [worlds.Row(8 - place, p, label) for place, (p, label) in enumerate(zip(prob, labels))]
    named = np.array([label or f"alone {place}" for place, label in enumerate(labels)])
    plain = np.array([float(p) for p in prob])
    for k in (1, 2, 5):
        expected = [float(p) for p in worlds.topk_probabilities(rows, k)]
        assert [top_probability(plain, named, place, k) for place in range(8)] == pytest.approx(expected, abs=1e-12)
        alone = [float(p) for p in worlds.topk_probabilities([row._replace(rule=None) for row in rows], k)]
        assert without_rules(plain, k) == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("distribution", ["uu", "ug", "gu", "gg"])
def test_points_of_a_figure_differ_in_one_thing(distribution: str) -> None:
    many = Workload("synthetic", distribution, x=40).queries()
    assert Workload("synthetic", distribution, x=10).queries() == many[:10]
    wider = Workload("synthetic", distribution, x=40, largest=1_000).queries()
    assert [query.bound for query in wider] == [query.bound for query in many]
    assert np.argsort([query.k for query in many], kind="stable")[-1] in np.argsort([query.k for query in wider])[-2:]
    assert all(query.k >= 2 and query.bound >= 1 for query in wider)
    if distribution == "uu":
        assert max(query.bound for query in many) <= 40
        assert max(query.k for query in many) <= 100
    if distribution == "gg":
        assert 95 < np.mean([query.k for query in many]) < 105
        assert 37 < np.mean([query.bound for query in many]) < 43


@pytest.mark.parametrize("workload", FAMILIES, ids=lambda workload: workload.family)
def test_rows_and_programs(workload: Workload) -> None:
    rows = workload.table()
    times = rows["t"].cast(pa.int64()).to_numpy()
    assert rows.num_rows == workload.rows // RANGE_S * (RANGE_S + MEASURED_S["u"])
    at = EPOCH_US + (RANGE_S + 7) * SECOND
    assert np.count_nonzero((times > at - RANGE_S * SECOND) & (times <= at)) == workload.rows
    masses: Counter[str] = Counter()
    for label, p in zip(rows["r"].to_pylist(), rows["p"].to_pylist()):
        assert 0 < p <= 1
        masses[label or ""] += p
    del masses[""]
    assert all(mass <= 1 for mass in masses.values())
    assert bool(masses) == (workload.family == "icebergs")
    fed = [table for batch in workload.batches() for table in batch.values()]
    assert sorted(i for table in fed for i in table["id"].to_pylist()) == rows["id"].to_pylist()
    for cadence in METHODS.values():
        compiled = compile_program(workload.program(cadence), Catalog(), base=".")
        assert len(compiled.catalog.queries) == workload.x


@pytest.mark.parametrize("workload", FAMILIES, ids=lambda workload: workload.family)
def test_cuts_change_no_answer(workload: Workload) -> None:
    backend, rows, queries = WarmInProcess(), workload.table(), workload.queries()
    programs = {"GA": workload.program("greedy")}
    cuts: list[Cut] = ["one by one", "by instant", "not at all"]
    found = [run_in_turns(backend, programs, workload.batches(), cut) for cut in cuts]
    for method in programs:
        apart, by_instant, whole = (turn[method] for turn in found)
        assert check(workload, rows, queries, apart) > 0
        assert len(apart.calls) >= len(by_instant.calls) > len(whole.calls)
        assert apart.answers == by_instant.answers == whole.answers
        for number in range(workload.x):
            assert apart.tables(f"q{number}").equals(by_instant.tables(f"q{number}"))
            assert apart.tables(f"q{number}").equals(whole.tables(f"q{number}"))


def test_a_wrong_answer_is_found() -> None:
    rows, queries = SMALL.table(), SMALL.queries()
    ran = run_in_turns(WarmInProcess(), {"NS": SMALL.program("none")}, SMALL.batches(), "by instant")["NS"]
    other = rows.set_column(rows.column_names.index("p"), "p", pa.array(rows["p"].to_numpy()[::-1]))
    with pytest.raises(AssertionError):
        check(SMALL, other, queries, ran)


def test_rows_that_panes_keep_are_counted() -> None:
    """Of certain rows the first k are all that can be among the k best of their pane."""
    count = 100
    begin = EPOCH_US // (60 * SECOND) * 60 * SECOND
    times = begin + 1 + np.arange(count) * (60 * SECOND) // count
    rows = pa.table(
        {"t": pa.array(times, pa.timestamp("us", "UTC")), "v": np.arange(count) * 7 % count, "p": np.ones(count)}
    )
    program = (
        "CREATE STREAM s (t TIMESTAMP EVENT TIME, v BIGINT, p DOUBLE PROBABILITY) FROM FEED;"
        "CREATE QUERY q AS SELECT TOP 3 v FROM s [RANGE 60 SECONDS] ORDER BY v DESC PERIOD 60 SECONDS;"
    )
    ran = run_in_turns(WarmInProcess(), {"q": program}, [{"s": rows}], "not at all")["q"]
    assert (ran.accepted, ran.kept) == (count, 3)


def test_the_picture_of_the_semantics_is_true() -> None:
    result = topk_semantics.run(quick=True)
    assert [row[0] for row in result.rows] == list(topk_semantics.SEMANTICS)
    assert all(goal.met for goal in result.goals)
