"""Files of the ledger: whole or not there, also when the process dies at any step; old ones go, damage is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from punctual.errors import StateError
from punctual.store.ledger import SCHEMA
from punctual.store.store import Store
from tests.store.dying import Crash, DyingFiles
from tests.store.story import STATE
from tests.store.test_store import opened

FILES = 4
MINUTE = 60_000_000


def records(number: int) -> pa.Table:
    return pa.Table.from_pylist([{"record": "tick", "batch": 10 * number + place} for place in range(3)], SCHEMA)


def batches(store: Store) -> list[int]:
    return [batch for table in store.ledger.read(store.ledger.names()) for batch in table.column("batch").to_pylist()]


def live(files: DyingFiles) -> None:
    """Seal what is missing, up to the end, and forget the first."""
    store = Store.open(STATE, files, identity="c0ffee", shards=4)
    sealed = batches(store)
    for number in range(1 + max(sealed, default=-10) // 10, FILES):
        store.ledger.seal(records(number), number * MINUTE)
    store.ledger.trim(MINUTE)
    store.close()


def test_dead_at_every_step_files_are_whole_or_not_there() -> None:
    whole = DyingFiles()
    live(whole)
    every = [10 * number + place for number in range(FILES) for place in range(3)]
    expected = every[3:]
    torn = 0
    for step in range(1, whole.steps + 1):
        files = DyingFiles(die_at=step)
        with pytest.raises(Crash):
            live(files)
        for disk in files.after_crash():
            live(disk)
            store = Store.open(STATE, disk, fresh=False)
            found = batches(store)
            assert found[-len(expected) :] == expected, f"step {step}"
            assert set(found) <= set(every)
            assert not [name for name in disk.listing(f"{STATE}/ledger") if name.endswith(".tmp")]
            torn += 1
    assert torn > 60


def test_a_full_disk_is_said_and_leaves_no_half_file() -> None:
    whole = DyingFiles()
    live(whole)
    first = next(step for step, path in enumerate(whole.paths, start=1) if path.endswith(".parquet.tmp"))
    files = DyingFiles(full_at=first)
    with pytest.raises(StateError) as told:
        live(files)
    assert told.value.code == "state.disk-full"
    live(files)
    assert batches(Store.open(STATE, files, fresh=False)) == batches(Store.open(STATE, whole, fresh=False))


def test_names_say_how_old_files_are(tmp_path: Path) -> None:
    store = opened(tmp_path, shards=4)
    for number in range(FILES):
        store.ledger.seal(records(number), number * MINUTE)
    names = store.ledger.names()
    assert [name[:33] for name in names] == [f"{n:012d}-{n * MINUTE:020d}" for n in range(FILES)]
    assert store.ledger.since(2 * MINUTE) == names[2:]
    store.ledger.trim(2 * MINUTE)
    assert store.ledger.names() == names[2:]
    assert list(store.ledger.read(names[:2])) == [], "what was removed meanwhile has no records"
    store.ledger.seal(records(9), 9 * MINUTE)
    assert store.ledger.names()[-1].startswith(f"{FILES:012d}"), "numbers go on"


def test_a_damaged_file_is_named_and_stops_no_run(tmp_path: Path) -> None:
    store = opened(tmp_path, shards=4)
    store.ledger.seal(records(0), 0)
    store.close()
    (path,) = (tmp_path / "ledger").iterdir()
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 1
    path.write_bytes(text)
    store = opened(tmp_path)
    store.ledger.seal(records(1), 1)
    with pytest.raises(StateError) as told:
        batches(store)
    assert told.value.code == "state.corrupt"
    assert str(path) in told.value.fact
