"""Retained files merged into fewer: the same windows, without what no window reaches."""

from __future__ import annotations

import os
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.own_names import TIME
from punctual.runtime.operators import row_files
from punctual.runtime.operators.merge_rows import BEGINNING, LastRows, MergeRows, MergeWork, merged
from punctual.runtime.operators.window_rows import CountRows, RetainedFile, WindowOrder, window_rows
from punctual.store.products import CountedRows, Produced, RetainedRows, outputs, to_ipc
from tests.runtime.test_window_rows import ASKED, STORED, in_files, rows_of, stored


def retained_files(several: list[Produced]) -> tuple[RetainedFile, ...]:
    """What a commit would make of them."""
    found = []
    for one in several:
        assert isinstance(one.product, RetainedRows)
        assert isinstance(one.data, str)
        content = Path(one.data).read_bytes()
        times = one.table().column(TIME).to_pylist()
        assert (one.rows, one.product.least, one.product.greatest) == (len(times), min(times), max(times))
        size, ends = len(content), (one.product.least, one.product.greatest)
        found.append(RetainedFile(one.data, 0, size, *ends, zlib.crc32(content)))
    return tuple(found)


@pytest.mark.parametrize("seed", range(20))
def test_windows_are_the_same_after_a_merge(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    table = rows_of(rng, rng.randint(1, 80))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir(), after.mkdir()
    files = in_files(rng, before, table, rng.randint(1, 6))
    dropped = rng.randint(-1, 20)
    if seed % 2:
        monkeypatch.setattr(row_files, "FILE_BYTES", 700)
    several = list(merged(MergeWork("s", files, dropped, str(after))))
    found = retained_files(several)
    assert sum(one.rows for one in several) == sum(time > dropped for time in table.column(TIME).to_pylist())
    assert all(file.least > dropped for file in found)
    assert len(found) <= 1 or seed % 2
    for _turn in range(5):
        start = rng.randint(dropped, 30)
        window = start, start + rng.randint(0, 30)
        one, other = (window_rows(WindowOrder(some, *window), ASKED, "ts") for some in (files, found))
        assert to_ipc(one).to_pybytes() == to_ipc(other).to_pybytes()


def test_files_with_other_columns_stay_apart(tmp_path: Path) -> None:
    old = stored(tmp_path, pa.table({TIME: [1, 2], "n": [1, 2]}))
    new = stored(tmp_path, pa.table({TIME: [3], "k": ["x"], "n": [3]}))
    one, other = merged(MergeWork("s", (old, new), 1, str(tmp_path)))
    assert one.product == RetainedRows("s", 2, 2, columns=(TIME, "n"))
    assert other.product == RetainedRows("s", 3, 3, columns=(TIME, "k", "n"))
    assert one.table().to_pylist() == [{TIME: 2, "n": 2}]
    assert other.table().to_pylist() == [{TIME: 3, "n": 3, "k": "x"}]


def test_nothing_is_written_where_nothing_is_left(tmp_path: Path) -> None:
    file = stored(tmp_path, pa.table({TIME: [1, 2], "n": [1, 2]}))
    assert list(merged(MergeWork("s", (file,), 2, str(tmp_path)))) == []
    assert len(os.listdir(tmp_path)) == 1


def test_works_are_dealt_out_to_tasks(tmp_path: Path) -> None:
    works = tuple(
        MergeWork(name, (stored(tmp_path, pa.table({TIME: [number]})),), -1, str(tmp_path))
        for number, name in enumerate("abc")
    )
    operator = MergeRows(works, tasks=2)
    made = [outputs(pa.Table.from_batches(operator.run(None, task))) for task in range(2)]
    a, b, c = (RetainedRows(name, number, number, columns=(TIME,)) for number, name in enumerate("abc"))
    assert [[one.product for one in several] for several in made] == [[a, c], [b]]


@pytest.mark.parametrize("seed", range(40))
def test_windows_by_rows_are_the_same_after_a_merge(tmp_path: Path, seed: int) -> None:
    """At any instant that is not before the time through which rows were left out; windows by time beside them."""
    rng = random.Random(seed)
    table = rows_of(rng, rng.randint(1, 90))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir(), after.mkdir()
    files = in_files(rng, before, table, rng.randint(1, 6))
    dropped = rng.randint(-1, 20)
    columns = tuple(STORED.names)
    needs = tuple(
        LastRows(columns, tuple(rng.sample(("k", "x", "d", TIME), rng.randint(0, 2))), rng.choice((1, 2, 5)))
        for _need in range(rng.randint(1, 3))
    )
    several = list(merged(MergeWork("s", files, dropped, str(after), needs)))
    found = retained_files(several)
    young = sum(time > dropped for time in table.column(TIME).to_pylist())
    for one, file in zip(several, found):
        assert isinstance(one.product, RetainedRows)
        assert (file.greatest <= dropped, file.least > dropped) == (one.product.sifted, not one.product.sifted)
    past = [one.rows for one in several if isinstance(one.product, RetainedRows) and one.product.sifted]
    assert sum(one.rows for one in several) == young + sum(past)
    if all(not need.keys for need in needs) and past:  # those of one time as the last that is needed are all there
        times = sorted(time for time in table.column(TIME).to_pylist() if time <= dropped)
        least = times[-max(need.rows for need in needs) :][0]
        assert past == [sum(time >= least for time in times)]
    for need in needs:
        keys = tuple("ts" if key == TIME else key for key in need.keys)
        for at in (dropped, rng.randint(dropped, 30), 30):
            orders = [WindowOrder(some, BEGINNING, at, rng.randint(1, need.rows), keys) for some in (files, found)]
            one, other = (window_rows(replace(order, rows=orders[0].rows), ASKED, "ts") for order in orders)
            assert to_ipc(one).to_pybytes() == to_ipc(other).to_pybytes()
    one, other = (window_rows(WindowOrder(some, dropped, 30), ASKED, "ts") for some in (files, found))
    assert to_ipc(one).to_pybytes() == to_ipc(other).to_pybytes()


def test_rows_that_lack_a_column_of_a_window_do_not_count_for_it(tmp_path: Path) -> None:
    old = stored(tmp_path, pa.table({TIME: [1, 2, 9], "n": [1, 2, 9]}))
    new = stored(tmp_path, pa.table({TIME: [3, 4], "k": ["x", "x"], "n": [3, 4]}))
    newest, both = LastRows((TIME, "n"), (), 1), LastRows((TIME, "k", "n"), ("k",), 1)
    one, other = merged(MergeWork("s", (old, new), 9, str(tmp_path), (newest, both)))
    assert one.table().column("n").to_pylist() == [9]
    assert other.table().column("n").to_pylist() == [4]


def test_counting_rows(tmp_path: Path) -> None:
    files = tuple(stored(tmp_path, pa.table({TIME: times})) for times in ([1, 5, 9], [2, 3], [7]))
    windows = tuple(WindowOrder(files, after, through) for after, through in ((0, 9), (2, 7), (9, 20), (-5, 1)))
    counted = outputs(pa.Table.from_batches(CountRows(windows).run(None, 0)))
    assert [(one.product, one.rows) for one in counted] == [
        (CountedRows(number), rows) for number, rows in enumerate((6, 3, 0, 1))
    ]
