"""Epochs: who is planned in which, what a lifetime is cut into, and who comes too late."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import PlanError
from punctual.schedule.epoch import (
    AnytimeQuery,
    Epochs,
    allocate,
    allocate_in_epoch,
    delayed,
    piece_in,
    split_by_epoch,
    stages,
    wait_for_epoch,
)

EXAMPLES = settings(derandomize=True, deadline=None, max_examples=300)
CUT = st.builds(Epochs, st.integers(1, 50) | st.floats(0.5, 50), st.integers(0, 80) | st.floats(0, 80))
TIMES = st.integers(-1_000, 1_000) | st.floats(-1_000, 1_000)


@given(CUT, TIMES)
@EXAMPLES
def test_every_time_is_in_one_epoch(epochs: Epochs, time: float) -> None:
    number = epochs.number_at(time)
    assert epochs.begins(number) <= time < epochs.begins(number + 1)


@given(CUT, TIMES)
@EXAMPLES
def test_the_first_epoch_is_the_first_that_is_not_planned(epochs: Epochs, submitted: float) -> None:
    first = epochs.first_after(submitted)
    assert epochs.planned_at(first - 1) < submitted <= epochs.planned_at(first)


@pytest.mark.parametrize("length", [0.1, 0.3, 1 / 3, 0.7, 300])
def test_borders_are_where_they_are_whatever_rounding_says(length: float) -> None:
    epochs = Epochs(length, lead=0.1)
    for number in range(-300, 300):
        begins, planned = epochs.begins(number), epochs.planned_at(number)
        assert epochs.number_at(begins) == number
        assert epochs.number_at(nextafter(begins, -inf)) == number - 1
        assert epochs.first_after(planned) == number
        assert epochs.first_after(nextafter(planned, inf)) == number + 1


@given(CUT, TIMES, st.floats(0, 100), st.floats(0, 50))
@EXAMPLES
def test_who_comes_in_time_starts_in_time_and_who_does_not_waits_for_a_whole_epoch(
    epochs: Epochs, submitted: float, later: float, length: float
) -> None:
    start = submitted + later
    wait = wait_for_epoch(start, submitted, epochs)
    first = epochs.first_after(submitted)
    if epochs.number_at(start) >= first:
        assert wait == 0
    else:
        assert wait > 0
        assert start + wait == pytest.approx(epochs.begins(first))
    moved = delayed(AnytimeQuery(start, start + length + 1, 3.0), wait)
    assert moved.lifetime == pytest.approx(length + 1)
    assert moved.essential == 3.0


def test_half_a_minute_of_lead() -> None:
    """The paper's: epochs of five minutes; half a minute before 8:05 is the last moment for it."""
    epochs = Epochs(length=300, lead=30)
    assert wait_for_epoch(start=310, submitted=270, epochs=epochs) == 0
    assert wait_for_epoch(start=310, submitted=270.5, epochs=epochs) == 290
    assert wait_for_epoch(start=299, submitted=270, epochs=epochs) == 1
    assert wait_for_epoch(start=10_000, submitted=270.5, epochs=epochs) == 0


@given(CUT, TIMES, st.floats(0.5, 200), st.floats(0, 10))
@EXAMPLES
def test_pieces_are_the_query(epochs: Epochs, start: float, length: float, essential: float) -> None:
    query = AnytimeQuery(start, start + length, essential)
    pieces = split_by_epoch(query, epochs)
    in_order = [pieces[number] for number in sorted(pieces)]
    assert in_order[0].start == query.start
    assert in_order[-1].deadline == query.deadline
    assert all(before.deadline == after.start for before, after in pairwise(in_order))
    assert sum(piece.essential for piece in in_order) == pytest.approx(essential)
    for number, piece in pieces.items():
        assert epochs.begins(number) <= piece.start
        assert piece.deadline <= epochs.begins(number + 1)
        assert piece.essential * query.lifetime == pytest.approx(essential * piece.lifetime)
        assert piece_in(query, number, epochs) == piece
    assert piece_in(query, min(pieces) - 1, epochs) is None
    assert piece_in(query, max(pieces) + 1, epochs) is None


def test_a_query_inside_an_epoch_stays_as_it_is() -> None:
    query = AnytimeQuery(300, 600, 0.1)
    assert split_by_epoch(query, Epochs(300, 30)) == {1: query}


def test_each_epoch_is_planned_by_itself() -> None:
    epochs = Epochs(length=10, lead=1)
    queries = [AnytimeQuery(5, 15, 6), AnytimeQuery(0, 10, 1), AnytimeQuery(12, 14, 8)]
    first = allocate([AnytimeQuery(5, 10, 3), AnytimeQuery(0, 10, 1)], 1)
    second = allocate([AnytimeQuery(10, 15, 3), AnytimeQuery(12, 14, 8)], 1)
    assert allocate_in_epoch(queries, 0, epochs, 1) == [*first, 0.0]
    assert allocate_in_epoch(queries, 1, epochs, 1) == [second[0], 0.0, second[1]]
    assert allocate_in_epoch(queries, 2, epochs, 1) == [0.0, 0.0, 0.0]


def test_stages_follow_each_other() -> None:
    one, two, three = stages(2.0, [3.0, 5.0, 7.0], [1.0, 2.0, 0.0])
    assert (one.start, one.deadline, one.essential) == (2.0, 3.0, 1.0)
    assert (two.start, two.deadline, two.essential) == (3.0, 5.0, 2.0)
    assert (three.start, three.deadline, three.essential) == (5.0, 7.0, 0.0)


@pytest.mark.parametrize(("deadlines", "essential"), [([1.0, 1.0], [1.0, 1.0]), ([2.0, 1.0], [1.0, 1.0]), ([1.0], [])])
def test_stages_that_cannot_be(deadlines: list[float], essential: list[float]) -> None:
    with pytest.raises(PlanError) as raised:
        stages(0.0, deadlines, essential)
    assert raised.value.code == "plan.bad-anytime-query"


@pytest.mark.parametrize(("length", "lead"), [(0, 0), (-1, 0), (inf, 0), (nan, 0), (1, -1), (1, nan), (1, inf)])
def test_what_is_no_epoch(length: float, lead: float) -> None:
    with pytest.raises(PlanError) as raised:
        Epochs(length, lead)
    assert raised.value.code == "plan.bad-epoch"
