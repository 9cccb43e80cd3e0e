"""A kind that only the tests know runs from text to answers, and nothing in the source had to learn of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.estimate.known_costs import KnownCosts
from punctual.explain.sharing import explain_query
from punctual.kinds import registry
from punctual.kinds.program import compile_program, share
from punctual.plan.row_query import RowQuery
from punctual.ports.answers import AnswerBlock
from tests.inprocess.backend import InProcess
from tests.kinds import sample_of
from tests.kinds.sample_of import FACTOR, MODULUS, SampleOfKind

START = 1_800_000_000 * SECOND
PROGRAM = """
    CREATE STREAM s (t TIMESTAMP EVENT TIME, x BIGINT, lane INT) FROM FEED;
    CREATE QUERY few AS SELECT SAMPLE_OF(3, x) FROM s [RANGE 20 SECONDS] WHERE lane > 1 PERIOD 5 SECONDS;
    CREATE QUERY more AS SELECT SAMPLE_OF(7, x) FROM s [RANGE 10 SECONDS] WHERE lane > 1 FREQUENCY 3 SECONDS;
    CREATE QUERY others AS SELECT count(*) AS n FROM s [RANGE 20 SECONDS] WHERE lane > 1 PERIOD 5 SECONDS;
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, SampleOfKind()))


def answered(placement: str, rows: list[tuple[int, int, int]], live: bool) -> dict[str, list[dict[str, object]]]:
    blocks: list[AnswerBlock] = []
    options = {"placement": placement}
    clock = ManualClock(START + 100 * SECOND)
    with Engine(live=live, clock=clock, options=options, backend=lambda: InProcess(partitions=2)) as engine:
        engine.listen(blocks.extend)
        engine.sql(PROGRAM)
        engine.open()
        for part in (rows[:80], rows[80:]):
            engine.feed("s", [(iso(START + t), x, lane) for t, x, lane in part])
            engine.tick()
        engine.end()
    found: dict[str, list[dict[str, object]]] = {}
    for block in blocks:
        found.setdefault(block.query, []).extend(block.table.to_pylist())
    return found


@pytest.mark.parametrize(("placement", "live"), [("driver", False), ("cluster", False), ("driver", True)])
def test_it_answers_what_brute_force_finds(placement: str, live: bool) -> None:
    dice = random.Random(5)
    times = sorted(dice.sample(range(40 * SECOND), 160))
    rows = [(t, dice.randrange(100_000), dice.randrange(4)) for t in times]
    found = answered(placement, rows, live)
    for query, size, length in (("few", 3, 20), ("more", 7, 10)):
        assert len(found[query]) >= 7
        for answer in found[query]:
            at = answer["at"]
            assert isinstance(at, int)
            inside = [(t, x) for t, x, lane in rows if lane > 1 and at - length * SECOND < START + t <= at]
            best = sorted(inside, key=lambda row: (row[1] * FACTOR % MODULUS, row))[:size]
            assert answer["rows"] == [{"sample": x} for _t, x in best]
            assert (answer["basis"], answer["of"]) == ("sample", len(inside))
            assert answer["kept"] == len(best) / len(inside)
            assert (answer["released"] is None) == (not live)
    assert {answer["basis"] for answer in found["others"]} == {"exact"}


def test_samples_of_one_value_share_the_larger_ones_rows() -> None:
    catalog = compile_program(PROGRAM, base=".").catalog
    (unit,) = share(catalog.queries.values()).units
    assert [(one.kind, one.parameters) for one in unit.synopses] == [("rows", ()), ("world", (7, 1))]
    assert "sample 3 rows by hash" in explain_query(catalog, catalog.queries["few"], KnownCosts())


def test_what_is_wrong_has_its_place() -> None:
    text = PROGRAM.replace("SAMPLE_OF(3, x)", "SAMPLE_OF(x, x)").replace("SAMPLE_OF(7, x)", "SAMPLE_OF(7, y)")
    with pytest.raises(ProgramErrors) as refused:
        compile_program(text, base=".")
    assert [error.code for error in refused.value.errors] == ["bind.bad-argument", "bind.unknown-column"]


def test_it_takes_less_than_150_lines() -> None:
    assert len(Path(sample_of.__file__).read_text().splitlines()) < 150


def test_nobody_else_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    queries = compile_program(PROGRAM, base=".").catalog.queries.values()
    assert any(isinstance(query.body, RowQuery) for query in queries)  # Spark, too, has no such function
