"""The files of the ledger: what every batch and every answer used, in the order in which it was recorded.

``ledger/<number>-<time>-<crc>.parquet``: numbers only grow, the time is that of the newest record in microseconds since
1970, and ``crc`` is the CRC32 of the file. A file is written once, whole, and removed whole when all of it is old.
Nothing else in the state depends on the ledger, and nothing vouches for it: a crash loses what was not sealed.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from punctual.clock import Micros
from punctual.errors import corrupt
from punctual.ports.storage import tells_disk_full, write_whole
from punctual.store.directory import Directory
from punctual.store.layout import number, own

_TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("record", pa.string()),
        ("recorded", _TIME),
        ("batch", pa.int64()),
        ("rows", pa.int64()),
        ("shed_rows", pa.int64()),
        ("bytes", pa.int64()),
        ("seconds", pa.float64()),
        ("load", pa.float64()),
        ("lag_seconds", pa.float64()),
        ("fairness", pa.float64()),
        ("query", pa.string()),
        ("at", _TIME),
        ("number", pa.int32()),
        ("level", pa.float64()),
        ("kept", pa.float64()),
        ("quality", pa.float64()),
        ("predicted_ms", pa.float64()),
        ("high_ms", pa.float64()),
        ("used_ms", pa.float64()),
        ("released", _TIME),
        ("deadline", _TIME),
        ("answered", _TIME),
        ("slack_seconds", pa.float64()),
        ("on_time", pa.bool_()),
        ("stream", pa.string()),
        ("share", pa.float64()),
        ("why", pa.string()),
    ]
)
"""All columns; a record has those of its kind, and null in the others."""


class LedgerFiles:
    """The ledger of a state, as far as it is sealed."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """The files, oldest first."""
        return own(self._directory.files, self._directory.path, "ledger")

    @tells_disk_full
    def seal(self, records: pa.Table, newest: Micros) -> None:
        """Make these records durable, as a file of their own."""
        directory = self._directory
        with directory.writing():
            names = self.names()
            sink = pa.BufferOutputStream()
            pq.write_table(records, sink, compression="zstd")
            data = sink.getvalue()
            following = number(names[-1]) + 1 if names else 0
            name = f"{following:012d}-{max(0, newest):020d}-{zlib.crc32(data):08x}.parquet"
            directory.files.make_folder(directory.name("ledger"))
            write_whole(directory.files, directory.name(f"ledger/{name}"), data)

    @tells_disk_full
    def trim(self, before: Micros) -> None:
        """Remove files whose records are all older than this."""
        with self._directory.writing():
            for name in self.names():
                if _newest(name) < before:
                    self._directory.files.remove(self._directory.name(f"ledger/{name}"))

    def read(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The records of these files; one that was removed meanwhile has none."""
        for name in names:
            path = self._directory.name(f"ledger/{name}")
            with contextlib.suppress(FileNotFoundError):
                data = self._directory.files.read(path)
                if zlib.crc32(data) != int(name[-16:-8], 16):
                    raise corrupt(path, "the checksum in its name does not fit")
                # Without Arrow's threads: a short process that ends while they start is aborted.
                yield _as_now(pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(use_threads=False))

    def since(self, at: Micros) -> list[str]:
        """The files that may have records of this time or later."""
        return [name for name in self.names() if _newest(name) >= at]


def _as_now(records: pa.Table) -> pa.Table:
    """Records with all columns that there are now; a file that is older than a column has nothing in it."""
    columns = [
        records.column(field.name) if field.name in records.column_names else pa.nulls(records.num_rows, field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _newest(name: str) -> Micros:
    return int(name[13:33])
