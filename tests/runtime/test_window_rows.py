"""Windows of retained rows: the rows that they should have, and the same bytes whatever files these are in."""

from __future__ import annotations

import math
import random
import zlib
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.errors import InternalError, StateError
from punctual.own_names import TIME
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder, window_rows
from punctual.store.products import to_ipc

STAMP = pa.timestamp("us", tz="UTC")
STORED = pa.schema([
    (TIME, pa.int64()), ("k", pa.string()), ("x", pa.float64()), ("n", pa.int32()), ("d", pa.decimal128(20, 2)),
    ("other", STAMP), ("tags", pa.list_(pa.string())),
])  # fmt: skip
ASKED = [*((field.name, field.type) for field in list(STORED)[1:]), ("ts", STAMP)]
VALUES: dict[str, list[Any]] = {
    "k": ["", "a", "ä", None], "x": [0.0, -0.0, math.nan, 1.5, None], "n": [1, 2, None],
    "d": [Decimal("1.50"), Decimal("-123456789012345678.00"), None], "other": [0, 7, None],
    "tags": [[], ["a"], ["a", None], None],
}  # fmt: skip


def rows_of(rng: random.Random, count: int) -> pa.Table:
    columns = {TIME: [rng.randint(0, 30) for _ in range(count)]}
    columns |= {name: [rng.choice(values) for _ in range(count)] for name, values in VALUES.items()}
    return pa.table(columns, schema=STORED)


def stored(folder: Path, table: pa.Table, batches: int = 1, before: int = 0) -> RetainedFile:
    """The table as a section of a file, after some other bytes."""
    step = max(1, -(-table.num_rows // batches))
    cut = pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=step), table.schema)
    data = to_ipc(cut).to_pybytes()
    path = folder / f"{len(list(folder.iterdir())):032x}.arrow"
    path.write_bytes(bytes(before) + data)
    times = table.column(TIME).to_pylist()
    return RetainedFile(str(path), before, len(data), min(times), max(times), zlib.crc32(data))


def in_files(rng: random.Random, folder: Path, table: pa.Table, files: int) -> tuple[RetainedFile, ...]:
    """The rows dealt out to files in any order."""
    dealt = [rng.randrange(files) for _ in range(table.num_rows)]
    found = []
    for number in range(files):
        chosen = [row for row, file in enumerate(dealt) if file == number]
        rng.shuffle(chosen)
        if chosen:
            found.append(stored(folder, table.take(chosen), rng.randint(1, 3), 8 * rng.randint(0, 2)))
    rng.shuffle(found)
    return tuple(found)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_rows_give_the_same_bytes(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    table = rows_of(rng, rng.randint(1, 60))
    after = rng.randint(-5, 20)
    through = after + rng.randint(0, 25)
    asked = rng.sample(ASKED, rng.randint(1, len(ASKED)))
    ways = [in_files(rng, tmp_path, table, files) for files in (1, 2, 5)]
    found = [window_rows(WindowOrder(files, after, through), asked, "ts") for files in ways]
    assert found[0].schema == pa.schema(asked)
    assert len({to_ipc(one).to_pybytes() for one in found}) == 1
    wanted = [row for row in table.to_pylist() if after < row[TIME] <= through]
    times = pa.array([row[TIME] for row in wanted], STAMP).to_pylist()
    expected = [tuple(repr({**row, "ts": time}[name]) for name, _type in asked) for row, time in zip(wanted, times)]
    assert sorted(tuple(map(repr, row.values())) for row in found[0].to_pylist()) == sorted(expected)


@pytest.mark.parametrize("seed", range(40))
def test_the_last_rows_of_a_window(tmp_path: Path, seed: int) -> None:
    """By time, then by the columns from the first on: NULL first, NaN last. The same bytes whatever the files."""
    rng = random.Random(seed)
    table = rows_of(rng, rng.randint(1, 60))
    asked = [("k", pa.string()), ("x", pa.float64()), ("n", pa.int32()), ("ts", STAMP)]
    through, most = rng.randint(0, 30), rng.choice((1, 2, 7, 100))
    keys = tuple(rng.sample(("k", "n", "x", "ts"), rng.randint(0, 2)))
    ways = [in_files(rng, tmp_path, table, files) for files in (1, 2, 5)]
    found = [window_rows(WindowOrder(files, -1, through, most, keys), asked, "ts") for files in ways]
    assert len({to_ipc(one).to_pybytes() for one in found}) == 1

    def place(value: Any) -> tuple[Any, ...]:
        if value is None:
            return (0,)
        return (2,) if value != value else (1, value + 0.0 if isinstance(value, float) else value)

    rows = [row for row in table.to_pylist() if row[TIME] <= through]
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row[TIME], *(place(row[name]) for name in "kxn"))):
        by_key.setdefault(tuple(place(row[TIME if key == "ts" else key]) for key in keys), []).append(row)
    wanted = [row for several in by_key.values() for row in several[-most:]]
    shown = [tuple(place(row[name]) for name in "kxn") for row in found[0].to_pylist()]
    assert sorted(shown) == sorted(tuple(place(row[name]) for name in "kxn") for row in wanted)


def test_rows_are_in_no_order_of_time_or_file(tmp_path: Path) -> None:
    """A query whose answer depends on the order of its rows should not seem to work."""
    table = pa.table({TIME: list(range(1000)), "n": list(range(1000))})
    found = window_rows(WindowOrder((stored(tmp_path, table),), -1, 999), [("n", pa.int64())], "ts")
    numbers = found.column("n").to_pylist()
    assert sorted(numbers) == list(range(1000))
    assert sum(a < b for a, b in pairwise(numbers)) < 600


def test_rows_of_an_older_file_that_lacks_a_column_are_left_out(tmp_path: Path) -> None:
    old = stored(tmp_path, pa.table({TIME: [1, 2], "n": [1, 2]}))
    new = stored(tmp_path, pa.table({TIME: [3], "n": [3], "k": ["x"], "never": [0]}))
    asked = [("k", pa.string()), ("n", pa.int64())]
    found = window_rows(WindowOrder((old, new), 0, 3), asked, "ts")
    assert found.column_names == ["k", "n"]
    assert found.to_pylist() == [{"k": "x", "n": 3}]


def test_columns_have_the_types_that_are_asked_for(tmp_path: Path) -> None:
    other_zone = pa.array([5], pa.timestamp("us", tz="Etc/UTC"))
    file = stored(tmp_path, pa.table({TIME: [1], "n": pa.array([7], pa.int32()), "t": other_zone}))
    asked = [("t", STAMP), ("ts", STAMP), ("n", pa.int64())]
    found = window_rows(WindowOrder((file,), 0, 1), asked, "ts")
    assert found.schema == pa.schema(asked)
    assert [column.cast(pa.int64()).to_pylist() for column in found.columns] == [[5], [1], [7]]


def test_a_window_without_rows(tmp_path: Path) -> None:
    file = stored(tmp_path, pa.table({TIME: [1, 9], "n": [1, 9]}))
    asked = [("n", pa.int64()), ("k", pa.string())]
    for files, after, through in (((), 0, 9), ((file,), 1, 8), ((file,), 9, 20), ((file,), -5, 0)):
        found = window_rows(WindowOrder(files, after, through), asked, "ts")
        assert (found.num_rows, found.schema) == (0, pa.schema(asked))
    with pytest.raises(InternalError):
        window_rows(WindowOrder((file,), 0, 9), [], "ts")


@pytest.mark.parametrize("harm", ["missing", "short", "changed", "no stream", "no time"])
def test_a_damaged_file_is_named(tmp_path: Path, harm: str) -> None:
    good = stored(tmp_path, pa.table({TIME: [1], "n": [1]}))
    bad = stored(tmp_path, pa.table({TIME: [2], "n": [2]}))
    path = Path(bad.path)
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "short":
        path.write_bytes(content[:-1])
    elif harm == "changed":
        at = content.index((2).to_bytes(8, "little"))
        path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    elif harm == "no stream":
        path.write_bytes(b"?" * len(content))
        bad = RetainedFile(bad.path, 0, len(content), 2, 2)
    else:
        data = to_ipc(pa.table({"n": [2]})).to_pybytes()
        path.write_bytes(data)
        bad = RetainedFile(bad.path, 0, len(data), 2, 2)
    with pytest.raises(StateError) as told:
        window_rows(WindowOrder((good, bad), 0, 2), [("n", pa.int64())], "ts")
    assert told.value.code == "state.corrupt"
    assert bad.path in told.value.fact


def test_a_sample_by_key_keeps_rows_of_a_key_together(tmp_path: Path) -> None:
    """About the part that is asked for, the same keys in two windows, and whole keys or nothing of them."""
    from_keys = {}
    for name, count in (("a", 30_000), ("b", 20_000)):
        keys = pa.array([number % 1_000 for number in range(count)], pa.int32())
        other = pa.array(range(count), pa.int64())
        table = pa.table({TIME: pa.array([5] * count, pa.int64()), "k": keys, "x": other})
        data = to_ipc(table).to_pybytes()
        (tmp_path / name).write_bytes(data)
        file = RetainedFile(str(tmp_path / name), 0, len(data), 5, 5)
        columns = [("k", pa.int32()), ("x", pa.int64())]
        keyed = window_rows(WindowOrder((file,), 0, 9, sample=0.1, sample_by=("k",)), columns, "t")
        plain = window_rows(WindowOrder((file,), 0, 9, sample=0.1), columns, "t")
        from_keys[name] = set(keyed.column("k").to_pylist())
        assert 0.06 < len(from_keys[name]) / 1_000 < 0.14
        assert keyed.num_rows == len(from_keys[name]) * count // 1_000
        assert 0.085 < plain.num_rows / count < 0.115
        assert window_rows(WindowOrder((file,), 0, 9, sample_by=("k",)), columns, "t").num_rows == count
    assert from_keys["a"] == from_keys["b"]
