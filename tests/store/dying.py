"""A file system in memory that dies between any two of its steps, and forgets what was not synced.

Every method of ``Files`` is a few *steps* (create, write, sync, rename, ...). The n-th step can be made to kill
the process before it happens (:class:`Crash`), or to find the disk full. What a power cut then leaves is chosen:

- contents written since the last sync of a file are cut to nothing, half or all of what was added;
- of names created, renamed or removed since the last sync of their folder some changes are kept, others lost
  (``CHOICES``).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from itertools import product

import pyarrow as pa

from punctual.ports.storage import Appender, Bytes

GROWING = {"create", "write", "sync", "rename", "folder"}


CHOICES = (
    slice(0, 0), slice(None), slice(-1, None), slice(None, -1), slice(None, None, 2), slice(1, None, 2)
)  # none, all, the last, all but the last, every other one


class Crash(BaseException):
    """The process is dead; nothing catches this but the test."""


class Inode:
    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.synced = content


Names = dict[str, Inode | None]  # None: a folder
Change = tuple[str, str | None, str | None, Inode | None]  # folder, name gone, name come, what it is


class DyingFiles:
    def __init__(self, names: Names | None = None, *, die_at: int | None = None, full_at: int | None = None) -> None:
        self.names: Names = names if names is not None else {"/": None}
        self.durable = dict(self.names)
        self.pending: list[Change] = []
        self.die_at = die_at
        self.full_at = full_at
        self.paths: list[str] = []  # what each step was about
        self.dead = False

    # -- dying ---------------------------------------------------------------------------------

    def step(self, kind: str, path: str) -> None:
        if self.dead:
            raise Crash
        self.paths.append(path)
        if self.steps == self.die_at:
            self.dead = True
            raise Crash
        if self.full_at is not None and self.steps >= self.full_at and kind in GROWING:
            self.full_at = None
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    @property
    def steps(self) -> int:
        return len(self.paths)

    def after_crash(self) -> Iterator[DyingFiles]:
        """Every disk that a power cut may leave, each once."""
        seen = set()
        for part, choice in product((0.0, 0.5, 1.0), CHOICES):
            disk = self._left(part, choice)
            key = tuple(sorted((path, node and node.content) for path, node in disk.items()))
            if key not in seen:
                seen.add(key)
                yield DyingFiles(disk)

    def _left(self, part: float, choice: slice) -> Names:
        names = dict(self.durable)
        for change in self.pending[choice]:
            _apply(names, change)
        left: Names = {}
        for path, node in sorted(names.items()):
            if path == "/" or os.path.dirname(path) in left:
                left[path] = None if node is None else Inode(_torn(node, part))
        return left

    def visible(self) -> dict[str, bytes | None]:
        return {path: node and node.content for path, node in sorted(self.names.items())}

    # -- Files ---------------------------------------------------------------------------------

    def make_folder(self, path: str) -> None:
        if path in self.names:
            return
        self.make_folder(os.path.dirname(path))
        self.step("folder", path)
        self._change(None, path, None)
        self.sync_folder(os.path.dirname(path))

    def is_folder(self, path: str) -> bool:
        return path in self.names and self.names[path] is None

    def listing(self, path: str) -> list[str]:
        return sorted(os.path.basename(name) for name in self.names if os.path.dirname(name) == path and name != "/")

    def size(self, path: str) -> int | None:
        node = self.names.get(path)
        return None if node is None else len(node.content)

    def read(self, path: str) -> bytes:
        return self._node(path).content

    def map(self, path: str) -> pa.Buffer:
        return pa.py_buffer(self._node(path).content)

    def write_new(self, path: str, parts: Sequence[Bytes]) -> None:
        self.step("create", path)
        node = self.names.get(path)
        if node is None:
            node = Inode()
            self._change(None, path, node)
        node.content = b""
        for part in parts:
            self.step("write", path)
            node.content += bytes(part)
        self.step("sync", path)
        node.synced = node.content

    def append(self, path: str) -> Appender:
        self.step("create", path)
        if path not in self.names:
            self._change(None, path, Inode())
        return DyingAppender(self, path)

    def truncate(self, path: str, length: int) -> None:
        node = self._node(path)
        self.step("truncate", path)
        node.content = node.content[:length]
        self.step("sync", path)
        node.synced = node.content

    def sync(self, path: str) -> None:
        self.step("sync", path)
        node = self._node(path)
        node.synced = node.content

    def sync_folder(self, path: str) -> None:
        self.step("sync", path)
        for change in self.pending:
            if change[0] == path:
                _apply(self.durable, change)
        self.pending = [change for change in self.pending if change[0] != path]

    def replace(self, source: str, target: str) -> None:
        node = self._node(source)
        self.step("rename", target)
        self._change(source, target, node)
        self.sync_folder(os.path.dirname(target))

    def remove(self, path: str) -> None:
        self.step("remove", path)
        if path in self.names:
            self._change(path, None, None)

    def remove_folder(self, path: str) -> None:
        assert not self.listing(path)
        self.step("remove", path)
        self._change(path, None, None)

    def _node(self, path: str) -> Inode:
        node = self.names.get(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return node

    def _change(self, gone: str | None, come: str | None, node: Inode | None) -> None:
        change = (os.path.dirname(come or gone or ""), gone, come, node)
        assert change[0] in self.names, f"no folder {change[0]}"
        _apply(self.names, change)
        self.pending.append(change)


class DyingAppender:
    def __init__(self, files: DyingFiles, path: str) -> None:
        self.files = files
        self.path = path
        self.node = files._node(path)

    def write(self, data: Bytes) -> None:
        try:
            self.files.step("write", self.path)
        except OSError:  # a full disk takes a part
            self.node.content += bytes(data)[: len(bytes(data)) // 2]
            raise
        self.node.content += bytes(data)

    def sync(self) -> None:
        self.files.step("sync", self.path)
        self.node.synced = self.node.content

    def close(self) -> None:
        pass


def _apply(names: Names, change: Change) -> None:
    _folder, gone, come, node = change
    if gone is not None:
        names.pop(gone, None)
    if come is not None:
        names[come] = node


def _torn(node: Inode, part: float) -> bytes:
    if node.content.startswith(node.synced):
        added = node.content[len(node.synced) :]
        return node.synced + added[: int(len(added) * part)]
    return node.content if part == 1.0 else node.synced  # cut or overwritten: the old text or the new one
