"""One process at a time owns a state directory, and nothing of a dead owner still writes into it.

Model
-----
The owner holds an advisory lock on ``punctual.lock``; the system releases it when the owner dies, however
it dies. The owner's JVM and its workers may live on for seconds after a ``kill -9`` and still write. So the
lock file also says who owned it: process and JVM, each with its start time, the machine and its boot. A new
owner first takes the lock, then waits for the recorded JVM, ends it when it does not go, and returns only
when it is gone. A process number alone proves nothing; number, start time and boot together name one
process for good, so that no stranger is ever ended.

The lock is taken on the real file system: it is about processes, and nothing in it needs recovery.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
from dataclasses import dataclass, replace

import msgspec

from punctual.clock import SECOND, Clock, Micros
from punctual.errors import StateError, corrupt
from punctual.ports.storage import Files, tells_disk_full, tells_unusable
from punctual.store.identity import LOCK_FILE, read_identity

_POLL_US: Micros = 20_000
_UNTIL_GONE_US: Micros = 10 * SECOND


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one boot: its number and when it started, in clock ticks since the boot."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class _Owner:
    """Who holds a lock, or held it; nothing where its writer died while writing."""

    pid: int | None = None
    started: int | None = None
    jvm: int | None = None
    jvm_started: int | None = None
    host: str | None = None
    boot: str | None = None


class StateLock:
    """The lock of a state directory, held from ``acquire`` to ``release``."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        pid = os.getpid()
        self._record = _Owner(pid, _start_of(pid), host=socket.gethostname(), boot=_boot())

    @staticmethod
    @tells_disk_full
    def acquire(directory: str, files: Files, clock: Clock, *, wait_us: Micros = 5 * SECOND) -> StateLock:
        """Own a state directory (made when missing); a foreign one is refused before anything is touched.

        Parameters
        ----------
        wait_us : Micros
            How long the JVM of a dead owner may take to end by itself before it is ended.

        Raises
        ------
        StateError
            ``state.locked`` when a living process owns it, ``state.unusable`` when it cannot be made or written.
        """
        with tells_unusable("state.unusable", directory, "--state"):
            read_identity(files, directory)
            files.make_folder(directory)
            path = f"{directory}/{LOCK_FILE}"
            if files.is_folder(path):
                raise corrupt(path, "it is a folder and should be a file")
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _locked(directory, _read(handle)) from None
            _outlive_jvm(directory, _read(handle), clock, wait_us)
            lock = StateLock(handle)
            lock._write()
        except BaseException:
            os.close(handle)
            raise
        return lock

    @tells_disk_full
    def record_jvm(self, pid: int) -> None:
        """Remember the JVM of this process, so that a later owner can wait for it."""
        self._record = replace(self._record, jvm=pid, jvm_started=_start_of(pid))
        self._write()

    def release(self) -> None:
        """Give the directory up, when the JVM is gone or no longer writes."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
        os.close(self._handle)

    def _write(self) -> None:
        text = msgspec.json.encode(self._record) + b"\n"
        os.ftruncate(self._handle, 0)  # in place: a renamed file would not be the one that is locked
        os.pwrite(self._handle, text, 0)
        os.fsync(self._handle)


def is_alive(process: Process) -> bool:
    """Whether this very process still runs; one that has ended and waits to be reaped does not."""
    return _start_of(process.pid) == process.started


def _outlive_jvm(directory: str, record: _Owner, clock: Clock, wait_us: Micros) -> None:
    """Return when the JVM that a dead owner left behind is gone, ended by us if need be."""
    is_here = record.host == socket.gethostname() and record.boot == _boot()
    if not is_here or record.jvm is None or record.jvm_started is None:
        return
    jvm = Process(record.jvm, record.jvm_started)
    if _is_gone_within(jvm, clock, wait_us):
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(jvm.pid, signal.SIGKILL)
    if not _is_gone_within(jvm, clock, _UNTIL_GONE_US):
        raise StateError(
            "state.locked",
            f'process {jvm.pid}, the JVM of an earlier run, still uses state "{directory}" and does not end',
            hint=f"end it (kill -9 {jvm.pid}) and start again",
        )


def _is_gone_within(process: Process, clock: Clock, limit_us: Micros) -> bool:
    give_up = clock.monotonic() + limit_us
    while is_alive(process):
        if clock.monotonic() >= give_up:
            return False
        clock.sleep(_POLL_US)
    return True


def _read(handle: int) -> _Owner:
    """What the lock file says."""
    try:
        return msgspec.json.decode(os.pread(handle, 65_536, 0), type=_Owner)
    except msgspec.DecodeError:
        return _Owner()


def _start_of(pid: int) -> int | None:
    """When a process started; None when there is none, or only its remains."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before ")" may hold anything
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _locked(directory: str, record: _Owner) -> StateError:
    owner = "another process" if record.pid is None else f"process {record.pid}"
    where = f' on "{record.host}"' if record.host not in (None, socket.gethostname()) else ""
    return StateError(
        "state.locked",
        f'{owner}{where} is running state "{directory}"',
        detail="one process at a time may run a state",
        hint="stop it first, or name another directory after --state",
    )
