"""Rankings that are planned together: one walk for the largest k answers the others, no gap exceeds a bound."""

from __future__ import annotations

from itertools import pairwise
from math import lcm
from pathlib import Path

import pytest

from punctual.catalog import Catalog
from punctual.clock import SECOND, ManualClock, iso
from punctual.config import CadenceMethod
from punctual.engine.engine import Engine
from punctual.explain.schedule import Schedule
from punctual.kernel.world import together
from punctual.kinds.program import compile_program, share
from punctual.share.classes import sharing_classes
from tests.engine.test_topk import START, STREAM, close, drawn, gathered, in_window, ranked
from tests.inprocess.backend import InProcess
from tests.oracles import worlds

BOUNDS = {"one": (1, 2), "two": (2, 3), "four": (4, 5), "five": (5, 7)}
"""By query, k and the seconds that may pass between its answers."""


def bounded(k: int, seconds: int, columns: str = "id", top: str = "TOP", where: str = "", length: int = 4) -> str:
    return (
        f"SELECT {top} {k} {columns} FROM radar [RANGE {length} SECONDS SLIDE {seconds} SECONDS] {where} "
        "ORDER BY speed DESC"
    )


def program(queries: dict[str, str]) -> str:
    return STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())


@pytest.mark.parametrize("method", ["auto", "none", "conservative", "aggressive", "hybrid", "exact", "greedy"])
def test_no_gap_exceeds_a_bound_and_every_answer_is_right(tmp_path: Path, method: str) -> None:
    rows = drawn(4, 48)
    engine = Engine(
        str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False, options={"cadence": method}
    )
    engine.sql(program({name: bounded(k, seconds) for name, (k, seconds) in BOUNDS.items()}))
    with engine:
        engine.open()
        for begin in range(0, len(rows), 12):
            engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[begin : begin + 12]])
            engine.tick()
        engine.end()
        found = gathered(engine)
    instants = {name: [answer["at"] for answer in answers] for name, answers in found.items()}
    for name, (_k, seconds) in BOUNDS.items():
        assert instants[name][0] - START <= seconds * SECOND
        assert all(later - at <= seconds * SECOND for at, later in pairwise(instants[name]))
    if method in ("auto", "exact"):  # the dearest run answers everybody
        assert set(instants["five"]) <= set(instants["four"]) <= set(instants["two"]) <= set(instants["one"])
    every = sorted({at for several in instants.values() for at in several})
    true = {at: worlds.rank_probabilities(ranked(in_window(rows, at))[0], 5) for at in every}
    for name, (k, _seconds) in BOUNDS.items():
        for answer in found[name]:
            inside, ids = ranked(in_window(rows, answer["at"]))
            value = [sum(ranks[:k]) for ranks in true[answer["at"]]]
            best = worlds.best_by(inside, value, k)
            assert [row["id"] for row in answer["rows"]] == [ids[i] for i in best]
            assert close([row["probability"] for row in answer["rows"]], [value[i] for i in best])


def test_a_class_is_one_window_one_filter_and_one_score() -> None:
    queries = {
        "a": bounded(1, 2),
        "other_columns": bounded(3, 3, columns="lane, id, t"),
        "other_semantics": bounded(3, 5, columns="BY U_KRANKS id"),
        "closed_form": bounded(7, 5, columns="BY EXPECTED_RANK id"),
        "keys": bounded(3, 5, columns="STREAMS lane"),
        "computed": bounded(9, 5, columns="id + 1 AS next"),
        "other_range": bounded(3, 5, length=6),
        "other_filter": bounded(3, 5, where="WHERE speed > 3"),
        "other_order": bounded(3, 5).replace("DESC", "ASC"),
        "counted": "SELECT count(*) AS n FROM radar [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    }
    compiled = compile_program(program(queries), Catalog(), base=".")
    classes = {
        frozenset(member.query for member in one.members): {member.query: member.steps for member in one.members}
        for one in sharing_classes(share(compiled.catalog.queries.values()))
    }
    together_at_4 = {"a": 1, "other_columns": 3, "other_semantics": 3, "closed_form": 1, "keys": 3}
    assert classes.pop(frozenset(together_at_4)) == together_at_4
    assert set(classes) == {frozenset([name]) for name in queries.keys() - together_at_4.keys()}


def schedule(pairs: list[tuple[int, int]], method: CadenceMethod) -> Schedule:
    queries = {f"q{i}": bounded(k, seconds) for i, (k, seconds) in enumerate(pairs)}
    compiled = compile_program(program(queries), Catalog(), base=".")
    return Schedule.of(share(compiled.catalog.queries.values()), method, scan=False, rates={})


def test_the_cost_of_a_published_plan_is_k() -> None:
    found = schedule(list(BOUNDS.values()), "exact")
    (plan,) = found.plans
    assert [(work.shared, work.own) for work in plan.works] == [(k, 0) for k, _s in BOUNDS.values()]
    assert "costs in ranks of a row" in found.text()
    (methods,) = found.compared([plan])
    costs = {method: one.cost_per_unit for method, one in methods.items() if one is not None}
    assert plan.cost_per_unit == costs["exact"] == min(costs.values())
    assert plan.cost_per_unit < costs["conservative"]


@pytest.mark.parametrize(
    ("pairs", "apart"),
    [
        ([(10, 9), (50, 10), (100, 11)], False),  # hardly an answer too many, a third of the executions
        ([(10, 2), (50, 4), (100, 8)], True),  # they meet by themselves
        ([(1 + 37 * i % 100, 1 + 17 * i % 40) for i in range(20)], True),  # most answers would be too many
    ],
)
def test_auto_counts_executions_and_answers_too(pairs: list[tuple[int, int]], apart: bool) -> None:
    found = schedule(pairs, "auto")
    (plan,) = found.plans
    assert plan.own_bounds == apart
    # Own bounds, instant by instant: the largest k that is due, what an execution takes besides, and every answer.
    seconds = range(1, 1 + lcm(*(bound for _k, bound in pairs)) if apart and len(pairs) < 5 else 2000)
    due = [[k for k, bound in pairs if at % bound == 0] for at in seconds]
    spent = sum(10 + max(ks) / 100 + len(ks) for ks in due if ks) / len(seconds) * plan.unit_us / SECOND
    if apart:
        assert float(plan.cost_per_unit) == pytest.approx(spent, rel=0.02)
    else:
        assert plan.cost_per_unit < spent


def test_rankings_of_one_window_are_one_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[int] = []
    real = together.from_ranks
    monkeypatch.setattr(together, "from_ranks", lambda *args, **kw: (walks.append(1), real(*args, **kw))[1])
    queries = {
        "a": "SELECT TOP 1 id FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS",
        "b": "SELECT TOP 3 lane, t FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS",
        "c": "SELECT TOP 2 BY PT(0.2) id FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS",
        "d": "SELECT TOP 2 BY U_KRANKS id FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS",
        "e": "SELECT TOP 2 STREAMS lane FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS",
    }
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False, options={})
    engine.sql(program(queries))
    with engine:
        engine.open()
        engine.feed("radar", [(iso(t), *rest) for t, *rest in drawn(1)])
        engine.tick()
        engine.end()
        found = gathered(engine)
    assert {len(answers) for answers in found.values()} == {len(walks)}
    assert all(row["t"].timestamp() * SECOND >= START for answer in found["b"] for row in answer["rows"])
