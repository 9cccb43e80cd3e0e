"""Answers as Parquet: ``<out>/<query>/<position>.parquet``, one row per answer, result rows as a list of structs.

Small blocks are gathered in memory and written at a checkpoint, or earlier when they grow. A file is named by the
position of the last record in it and put in place whole, so writing it again replaces it. A checkpoint is the length
and the checksum of all files of a query, end to end. Going back to it removes the files of later positions; a query
whose files were changed is written again from the log. Instants are timestamps in UTC.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from punctual.ports.answers import INSTANTS, AnswerBlock
from punctual.ports.sinks.changed_outputs import resumed
from punctual.ports.sinks.sink import SinkState, foreign_file
from punctual.ports.sinks.written import WrittenOutputs
from punctual.ports.storage import TEMPORARY, Files, file_name, tells_disk_full, write_whole

GATHERED_BYTES = 64 * 1024 * 1024
_ENDING = ".parquet"
_OURS = re.compile(rf"[0-9]{{20}}{re.escape(_ENDING)}")
_TIME = pa.timestamp("us", tz="UTC")


class ParquetSink:
    """A folder with a folder of Parquet files for each query.

    ``replace`` says whether files of a claimed query that this state has not written are overwritten.
    """

    def __init__(
        self, files: Files, folder: str, *, replace: bool = False, gathered_bytes: int = GATHERED_BYTES
    ) -> None:
        self._files = files
        self._folder = folder
        self._replace = replace
        self._gathered_bytes = gathered_bytes
        self._written = WrittenOutputs()  # as far as they are in files
        self._gathered: dict[str, list[pa.Table]] = {}
        self._last: dict[str, int] = {}  # position of the last gathered record of a query
        self._bytes = 0

    @property
    def position(self) -> int:
        return self._written.position

    @tells_disk_full
    def open(self, state: SinkState | None, oldest: int = 1) -> None:
        self._files.make_folder(self._folder)
        self._written.oldest = oldest
        if state is None:
            return
        through = {query: written.through for query, written in state.written.items()}
        found = resumed(
            state,
            self._folder,
            oldest,
            lambda query: self._size(query, through[query]),
            lambda query, _length: self._checksum(query, through[query]),
            lambda query: state.folder == self._folder,
        )
        if found is None:
            return
        self._written.resume(state, found)
        for query, written in found.items():
            self._files.make_folder(self._query_folder(query))
            self._drop_after(query, written.through)

    @tells_disk_full
    def claim(self, queries: Sequence[str]) -> None:
        for query in queries:
            if query in self._written:
                continue
            if self._own(query):
                if not self._replace:
                    raise foreign_file(self._query_folder(query))
                self._drop_after(query, 0)
            self._files.make_folder(self._query_folder(query))
            self._written.claim(query)

    @tells_disk_full
    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        if position <= self.position:
            return
        blocks = self._written.lacking(position, blocks)
        if self._bytes >= self._gathered_bytes:
            self._flush()
        for block in blocks:
            gathered = self._gathered.get(block.query)
            if gathered and self._last[block.query] < position and not gathered[0].schema.equals(block.table.schema):
                self._flush_query(block.query)  # the query was replaced by one with other columns
        for block in blocks:
            self._gathered.setdefault(block.query, []).append(block.table)
            self._last[block.query] = position
            self._bytes += block.table.nbytes
        self._written.passed(position)

    @tells_disk_full
    def checkpoint(self) -> SinkState:
        self._flush()
        return self._written.state(self._folder)

    def close(self) -> None:
        self._gathered.clear()

    def _flush(self) -> None:
        for query in sorted(self._gathered):
            self._flush_query(query)
        self._bytes = 0

    def _flush_query(self, query: str) -> None:
        table = pa.concat_tables(self._gathered[query])
        for name in INSTANTS:
            table = table.set_column(table.schema.get_field_index(name), name, table.column(name).cast(_TIME))
        out = pa.BufferOutputStream()
        pq.write_table(table, out)
        path = f"{self._query_folder(query)}/{self._last[query]:020d}{_ENDING}"
        data = out.getvalue()
        write_whole(self._files, path, data)
        self._written.add(query, data)
        del self._gathered[query]

    def _size(self, query: str, through: int) -> int | None:
        """Bytes of all files of a query through a position; None where there are none."""
        names = self._own(query, through)
        sizes = [self._files.size(f"{self._query_folder(query)}/{name}") or 0 for name in names]
        return sum(sizes) if names else None

    def _checksum(self, query: str, through: int) -> int:
        crc = 0
        for name in self._own(query, through):
            crc = zlib.crc32(self._files.map(f"{self._query_folder(query)}/{name}"), crc)
        return crc

    def _own(self, query: str, through: int | None = None) -> list[str]:
        """Our files of a query (through a position), oldest first."""
        names = [name for name in self._files.listing(self._query_folder(query)) if _OURS.fullmatch(name)]
        return [name for name in names if through is None or int(name[:20]) <= through]

    def _drop_after(self, query: str, position: int) -> None:
        """Remove what this sink wrote for later positions, and what it was writing."""
        folder = self._query_folder(query)
        whole = [name for name in self._own(query) if int(name[:20]) > position]
        names = self._files.listing(folder)
        half = [n for n in names if n.endswith(TEMPORARY) and _OURS.fullmatch(n.removesuffix(TEMPORARY))]
        dropped = [*whole, *half]
        for name in dropped:
            self._files.remove(f"{folder}/{name}")
        if dropped:
            self._files.sync_folder(folder)

    def _query_folder(self, query: str) -> str:
        return f"{self._folder}/{file_name(query)}"
