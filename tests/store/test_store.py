"""A state directory on a real disk: what it holds, what it refuses, what damage it notices."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from punctual.errors import InternalError, StateError
from punctual.ports.sinks.sink import SinkState, Written
from punctual.ports.storage import PosixFiles, file_name, tells_disk_full
from punctual.store.ledger import SCHEMA
from punctual.store.letters import DeadLetter
from punctual.store.products import Cells, LateCells, Produced
from punctual.store.sealed import seal
from punctual.store.store import Store

FILES = PosixFiles()
TASK = f"{7:032x}.arrow"
SINK = SinkState(1, "/out", {"a": Written(12, 34, 0, 1)})


@dataclass(frozen=True)
class Body:
    text: str
    number: int = 0


def cells(data: bytes, rows: int = 1) -> Produced:
    return Produced(Cells("u"), rows, data)


def opened(directory: Path, **options: object) -> Store:
    return Store.open(str(directory), FILES, identity="c0ffee", **options)  # type: ignore[arg-type]


def filled(directory: Path) -> Store:
    store = opened(directory, shards=4)
    store.program.save(1, Body("CREATE ..."))
    for batch in range(4):
        store.write_plan(batch, Body("plan", batch))
        path = Path(store.incoming(batch)) / TASK
        path.write_bytes(b"large %d" % batch * 50)
        letter = DeadLetter("ab"[batch % 2], "late", None, None, batch, "{}")
        late = Produced(LateCells("s"), 1, b"yz")
        produced = [cells(b"x" * (batch + 1), 3), Produced(Cells("v"), 9, str(path)), late]
        store.commit(batch, Body("batch", batch), produced, [letter])
    store.rebase(1, Body("base", 1), [cells(b"base of u", 5)])
    store.write_plan(4, Body("plan", 4))
    store.journal.append(b"decision")
    store.answers.append(b"answer")
    store.outputs.save_sink("out", SINK)
    store.outputs.save_displayed(b"shown")
    store.ledger.seal(SCHEMA.empty_table(), 1_700_000_000_000_000)
    return store


def digest(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def look_at_everything(directory: Path) -> None:
    store = opened(directory)
    base = store.base()
    for manifest in [*store.manifests(), *([base] if base else [])]:
        for section in manifest.sections:
            store.read(section)
    store.program.read(Body), store.read_plan(4, Body), store.outputs.sink("out"), store.outputs.displayed()
    list(store.journal.read(0)), list(store.answers.read(0)), list(store.letters.read())
    list(store.ledger.read(store.ledger.names()))


def test_what_is_put_in_comes_out_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    store = opened(tmp_path / "s", shards=99)
    assert (store.identity.id, store.identity.shards) == ("c0ffee", 4)
    assert store.program.read(Body) == Body("CREATE ...")
    base = store.base()
    assert base is not None
    assert (base.batch, base.read(Body)) == (1, Body("base", 1))
    assert bytes(store.read(base.sections[0])) == b"base of u"
    assert [manifest.batch for manifest in store.manifests()] == [2, 3]
    for manifest in store.manifests():
        expected = [b"x" * (manifest.batch + 1), b"large %d" % manifest.batch * 50, b"yz"]
        assert [bytes(store.read(section)) for section in manifest.sections] == expected
        assert [section.crc for section in manifest.sections] == [zlib.crc32(data) for data in expected]
        assert [section.rows for section in manifest.sections] == [3, 9, 1]
        assert [section.product for section in manifest.sections] == [Cells("u"), Cells("v"), LateCells("s")]
        assert all(section.offset % 8 == 0 for section in manifest.sections)
    assert store.next_batch() == 4
    assert [store.read_plan(batch, Body) for batch in (4, 3, 7)] == [Body("plan", 4), None, None]
    assert store.outputs.sink("out") == SINK
    assert store.outputs.sink("other") is None
    assert store.outputs.displayed() == b"shown"
    assert [letter.batch for letter in store.letters.read()] == [0, 1, 2, 3]
    assert [letter.batch for letter in store.letters.read("b")] == [1, 3]


def test_only_what_a_manifest_names_stays(tmp_path: Path) -> None:
    store = filled(tmp_path)
    (Path(store.incoming(4)) / TASK).write_bytes(b"never committed")
    for name in (
        "batches/000000000004.bin", "batches/000000000004.json.tmp", "base/000000000003.bin",
        "dead/000000000004-00000000.jsonl", "program/000000000002.json.tmp", "sinks/out.json.tmp",
    ):
        (tmp_path / name).write_bytes(b"?")
    store.close()
    opened(tmp_path).close()
    names = set(digest(tmp_path))
    assert {name for name in names if name.startswith(("batches", "base", "incoming", "program", "sinks"))} == {
        "batches/000000000002.json", "batches/000000000002.bin",
        "batches/000000000003.json", "batches/000000000003.bin", "batches/000000000004.plan.json",
        "base/000000000001.json", "base/000000000001.bin",
        f"incoming/000000000002/{TASK}", f"incoming/000000000003/{TASK}",
        "program/000000000001.json", "sinks/out.json",
    }
    assert sorted(os.listdir(tmp_path / "incoming")) == ["000000000002", "000000000003"]
    assert len([name for name in names if name.startswith("dead/")]) == 4


def test_a_rebase_leaves_a_batch_in_flight_alone(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.commit(0, {}, [cells(b"0")])
    running = Path(store.incoming(1)) / TASK
    running.write_bytes(b"in flight")
    store.rebase(0, {}, [cells(b"base")])
    store.commit(1, {}, [Produced(Cells("u"), 1, str(running))])
    assert bytes(store.read(store.manifests()[0].sections[0])) == b"in flight"


def test_batches_are_committed_in_order(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.commit(0, {}, [])
    for batch in (0, 2):
        with pytest.raises(InternalError):
            store.commit(batch, {}, [])
    for through in (-1, 1):
        with pytest.raises(InternalError):
            store.rebase(through, {}, [])
    with pytest.raises(InternalError):
        store.commit(1, {}, [Produced(Cells("u"), 1, "/etc/hostname")])


def test_a_changed_byte_in_any_file_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "good").close()
    opened(tmp_path / "good").close()
    for name in digest(tmp_path / "good"):
        content = (tmp_path / "good" / name).read_bytes()
        for at in {0, len(content) // 2, len(content) - 1}:
            if name.endswith(".bin") and name.startswith(("batches", "base")) and content[at] == 0:
                continue  # the padding between sections says nothing
            bad = tmp_path / "bad"
            shutil.copytree(tmp_path / "good", bad)
            (bad / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            with pytest.raises(StateError) as told:
                look_at_everything(bad)
            assert told.value.code == "state.corrupt"
            assert name in told.value.fact
            shutil.rmtree(bad)


@pytest.mark.parametrize(
    "name", ["batches/000000000002.json", "batches/000000000003.bin", f"incoming/000000000002/{TASK}"]
)
def test_a_missing_file_is_noticed(tmp_path: Path, name: str) -> None:
    filled(tmp_path).close()
    (tmp_path / name).unlink()
    with pytest.raises(StateError) as told:
        look_at_everything(tmp_path)
    assert told.value.code == "state.corrupt"


def test_a_foreign_directory_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "home" / "sub").mkdir(parents=True)
    (tmp_path / "home" / "notes.txt").write_text("mine")
    (tmp_path / "home" / "sub" / "x").write_text("mine too")
    before = digest(tmp_path)
    with pytest.raises(StateError) as told:
        opened(tmp_path / "home")
    assert told.value.code == "state.foreign"
    with pytest.raises(StateError) as told:
        opened(tmp_path / "home" / "notes.txt")
    assert told.value.code == "state.foreign"
    assert digest(tmp_path) == before
    assert sorted(os.listdir(tmp_path / "home")) == ["notes.txt", "sub"]


@pytest.mark.parametrize(("text", "code"), [
    (seal({"format": 3, "id": "x", "shards": 4}), "state.newer-format"),
    (seal({"id": "x"}), "state.corrupt"),
    (b"", "state.corrupt"),
    (b'{"format":2}\n', "state.corrupt"),
    (seal({"format": 2, "id": "x", "shards": "four"}), "state.corrupt"),
    (seal({"format": 1, "id": "x", "shards": 4}), "state.older-format"),
])
def test_an_identity_that_cannot_be_read_is_refused(tmp_path: Path, text: bytes, code: str) -> None:
    (tmp_path / "punctual.json").write_bytes(text)
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "000000000000.bin").write_bytes(b"kept")
    before = digest(tmp_path)
    with pytest.raises(StateError) as told:
        opened(tmp_path)
    assert told.value.code == code
    assert digest(tmp_path) == before


def test_a_state_that_is_not_there_is_not_made_for_a_look(tmp_path: Path) -> None:
    for options in ({"fresh": False}, {"readonly": True}):
        with pytest.raises(StateError) as told:
            opened(tmp_path / "none", **options)
        assert told.value.code == "state.missing"
    assert not (tmp_path / "none").exists()
    with pytest.raises(StateError) as told:
        Store.open("s3://bucket/state", FILES, identity="x")
    assert told.value.code == "state.not-a-folder"


def test_looking_changes_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path)
    (Path(store.incoming(4)) / TASK).write_bytes(b"being written")
    before = digest(tmp_path)
    looking = opened(tmp_path, readonly=True)
    assert looking.next_batch() == 4
    assert list(looking.answers.read(0)) == [(1, b"answer")]
    with pytest.raises(InternalError):
        looking.commit(4, {}, [])
    assert digest(tmp_path) == before


def test_names_of_the_language_become_names_of_files(tmp_path: Path) -> None:
    names = ["plain", "a/b", "a%2Fb", "..", ".", "größe", "x" * 300, "x" * 299 + "y", "tab\there"]
    assert len({file_name(name) for name in names}) == len(names)
    store = opened(tmp_path)
    for name in names:
        folder = Path(store.feed_folder(name))
        assert folder.is_dir()
        assert folder.parent == tmp_path / "feeds"


def test_a_real_full_device_is_told() -> None:
    @tells_disk_full
    def write() -> None:
        device = FILES.append("/dev/full")
        try:
            device.write(b"x")
        finally:
            device.close()

    with pytest.raises(StateError) as told:
        write()
    assert told.value.code == "state.disk-full"
