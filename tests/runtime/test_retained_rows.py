"""Rows that a tick retains: by which branch, which rows and columns, and in how many files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.engine.batch.batch_products import gather
from punctual.own_names import TIME
from punctual.runtime.lower import Branch
from punctual.runtime.operators import row_files
from punctual.store.products import OUTPUT, Cells, Facts, Produced, RetainedRows, output
from tests.inprocess.backend import InProcess
from tests.runtime.retaining import DERIVED, DERIVED_TIME, PLAIN, SUM, branches_of, compiled, ticked, write

ALL = ("k", "x", "n", "price", "day", "seen")
SECOND = 1_000_000


@pytest.fixture
def backend() -> Iterator[InProcess]:
    found = InProcess(partitions=3, seed=5)
    yield found
    found.close()


def shape(branch: Branch) -> tuple[bool, bool, int, object]:
    retained = branch.retain.columns if branch.retain else None
    return branch.counted, branch.direct is not None, len(branch.units), retained


def rows_of(found: list[Produced]) -> list[dict[str, object]]:
    kept = [one.table() for one in found if isinstance(one.product, RetainedRows)]
    return sorted(pa.concat_tables(kept).to_pylist(), key=lambda row: (row[TIME], row["n"]))


def test_one_branch_more_where_rows_are_retained(tmp_path: Path) -> None:
    k, both = (("r0", "k"),), (("r0", "k"), ("r1", "twice"))
    plain, derived, by_time = (compiled(text, tmp_path) for text in (PLAIN, DERIVED, DERIVED_TIME))
    united = compiled(PLAIN + SUM, tmp_path)
    by_spark = compiled(PLAIN + SUM.replace("sum(x)", "sum(x + 1)"), tmp_path)
    assert [shape(one) for one in branches_of(plain, ())] == [(True, True, 0, None)]
    assert [shape(one) for one in branches_of(plain, ("k",))] == [(True, True, 0, k)]
    assert [shape(one) for one in branches_of(plain, ("ts", "k"))] == [(True, True, 0, k)]
    assert [shape(one) for one in branches_of(plain, ("ts",))] == [(True, True, 0, ())]
    assert [shape(one) for one in branches_of(derived, ("k", "twice"))] == [(True, False, 0, both)]
    assert [shape(one) for one in branches_of(derived, ("k",))] == [(True, True, 0, k)]
    assert [shape(one) for one in branches_of(by_time, ("n",))] == [(True, False, 0, (("r0", "n"),))]
    assert [shape(one) for one in branches_of(united, ("k",))] == [(True, True, 1, None), (False, True, 0, k)]
    assert [shape(one) for one in branches_of(by_spark, ("k",))] == [(True, False, 1, None), (False, True, 0, k)]


@pytest.mark.parametrize("text", [PLAIN, PLAIN + SUM, DERIVED, DERIVED + SUM])
def test_accepted_rows_are_retained_as_they_are(tmp_path: Path, backend: InProcess, text: str) -> None:
    program = compiled(text, tmp_path)
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    write(tmp_path, "a.json", [
        {"ts": "2026-01-01T00:00:01Z", "k": "a", "x": 1.5, "n": 1, "price": "1.25", "day": "2024-02-29",
         "seen": "1969-12-31T23:59:59.999999Z"},
        {"ts": "2026-01-01T00:00:02Z", "n": 2},
        {"ts": "2026-01-01T00:00:00Z", "k": "late", "n": 3},
        {"k": "no time", "n": 4},
        {"ts": "2026-01-01T00:00:05Z", "n": "none"},
    ])  # fmt: skip
    write(tmp_path, "b.json", [{"ts": "2026-01-01T00:00:02Z", "k": "ä", "x": "NaN", "n": 9, "price": -7}])
    names = (*ALL, "ts") if text.startswith(PLAIN) else (*ALL, "ts", "twice")
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * SECOND
    found = ticked(backend.tick, program, branches_of(program, names), incoming, through=start)
    rows = rows_of(found)
    facts = reduce(Facts.plus, (one.product for one in found if isinstance(one.product, Facts)))
    assert (facts.accepted, facts.late, facts.dead) == (3, 1, 2)
    assert any(isinstance(one.product, Cells) for one in found) == (SUM in text)
    seen = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert math.isnan(rows[2].pop("x"))  # type: ignore[arg-type]
    expected: list[dict[str, object]] = [
        {TIME: start + SECOND, "k": "a", "x": 1.5, "n": 1, "price": Decimal("1.25"), "day": date(2024, 2, 29),
         "seen": seen, "twice": 2},
        {TIME: start + 2 * SECOND, "k": None, "x": None, "n": 2, "price": None, "day": None, "seen": None, "twice": 4},
        {TIME: start + 2 * SECOND, "k": "ä", "n": 9, "price": Decimal("-7.00"), "day": None, "seen": None, "twice": 18},
    ]  # fmt: skip
    kept = {TIME, *names}
    assert rows == [{name: value for name, value in row.items() if name in kept} for row in expected]
    for one in found:
        if isinstance(one.product, RetainedRows):
            times, columns = one.table().column(TIME).to_pylist(), tuple(one.table().column_names)
            assert one.product == RetainedRows("s", min(times), max(times), columns=columns)
            assert (one.rows, os.path.dirname(str(one.data))) == (len(times), str(incoming))


def test_a_derived_event_time(tmp_path: Path, backend: InProcess) -> None:
    program = compiled(DERIVED_TIME, tmp_path)
    write(tmp_path, "a.json", [{"us": 5, "n": 1}, {"us": 7, "n": 2}, {"n": 3}])
    found = ticked(backend.tick, program, branches_of(program, ("ts", "n")), tmp_path)
    assert rows_of(found) == [{TIME: 5, "n": 1}, {TIME: 7, "n": 2}]


def test_nothing_is_retained_without_a_folder_or_rows(tmp_path: Path, backend: InProcess) -> None:
    program = compiled(PLAIN, tmp_path)
    write(tmp_path, "a.json", [{"ts": "2026-01-01T00:00:01Z", "n": 1}])
    several = branches_of(program, ("n",))
    assert [type(one.product) for one in ticked(backend.tick, program, several, None)] == [Facts] * 3
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    assert not any(
        isinstance(one.product, RetainedRows)
        for one in ticked(backend.tick, program, several, incoming, through=2**61)
    )
    assert os.listdir(incoming) == []


def test_many_rows_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "FILE_BYTES", 10_000)
    files = row_files.RowFiles("s", str(tmp_path))
    written = []
    for start in range(0, 10_000, 1_000):  # 16 KB each: written as they come
        files.add(pa.table({TIME: range(start, start + 1_000), "n": range(1_000)}))
        written.append(len(os.listdir(tmp_path)))
    assert written == list(range(2, 22, 2))
    files.add(pa.table({TIME: [5], "n": [5]}))
    found = list(files.products())
    assert [one.rows for one in found] == [500] * 20 + [1]
    columns = (TIME, "n")
    expected = [RetainedRows("s", first, first + 499, columns=columns) for first in (0, 500)]
    assert [one.product for one in found[:2]] == expected
    assert found[-1].product == RetainedRows("s", 5, 5, columns=columns)
    assert max(os.path.getsize(tmp_path / name) for name in os.listdir(tmp_path)) < 12_000
    times = [time for one in found for time in one.table().column(TIME).to_pylist()]
    assert times == [*range(10_000), 5]


def test_retained_rows_are_sections_of_their_own() -> None:
    rows = [Produced(RetainedRows("s", n, n), 1, f"/incoming/{n}") for n in range(2)]
    table = pa.Table.from_batches([output(one) for one in [*rows, Produced(Facts("s", 2))]], OUTPUT)
    reduced = gather(table, {}, 3)
    assert [(one.product, one.rows, one.data) for one in reduced.sections] == [
        (one.product, one.rows, one.data) for one in rows
    ]
    assert reduced.facts == {"s": Facts("s", 2)}
