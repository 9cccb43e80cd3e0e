"""Every byte that the store or a sink puts on disk goes through :class:`Files`.

Model
-----
A file system makes two separate promises, and both must be asked for: the *contents* of a file
survive a crash after ``sync``; a *name* (a file created, renamed or removed) survives after
``sync_folder`` of its folder. :class:`Files` names the few operations that code relies on, each with
what it guarantees, so that a test can put a file system underneath that dies between any two of them
and loses or tears all that was not asked for.

Design
------
- ``write_whole`` is the one way to change a small file: written aside, synced, renamed. A reader sees
  the old text or the new one.
- Writes are few and large, so one call a write costs nothing that shows next to the sync.
- A full disk is the user's to mend: ``tells_disk_full`` turns it into ``state.disk-full`` wherever a
  public method of the store, a log or a sink writes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import ParamSpec, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from punctual.errors import StateError, disk_full

P = ParamSpec("P")
R = TypeVar("R")
Bytes: TypeAlias = bytes | memoryview | pa.Buffer

TEMPORARY = ".tmp"
"""Ending of a file that is being written; it is never read, and removed when found."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_IN_A_FILE_NAME = re.compile(r"[\x00-\x1f\x7f/\\%]|^\.")
_LONGEST_NAME_BYTES = 180


class Appender(Protocol):
    """A file that grows at its end."""

    def write(self, data: Bytes) -> None:
        """Append; lost by a crash until ``sync``."""
        ...

    def sync(self) -> None:
        """The contents are durable."""
        ...

    def close(self) -> None:
        """Close without a sync."""
        ...


class Files(Protocol):
    """What is asked of a file system. Paths are absolute."""

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents, durable; nothing when it is there."""
        ...

    def is_folder(self, path: str) -> bool: ...

    def listing(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty when there is no such folder."""
        ...

    def size(self, path: str) -> int | None:
        """Bytes of a file; None when there is no such file."""
        ...

    def read(self, path: str) -> bytes: ...

    def map(self, path: str) -> pa.Buffer:
        """The contents as a buffer, memory-mapped where possible; it outlives the file's name."""
        ...

    def write_new(self, path: str, parts: Sequence[Bytes]) -> None:
        """Create or overwrite a file with these parts; contents durable, name not yet."""
        ...

    def append(self, path: str) -> Appender:
        """Open for appending, created when missing (the name is not yet durable)."""
        ...

    def truncate(self, path: str, length: int) -> None:
        """Cut a file to a length, durable."""
        ...

    def sync(self, path: str) -> None:
        """Make contents durable that somebody else wrote."""
        ...

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder durable."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Rename over the target, then ``sync_folder`` of the target's folder."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing when it is gone. Not durable before ``sync_folder``."""
        ...

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        ...


class PosixFiles:
    """The machine's file system."""

    def make_folder(self, path: str) -> None:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self.make_folder(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        self.sync_folder(parent)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def listing(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def size(self, path: str) -> int | None:
        try:
            return os.stat(path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def map(self, path: str) -> pa.Buffer:
        if os.stat(path).st_size == 0:  # an empty file cannot be mapped
            return pa.py_buffer(b"")
        with pa.memory_map(path) as mapped:
            return mapped.read_buffer()

    def write_new(self, path: str, parts: Sequence[Bytes]) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            for part in parts:
                _write_all(handle, part)
            os.fsync(handle)
        except OSError:
            with contextlib.suppress(OSError):  # give a full disk its space back
                os.unlink(path)
            raise
        finally:
            os.close(handle)

    def append(self, path: str) -> Appender:
        return _PosixAppender(path)

    def truncate(self, path: str, length: int) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.ftruncate(handle, length)
            os.fsync(handle)
        finally:
            os.close(handle)

    def sync(self, path: str) -> None:
        _sync_path(path, os.O_RDONLY)

    def sync_folder(self, path: str) -> None:
        _sync_path(path, os.O_RDONLY | os.O_DIRECTORY)

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)
        self.sync_folder(os.path.dirname(target))

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_folder(self, path: str) -> None:
        os.rmdir(path)


class _PosixAppender:
    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, data: Bytes) -> None:
        _write_all(self._handle, data)

    def sync(self) -> None:
        os.fdatasync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


def write_whole(files: Files, path: str, data: Bytes) -> None:
    """Put a small file in place at once: a crash leaves the former text or this one."""
    aside = path + TEMPORARY
    files.write_new(aside, [data])
    files.replace(aside, path)


def absolute_folder(given: str) -> str:
    """A folder that a user named, as an absolute path; an address stays as it is, to be refused by its name.

    >>> absolute_folder("/a/../b"), absolute_folder("s3://bucket/b")
    ('/b', 's3://bucket/b')
    """
    return given if is_address(given) else os.path.abspath(given)


def is_address(given: str) -> bool:
    """Whether this names a place of an object store or the like rather than a folder."""
    return "://" in given


def file_name(name: str) -> str:
    """A name of the language as the name of a file; different names give different files.

    >>> file_name("speed"), file_name("a/b"), file_name(".."), file_name("größe")
    ('speed', 'a%2Fb', '%2E.', 'größe')
    """
    quoted = _NOT_IN_A_FILE_NAME.sub(lambda found: f"%{ord(found.group()):02X}", name)
    encoded = quoted.encode()
    if len(encoded) <= _LONGEST_NAME_BYTES:
        return quoted
    shown = encoded[:_LONGEST_NAME_BYTES].decode(errors="ignore")
    return f"{shown}%{zlib.crc32(encoded):08x}"


def tells_disk_full(method: Callable[P, R]) -> Callable[P, R]:
    """Turn a full disk (or quota) inside a method into an error that says what to do."""

    @wraps(method)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise disk_full(error.filename) from error

    return told


@contextlib.contextmanager
def tells_unusable(code: str, folder: str, option: str) -> Iterator[None]:
    """Turn a folder that cannot be made or written into an error that says so."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise
        raise StateError(
            code,
            f'folder "{folder}" cannot be used: {error.strerror or error}',
            detail=f'the file is "{error.filename}"' if error.filename not in (None, folder) else None,
            hint=f"name a folder after {option} that you may make and write",
        ) from error


def _write_all(handle: int, data: Bytes) -> None:
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(handle, rest):]


def _sync_path(path: str, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
