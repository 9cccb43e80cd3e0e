"""Cases whose options decide when queries answer: by the reference, and by the engine, each a program of its own.

An option holds for a whole program, so these cannot run together with the others. Their header ``# instants:`` says by
hand what the plan must be; the reference says what each answer holds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA, Play
from tests.cqt.play_reference import planned, play_reference
from tests.cqt.running import run_case
from tests.cqt.ways import Way
from tests.inprocess.backend import InProcess

CASES = read_cases(DATA / "planned")
WAYS = (
    Way("straight", InProcess),
    Way("three partitions", partial(InProcess, partitions=3, seed=1)),
    Way("on shards, resumed at every step", InProcess, {"placement": "cluster"}, resume=True),
    Way("every window a walk", InProcess, {"window_merge": "scan"}),
    Way("every window from rows", InProcess, {"window_merge": "rows"}),
    Way("from rows, resumed at every step", partial(InProcess, partitions=3, seed=1), {"window_merge": "rows"}, True),
)
SOONER = (("34s  false", "34s  true "), ("39s  false", "39s  true "))
"""Rows cover more windows of a query that was added than panes: they are cut nowhere."""


def as_covered(case: Case, way: Way) -> Case:
    """The case with what is complete when it is answered this way."""
    if case.name != "query_added" or way.options.get("window_merge") != "rows":
        return case
    blocks = []
    for block in case.blocks:
        body = block.body
        for panes, rows in SOONER:
            body = tuple(line.replace(panes, rows) for line in body)
        blocks.append(replace(block, body=body))
    assert blocks != list(case.blocks)
    return replace(case, blocks=tuple(blocks))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference(case: Case) -> None:
    play_reference(Play(case))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engine(case: Case, way: Way) -> None:
    run_case(as_covered(case, way), way.backend, resume=way.resume, options=way.options)


def test_instants_beyond_a_bound_are_not_believed() -> None:
    """The reference refuses a case that states what no plan may do."""
    case = next(case for case in CASES if case.name == "exact")
    late = {"instants": case.headers["instants"].replace("2s 4s 5s of 5s", "4s 5s of 5s")}
    assert late != {"instants": case.headers["instants"]}
    with pytest.raises(AssertionError, match="beyond its bound"):
        play_reference(Play(Case(case.name, case.path, {**case.headers, **late}, case.blocks, case.lines)))


def test_every_header_is_read() -> None:
    assert all(planned(case) for case in CASES)
