"""Files of replaced batches that a base goes on naming: never copied or read, there while named, gone afterwards."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from punctual.errors import StateError
from punctual.ports.storage import PosixFiles
from punctual.store.products import Cells, Produced, RetainedRows
from punctual.store.store import Store
from tests.store.dying import Crash, DyingFiles
from tests.store.story import STATE, settled

BATCHES = 5


def rows_of(batch: int) -> RetainedRows:
    return RetainedRows("s", batch, batch)


def path_of(batch: int) -> str:
    return f"{STATE}/incoming/{batch:012d}/{batch:032x}.arrow"


def live(files: DyingFiles) -> None:
    """Every batch retains a file. After batches 1, 2 and 3 come rebases, which carry the files of the last two batches
    that they replace: the second one carries what the first one carried."""
    store = Store.open(STATE, files, identity="c0ffee")
    check(store)
    while True:
        through = store.next_batch() - 1
        base = store.base()
        if 1 <= through <= 3 and (base is None or base.batch < through):
            kept = [Produced(rows_of(batch), 1, path_of(batch)) for batch in range(through - 1, through + 1)]
            store.rebase(through, {}, [Produced(Cells("u"), 1, b"%d" % through), *kept])
            check(store)
        elif through + 1 < BATCHES:
            batch = through + 1
            store.incoming(batch)
            files.write_new(path_of(batch), [b"rows of %d" % batch])
            store.commit(batch, {}, [Produced(Cells("u"), 1, b"x"), Produced(rows_of(batch), 1, path_of(batch))])
            check(store)
        else:
            break
    store.close()


def check(store: Store) -> None:
    """Every section that is named is there, as it was written, once."""
    base = store.base()
    named = []
    for manifest in [*([base] if base else []), *store.manifests()]:
        for section in manifest.sections:
            if isinstance(section.product, RetainedRows):
                named.append(section.product.least)
                assert bytes(store.read(section)) == b"rows of %d" % section.product.least
                assert section.file == path_of(section.product.least).removeprefix(f"{STATE}/")
    first = 0 if base is None else base.batch - 1
    assert named == list(range(first, store.next_batch()))


def test_files_are_carried_while_they_are_named() -> None:
    files = DyingFiles()
    live(files)
    check(Store.open(STATE, files))
    there = [path for path, content in files.visible().items() if content and path.startswith(f"{STATE}/incoming")]
    assert there == [path_of(batch) for batch in (2, 3, 4)]
    assert files.listing(f"{STATE}/incoming") == [f"{batch:012d}" for batch in (2, 3, 4)]


def test_dead_at_every_step_with_every_tear_it_ends_the_same() -> None:
    whole = DyingFiles()
    live(whole)
    steps = whole.steps
    expected = settled(whole)
    for step in range(1, steps + 1):
        files = DyingFiles(die_at=step)
        with pytest.raises(Crash):
            live(files)
        for disk in files.after_crash():
            live(disk)
            assert settled(disk) == expected, f"step {step}"


def test_a_full_disk_at_every_step_loses_nothing() -> None:
    whole = DyingFiles()
    live(whole)
    steps = whole.steps
    expected = settled(whole)
    for step in range(1, steps + 1):
        files = DyingFiles(full_at=step)
        with suppress(StateError, OSError):
            live(files)
        files.full_at = None
        live(files)
        assert settled(files) == expected, f"step {step}"


def test_a_carried_file_costs_nothing() -> None:
    """A base that carries a file touches neither the file nor its folder; one that carries none syncs as often."""
    synced = []
    for carried in ([], [Produced(rows_of(0), 1, path_of(0))]):
        files = DyingFiles()
        store = Store.open(STATE, files, identity="c0ffee")
        store.incoming(0)
        files.write_new(path_of(0), [b"rows of 0"])
        store.commit(0, {}, [Produced(rows_of(0), 1, path_of(0))])
        before = files.steps
        store.rebase(0, {}, [Produced(Cells("u"), 1, b"base"), *carried])
        touched = files.paths[before:]
        assert any(path.startswith(f"{STATE}/incoming") for path in touched) == (not carried)
        synced.append([path for path in touched if not path.startswith(f"{STATE}/incoming")])
    assert synced[0] == synced[1]


def test_damage_to_a_carried_file_is_noticed(tmp_path: Path) -> None:
    """Carrying does not vouch for what the file holds by now."""
    store = Store.open(str(tmp_path), PosixFiles(), identity="c0ffee")
    path = Path(store.incoming(0)) / f"{0:032x}.arrow"
    path.write_bytes(b"rows of 0")
    store.commit(0, {}, [Produced(rows_of(0), 1, str(path))])
    path.write_bytes(b"rows of 1")
    base = store.rebase(0, {}, [Produced(rows_of(0), 1, str(path))])
    with pytest.raises(StateError) as told:
        store.read(base.sections[0])
    assert told.value.code == "state.corrupt"
    assert str(path) in told.value.fact
