"""Slots are dealt to tasks so that these have about as much to do as each other."""

from __future__ import annotations

from itertools import pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.runtime.row_queries.slots import spread

SIZES = st.lists(st.one_of(st.integers(0, 20), st.sampled_from([0, 1, 10, 100])), max_size=24)
TASKS = st.integers(1, 5)


def loads(sizes: list[int], order: list[int], tasks: int) -> list[int]:
    """What each task has to do: Spark gives it a stretch of slots, of which there are about as many for each."""
    tasks, count = min(tasks, len(sizes)), len(sizes)
    ends = [task * count // tasks for task in range(tasks + 1)]
    return [sum(sizes[number] for number in order[start:end]) for start, end in pairwise(ends)]


@settings(max_examples=300, deadline=None)
@given(SIZES, TASKS)
def test_every_slot_is_there_once_and_no_task_has_more_by_more_than_one_slot(sizes: list[int], tasks: int) -> None:
    order = spread(sizes, tasks)
    assert sorted(order) == list(range(len(sizes)))
    if sizes:
        found = loads(sizes, order, tasks)
        assert max(found) - min(found) <= max(sizes)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(1, 3))
def test_it_is_near_the_best_of_all_orders(sizes: list[int], tasks: int) -> None:
    best = min(max(loads(sizes, list(order), tasks)) for order in permutations(range(len(sizes))))
    assert max(loads(sizes, spread(sizes, tasks), tasks)) <= 4 / 3 * best


@settings(max_examples=100, deadline=None)
@given(SIZES, TASKS)
def test_the_same_sizes_are_dealt_the_same_way(sizes: list[int], tasks: int) -> None:
    """What is larger in all alike is dealt alike: plans stay the same while windows grow."""
    assert spread(sizes, tasks) == spread([3 * size for size in sizes], tasks)
