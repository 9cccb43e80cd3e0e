"""Whatever durations a program has, planning and explaining it takes a bounded number of steps and little memory.

Steps are counted, not timed: lines of Python that run, and pieces that the kernel looks at. A loop in C that lists what
it should not shows in the memory.
"""

from __future__ import annotations

import random
import re
import sys
import tracemalloc
from types import FrameType
from typing import Any

import numpy as np
import pytest

from punctual.config import LONGEST_US, parse_options
from punctual.errors import PlanError, ProgramErrors
from punctual.estimate.panes import panes_by_density, panes_in_window
from punctual.explain.look import Look, look_at, plan_look
from punctual.kernel.panes.layout import panes_of, progressions_for
from punctual.kinds.program import compile_program
from punctual.share.cadence import METHODS, Group, cheapest_cycle, plan
from punctual.share.cadence.class_plan import UPPER_BOUND
from punctual.share.cadence.effort import MOST_COMPARED, MOST_RUNS, MOST_STEPS

STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT, p DOUBLE PROBABILITY) FROM FEED;\n"
FIVE_THOUSAND_YEARS = 5_000 * 365 * 86_400 * 10**6
LONGEST = LONGEST_US // 1_000 * 1_000
KNOWN = [1, 7, 10**6, 6 * 10**6, 7 * 10**6, 3_600 * 10**6, 999_983 * 10**6, 2**31 * 10**6, FIVE_THOUSAND_YEARS, LONGEST]
MOST_LINES = 4_000_000
MOST_PIECES = cheapest_cycle.PIECES_PER_STEP * 4 * (MOST_COMPARED + 3 * MOST_STEPS)
MOST_BYTES = 64 * 2**20


class Counted:
    """Lines of Python and pieces of the kernel."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines = self.pieces = 0
        kernel = cheapest_cycle.plateaus

        def plateaus(*arguments: Any) -> Any:
            result = kernel(*arguments)
            self.pieces += result[2]
            return result

        monkeypatch.setattr(cheapest_cycle, "plateaus", plateaus)

    def __call__(self, text: str, options: dict[str, str]) -> None:
        """Plan and explain a program."""
        self.lines = self.pieces = 0

        def trace(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "line":
                self.lines += 1
                assert self.lines <= MOST_LINES, f"{frame.f_code.co_filename}:{frame.f_lineno}"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            look = planned(text, options)
            if look is not None:
                explained(look)
        finally:
            sys.settrace(before)


def duration(chance: random.Random) -> int:
    kind = chance.randrange(5)
    if kind == 0:
        return chance.choice(KNOWN)
    if kind == 1:
        return chance.randint(1, 100) * chance.choice([1, 1_000, 10**6, 60 * 10**6, 3_600 * 10**6])
    return int(FIVE_THOUSAND_YEARS ** chance.random())


def query(name: str, chance: random.Random, ranking: int) -> str:
    length, bound = written(ranking or duration(chance)), written(duration(chance))
    what = f"TOP {chance.randint(1, 200)} a" if ranking else chance.choice(["max(a) AS m"] * 3 + ["sum(a) AS m"])
    order = " ORDER BY a DESC" if ranking else ""
    slide, clause = chance.choice([(f" SLIDE {bound}", ""), ("", f" PERIOD {bound}"), ("", f" FREQUENCY {bound}")])
    return f"CREATE QUERY {name} AS SELECT {what} FROM s [RANGE {length}{slide}]{order}{clause};\n"


def written(us: int) -> str:
    return f"{us} MICROSECONDS" if us < 10**18 else f"{us // 1_000} MILLISECONDS"


def planned(text: str, options: dict[str, str]) -> Look | None:
    """None where an exact plan is asked for and takes too long."""
    catalog = compile_program(text, base=".").catalog
    try:
        return plan_look(catalog, parse_options(options))
    except PlanError as error:
        if (error.code, options["cadence"]) != ("plan.cadence-too-fine", "exact"):
            raise
        return None


def explained(look: Look) -> None:
    """All explanations, and panes of the program's windows."""
    text = look.schedule()
    assert len(text.splitlines()) < 200
    look.sharing()
    content = look.to_json()
    for one in content["classes"]:
        assert sum(len(run["offsets_us"]) for run in one["runs"]) <= 2 * MOST_RUNS
    for unit in look.plan.units:
        times = np.linspace(-(2.2e15), 2.5e17, 50).astype(np.int64)  # from 1900 to 9999
        lo, hi = panes_of(times, progressions_for(unit.windows))
        assert np.all((lo < times) & (times <= hi))


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_programs_of_any_durations(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(method, range(4), monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_many_programs_of_any_durations(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(method, range(4, 200), monkeypatch)


def check(method: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    for seed in seeds:
        chance = random.Random(f"{method} {seed}")
        ranking = duration(chance) if chance.random() < 0.25 else 0
        text = STREAM + "".join(query(f"q{i}", chance, ranking) for i in range(chance.randint(1, 6)))
        options = {"cadence": method, "window_merge": chance.choice(["auto", "scan"])}
        tracemalloc.start()
        try:
            counted(text, options)
            assert tracemalloc.get_traced_memory()[1] <= MOST_BYTES, text
        finally:
            tracemalloc.stop()
        assert counted.pieces <= MOST_PIECES, text


def bounds_and_periods(*clauses: str) -> str:
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT max(a) AS m FROM s [RANGE {60 * (i + 1)} SECONDS] {clause};\n"
        for i, clause in enumerate(clauses)
    )


@pytest.mark.parametrize("method", [*METHODS, "auto"])
@pytest.mark.parametrize("merge", ["auto", "scan"])
def test_periods_and_slides_of_very_different_size(method: str, merge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    for clauses in (
        ("PERIOD 2147483648 SECONDS", "PERIOD 7 SECONDS"),
        ("PERIOD 2147483648 SECONDS", "FREQUENCY 7 SECONDS"),
        ("FREQUENCY 999983 SECONDS", "FREQUENCY 6 SECONDS"),
        (f"PERIOD {written(LONGEST)}", "FREQUENCY 1 MICROSECOND", "PERIOD 3 MICROSECONDS"),
    ):
        counted(bounds_and_periods(*clauses), {"cadence": method, "window_merge": merge})
        assert counted.pieces <= MOST_PIECES


def test_a_long_timeline_is_drawn_by_its_columns() -> None:
    catalog = compile_program(bounds_and_periods("PERIOD 2147483648 SECONDS", "FREQUENCY 7 SECONDS"), base=".").catalog
    text = plan_look(catalog, parse_options({"cadence": "aggressive"})).schedule()
    rows = {found[1]: found[2] for found in re.finditer(r"  (g\d) +\|(.*)", text)}
    # One period has twenty columns; in each of them the query of seven seconds runs some hundred million times.
    assert rows["g1"] == "●" * 60
    assert rows["g2"] == ("·" * 19 + "●") * 3
    assert "one column is" in text


def test_a_class_that_cannot_be_planned_is_said_at_its_place() -> None:
    text = bounds_and_periods(*(f"FREQUENCY {written(bound)}" for bound in (1_009, 10_007, 100_000_007)))
    with pytest.raises(ProgramErrors) as caught:
        look_at(text, ".", {"cadence": "exact"}, types=False)
    assert caught.value.code == "plan.cadence-too-fine"
    assert "CREATE QUERY q2" in caught.value.render()
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == f"FREQUENCY {written(100_000_007)}"


def test_what_cannot_be_counted_is_an_upper_bound_and_says_so() -> None:
    chance = random.Random(3)
    bounds = sorted(chance.sample(range(10**11, 10**12), 90))
    groups = [Group(bound, cost) for cost, bound in enumerate(bounds, 1)]
    cadence = plan(groups, "conservative")
    assert not cadence.cost_is_exact
    few = plan(groups[:20], "conservative")
    assert few.cost_is_exact
    assert few.cost_per_unit < sum(group.cost / group.bound for group in groups[:20])
    text = bounds_and_periods(*(f"FREQUENCY {bound} MICROSECONDS" for bound in bounds))
    look = plan_look(compile_program(text, base=".").catalog, parse_options({"cadence": "conservative"}))
    (only,) = look.timing.plans
    assert only.why.endswith(UPPER_BOUND)
    assert only.cost_per_unit >= only.lower_bound
    assert re.search(r"conservative +at most ", look.schedule())


def test_panes_of_windows_as_long_as_durations_get() -> None:
    assert panes_in_window(((LONGEST_US, LONGEST_US // 2),), LONGEST_US, LONGEST_US // 2) == 2
    assert panes_in_window(((LONGEST_US, 7),), LONGEST_US, 7) > LONGEST_US // 4
    windows = [(LONGEST_US, step) for step in (2, 3, 5, 7, 11, 13)]
    (panes,) = panes_by_density(windows, [LONGEST_US])
    assert panes > 2**63
