"""Two processes, one state; and a JVM that outlives its owner. Real processes, `sleep` stands for the JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from punctual.clock import SystemClock
from punctual.errors import StateError
from punctual.ports.storage import PosixFiles
from punctual.store.lock import Process, StateLock, is_alive
from punctual.store.store import Store

FILES, CLOCK = PosixFiles(), SystemClock()

OWNER = """
import sys, time
from punctual.clock import SystemClock
from punctual.ports.storage import PosixFiles
from punctual.store.lock import StateLock
lock = StateLock.acquire(sys.argv[1], PosixFiles(), SystemClock())
if len(sys.argv) > 2:
    lock.record_jvm(int(sys.argv[2]))
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def sleeper(seconds: float = 60) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", str(seconds)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def owner(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(directory), *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def acquire(directory: Path, wait_us: int = 50_000) -> StateLock:
    return StateLock.acquire(str(directory), FILES, CLOCK, wait_us=wait_us)


def test_a_living_owner_is_named_and_a_dead_one_is_succeeded(tmp_path: Path) -> None:
    with owner(tmp_path / "s") as process:
        with pytest.raises(StateError, match=f"process {process.pid} ") as told:
            acquire(tmp_path / "s")
        assert told.value.code == "state.locked"
        process.send_signal(signal.SIGKILL)
        process.wait()
        acquire(tmp_path / "s").release()


def test_the_jvm_of_a_dead_owner_is_ended_before_anybody_goes_on(tmp_path: Path) -> None:
    with sleeper() as jvm:
        with owner(tmp_path, str(jvm.pid)) as process:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert jvm.poll() is None
        lock = acquire(tmp_path)
        assert jvm.wait(5) == -signal.SIGKILL
        lock.release()


def test_a_jvm_that_ends_by_itself_is_waited_for(tmp_path: Path) -> None:
    with sleeper(0.4) as jvm:
        lock = acquire(tmp_path)
        lock.record_jvm(jvm.pid)
        os.close(lock._handle)  # as if the process had died
        acquire(tmp_path, wait_us=30_000_000).release()
        assert jvm.wait(5) == 0


@pytest.mark.parametrize("change", [{"jvm_started": 1}, {"boot": "another"}, {"host": "another"}])
def test_a_stranger_with_the_number_of_an_old_jvm_is_spared(tmp_path: Path, change: dict[str, object]) -> None:
    with sleeper() as stranger:
        lock = acquire(tmp_path)
        lock.record_jvm(stranger.pid)
        os.close(lock._handle)
        record = orjson.loads((tmp_path / "punctual.lock").read_bytes())
        assert record["jvm"] == stranger.pid
        (tmp_path / "punctual.lock").write_bytes(orjson.dumps(record | change))
        acquire(tmp_path).release()
        assert stranger.poll() is None


def test_a_released_state_waits_for_nobody(tmp_path: Path) -> None:
    with sleeper() as jvm:
        lock = acquire(tmp_path)
        lock.record_jvm(jvm.pid)
        lock.release()
        acquire(tmp_path).release()
        assert jvm.poll() is None


def test_a_lock_that_its_writer_left_half_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "punctual.lock").write_bytes(b'{"pid":12')
    lock = acquire(tmp_path)
    Store.open(str(tmp_path), FILES, identity="c0ffee").close()
    lock.release()


def test_a_foreign_directory_gets_no_lock(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StateError) as told:
        acquire(tmp_path)
    assert told.value.code == "state.foreign"
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_process_is_known_by_number_and_start() -> None:
    with sleeper() as process:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        started = int(stat[stat.rindex(")") + 2 :].split()[19])
        assert is_alive(Process(process.pid, started))
        assert not is_alive(Process(process.pid, started + 1))
        process.kill()
        process.wait()
        assert not is_alive(Process(process.pid, started))
