"""Samplers before the job: they see a part of the rows, and what they find is what is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from punctual.clock import SECOND
from punctual.engine.answers.row_model import RowModel
from punctual.engine.held.retained_rows import RetainedFiles, RetainedStream
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.row_costs import QueryCost, RowCosts, meaning_of
from punctual.estimate.sampling import EstimatorErrors
from punctual.plan.operators import OperatorNode, OperatorRows
from punctual.plan.row_query import RowStatement, RowWindow, SparkText
from punctual.runtime.backend import OverdueError, QueryTypes, RowAnswers, RowWork
from punctual.store.manifest import Section
from punctual.store.products import RetainedRows

STATEMENT = RowStatement(SparkText(), (RowWindow("s", 60 * SECOND, ("v",)),))
PLAN = OperatorNode("answer", (OperatorNode("sort", (OperatorNode("select", (OperatorNode("read", window=0),)),)),))
COST = LinearCost.guessed(
    0.0, job=1e4, slot=1e4, plan=5e4, read=0.5, select=0.1, selected=0.1, sort=0.2, answer=1.0
)
ROWS = 4_000_000


class Plane:
    """Answers with what a selection of this part of the rows would give; remembers what it was asked for."""

    def __init__(self, selected: float) -> None:
        self.selected = selected
        self.samples: list[float] = []
        self.used_us = 0.0

    def answer(self, works: Sequence[RowWork]) -> RowAnswers:
        found: list[OperatorRows | None] = []
        for work in works:
            (window,) = work.windows
            self.samples.append(window.sample)
            read = ROWS * window.sample
            out = self.selected * read
            found.append(OperatorRows(PLAN, (out, out, out, read)))
            self.used_us += COST.expected_us({"job": 1, "slot": 1, "read": read, "sort": 20 * out, "answer": out})
        return RowAnswers([pa.table({})] * len(works), found, [False] * len(works))


def held() -> RetainedFiles:
    files = RetainedFiles({"s": RetainedStream("m", "t")}, "/state")
    files.add(Section(RetainedRows("s", 0, 50 * SECOND, "m"), "f", 0, 8 * ROWS, 0, ROWS))
    return files


def work(files: RetainedFiles) -> RowWork:
    types = QueryTypes((), (), (), (), ())
    return RowWork("q", STATEMENT, types, 55 * SECOND, (files.window(STATEMENT.windows[0], 55 * SECOND),), 10)


def model(errors: EstimatorErrors, plane: Plane) -> RowModel:
    known = QueryCost(meaning_of(STATEMENT), PLAN, (1.0, 1.0, 0.1, None), errors=errors, ratios=(1.0,))
    return RowModel(RowCosts(replace(COST, seen=1), {"q": known}), lambda: plane.used_us, lambda: 0)


def test_a_sampler_finds_what_changed_before_the_job_runs() -> None:
    predicted = {}
    for name, errors in (("last", EstimatorErrors(0.05)), ("sampled", EstimatorErrors(0.5))):
        plane, files = Plane(0.8), held()
        one = model(errors, plane)
        one.run([work(files)], files, plane.answer)
        (spent,) = one.take_spent()["q"]
        assert spent.predicted_us is not None
        predicted[name] = spent.predicted_us / spent.used_us
        after = one.costs.queries["q"].errors
        if name == "last":
            assert plane.samples == [1.0]
        else:
            assert len(plane.samples) == 2
            assert plane.samples[0] < 0.1
            assert plane.samples[1] == 1.0
            assert after.sampled == pytest.approx(0, abs=1e-6)
    assert predicted["last"] < 0.5
    assert predicted["sampled"] == pytest.approx(1, rel=0.1)


def test_samplers_stay_within_their_share_of_core_time() -> None:
    plane, files = Plane(0.8), held()
    one = model(EstimatorErrors(0.5), plane)
    full = sampled = 0.0
    for round_ in range(40):
        plane.selected = 0.8 if round_ % 2 else 0.2
        before, asked = plane.used_us, len(plane.samples)
        one.run([work(files)], files, plane.answer)
        if len(plane.samples) - asked == 2:
            alone = Plane(plane.selected)
            alone.answer([work(files)])
            sampled += plane.used_us - before - alone.used_us
        full += plane.used_us - before
    assert sampled > 0
    assert sampled <= 0.055 * full


def test_a_backlog_is_not_sampled() -> None:
    plane, files = Plane(0.8), held()
    model(EstimatorErrors(0.5), plane).run([work(files), work(files)], files, plane.answer)
    assert plane.samples == [1.0, 1.0]


class Overdue(Plane):
    """A job that is ended after so much core time and time."""

    def __init__(self, used_us: float, took_us: int) -> None:
        super().__init__(0.1)
        self.ends_after = used_us, took_us
        self.at = 0

    def answer(self, works: Sequence[RowWork]) -> RowAnswers:
        self.used_us += self.ends_after[0]
        self.at += self.ends_after[1]
        raise OverdueError


def ended(used_us: float, took_us: int = 7_000_000) -> RowModel:
    """A model that saw a job end so."""
    plane, files = Overdue(used_us, took_us), held()
    one = model(EstimatorErrors(0.05), plane)
    one = RowModel(one.costs, lambda: plane.used_us, lambda: plane.at)
    with pytest.raises(OverdueError):
        one.run([work(files)], files, plane.answer)
    return one


def expected(one: RowModel) -> float:
    (found,) = one.costs.predict([one.firing(work(held()), held())])
    return found.median_us


def test_a_job_that_was_ended_would_have_used_no_less() -> None:
    before = expected(model(EstimatorErrors(0.05), Plane(0.1)))
    dearer = ended(5 * before)
    assert expected(dearer) > 1.5 * before
    assert expected(ended(20 * before)) > expected(dearer)
    assert expected(ended(0.9 * before)) == before, "what is below says nothing of all that was left"


def test_a_plan_that_is_made_every_time_stays_one_where_its_job_is_ended() -> None:
    plane = Overdue(1e9, 1)
    costs = model(EstimatorErrors(0.05), plane).costs
    costs = replace(costs, queries={"q": replace(costs.queries["q"], plans=3)})
    one = RowModel(costs, lambda: plane.used_us, lambda: plane.at)
    with pytest.raises(OverdueError):
        one.run([work(held())], held(), plane.answer)
    assert one.costs.queries["q"].planned


def test_the_time_of_a_job_that_was_ended_is_counted_apart() -> None:
    """What is run again is known by its own time."""
    one = ended(1e6)
    plane, files = Plane(0.1), held()
    again = RowModel(one.costs, lambda: plane.used_us, lambda: 0)
    again.run([work(files)], files, plane.answer)
    rerun = again.take_rows_spent()
    spent = one.take_rows_spent() + rerun
    assert (spent.used_us, spent.expected_us) == (rerun.used_us, rerun.expected_us)
    assert spent.ended_us == 7_000_000
    assert spent.ended_expected_us == pytest.approx(expected(one), rel=0.1)
    assert one.take_rows_spent().ended_us == 0.0
