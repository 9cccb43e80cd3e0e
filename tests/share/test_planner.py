"""Plans that are carried along against plans from scratch, and what is not planned again."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from punctual.estimate.window_work import Rates
from punctual.kinds.program import compile_program, share
from punctual.kinds.registry import needs_of
from punctual.plan.query import Query
from punctual.plan.shared import Needs
from punctual.share.cadence import METHODS, class_plans
from punctual.share.planner import ProgramPlanner

STREAMS = "".join(
    f"CREATE STREAM s{i} (t TIMESTAMP EVENT TIME, k STRING, g INT, x DOUBLE, y INT, p DOUBLE PROBABILITY) FROM FEED;\n"
    for i in range(3)
)
FUNCTIONS = ["avg(x)", "sum(x)", "max(y)", "count(*)", "min(x) FILTER (WHERE y > 3)", "approx_count_distinct(y)"]
FILTERS = ["", " WHERE x > {}", " WHERE y < {} AND x > 1", " WHERE k = 'k{}'", " WHERE x + y > {}"]


def query(name: str, chance: random.Random) -> str:
    length, bound = chance.choice([10, 20, 30, 45, 60]), chance.choice([2, 3, 4, 5, 6])
    slide, clause = chance.choice([(f" SLIDE {bound} SECONDS", ""), ("", f" PERIOD {bound} SECONDS")])
    where = chance.choice(FILTERS).format(chance.randint(0, 9))
    window = f"FROM s{chance.randrange(3)} [RANGE {length} SECONDS{slide}]{where}"
    if chance.random() < 0.25:
        by = chance.choice(["", "BY PT(0.5) ", "BY EXPECTED_RANK "])
        return f"CREATE QUERY {name} AS SELECT TOP {chance.randint(1, 9)} {by}k {window} ORDER BY x DESC{clause};\n"
    group, value = chance.choice(["k", "g"]), chance.choice(FUNCTIONS)
    return f"CREATE QUERY {name} AS SELECT {group}, {value} AS v {window} GROUP BY {group}{clause};\n"


def members(queries: Iterable[Query]) -> list[tuple[Query, Needs]]:
    return [(query, needs_of(query)) for query in queries]


def compiled(chance: random.Random, count: int) -> dict[str, Query]:
    text = STREAMS + "".join(query(f"q{i}", chance) for i in range(count))
    return dict(compile_program(text, base=".").catalog.queries)


def steps_of(plans: Iterable[class_plans.ClassPlan]) -> dict[str, int]:
    return {name: step for plan in plans for name, step in plan.steps().items()}


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("scan", [False, True])
def test_a_planner_that_is_carried_along_plans_as_from_scratch(method: str, scan: bool) -> None:
    """Queries come, go, and come back with another meaning; options change on the way."""
    chance = random.Random(f"{method} {scan}")
    planner = ProgramPlanner()
    standing: dict[str, Query] = {}
    for _change in range(25):
        kind = chance.random()
        if standing and kind < 0.25:
            del standing[chance.choice(list(standing))]
        elif standing and kind < 0.35:  # dropped and made anew, in its old place or at the end
            name = chance.choice(list(standing))
            if chance.random() < 0.5:
                del standing[name]
            standing[name] = compiled(chance, int(name[1:]) + 1)[name]
        else:
            new = compiled(chance, len(standing) + 3)
            standing |= {name: q for name, q in new.items() if name not in standing and chance.random() < 0.7}
        sharing = chance.random() < 0.85
        queries = list(standing.values())
        bare = planner.share(members(queries), sharing=sharing)
        assert bare == share(queries, sharing=sharing)
        plans = planner.class_plans(bare, method, scan=scan)  # type: ignore[arg-type]
        assert plans == class_plans.class_plans(bare, method, scan=scan)  # type: ignore[arg-type]
        timed = planner.share(members(queries), sharing=sharing, steps=steps_of(plans))
        assert timed == share(queries, sharing=sharing, steps=steps_of(plans))


def test_other_rates_are_planned_anew() -> None:
    queries = list(compiled(random.Random(5), 12).values())
    planner, plan = ProgramPlanner(), share(queries)
    modelled = planner.class_plans(plan, "exact", scan=True)
    rates = {one.sharing.identity: Rates(answer=Rates().merge * 8) for one in modelled[::2]}
    assert planner.class_plans(plan, "exact", scan=True, rates=rates) == class_plans.class_plans(
        plan, "exact", scan=True, rates=rates
    )
    assert planner.class_plans(plan, "exact", scan=True) == modelled


def test_what_did_not_change_is_not_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = list(compiled(random.Random(6), 200).values())
    planner = ProgramPlanner()
    before = planner.share(members(queries[:-1]))
    plans = planner.class_plans(before, "auto", scan=False)
    planned: list[str] = []
    original = class_plans.plan_class

    def plan_class(*arguments: object) -> object:
        planned.append(arguments[0].identity)  # type: ignore[attr-defined]
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(class_plans, "plan_class", plan_class)
    after = planner.share(members(queries))
    again = planner.class_plans(after, "auto", scan=False)
    new = after.readers[-1]
    assert [one for one, other in zip(before.units, after.units) if one is not other] in ([], [before.units[new.unit]])
    others = [(r, s) for r, s in zip(before.readers, after.readers) if r.unit != new.unit]
    assert others
    assert all(one is other for one, other in others)
    (its_class,) = (plan.sharing.identity for plan in again if plan.sharing.members[-1].query == new.query.name)
    assert planned == [its_class]
    kept = {plan.sharing.identity: plan for plan in plans}
    assert all(plan is kept[plan.sharing.identity] for plan in again if plan.sharing.identity != its_class)
