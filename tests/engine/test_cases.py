"""Every run case: by the reference, and by the engine in process, in several ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from punctual.catalog import Catalog
from punctual.engine import engine
from punctual.kinds.program import compile_program
from punctual.sql.program import Program
from tests.cqt.accept import main as accept
from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA, Play
from tests.cqt.play_reference import play_reference
from tests.cqt.running import run_case
from tests.cqt.ways import Together, Way
from tests.inprocess.backend import InProcess
from tests.reference.statements import Query, RowText, Stream, Table, read_statement

CASES = read_cases(DATA / "run")
LANGUAGE = [case for case in read_cases(DATA / "language") if case.headers.get("needs") != "spark"]


def fits(case: Case, way: Way) -> bool:
    """Queries that are kept apart find nothing of the past in each other's panes."""
    return not (way.options.get("sharing") == "off" and "covered" in case.headers)


WAYS = (
    Way("straight", InProcess),
    Way("three partitions, queries apart", partial(InProcess, partitions=3, seed=1), {"sharing": "off"}),
    Way("on shards, resumed at every step", InProcess, {"placement": "cluster"}, resume=True),
    Way("every window a walk", InProcess, {"window_merge": "scan"}),
    Way("every window from rows", InProcess, {"window_merge": "rows"}),
    Way(
        "from rows of three partitions, resumed at every step",
        partial(InProcess, partitions=3, seed=1),
        {"window_merge": "rows", "placement": "cluster"},
        resume=True,
    ),
)
TOGETHER = {way.name: Together([case for case in CASES if fits(case, way)], way) for way in WAYS}
RUNS = [(case, name) for name, together in TOGETHER.items() for case in together.cases]


@pytest.fixture(autouse=True, scope="module")
def compiled_once() -> Iterator[None]:
    """A program that is resumed at every step is the same text each time: it is compiled once."""
    known: dict[str, Program] = {}

    def compile_once(text: str, catalog: Catalog, *, base: str) -> Program:
        if catalog.streams or catalog.tables:
            return compile_program(text, catalog, base=base)
        if text not in known:
            known[text] = compile_program(text, catalog, base=base)
        return known[text]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "compile_program", compile_once)
        yield


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference(case: Case) -> None:
    play_reference(Play(case))


@pytest.mark.parametrize(("case", "way"), RUNS, ids=lambda one: one if isinstance(one, str) else one.name)
def test_engine(case: Case, way: str) -> None:
    TOGETHER[way].check(case)


@pytest.mark.parametrize("case", LANGUAGE, ids=lambda case: case.name)
def test_language(case: Case) -> None:
    run_case(case, InProcess)


@pytest.mark.parametrize("way", TOGETHER)
def test_one_program_of_all_cases(way: str) -> None:
    TOGETHER[way].check_program()


def test_names_can_be_prefixed() -> None:
    """In one program with others a case's relations and queries get a prefix: no column may be called like one."""
    for case in CASES:
        texts = [block.text for block in case.blocks if block.words[:2] == ("statement", "ok")]
        declared = [read_statement(text, DATA, case.row_queries) for text in texts]
        names = {d.name for d in declared if isinstance(d, Stream | Table | Query | RowText)}
        columns = {c.name for d in declared if isinstance(d, Stream | Table) for c in d.columns}
        assert not names & columns, case.name


def test_expectations_are_not_rewritten_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    assert accept([]) == 1
