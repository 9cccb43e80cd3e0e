"""The fields that all answers have: when each instant was released, what its kind says, which answer of it this is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from punctual.engine.answers.answer_blocks import answer_blocks
from punctual.kernel.panes.panes import Answered
from punctual.kinds.asked import AskedTogether, asked
from punctual.kinds.job_group import AnsweredJobs, JobGroup
from punctual.kinds.program import compile_program, share
from punctual.plan.shared import Reader
from punctual.runtime.backend import QueryTypes
from punctual.schedule.due import DueInstants, Run

PROGRAM = """
    CREATE STREAM s (t TIMESTAMP EVENT TIME) FROM FEED;
    CREATE QUERY hurried AS SELECT count(*) AS n FROM s [RANGE 10 MICROSECONDS] PERIOD 10 MICROSECONDS
        DEADLINE 5 MICROSECONDS;
    CREATE QUERY patient AS SELECT count(*) AS n FROM s [RANGE 10 MICROSECONDS] PERIOD 10 MICROSECONDS;
"""
INSTANTS = np.array([10, 20, 30])
TYPES = QueryTypes((), (pa.int64(),), (pa.int64(),), (), (None,))


def reader(name: str) -> Reader:
    queries = compile_program(PROGRAM, base=".").catalog.queries
    staged = replace(queries["patient"], name="staged", stages=(100, 105))
    return next(one for one in share([*queries.values(), staged]).readers if one.query.name == name)


def job(name: str, released: list[int] | None, number: int = 0, place: int = 0) -> JobGroup:
    due = DueInstants(INSTANTS, np.zeros(3, np.int64), INSTANTS // 10, (Run("10us", 10),))
    moments = None if released is None else np.array(released)
    single = (asked(reader(name), TYPES, None),)
    one = AskedTogether(single, np.array([place]), np.array([0]), np.array([5]), np.ones(1))
    return JobGroup(one, due, number, moments)


def blocks(*jobs: JobGroup) -> list[list[dict[str, object]]]:
    counted = [Answered(np.arange(n := one.due.instants.size), [], [pa.array(range(n))], [None]) for one in jobs]
    answered = [AnsweredJobs([one], given) for one, given in zip(jobs, counted)]
    made = answer_blocks(answered, lambda questions: [], lambda: 107)
    return [block.table.to_pylist() for block in made]


def times(answer: dict[str, object]) -> tuple[object, ...]:
    return tuple(answer[name] for name in ("released", "deadline", "answered", "on_time"))


def test_every_instant_has_its_own_release() -> None:
    (answers,) = blocks(job("hurried", [101, 102, 103]))
    assert [times(one) for one in answers] == [(101, 106, 107, False), (102, 107, 107, True), (103, 108, 107, True)]


def test_without_a_deadline_or_a_release_nothing_is_late() -> None:
    hurried, patient, replayed = blocks(job("hurried", [1, 1, 1]), job("patient", [2, 2, 2]), job("hurried", None))
    assert {times(one) for one in hurried} == {(1, 6, 107, False)}
    assert {times(one) for one in patient} == {(2, None, 107, None)}
    assert {times(one) for one in replayed} == {(None, None, None, None)}


def test_answers_of_a_query_are_one_block_by_instant_and_number() -> None:
    """Whatever stands between them in the pass; each has the deadline of its number."""
    jobs = [
        job("staged", [1, 2, 3], number=1), job("patient", [4, 5, 6], place=1), job("staged", [1, 2, 3]),
        job("hurried", [7, 8, 9], place=2),
    ]  # fmt: skip
    staged, patient, hurried = blocks(*jobs)
    assert [(one["at"], one["number"], one["rows"], one["released"], one["deadline"]) for one in staged] == [
        (at, number, [{"n": place}], place + 1, place + 1 + (100, 105)[number])
        for place, at in enumerate([10, 20, 30])
        for number in range(2)
    ]
    assert [one["on_time"] for one in staged] == [False, False, False, True, False, True]
    assert [(one["at"], one["number"], one["released"], one["deadline"]) for one in patient] == [
        (10, 0, 4, None), (20, 0, 5, None), (30, 0, 6, None),
    ]  # fmt: skip
    assert [(one["at"], one["number"], one["deadline"]) for one in hurried] == [(10, 0, 12), (20, 0, 13), (30, 0, 14)]


def test_a_job_has_one_number() -> None:
    """Queries that are answered as one are so for their first answers."""
    first, second = job("staged", None), job("staged", None, number=1)
    assert (first.readers(3).family, second.readers(3).family) == (first.asked.family, -4)
    assert first.asked.family is not None
    assert (first.job().number, second.job().number) == (0, 1)


def test_what_else_an_answer_says() -> None:
    (first,) = blocks(job("patient", None))
    assert [(one["number"], one["at"], one["from"], one["complete"]) for one in first] == [
        (0, 10, 0, False), (0, 20, 10, True), (0, 30, 20, True),
    ]
    assert {(one["basis"], one["quality"], one["kept"], one["error"]) for one in first} == {("exact", 1.0, 1.0, None)}
    assert [one["execution"] for one in first] == ["s/10us#1", "s/10us#2", "s/10us#3"]
