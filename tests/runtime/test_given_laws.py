"""Distributions that rows give: which rows count, on the direct way and on the one that Spark projects."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from punctual.kernel.draw.given_parameters import faulty_parameters
from punctual.kinds.program import compile_program
from punctual.kinds.registry import needs_of
from punctual.own_names import WHY
from punctual.plan.relation import Stream
from punctual.runtime.given_law_rules import given_laws
from punctual.runtime.operators.direct import DirectStream
from punctual.runtime.operators.order import StreamOrder
from punctual.runtime.operators.verdict import Meanings, dead_rows, judge
from punctual.runtime.ways import times_declared, why_catalyst
from punctual.scan.arrow_block import ArrowBlock
from punctual.scan.open_part import Reading
from punctual.share.units import share_units
from tests.inprocess.backend import InProcess
from tests.runtime import given_rows
from tests.runtime.given_rows import DERIVED, LAWS, LISTS, NUMBER_LAWS, NUMBERS, START, Row

ALL = StreamOrder(earliest=0, horizon=2 * START, complete_through=0)


def stream(columns: str) -> Stream:
    return compile_program(f"CREATE STREAM s ({columns}) FROM FEED;", base="/").catalog.streams["s"]


def judged(rows: list[Row], meanings: Meanings, order: StreamOrder = ALL) -> list[str | None]:
    """The reason of every row."""
    columns = given_rows.arrays(rows) | {"p": pa.array([row.get("p") for row in rows], pa.float64())}
    verdict = judge(ArrowBlock(len(rows), columns.__getitem__), meanings, order)
    if verdict.broken is None:
        return [None] * len(rows)
    return [meanings.reasons[rule] if rule else None for rule in verdict.broken.tolist()]


@pytest.mark.parametrize("seed", range(10))
def test_the_first_broken_rule_is_the_reason(seed: int) -> None:
    meanings = Meanings("t", None, given_laws(stream(LISTS)))
    rows = given_rows.drawn(seed, 400)
    assert judged(rows, meanings) == [given_rows.reason(row, LAWS) for row in rows]


def test_every_odd_pair_of_parameters() -> None:
    meanings = Meanings("t", None, given_laws(stream(LISTS)))
    rows = given_rows.every_pair()
    assert judged(rows, meanings) == [given_rows.reason(row, LAWS) for row in rows]
    assert judged([], meanings) == []


def test_slices_of_lists_are_judged_alike() -> None:
    """Arrow's offsets of a slice do not begin at 0."""
    columns = given_rows.arrays(given_rows.every_pair())
    values, weights = columns["xs"], columns["ns"]
    whole = faulty_parameters("DISCRETE", values, weights).tolist()
    assert faulty_parameters("DISCRETE", values.slice(7), weights.slice(7)).tolist() == whole[7:]


def test_parameters_are_asked_after_the_probability_and_before_the_time() -> None:
    meanings = Meanings("t", "p", given_laws(stream(NUMBERS)))
    (row,) = (row for row in given_rows.every_pair() if row["a"] == 0.0 and row["a_sd"] == -0.25)
    rows = [row | {"t": t, "p": p} for t in (None, -1, START, 3 * START) for p in (None, 2.0, 1.0)]
    order = StreamOrder(earliest=0, horizon=2 * START, complete_through=START)
    missing, early, far = "missing event time", "event time before earliest", "event time too far ahead"
    assert judged(rows, meanings, order) == [
        missing, missing, missing, early, early, early,
        "missing probability", "probability outside [0, 1]", "bad parameter of a", far, far, far,
    ]
    good = row | {"t": START, "a_sd": 0.25, "p": 1.0}
    assert judged([good], meanings, order) == ["late"]


def test_a_dead_row_is_shown_as_it_was_read() -> None:
    meanings = Meanings("t", None, given_laws(stream(NUMBERS)))
    (row,) = (row for row in given_rows.every_pair() if row["a"] == 0.0 and row["a_sd"] == -0.25)
    block = ArrowBlock(1, given_rows.arrays([row]).__getitem__)
    (dead,) = dead_rows(block, judge(block, meanings, ALL), meanings, (("a_sd", "FLOAT"),), "here").to_pylist()
    assert (dead[WHY], [value for value in dead.values() if value == '{"a_sd":-0.25}']) == (
        "bad parameter of a", ['{"a_sd":-0.25}'],
    )


def test_the_direct_way_reads_parameters_that_no_query_names() -> None:
    meanings = Meanings("t", None, given_laws(stream(NUMBERS)))
    reading = Reading((("t", "TIMESTAMP"), ("id", "INT")))
    assert DirectStream("s", reading, meanings, ()).needed == {"t", "a", "a_sd", "lo", "hi"}


@pytest.mark.parametrize("columns", [NUMBERS, DERIVED], ids=["direct", "projected"])
def test_what_is_not_in_the_rows_leaves_them_in_their_order(tmp_path: Path, columns: str) -> None:
    """Rows of one time are ordered by all columns: one that is NULL in all of them keeps nobody from the direct way."""
    program = compile_program(
        f"CREATE STREAM s ({columns}) FROM FEED;"
        "CREATE QUERY q AS SELECT last(id) AS id FROM s [RANGE 1 SECOND] PERIOD 1 SECOND;", base="/",
    )
    plan = share_units([(query, needs_of(query)) for query in program.catalog.queries.values()])
    (unit,) = plan.units
    why = why_catalyst(unit, program.catalog.streams, program.catalog.tables)
    assert (why is None) == (columns == NUMBERS), why
    good = given_rows.every_pair()[0] | {"a": 1.0, "a_sd": 1.0}
    assert given_rows.reason(good, NUMBER_LAWS) is None
    rows = [good | {"id": number, "t": START + 5} for number in (3, 9, 4)]
    assert given_rows.answered(tmp_path, columns, rows, InProcess(2, 1), "last(id)") == 9


@pytest.mark.parametrize(("columns", "direct"), [(NUMBERS, True), (DERIVED, False)], ids=["direct", "projected"])
def test_through_the_engine(tmp_path: Path, columns: str, direct: bool) -> None:
    assert times_declared(stream(columns)) == direct
    rows = [*given_rows.every_pair(), *(row | {"id": row["id"] + 1000} for row in given_rows.drawn(3, 300))]
    given_rows.check(tmp_path, columns, rows, InProcess(3, 1))
