"""What is open after a pass."""

from __future__ import annotations

import numpy as np

from punctual.schedule.due import DueInstants, Run
from punctual.schedule.firings import FiringGroup, Firings


def group(query: str, instants: list[int], number: int = 0, batch: int = 1) -> FiringGroup:
    at = np.array(instants)
    return FiringGroup(query, batch, DueInstants(at, np.zeros_like(at), at, (Run("1us", 1),)), number=number)


def opened(firings: Firings) -> list[tuple[str, int, list[int]]]:
    return [(one.query, one.number, one.due.instants.tolist()) for one in firings.groups]


def test_a_pass_takes_its_firings_away() -> None:
    whole, part, other = group("a", [1, 2]), group("b", [1, 2, 3]), group("c", [1])
    firings = Firings((whole, part, other))
    left = firings.answered([whole, part.only(np.array([True, False, True]))], {"a": 1, "b": 1, "c": 1})
    assert opened(left) == [("b", 0, [2]), ("c", 0, [1])]


def test_firings_of_several_batches_go_together() -> None:
    firings = Firings((group("a", [1, 2]), group("a", [3, 4], batch=2)))
    assert opened(firings.answered([group("a", [2, 3])], {"a": 1})) == [("a", 0, [1]), ("a", 0, [4])]


def test_where_each_has_several_answers_the_next_one_is_open() -> None:
    first = group("a", [1, 2])
    once = Firings((first,)).answered([group("a", [1])], {"a": 2})
    assert opened(once) == [("a", 0, [2]), ("a", 1, [1])]
    twice = once.answered([group("a", [1], number=1), group("a", [2])], {"a": 2})
    assert opened(twice) == [("a", 1, [2])]


def test_a_query_that_is_gone_is_left_alone() -> None:
    gone = group("a", [1])
    assert opened(Firings((gone,)).answered([gone], {})) == [("a", 0, [1])]
