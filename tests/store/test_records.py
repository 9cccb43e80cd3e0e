"""The log of records: order, tails, damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError, StateError
from punctual.ports.storage import PosixFiles
from punctual.store.records import RecordLog
from tests.store.dying import DyingFiles, Inode

PAYLOADS = [b"one", b"", b"three" * 300, b"\x00" * 40, b"five"]


def segments(files: DyingFiles) -> list[str]:
    return [path for path, content in files.visible().items() if content is not None]


def written(segment_bytes: int = 1 << 20) -> DyingFiles:
    files = DyingFiles()
    log = RecordLog(files, "/log", segment_bytes=segment_bytes)
    assert [log.append(payload) for payload in PAYLOADS] == [1, 2, 3, 4, 5]
    return files


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=90), max_size=30), st.integers(1, 300), st.integers(0, 31))
def test_reading_gives_what_was_appended(payloads: list[bytes], segment_bytes: int, after: int) -> None:
    files = DyingFiles()
    log = RecordLog(files, "/log", segment_bytes=segment_bytes)
    numbered = [(log.append(payload), payload) for payload in payloads]
    assert numbered == list(enumerate(payloads, 1))
    for reader in (log, RecordLog(files, "/log", readonly=True)):
        assert list(reader.read(after)) == numbered[after:]
        assert reader.position == len(payloads)


def test_on_a_real_disk_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for start in (0, 3):
        log = RecordLog(PosixFiles(), str(tmp_path / "log"), segment_bytes=100)
        for number in range(start, start + 3):
            log.append(b"payload %d" % number)
        log.close()
    again = RecordLog(PosixFiles(), str(tmp_path / "log"))
    assert list(again.read(0)) == [(number + 1, b"payload %d" % number) for number in range(6)]
    assert len(list((tmp_path / "log").iterdir())) == 3


def test_trimming_removes_whole_segments_and_keeps_the_numbers() -> None:
    files = DyingFiles()
    log = RecordLog(files, "/log", segment_bytes=1)  # a segment a record
    for number in range(6):
        log.append(b"%d" % number)
    assert [log.kept_from(before) for before in (0, 1, 4, 6, 100)] == [1, 1, 4, 6, 6]
    log.trim(4)
    assert log.first == log.kept_from(0) == 4
    assert [position for position, _ in log.read(0)] == [4, 5, 6]
    log.trim(100)
    assert RecordLog(files, "/log").append(b"next") == 7


def test_every_torn_tail_is_cut_and_only_it() -> None:
    whole = written().read("/log/00000000000000000001.log")
    last = len(PAYLOADS[-1]) + 60
    tails = [whole[: len(whole) - missing] for missing in range(1, last + 1)]
    tails.append(whole[:-last] + bytes(last))  # as long as it should be, but nothing arrived
    for tail in tails:
        files = DyingFiles({"/": None, "/log": None, "/log/00000000000000000001.log": Inode(tail)})
        log = RecordLog(files, "/log")
        assert [payload for _, payload in log.read(0)] == PAYLOADS[:-1]
        assert log.append(b"again") == 5
        assert [payload for _, payload in RecordLog(files, "/log").read(0)] == [*PAYLOADS[:-1], b"again"]


def test_a_tail_of_sectors_that_never_arrived_is_cut() -> None:
    files = DyingFiles()
    log = RecordLog(files, "/log")
    log.append(b"kept")
    log.append(b"\xff" * 3_000)
    node = files.names["/log/00000000000000000001.log"]
    assert node is not None
    node.content = node.content[:1_024] + bytes(512) + node.content[1_536:]
    assert list(RecordLog(files, "/log").read(0)) == [(1, b"kept")]


def test_looking_does_not_cut() -> None:
    files = written()
    node = files.names["/log/00000000000000000001.log"]
    assert node is not None
    node.content = node.content[:-2]
    before = files.visible()
    log = RecordLog(files, "/log", readonly=True)
    assert [payload for _, payload in log.read(0)] == PAYLOADS[:-1]
    assert files.visible() == before
    with pytest.raises(InternalError):
        log.append(b"more")


@pytest.mark.parametrize("segment_bytes", [1 << 20, 70])
def test_a_changed_byte_anywhere_is_damage(segment_bytes: int) -> None:
    whole = written(segment_bytes)
    for path in segments(whole):
        content = whole.read(path)
        for at in range(0, len(content), 1 if len(content) < 200 else 7):
            files = DyingFiles(dict(whole.names))
            files.names[path] = Inode(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
            with pytest.raises(StateError, match=path) as told:
                list(RecordLog(files, "/log").read(0))
            assert told.value.code == "state.corrupt"


def test_a_missing_segment_is_damage() -> None:
    whole = written(70)
    for path in segments(whole)[1:-1]:
        files = DyingFiles({name: node for name, node in whole.names.items() if name != path})
        with pytest.raises(StateError) as told:
            list(RecordLog(files, "/log").read(0))
        assert told.value.code == "state.corrupt"
