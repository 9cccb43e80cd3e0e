"""Retained files merged into fewer: the same windows, without what no window reaches."""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.own_names import TIME
from punctual.runtime.operators import row_files
from punctual.runtime.operators.merge_rows import MergeRows, MergeWork, merged
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder, window_rows
from punctual.store.products import Produced, RetainedRows, outputs, to_ipc
from tests.runtime.test_window_rows import ASKED, in_files, rows_of, stored


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
    assert (one.product, other.product) == (RetainedRows("s", 2, 2), RetainedRows("s", 3, 3))
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
    assert [[one.product for one in several] for several in made] == [
        [RetainedRows("a", 0, 0), RetainedRows("c", 2, 2)], [RetainedRows("b", 1, 1)]
    ]
