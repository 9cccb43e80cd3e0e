"""Names in a state directory: what is not ours is left alone, and what is ours is what it should be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from punctual.clock import ManualClock
from punctual.errors import StateError
from punctual.ports.storage import PosixFiles
from punctual.store.lock import StateLock
from punctual.store.store import Store
from tests.store.test_store import digest, filled, look_at_everything, opened

FORMAT_1 = Path(__file__).parent / "format1"
FOLDERS = ["", "program", "batches", "base", "incoming", "incoming/000000000002", "dead", "journal", "answers"]
FOLDERS += ["sinks", "displayed", "ledger"]
STRANGERS = [
    ".DS_Store", ".nfs0001", "._000000000002.json", "x copy.json", "000000000002 copy.json", "000000000002.json~",
    "000000000002.json.bak", "#000000000002.json#", "000000000002.json.swp", "Thumbs.db", "notes", "1.log", "7.arrow",
    "00000000000000000001 (1).log", "00000000000000000001.log.gz", "000000000001-abcd.jsonl", "0000000000001.json",
    "\N{ARABIC-INDIC DIGIT ONE}" * 12 + ".json", "000000000099.json\n", "desktop.ini", "core", "-1.json", "sub",
]  # fmt: skip


def seen(directory: Path) -> object:
    store = opened(directory, readonly=True)
    base = store.base()
    return (
        base and base.sections, [manifest.sections for manifest in store.manifests()], store.next_batch(),
        list(store.answers.read(0)), list(store.journal.read(0)), list(store.letters.read()),
    )  # fmt: skip


def test_strangers_are_ignored_and_stay(tmp_path: Path) -> None:
    filled(tmp_path).close()
    opened(tmp_path).close()
    before, names = seen(tmp_path), set(digest(tmp_path))
    for folder in FOLDERS:
        for name in STRANGERS:
            if name == "sub":
                (tmp_path / folder / name).mkdir()
                (tmp_path / folder / name / "000000000003.json").write_text("mine")
            else:
                (tmp_path / folder / name).write_bytes(b"mine")
    strangers = {name: text for name, text in digest(tmp_path).items() if name not in names}
    assert seen(tmp_path) == before
    look_at_everything(tmp_path)
    store = opened(tmp_path)
    store.commit(4, {}, [])
    store.program.save(2, {"text": "next"})
    store.rebase(4, {}, [])
    store.close()
    assert opened(tmp_path, readonly=True).next_batch() == 5
    after = digest(tmp_path)
    assert {name: after.get(name) for name in strangers} == strangers


def test_a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_damage(tmp_path: Path) -> None:
    filled(tmp_path / "good").close()
    opened(tmp_path / "good").close()
    names = [path.relative_to(tmp_path / "good") for path in sorted((tmp_path / "good").rglob("*"))]
    assert len(names) > 25
    for name in names:
        bad = tmp_path / "bad"
        shutil.copytree(tmp_path / "good", bad)
        if (bad / name).is_dir():
            shutil.rmtree(bad / name)
            (bad / name).write_bytes(b"")
        else:
            (bad / name).unlink()
            (bad / name / "within").mkdir(parents=True)
        with pytest.raises(StateError) as told:
            look_at_everything(bad)
        assert told.value.code == "state.corrupt"
        assert str(bad / name) in told.value.fact
        shutil.rmtree(bad)


def test_a_lock_that_is_a_folder_is_damage(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / "punctual.lock").mkdir()
    with pytest.raises(StateError) as told:
        StateLock.acquire(str(tmp_path), PosixFiles(), ManualClock(0))
    assert told.value.code == "state.corrupt"


def test_a_state_of_format_1_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """The folder was written by the last version of format 1."""
    state = tmp_path / "state"
    shutil.copytree(FORMAT_1, state)
    before = digest(state)
    for attempt in (
        lambda: Store.open(str(state), PosixFiles(), identity="x"),
        lambda: Store.open(str(state), PosixFiles(), readonly=True),
        lambda: StateLock.acquire(str(state), PosixFiles(), ManualClock(0)),
    ):
        with pytest.raises(StateError) as told:
            attempt()
        assert told.value.code == "state.older-format"
        assert "--state" in (told.value.hint or "")
    assert digest(state) == before

