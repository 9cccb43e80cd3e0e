"""What was durable and is gone is missed: logs that lost whole records, folders that lost their newest file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from punctual.errors import StateError
from punctual.ports.sinks.sink import SinkState
from punctual.ports.storage import PosixFiles
from punctual.store.products import Cells, Produced
from punctual.store.store import Store

HEAD_BYTES = 60
FILES = PosixFiles()
SEGMENT = "00000000000000000001.log"
OTHER = {"answers": "journal", "journal": "answers"}


def opened(directory: Path, *, readonly: bool = False) -> Store:
    return Store.open(str(directory), FILES, identity="c0ffee", readonly=readonly)


def begun(directory: Path) -> Store:
    """Two batches, and three records in each log."""
    store = opened(directory)
    store.program.save(1, {"text": "first"})
    for batch in range(2):
        store.commit(batch, {}, [Produced(Cells("u"), 1, b"cells")])
    for number in range(3):
        store.journal.append(b"decision %d" % number)
        store.answers.append(b"answer %d" % number)
    return store


WITNESSES: dict[str, Callable[[Store, str], object]] = {
    "plan": lambda store, _log: store.write_plan(2, {}),
    "batch": lambda store, _log: store.commit(2, {}, []),
    "base": lambda store, _log: store.rebase(1, {}, []),
    "program": lambda store, _log: store.program.save(2, {"text": "second"}),
    "sink": lambda store, _log: store.outputs.save_sink("out", SinkState(0)),
    "displayed": lambda store, _log: store.outputs.save_displayed(b"shown"),
    "close": lambda store, _log: store.close(),
    "record of the other log": lambda store, log: getattr(store, OTHER[log]).append(b"one more"),
}


def cut(path: Path) -> None:
    """Remove the last record, exactly."""
    last = b"answer 2" if path.parent.name == "answers" else b"decision 2"
    os.truncate(path, path.read_bytes().rindex(last) - HEAD_BYTES)


LOSSES: dict[str, Callable[[Path], object]] = {
    "cut": cut,
    "emptied": lambda path: os.truncate(path, 0),
    "file removed": lambda path: path.unlink(),
    "folder removed": lambda path: shutil.rmtree(path.parent),
}


def is_refused(directory: Path, lost: str) -> None:
    with pytest.raises(StateError) as told:
        opened(directory).outputs.sink("out")
    assert told.value.code == "state.corrupt"
    assert str(directory / lost) in told.value.fact


@pytest.mark.parametrize("log", ["answers", "journal"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("witness", WITNESSES)
def test_a_log_that_lost_records_is_damage(tmp_path: Path, log: str, loss: str, witness: str) -> None:
    store = begun(tmp_path)
    WITNESSES[witness](store, log)
    opened(tmp_path).outputs.sink("out")  # whole
    LOSSES[loss](tmp_path / log / SEGMENT)
    if witness != "sink":  # which nobody who only looks asks for
        with pytest.raises(StateError, match=r"state\.corrupt"):
            opened(tmp_path, readonly=True)
    is_refused(tmp_path, log)


def test_what_nothing_vouches_for_is_taken_for_a_crash(tmp_path: Path) -> None:
    """Both logs lose the records after the last file: the one thing that cannot be told from a crash before them."""
    store = begun(tmp_path)
    store.write_plan(2, {})
    for log in ("journal", "answers"):
        os.truncate(tmp_path / log / SEGMENT, 2 * (tmp_path / log / SEGMENT).stat().st_size // 3)
    with pytest.raises(StateError):
        opened(tmp_path)
    fresh = tmp_path / "fresh"
    store = begun(fresh)
    for log in ("answers", "journal"):
        cut(fresh / log / SEGMENT)
    assert (opened(fresh).answers.position, opened(fresh).journal.position) == (2, 2)


@pytest.mark.parametrize(
    ("lost", "where"),
    [
        ("batches/000000000002.json", "batches"),
        ("program/000000000001.json", "program"),
        ("displayed/rankings.json", "displayed/rankings.json"),
    ],
)
def test_a_newest_file_that_is_gone_is_damage(tmp_path: Path, lost: str, where: str) -> None:
    store = begun(tmp_path)
    store.outputs.save_displayed(b"shown")
    store.commit(2, {}, [])
    store.answers.append(b"more")
    opened(tmp_path)
    (tmp_path / lost).unlink()
    is_refused(tmp_path, where)


def test_a_log_that_was_trimmed_is_whole(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.answers._segment_bytes = 1
    for number in range(3):
        store.answers.append(b"more %d" % number)
    store.answers.trim(6)
    store.close()
    assert (opened(tmp_path).answers.first, opened(tmp_path).answers.position) == (6, 6)


def test_looking_while_the_owner_goes_on(tmp_path: Path) -> None:
    """Whoever looks keeps what it saw; what the owner writes meanwhile vouches for more than that."""
    store = begun(tmp_path)
    looking = opened(tmp_path, readonly=True)
    store.answers.append(b"more")
    store.program.save(2, {"text": "second"})
    store.outputs.save_sink("out", SinkState(4))
    assert looking.answers.position == 3
    assert looking.outputs.sink("out") == SinkState(4)
    assert opened(tmp_path, readonly=True).answers.position == 4


def test_a_log_that_lost_records_that_a_sink_has_not_written_is_damage(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.answers._segment_bytes = 1
    store.answers.append(b"more")
    store.outputs.save_sink("out", SinkState(2))
    (tmp_path / "answers" / SEGMENT).unlink()
    is_refused(tmp_path, "answers")
