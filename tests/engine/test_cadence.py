"""Cadence plans in the engine: instants of the plan, no gap across any change, right answers, also after a restart."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.status import read_status
from punctual.errors import PlanError
from punctual.estimate.window_work import Rates
from punctual.share.cadence import METHODS, Group, plan
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, a INT) FROM FEED"


def create(name: str, range_s: int, bound_s: int, clause: str = "FREQUENCY") -> str:
    return (
        f"CREATE QUERY {name} AS SELECT sum(a) AS total, count(*) AS n "
        f"FROM s [RANGE {range_s} SECONDS] {clause} {bound_s} SECONDS"
    )


class Program:
    """An engine over one stream that is fed, changed and restarted, and what its answers must be."""

    def __init__(self, folder: Path, options: dict[str, str], seed: int = 0) -> None:
        self.folder = str(folder)
        self.options = options
        self.random = random.Random(seed)
        self.rows: list[tuple[int, int]] = []
        self.queries: dict[str, str] = {}
        self.shape: dict[str, tuple[int, int, str]] = {}
        self.engine = self._open()

    def _open(self) -> Engine:
        engine = Engine(self.folder, clock=ManualClock(2 * START), backend=InProcess, live=False, options=self.options)
        engine.sql(";\n".join([STREAM, *self.queries.values()]))
        engine.open()
        return engine

    def add(self, name: str, range_s: int, bound_s: int, clause: str = "FREQUENCY") -> None:
        self.queries[name] = create(name, range_s, bound_s, clause)
        self.shape[name] = (range_s * SECOND, bound_s * SECOND, clause)
        self.engine.sql(self.queries[name])

    def drop(self, name: str) -> None:
        del self.queries[name]
        self.engine.sql(f"DROP QUERY {name}")

    def restart(self, **options: str) -> None:
        self.engine.close()
        self.options = {**self.options, **options}
        self.engine = self._open()

    def feed(self, seconds: int) -> None:
        """Rows at random instants of so many seconds that follow."""
        begin = self.rows[-1][0] if self.rows else START
        times = sorted(begin + self.random.randrange(1, seconds * SECOND) for _ in range(3 * seconds))
        fresh = [(t, self.random.randrange(100)) for t in times]
        self.rows += fresh
        self.engine.feed("s", [(iso(t), a) for t, a in fresh])
        self.engine.tick()

    def answers(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for block in self.engine.records():
            for row in block.table.to_pylist():
                found.setdefault(block.query, []).append(row)
        return found

    def check(self, *, standing_from_the_start: frozenset[str] = frozenset()) -> dict[str, list[dict[str, Any]]]:
        answers = self.answers()
        for name, some in answers.items():
            range_us, bound, clause = self.shape[name]
            at = [row["at"] for row in some]
            assert at == sorted(set(at)), name
            if clause == "PERIOD":
                assert at == list(range(at[0], at[-1] + 1, bound)), name
                assert at[0] % bound == 0
            else:
                assert max((b - a for a, b in pairwise(at)), default=0) <= bound, name
            for row in some:
                inside = [a for t, a in self.rows if row["at"] - range_us < t <= row["at"]]
                if row["complete"]:
                    assert row["rows"] == [{"total": sum(inside) if inside else None, "n": len(inside)}], (name, row)
            if name in standing_from_the_start:
                assert all(row["complete"] for row in some), name
                through = self.rows[-1][0] - 2 * SECOND - 1
                assert through - at[-1] < bound, name
        return answers


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("merge", ["auto", "scan"])
def test_every_method_keeps_the_bounds(tmp_path: Path, method: str, merge: str) -> None:
    program = Program(tmp_path, {"cadence": method, "window_merge": merge})
    for name, range_s, bound_s in [("a", 10, 2), ("b", 15, 3), ("c", 30, 5), ("d", 6, 7)]:
        program.add(name, range_s, bound_s)
    program.add("p", 12, 4, "PERIOD")
    for seconds in (20, 45, 3, 60):
        program.feed(seconds)
    answers = program.check(standing_from_the_start=frozenset("abcdp"))
    assert set(answers) == set("abcdp")


def test_the_exact_plan_is_kept_to(tmp_path: Path) -> None:
    program = Program(tmp_path, {"cadence": "exact"})
    for name, range_s, bound_s in [("a", 10, 2), ("b", 15, 3), ("c", 30, 5)]:
        program.add(name, range_s, bound_s)
    program.feed(60)
    answers = program.check(standing_from_the_start=frozenset("abc"))
    cadence = plan([Group(2, 9), Group(3, 14), Group(5, 29)], "exact")
    assert cadence.cycle == 5
    cycle = 5 * SECOND
    ran = {time % 5: group for time, group in cadence.executions}
    for name, group in zip("abc", range(3)):
        expected = {second for second, dearest in ran.items() if dearest >= group}
        assert {row["at"] % cycle // SECOND for row in answers[name]} == expected
    named: dict[int, set[str]] = {}
    for some in answers.values():
        for row in some:
            named.setdefault(row["at"], set()).add(row["execution"])
    assert all(len(names) == 1 for names in named.values())  # who runs together names the same execution
    assert len({name for names in named.values() for name in names}) == len(named)
    labels = {at % cycle // SECOND: next(iter(names)).split("#")[0] for at, names in named.items()}
    assert labels == {second: ("s/2s", "s/3s", "s/5s")[group] for second, group in ran.items()}


def test_the_plan_is_in_the_status(tmp_path: Path) -> None:
    program = Program(tmp_path, {"cadence": "greedy"})
    program.add("a", 10, 2)
    program.add("b", 30, 5)
    program.feed(20)
    program.add("c", 20, 4)
    before, after = read_status(str(tmp_path))["cadence"]
    assert (before["method"], before["since"], before["queries"]) == ("greedy", None, 2)
    assert (after["method"], after["queries"]) == ("greedy", 3)
    assert after["since"] > iso(START + 17 * SECOND)


def test_left_to_itself_every_query_keeps_its_bound(tmp_path: Path) -> None:
    program = Program(tmp_path, {})
    program.add("a", 10, 2)
    program.add("b", 15, 3)
    program.feed(40)
    answers = program.check(standing_from_the_start=frozenset("ab"))
    assert all(row["at"] % (2 * SECOND) == 0 for row in answers["a"])
    assert all(row["at"] % (3 * SECOND) == 0 for row in answers["b"])
    assert {row["execution"].split("#")[0] for row in answers["b"]} == {"s/3s"}


@pytest.mark.parametrize("seed", range(12))
def test_changes_never_leave_a_gap(tmp_path: Path, seed: int) -> None:
    """Queries come and go, methods change, the program restarts: every bound is kept and every answer is right."""
    chance = random.Random(seed)
    method = chance.choice([*METHODS, "auto"])
    program = Program(tmp_path, {"cadence": method, "window_merge": chance.choice(["auto", "scan"])}, seed)
    original = frozenset(f"o{i}" for i in range(3))
    for name in sorted(original):
        program.add(name, chance.randint(1, 20), chance.choice([2, 3, 4, 5, 6, 8, 12]))
    for step in range(14):
        program.feed(chance.randint(1, 30))
        what = chance.random()
        if what < 0.4:
            clause = "PERIOD" if chance.random() < 0.25 else "FREQUENCY"
            program.add(f"n{step}", chance.randint(1, 20), chance.choice([2, 3, 4, 5, 6, 7, 8, 12]), clause)
        elif what < 0.6 and len(program.queries) > 3:
            program.drop(chance.choice([name for name in program.queries if name not in original]))
        elif what < 0.8:
            program.restart()
        else:
            program.restart(cadence=chance.choice([*METHODS, "auto"]))
    program.feed(60)
    program.check(standing_from_the_start=original)


@pytest.mark.parametrize("seed", range(4))
def test_a_restart_changes_nothing(tmp_path: Path, seed: int) -> None:
    def run(folder: Path, *, restarting: bool) -> dict[str, list[dict[str, Any]]]:
        program = Program(folder, {"cadence": "exact"}, seed)
        for i, (range_s, bound_s) in enumerate([(10, 2), (15, 3), (30, 5)]):
            program.add(f"q{i}", range_s, bound_s)
        for step in range(6):
            program.feed(11)
            if step == 2:
                program.add("late", 20, 4)
            if restarting:
                program.restart()
        return program.check()

    assert run(tmp_path / "a", restarting=False) == run(tmp_path / "b", restarting=True)


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("first", ["on", "off"])
def test_sharing_changed_between_runs(tmp_path: Path, method: str, first: str) -> None:
    """Cells are of other units then: what they cannot cover is said to be incomplete, and no bound is exceeded."""
    program = Program(tmp_path, {"cadence": method, "sharing": first})
    for name, range_s, bound_s in [("a", 10, 2), ("b", 30, 5), ("c", 20, 4)]:
        program.add(name, range_s, bound_s)
    program.feed(60)
    program.restart(sharing="off" if first == "on" else "on")
    program.feed(90)
    answers = program.check()
    for some in answers.values():
        assert any(not row["complete"] for row in some)
        assert some[-1]["complete"]


def test_a_query_that_came_later_rides_with_the_others(tmp_path: Path) -> None:
    program = Program(tmp_path, {"cadence": "exact"})
    program.add("a", 10, 2)
    program.add("b", 30, 6)
    program.feed(30)
    program.add("late", 20, 4)
    program.feed(90)
    answers = program.check(standing_from_the_start=frozenset("ab"))
    tail = {name: [row for row in some if row["at"] > START + 100 * SECOND] for name, some in answers.items()}
    ran = {row["execution"] for row in tail["a"]}
    assert {row["execution"] for row in tail["late"]} <= ran
    assert {row["execution"] for row in tail["b"]} <= {row["execution"] for row in tail["late"]}


def test_costs_that_no_plan_can_be_made_for_change_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was asked for could be planned; what is measured later must not end the program."""
    with Engine(str(tmp_path / "state"), backend=InProcess, live=False) as engine:
        engine.sql(
            "CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT) FROM FEED;"
            "CREATE QUERY q AS SELECT max(a) AS top FROM s [RANGE 1 MINUTE] FREQUENCY 10 SECONDS;"
        )
        engine.open()
        core = engine._opened().core
        before = core.programs.running

        def refuse(*_given: object, **_options: object) -> None:
            raise PlanError("plan.cadence-too-fine", "no plan")

        monkeypatch.setattr(core.programs, "timing", refuse)
        assert core.programs.retime({"a class": Rates()}, core.progress) is before
        assert core.programs.rates == {}
