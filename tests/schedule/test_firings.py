"""What is open after a pass; and by chance: groups of cohorts are the same firings that a plain list of them has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from punctual.schedule.arrivals import AtOnce
from punctual.schedule.cohorts import Cohort, Contracts
from punctual.schedule.contract import Contract
from punctual.schedule.due import BEGINNING, DueInstants, Run, Timetable
from punctual.schedule.firings import FiringGroup, Firings, Logged, Release
from punctual.schedule.late_counts import LateCounts
from punctual.schedule.levels import Decision, with_decisions


def contract(query: str, answers: int = 1, length: int = 10, step: int = 1, **more: object) -> Contract:
    table = Timetable.multiples(step)
    stages = tuple(range(1, answers + 1)) if answers > 1 else ()
    return Contract(query, ("s",), length, table, step, stages=stages, **more)  # type: ignore[arg-type]


def cohort(queries: str, answers: int = 1) -> Cohort:
    (found,) = Contracts(contract(query, answers) for query in queries).cohorts
    return found


def group(who: Cohort, instants: list[int], number: int = 0, batch: int = 1) -> FiringGroup:
    at = np.array(instants)
    return FiringGroup(who, batch, DueInstants(at, np.zeros_like(at), at, (Run("1us", 1),)), number=number)


def opened(firings: Firings) -> list[tuple[str, int, list[int]]]:
    return [("".join(one.cohort.queries), one.number, one.due.instants.tolist()) for one in firings.groups]


def test_a_pass_takes_its_firings_away() -> None:
    whole, part, other = group(cohort("a"), [1, 2]), group(cohort("bB"), [1, 2, 3]), group(cohort("c"), [1])
    left = Firings((whole, part, other)).answered([whole, part.only(np.array([True, False, True]))])
    assert opened(left) == [("bB", 0, [2]), ("c", 0, [1])]


def test_firings_of_several_batches_go_together() -> None:
    both = cohort("ab")
    firings = Firings((group(both, [1, 2]), group(both, [3, 4], batch=2)))
    assert opened(firings.answered([group(both, [2, 3])])) == [("ab", 0, [1]), ("ab", 0, [4])]


def test_where_each_has_several_answers_the_next_one_is_open() -> None:
    two = cohort("ab", answers=2)
    once = Firings((group(two, [1, 2]),)).answered([group(two, [1])])
    assert opened(once) == [("ab", 0, [2]), ("ab", 1, [1])]
    twice = once.answered([group(two, [1], number=1), group(two, [2])])
    assert opened(twice) == [("ab", 1, [2])]


def test_all_answers_of_an_instant_may_be_of_one_pass() -> None:
    three = cohort("ab", answers=3)
    whole = group(three, [1, 2])
    several = [whole, *(group(three, [1, 2], number=number) for number in (1, 2))]
    assert opened(Firings((whole,)).answered(several)) == []
    assert opened(Firings((whole,)).answered([group(three, [2]), group(three, [2], number=1)])) == [
        ("ab", 0, [1]),
        ("ab", 2, [2]),
    ]


def test_who_goes_during_a_pass_takes_nobody_along() -> None:
    passed, other = group(cohort("abc"), [1, 2]), group(cohort("d"), [1, 2])
    firings = Firings((passed, other)).without(["b"])
    assert opened(firings) == [("ac", 0, [1, 2]), ("d", 0, [1, 2])]
    assert opened(firings.answered([passed])) == [("d", 0, [1, 2])]
    assert opened(firings.answered([passed.only(np.array([False, True]))])) == [("ac", 0, [1]), ("d", 0, [1, 2])]


def test_queries_are_due_together_where_nothing_that_is_decided_parts_them() -> None:
    contracts = [
        contract("a"), contract("b", length=7), contract("c", deadline_us=5), contract("d", own=3.0, shared=2.0),
        contract("e", after=4), contract("f", step=2), contract("g", sharing_class="g"), contract("h", answers=2),
        contract("i", in_order=True),
    ]  # fmt: skip
    together = {one.queries: one for one in Contracts(contracts).cohorts}
    assert set(together) == {("a", "b", "d"), *((name,) for name in "cefghi")}
    first = together["a", "b", "d"]
    assert (first.places, first.ranges.tolist(), first.longest) == ((0, 1, 3), [10, 7, 10], 10)
    assert (first.shared, first.own) == (2.0, 5.0)


Plain = dict[tuple[str, int], tuple[int, int, int | None, int, float | None]]
"""By query and instant: batch, number, when it was released, late rows, setting."""


def plain(groups: Iterable[FiringGroup]) -> Plain:
    found: Plain = {}
    for one in groups:
        for member, query in enumerate(one.cohort.queries):
            for place, at in enumerate(one.due.instants.tolist()):
                assert (query, at) not in found, "a firing is in one group"
                released = None if one.released is None else int(one.released[place])
                late = 0 if one.late is None else int(one.late[member, place])
                found[query, at] = one.batch, one.number, released, late, one.setting
    return found


LATE = [3, 8, 8, 21, 34]


class _World:
    """The same things done to firings in groups, and to a list of single ones."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        steps = self.chance.integers(1, 4, 8).tolist()
        self.contracts = {
            name: contract(name, answers=1 + (step == 3), length=int(self.chance.integers(1, 15)), step=step)
            for name, step in zip("abcdefgh", steps)
        }
        self.firings, self.plain = Firings(), Plain()
        self.decisions: list[Decision] = []
        self.through = self.batch = 0

    def release(self) -> None:
        """One batch more. Some of it may be in the log, as after a crash."""
        before, self.through = self.through, self.through + int(self.chance.integers(1, 12))
        self.batch += 1
        ends, counts = np.unique(LATE, return_counts=True)
        late = {"s": LateCounts(ends, np.concatenate([[0], np.cumsum(counts)]))}
        answered: dict[str, dict[int, Logged]] = {}
        mine = {
            (name, at): one
            for name, one in self.contracts.items()
            for at in range(before + 1, self.through + 1)
            if at % one.bound_us == 0
        }
        for (name, at), one in mine.items():
            rows = sum(at - one.range_us < end <= at for end in LATE)
            number = int(self.chance.integers(0, 3)) if self.batch % 3 == 0 else 0
            # The log may say when it was released; queries that are due together need not agree on that.
            told = int(self.chance.choice([BEGINNING, 1, 2]))
            for known in range(number):
                logged, none = answered.setdefault(name, {}), np.zeros(0, np.int64)
                some = logged.get(known, Logged(none, none))
                logged[known] = Logged(np.append(some.at, at), np.append(some.released, told))
            if number < one.answers:
                released = told if number and told > BEGINNING else 100 * self.batch
                self.plain[name, at] = self.batch, number, released, rows, None
        dues = tuple(
            (some, some.one.table.due(1, before, self.through)) for some in Contracts(self.contracts.values()).cohorts
        )
        dues = tuple((some, due) for some, due in dues if due.most)
        arrivals = {"s": AtOnce(before, 100 * self.batch)}
        self.firings = self.firings.released(Release(self.batch, dues, arrivals, late, answered or None))

    def lose(self) -> None:
        """A query is dropped."""
        if len(self.contracts) > 1:
            gone = self.chance.choice(sorted(self.contracts)).item()
            del self.contracts[gone]
            self.firings = self.firings.without([gone])
            self.plain = {which: one for which, one in self.plain.items() if which[0] != gone}

    def decide(self) -> None:
        """A setting for a stretch of a query's instants; the first one that was decided stands."""
        query = self.chance.choice(sorted(self.contracts)[:3]).item()
        first = max(0, self.through - int(self.chance.integers(0, 9)))
        last, number = first + int(self.chance.integers(0, 9)), int(self.chance.integers(0, 2))
        one = Decision(self.batch, query, first, last, float(len(self.decisions)), number=number)
        self.decisions.append(one)
        self._decided()

    def _decided(self) -> None:
        self.firings = replace(self.firings, groups=with_decisions(self.firings.groups, self.decisions))
        for (name, at), (batch, number, released, late, _setting) in self.plain.items():
            settings = [
                d.setting
                for d in self.decisions
                if (d.query, d.batch, d.number) == (name, batch, number) and d.first <= at <= d.last
            ]
            self.plain[name, at] = batch, number, released, late, settings[0] if settings else None

    def answer(self) -> None:
        """A pass over some instants; a query may be dropped meanwhile."""
        taken = set(self.chance.choice(self.through + 1, (self.through + 1) // 2, replace=False).tolist())
        cut = [(one, np.isin(one.due.instants, list(taken))) for one in self.firings.groups]
        passed = [one.only(here) for one, here in cut if here.any()]
        if self.chance.random() < 0.3:
            self.lose()
        self.firings = self.firings.answered(passed)
        for (name, at), (batch, number, *rest) in list(self.plain.items()):
            if at in taken:
                del self.plain[name, at]
                if number + 1 < self.contracts[name].answers:
                    self.plain[name, at] = batch, number + 1, *rest[:2], None
        self._decided()


@pytest.mark.parametrize("seed", range(60))
def test_groups_are_the_firings_that_a_list_has(seed: int) -> None:
    world = _World(seed)
    for _step in range(25):
        what = [world.release, world.release, world.answer, world.answer, world.lose, world.decide]
        what[world.chance.choice(6, p=[0.3, 0.1, 0.3, 0.1, 0.05, 0.15])]()
        assert plain(world.firings.groups) == world.plain
        assert world.firings.most == len(world.plain)
        assert world.firings.listed_size == sum(number == 0 for _batch, number, *_rest in world.plain.values())
        starts = world.firings.oldest()
        for (query, at), _firing in world.plain.items():
            begins = min(start for queries, start in starts if query in queries)
            assert begins <= at - world.contracts[query].range_us
        windows = [at - world.contracts[query].range_us for query, at in world.plain]
        assert min((start for _queries, start in starts), default=None) == min(windows, default=None)
