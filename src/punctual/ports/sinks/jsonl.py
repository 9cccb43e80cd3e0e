"""Answers as JSON lines: ``<out>/<query>.jsonl``, one answer per line (docs/language.md, "Answers").

Lines of all blocks of one shape are made at once, column by column (``json_text``), then cut into one piece a
file; a file gets one write a record of the log. At most ``open_files`` files are open at a time.

A checkpoint is the length and the checksum of every claimed file. Going back cuts files to it; a file that was changed
is written again from the log. After a write that failed (a full disk) the files it touched are cut back to where it
began, so it can be tried again.
"""

from __future__ import annotations

import contextlib
import errno
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np
import orjson
import pyarrow as pa

from punctual.errors import StateError
from punctual.ports.answers import FIELDS, INSTANTS, JSON_TEXTS, AnswerBlock, Group, grouped
from punctual.ports.sinks.changed_outputs import resumed
from punctual.ports.sinks.json_text import TEXT, fragments, instants, joined, joined_lists, object_texts
from punctual.ports.sinks.owners import Owners
from punctual.ports.sinks.sink import SinkState, Written, foreign_file
from punctual.ports.sinks.written import WrittenOutputs
from punctual.ports.storage import Appender, Files, file_name, is_address, tells_disk_full, tells_unusable

OPEN_FILES = 200


def json_lines(blocks: Sequence[AnswerBlock]) -> Iterator[tuple[str, pa.Buffer]]:
    """Each block's query and its lines as UTF-8."""
    for group in grouped(blocks):
        texts = joined_lists(np.asarray(group.counts, np.int64), _lines(group), "")
        yield from ((query, texts[at].as_buffer()) for at, query in enumerate(group.queries) if group.counts[at])


def _lines(group: Group) -> pa.Array:
    block = np.repeat(np.arange(len(group.queries)), group.counts)
    queries = pa.array([_quoted(query) for query in group.queries], TEXT).take(pa.array(block))
    parts: list[str | pa.Array] = ['{"query":', queries]
    for field, _type in FIELDS:
        column = group.table.column(field).combine_chunks()
        if field == "rows":
            text = _rows(group, column, block)
        elif field in INSTANTS:
            text = instants(column).fill_null("null")
        elif field in JSON_TEXTS:
            text = column.cast(TEXT).fill_null("null")
        else:
            text = fragments(column)
        parts += [f',"{field}":', text]
    for field in group.table.column_names[len(FIELDS) :]:
        column = group.table.column(field).combine_chunks()
        text = column.cast(TEXT).fill_null("null") if field in JSON_TEXTS else fragments(column)
        said = joined([f",{_quoted(field)}:", text])
        parts.append(pa.compute.if_else(column.is_valid(), said, pa.scalar("", TEXT)))
    return joined([*parts, "}\n"])


def _rows(group: Group, lists: pa.ListArray, block: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    owner: pa.Array | None = None
    keys: list[str | pa.Array] = []
    for names in zip(*group.names):
        if len(set(names)) == 1:
            keys.append(_quoted(names[0]))
        else:
            owner = pa.array(np.repeat(block, lengths)) if owner is None else owner
            keys.append(pa.array([_quoted(name) for name in names], TEXT).take(owner))
    texts = object_texts(keys, lists.flatten().flatten())
    return joined(["[", joined_lists(lengths, texts, ","), "]"])


def _quoted(name: str) -> str:
    return orjson.dumps(name).decode()


class JsonLinesSink:
    """A folder of JSON lines files.

    Parameters
    ----------
    files : Files
    folder : str
        Absolute; made when missing.
    state : str, optional
        Identity of the state whose answers these are. None when it is not kept: then files of a claimed query that no
        kept state has written are overwritten.
    """

    def __init__(self, files: Files, folder: str, *, state: str | None, open_files: int = OPEN_FILES) -> None:
        self._files = files
        self._folder = folder
        self._replace = state is None
        self._owners = Owners(files, folder, state)
        self._open_files = open_files
        self._written = WrittenOutputs()
        self._handles: dict[str, Appender] = {}  # least recently used first
        self._unsynced: set[str] = set()
        self._has_new_names = False
        self._uncut: dict[str, int] = {}  # what a failed write left, to be cut before the next

    @property
    def position(self) -> int:
        return self._written.position

    @tells_disk_full
    def prepare(self) -> None:
        """Make the folder, or say why it cannot be one."""
        if is_address(self._folder):
            raise StateError(
                "sink.not-a-folder",
                f'output "{self._folder}" is not a folder of a POSIX file system',
                detail="answers are cut back and continued in place after a crash, which object stores cannot",
                hint="name a folder on a local disk or on a mounted file system",
            )
        with self._usable():
            self._files.make_folder(self._folder)
            if not self._files.is_folder(self._folder):
                raise NotADirectoryError(errno.ENOTDIR, "it is a file", self._folder)

    def _refuse_foreign(self, queries: Sequence[str], *, ours: bool) -> None:
        found = self._owners.foreign(map(self._name, queries), ours=ours)
        if found is None and not (ours or self._replace):
            found = next((self._name(query) for query in queries if self._size(query)), None)
        if found is not None:
            raise foreign_file(f"{self._folder}/{found}")

    def _usable(self) -> AbstractContextManager[None]:
        return tells_unusable("sink.unusable", self._folder, "--out")

    @tells_disk_full
    def open(self, state: SinkState | None, oldest: int = 1) -> None:
        self.prepare()
        self._written.oldest = oldest
        if state is None:
            return
        self._refuse_foreign(list(state.written), ours=True)
        with self._usable():
            found = resumed(state, self._folder, oldest, self._size, self._checksum, self._is_ours)
            if found is None:
                return
            self._written.resume(state, found)
            for query, written in found.items():
                size = self._size(query)
                if size is None:
                    self._files.append(self._path(query)).close()
                    self._has_new_names = True
                elif size > written.length:
                    self._files.truncate(self._path(query), written.length)

    @tells_disk_full
    def claim(self, queries: Sequence[str]) -> None:
        new = [query for query in queries if query not in self._written]
        self._refuse_foreign(new, ours=False)
        with self._usable():
            self._owners.take([self._name(query) for query in new])
            for query in new:
                if self._size(query):
                    self._files.truncate(self._path(query), 0)
                self._files.append(self._path(query)).close()  # a query without answers has an empty file
                self._has_new_names = True
                self._written.claim(query)

    @tells_disk_full
    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        if position <= self.position:
            return
        blocks = self._written.lacking(position, blocks)
        self._cut()
        before: dict[str, Written] = {}
        try:
            for query, lines in json_lines(blocks):
                before.setdefault(query, self._written[query])
                self._handle(query).write(lines)
                self._written.add(query, lines)
                self._unsynced.add(query)
        except OSError:
            self._written.restore(before)
            self._uncut |= {query: written.length for query, written in before.items()}
            with contextlib.suppress(OSError):
                self._cut()
            raise
        self._written.passed(position)

    @tells_disk_full
    def checkpoint(self) -> SinkState:
        self._cut()
        for query in sorted(self._unsynced):
            if query in self._handles:
                self._handles[query].sync()
            else:
                self._files.sync(self._path(query))
        if self._has_new_names:
            self._files.sync_folder(self._folder)
        self._unsynced.clear()
        self._has_new_names = False
        return self._written.state(self._folder)

    def close(self) -> None:
        for handle in self._handles.values():
            handle.close()
        self._handles.clear()

    def _size(self, query: str) -> int | None:
        return self._files.size(self._path(query))

    def _is_ours(self, query: str) -> bool:
        return self._owners.owns(self._name(query))

    def _checksum(self, query: str, length: int) -> int:
        return zlib.crc32(self._files.map(self._path(query))[:length]) if length else 0

    def _name(self, query: str) -> str:
        return f"{file_name(query)}.jsonl"

    def _path(self, query: str) -> str:
        return f"{self._folder}/{self._name(query)}"

    def _handle(self, query: str) -> Appender:
        handle = self._handles.pop(query, None)
        if handle is None:
            if len(self._handles) >= self._open_files:
                self._handles.pop(next(iter(self._handles))).close()
            handle = self._files.append(self._path(query))
        self._handles[query] = handle
        return handle

    def _cut(self) -> None:
        for query, length in list(self._uncut.items()):
            if query in self._handles:
                self._handles.pop(query).close()
            self._files.truncate(self._path(query), length)
            del self._uncut[query]
