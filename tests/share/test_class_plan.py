"""Plans of sharing classes against enumeration: gaps, fixed instants, costs; and the papers' queries."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import lcm

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from punctual.clock import SECOND
from punctual.config import CadenceMethod
from punctual.estimate.window_work import Work
from punctual.kinds.program import compile_program, share
from punctual.share.cadence import METHODS
from punctual.share.cadence.class_plan import ClassPlan, plan_class
from punctual.share.cadence.class_plans import class_plans
from punctual.share.cadence.planning import SEPARATE
from punctual.share.classes import Member, SharingClass

MINUTE = 60 * SECOND
JOINT = [method for method in METHODS if method not in SEPARATE]


@st.composite
def classes(draw: st.DrawFn, *, periods: bool) -> tuple[SharingClass, tuple[Work, ...]]:
    members, works = [], []
    for i in range(draw(st.integers(1, 6))):
        fixed = periods and draw(st.booleans())
        members.append(Member(f"q{i}", 10 * draw(st.integers(1, 12)), 10, fixed))
        works.append(Work(Fraction(draw(st.integers(0, 9))), Fraction(draw(st.integers(0, 3)))))
    return SharingClass("c", ("s",), 0, tuple(members)), tuple(works)


def instants(plan: ClassPlan, member: int, end: int) -> list[int]:
    runs = [plan.runs[place] for place in plan.answered_by[member]]
    found = {start + offset for run in runs for start in range(0, end + 1, run.step) for offset in run.offsets}
    return sorted(t for t in found if t <= end)


def enumerated_cost(plan: ClassPlan, end: int) -> Fraction:
    """What the dearest run at each instant costs, over (0, end]."""
    dearest: dict[int, Fraction] = {}
    for run in plan.runs:
        for start in range(0, end + 1, run.step):
            for offset in run.offsets:
                if 0 < start + offset <= end:
                    level = plan.levels[run.member]
                    dearest[start + offset] = max(level, dearest.get(start + offset, Fraction(0)))
    return sum(dearest.values(), Fraction(0)) / end


def check(plan: ClassPlan) -> None:
    end = min(2_000, 2 * lcm(*(run.step for run in plan.runs)))
    for place, member in enumerate(plan.sharing.members):
        bound = member.bound // plan.unit_us
        found = instants(plan, place, end)
        if member.fixed:
            assert found == list(range(0, end + 1, bound))
        else:
            assert found[0] <= bound
            assert all(later - earlier <= bound for earlier, later in pairwise(found))
            assert end - found[-1] < bound


@pytest.mark.parametrize("method", [*METHODS, "auto"])
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_no_gap_exceeds_a_bound_and_periods_stay(method: CadenceMethod, data: st.DataObject) -> None:
    sharing, works = data.draw(classes(periods=True))
    check(plan_class(sharing, works, method))


@pytest.mark.parametrize("method", JOINT)
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_the_cost_is_what_is_counted(method: CadenceMethod, data: st.DataObject) -> None:
    sharing, works = data.draw(classes(periods=data.draw(st.booleans())))
    plan = plan_class(sharing, works, method)
    assume(not plan.own_bounds)
    cycle = lcm(*(run.step for run in plan.runs))
    assume(cycle <= 20_000)
    counted = enumerated_cost(plan, cycle)
    if method in ("exact", "greedy") and any(member.fixed for member in sharing.members):
        assert counted <= plan.cost_per_unit  # instants that coincide by chance are not looked for
    else:
        assert counted == plan.cost_per_unit
    assert plan.lower_bound <= counted


@settings(derandomize=True, deadline=None, max_examples=100)
@given(classes(periods=True))
def test_auto_never_costs_more_than_everybody_at_his_bound(drawn: tuple[SharingClass, tuple[Work, ...]]) -> None:
    sharing, works = drawn
    plan = plan_class(sharing, works, "auto")
    unit = plan.unit_us
    by_bound: dict[int, list[Work]] = {}
    for member, work in zip(sharing.members, works):
        by_bound.setdefault(member.bound // unit, []).append(work)
    own = sum(
        ((max(w.shared for w in some) + sum(w.own for w in some)) / bound for bound, some in by_bound.items()),
        Fraction(0),
    )
    assert plan.cost_per_unit <= own
    if plan.own_bounds:
        assert plan.cost_per_unit == own


def test_folded_windows_keep_their_own_bounds() -> None:
    sharing = SharingClass("c", ("s",), 0, tuple(Member(f"q{b}", b * SECOND, SECOND, False) for b in (2, 3, 5)))
    plan = plan_class(sharing, (Work(Fraction(0), Fraction(1)),) * 3, "auto")
    assert plan.own_bounds
    assert "saves nothing" in plan.why
    assert [plan.runs[places[0]].step for places in plan.answered_by] == [2, 3, 5]


def test_a_bounded_query_rides_on_a_period() -> None:
    members = (Member("hourly", 60, 10, True), Member("rider", 70, 10, False), Member("inside", 40, 10, False))
    sharing = SharingClass("c", ("s",), 0, members)
    plan = plan_class(sharing, tuple(Work(Fraction(cost), Fraction(0)) for cost in (9, 5, 4)), "exact")
    # The period's sixty are six units: the rider needs nothing of its own, the other one run between two of them.
    assert plan.cost_per_unit == Fraction(9 + 4, 6)
    assert instants(plan, 1, 12) == [0, 6, 12]
    assert len(instants(plan, 2, 12)) == 5
    check(plan)


def golab(ranges_and_slides: list[tuple[int, int]], clauses: str = "") -> str:
    queries = "".join(
        f"CREATE QUERY q{i} AS SELECT max(a) AS top FROM s [RANGE {length} MINUTES SLIDE {slide} MINUTES]{clauses};\n"
        for i, (length, slide) in enumerate(ranges_and_slides, 1)
    )
    return "CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT) FROM FEED;\n" + queries


Q1_TO_Q7 = [(10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5)]


@pytest.mark.parametrize(
    ("method", "cost"),
    [
        ("exact", Fraction(52, 5)),
        ("hybrid", Fraction(57, 5)),
        ("aggressive", Fraction(29, 2)),
        ("conservative", Fraction(358, 30)),
        ("auto", Fraction(52, 5)),
    ],
)
def test_golab_as_a_program(method: CadenceMethod, cost: Fraction) -> None:
    plan = share(compile_program(golab(Q1_TO_Q7), base=".").catalog.queries.values())
    (only,) = class_plans(plan, method, scan=True)
    assert only.unit_us == MINUTE
    assert sorted(only.levels) == [4, 5, 9, 11, 14, 19, 29]
    assert only.cost_per_unit == cost
    assert only.method == ("exact" if method == "auto" else method)


def test_classes_are_of_one_filter_and_family() -> None:
    text = """
    CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT, b INT) FROM FEED;
    CREATE QUERY one AS SELECT max(a) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS];
    CREATE QUERY two AS SELECT max(a) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS];
    CREATE QUERY other_rows AS SELECT max(a) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] WHERE b > 1;
    CREATE QUERY other_function AS SELECT sum(a) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS];
    CREATE QUERY other_keys AS SELECT b, max(a) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY b;
    CREATE QUERY average AS SELECT avg(a) FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS];
    """
    plan = share(compile_program(text, base=".").catalog.queries.values())
    found = [[member.query for member in one.sharing.members] for one in class_plans(plan, "exact", scan=False)]
    assert found == [["one", "two"], ["other_rows"], ["other_function", "average"], ["other_keys"]]
