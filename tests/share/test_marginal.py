"""Marginal work and suggestions against planning the program without the query, or with the other bound."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from punctual.config import CadenceMethod
from punctual.explain.look import look_at
from punctual.kinds.program import compile_program, share
from punctual.share.cadence.class_plans import class_plans, operator_of
from punctual.share.cadence.marginal import Ride, Rides

STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT, k INT) FROM FEED;\n"
Shape = dict[str, tuple[int, int, str]]


def program(shape: Shape) -> str:
    return STREAM + "".join(
        f"CREATE QUERY {name} AS SELECT max(a) FROM s [RANGE {length} SECONDS] {clause} {bound} SECONDS;\n"
        for name, (length, bound, clause) in shape.items()
    )


def work(shape: Shape, method: CadenceMethod, *, scan: bool) -> Fraction:
    """Of the stream, per microsecond."""
    if not shape:
        return Fraction(0)
    plan = share(compile_program(program(shape), base=".").catalog.queries.values())
    return sum((one.cost_per_unit / one.unit_us for one in class_plans(plan, method, scan=scan)), Fraction(0))


def rides(shape: Shape, method: CadenceMethod, *, scan: bool) -> dict[str, Ride]:
    plan = share(compile_program(program(shape), base=".").catalog.queries.values())
    plans = class_plans(plan, method, scan=scan)
    return {ride.query: ride for ride in Rides(plans, method, operator_of(method, scan=scan), {}).all()}


@pytest.mark.parametrize("method", ["auto", "exact", "greedy", "conservative", "aggressive", "none"])
@pytest.mark.parametrize("seed", range(6))
def test_marginal_is_with_less_without(method: CadenceMethod, seed: int) -> None:
    chance = random.Random(seed)
    shape: Shape = {
        f"q{i}": (chance.choice([10, 20, 30, 35, 60]), chance.choice([4, 6, 7, 8, 12]), "FREQUENCY") for i in range(5)
    }
    shape["p"] = (20, 12, "PERIOD")
    whole = work(shape, method, scan=True)
    for name, ride in rides(shape, method, scan=True).items():
        without = work({other: some for other, some in shape.items() if other != name}, method, scan=True)
        assert ride.marginal * whole == whole - without, name
        if ride.suggestion is not None:
            length, bound, clause = shape[name]
            shorter = ride.suggestion.bound // 1_000_000
            assert shorter < bound
            changed = work({**shape, name: (length, shorter, clause)}, method, scan=True)
            assert ride.suggestion.saving * whole == whole - changed > 0
            assert shape[ride.suggestion.rides_on][1] == shorter


def test_a_bound_that_spoils_the_panes_is_not_free() -> None:
    shape: Shape = {"long": (70, 6, "FREQUENCY"), "odd": (60, 7, "FREQUENCY")}
    found = rides(shape, "exact", scan=True)
    assert found["odd"].marginal > Fraction(1, 2)
    suggestion = found["odd"].suggestion
    assert suggestion is not None
    assert (suggestion.bound, suggestion.rides_on) == (6_000_000, "long")


@pytest.mark.parametrize(("word", "window", "clause"), [
    ("SLIDE", "[RANGE 60 SECONDS SLIDE 7 SECONDS]", ""), ("FREQUENCY", "[RANGE 60 SECONDS]", "FREQUENCY 7 SECONDS"),
])
def test_a_suggestion_has_the_word_of_the_clause(word: str, window: str, clause: str) -> None:
    """Not one that stands in a text of the query."""
    text = STREAM + f"""
        CREATE QUERY long AS SELECT max(a) FROM s [RANGE 70 SECONDS] FREQUENCY 6 SECONDS;
        CREATE QUERY odd AS SELECT max(a), 'frequency', 'slide' FROM s {window} {clause};
    """
    printed = look_at(text, ".", {"cadence": "exact", "window_merge": "scan"}, types=False).sharing()
    assert f"{word} 6 SECONDS instead of 7 rides on long" in printed


def test_auto_sees_that_own_bounds_need_fewer_panes() -> None:
    shape: Shape = {"a": (60, 7, "FREQUENCY"), "b": (60, 11, "FREQUENCY")}
    plan = share(compile_program(program(shape), base=".").catalog.queries.values())
    (auto,) = class_plans(plan, "auto", scan=True)
    assert auto.own_bounds
    assert auto.cost_per_unit < class_plans(plan, "exact", scan=True)[0].cost_per_unit


def test_folded_windows_add_their_answers() -> None:
    shape: Shape = {"a": (60, 2, "FREQUENCY"), "b": (30, 4, "FREQUENCY")}
    found = rides(shape, "auto", scan=False)
    assert (found["a"].marginal, found["b"].marginal) == (Fraction(2, 3), Fraction(1, 3))
    assert found["a"].suggestion is found["b"].suggestion is None
