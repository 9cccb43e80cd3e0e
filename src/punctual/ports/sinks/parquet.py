"""Answers as Parquet: ``<out>/<query>/<position>.parquet``, one row an answer, result rows as a list of structs.

Small blocks are gathered in memory and written at a checkpoint, or earlier when they grow. A file is named by the
position of the last record in it and put in place whole, so writing it again replaces it. Going back to a
checkpoint removes the files of later positions. Instants are timestamps in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from punctual.errors import InternalError
from punctual.ports.answers import INSTANTS, AnswerBlock
from punctual.ports.sinks.sink import SinkState, foreign_file
from punctual.ports.storage import TEMPORARY, Files, file_name, tells_disk_full, write_whole

GATHERED_BYTES = 64 * 1024 * 1024
_ENDING = ".parquet"
_OURS = re.compile(rf"\d{{20}}{re.escape(_ENDING)}({re.escape(TEMPORARY)})?")
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
        self._position = 0
        self._claimed: set[str] = set()
        self._gathered: dict[str, list[pa.Table]] = {}
        self._last: dict[str, int] = {}  # position of the last gathered record of a query
        self._bytes = 0

    @property
    def position(self) -> int:
        return self._position

    @tells_disk_full
    def open(self, state: SinkState | None) -> None:
        self._files.make_folder(self._folder)
        if state is None:
            return
        self._position = state["position"]
        self._claimed = set(state["queries"])
        for query in sorted(self._claimed):
            self._drop_after(query, self._position)

    @tells_disk_full
    def claim(self, queries: Sequence[str]) -> None:
        for query in queries:
            if query in self._claimed:
                continue
            if self._files.listing(self._query_folder(query)):
                if not self._replace:
                    raise foreign_file(self._query_folder(query))
                self._drop_after(query, 0)
            self._files.make_folder(self._query_folder(query))
            self._claimed.add(query)

    @tells_disk_full
    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        if position <= self._position:
            return
        if self._bytes >= self._gathered_bytes:
            self._flush()
        for block in blocks:
            if block.query not in self._claimed:
                raise InternalError(f'query "{block.query}" writes answers before it was claimed')
            gathered = self._gathered.get(block.query)
            if gathered and self._last[block.query] < position and not gathered[0].schema.equals(block.table.schema):
                self._flush_query(block.query)  # the query was replaced by one with other columns
        for block in blocks:
            self._gathered.setdefault(block.query, []).append(block.table)
            self._last[block.query] = position
            self._bytes += block.table.nbytes
        self._position = position

    @tells_disk_full
    def checkpoint(self) -> SinkState:
        self._flush()
        return {"position": self._position, "queries": sorted(self._claimed)}

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
        write_whole(self._files, path, out.getvalue())
        del self._gathered[query]

    def _drop_after(self, query: str, position: int) -> None:
        """Remove what this sink wrote for later positions, and what it was writing."""
        folder = self._query_folder(query)
        ours = [name for name in self._files.listing(folder) if _OURS.fullmatch(name)]
        dropped = [name for name in ours if int(name[:20]) > position or name.endswith(TEMPORARY)]
        for name in dropped:
            self._files.remove(f"{folder}/{name}")
        if dropped:
            self._files.sync_folder(folder)

    def _query_folder(self, query: str) -> str:
        return f"{self._folder}/{file_name(query)}"
