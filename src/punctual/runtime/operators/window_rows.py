"""The rows of a window, from the files that retain them, in an order that does not depend on how they came."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError, corrupt
from punctual.kernel.arrays.last_rows import last_rows
from punctual.kernel.arrays.row_hashes import row_hashes
from punctual.kernel.arrays.row_order import row_order
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.sample import kept
from punctual.kernel.sample.draw import Draw, DrawReport, drawn, drawn_for
from punctual.kernel.sample.rule import with_ordinals
from punctual.own_names import IDENTITY, READERS, ROW_IDENTITY, SAMPLE_MARK, TIME
from punctual.runtime.operators.in_worker import monotonic_us
from punctual.runtime.operators.order import Order
from punctual.store.products import CountedRows, Produced, from_ipc, output

MADE = (SAMPLE_MARK, READERS, ROW_IDENTITY)
"""Columns that are made while a window is read."""
MOST_CHECKED = 4096
"""How many files a worker knows to be whole."""


@dataclass(frozen=True, slots=True)
class RetainedFile:
    """A section of the state that holds rows of a stream; ``path`` is absolute, event times are ``least`` to
    ``greatest``.

    ``crc`` is the CRC32 of the section as its manifest has it; None where nobody checks it. ``rows`` is how many there
    are.
    """

    path: str
    offset: int
    length: int
    least: int
    greatest: int
    crc: int | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """Which rows of a window a shard has: those whose hash over these columns leaves ``part`` when divided."""

    part: int
    parts: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WindowReader:
    """One of several who read a window: a window of a slot, its number among the readers, and which rows it keeps."""

    slot: str
    window: int
    number: int
    draw: Draw | None


@dataclass(frozen=True, slots=True)
class Rounds:
    """In how many rounds the rows of a window are drawn, from which one on, by which seed, at which instant."""

    count: int
    seed: int
    at: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class WindowOrder:
    """Which rows a window has: those of the files whose event time is in ``(after, through]``.

    Of these only the last ``rows``, where that is said, of each value of the ``keys``; of all others perhaps a share.
    Of a sampler only the part ``sample`` of them, chosen by the hash of the columns ``sample_by``, or of whole rows.
    Where rows may be samples they have a mark as one more column, and ``draw`` says which of them are kept. Where
    several ``readers`` share the window, rows have who keeps them as one more column instead. ``rounds`` says how
    often rows are drawn that differ between worlds.
    """

    files: tuple[RetainedFile, ...]
    after: int
    through: int
    rows: int | None = None
    keys: tuple[str, ...] = ()
    share: Share | None = None
    sample: float = 1.0
    sample_by: tuple[str, ...] = ()
    draw: Draw | None = None
    readers: tuple[WindowReader, ...] = ()
    rounds: Rounds | None = None

    @property
    def draws(self) -> list[Draw]:
        """Of everybody who reads it."""
        return [one for one in (self.draw, *(reader.draw for reader in self.readers)) if one is not None]

    @property
    def bytes(self) -> int:
        """How much its files hold."""
        return sum(file.length for file in self.files)


@dataclass(frozen=True, slots=True)
class CountRows:
    """An operator: windows in, `CountedRows` out. The driver knows by file only how many rows there are.

    One task counts many windows in no time.
    """

    windows: tuple[WindowOrder, ...]
    tasks: int = 1

    @property
    def most_tasks(self) -> int:
        """How many tasks can share the work."""
        return 1

    def run(self, _order: Order | None, task: int) -> Iterator[pa.RecordBatch]:
        """What a task counts."""
        for number, window in list(enumerate(self.windows))[task :: self.tasks]:
            rows = sum(rows_between(file, window.after, window.through, ()).num_rows for file in window.files)
            yield output(Produced(CountedRows(number), rows))


def window_rows(order: WindowOrder, columns: Sequence[tuple[str, pa.DataType]], event_time: str) -> pa.Table:
    """The rows of a window, with these columns as these types; ``event_time`` is the column that is made of the time.

    Rows of a file that lacks one of the columns are left out: it was written before anybody read the column, and what
    its rows have there nobody knows. The same rows are the same table, whatever files they are in.
    """
    return drawn_rows(order, columns, event_time)[0]


def drawn_rows(
    order: WindowOrder,
    columns: Sequence[tuple[str, pa.DataType]],
    event_time: str,
    now: Callable[[], int] = monotonic_us,
) -> tuple[pa.Table, list[DrawReport | None]]:
    """The same, and what became of the draw, or of that of each reader; ``now`` is asked once all rows are read."""
    if not columns:  # a table without columns has no rows
        raise InternalError("a window without columns")
    asked = pa.schema(list(columns))
    plain = pa.schema([field for field in asked if field.name not in MADE])
    whole = _whole(order, plain, event_time, identified=ROW_IDENTITY in asked.names)
    times = whole.column(TIME).to_numpy()
    wanted = whole.drop_columns([TIME])
    if order.rows is not None:
        keys, told_by = [wanted.column(key) for key in order.keys], wanted.select(plain.names).columns
        last = last_rows(times, order.rows, keys, told_by)
        times, wanted = times[last], wanted.filter(pa.array(last))
    if order.sample < 1.0:
        some = _in_sample(wanted, order)
        times, wanted = times[some], wanted.filter(pa.array(some))
    kept, made, reports = _drawn(wanted, order, asked, now)
    times, wanted = times[kept], wanted.filter(pa.array(kept))
    if ROW_IDENTITY in asked.names:
        made[ROW_IDENTITY] = with_ordinals(wanted.column(IDENTITY).to_numpy().view(np.uint64)).view(np.int64)
    wanted = wanted.select(plain.names)
    placed = row_order(wanted.columns, times)
    wanted = wanted.take(pa.array(placed))
    for name, values in made.items():
        wanted = wanted.append_column(name, pa.array(values[placed]))
    return wanted.select(asked.names), reports


def _drawn(
    rows: pa.Table, order: WindowOrder, asked: pa.Schema, now: Callable[[], int]
) -> tuple[Bools, dict[str, I64], list[DrawReport | None]]:
    """Which rows are kept, the columns that are made of that, and what became of draws."""
    if order.readers:
        draws = {reader.number: reader.draw for reader in order.readers}
        kept, readers, told = drawn_for(rows, draws, now())
        return kept, {READERS: readers}, [told[reader.number] for reader in order.readers]
    if order.draw is None and SAMPLE_MARK not in asked.names:
        return np.ones(rows.num_rows, np.bool_), {}, [None]
    kept, marks, report = drawn(rows, order.draw, now())
    return kept, {SAMPLE_MARK: marks} if SAMPLE_MARK in asked.names else {}, [report]


def _whole(order: WindowOrder, asked: pa.Schema, event_time: str, *, identified: bool) -> pa.Table:
    """The times of a window's rows, the columns that are asked for, and those that a draw or identities need."""
    if (identified or any(not draw.by for draw in order.draws)) and IDENTITY not in asked.names:
        asked = asked.append(pa.field(IDENTITY, pa.int64()))
    stored = [name for name in asked.names if name != event_time]
    found = []
    for file in order.files:
        rows = rows_between(file, order.after, order.through, stored)
        if rows.num_rows and rows.num_columns == len(stored) + 1:
            typed = _typed(rows, asked, event_time)
            found.append(typed if order.share is None else _shared(typed, order.share))
    if not any(one.num_rows for one in found):
        return pa.schema([(TIME, pa.int64()), *asked]).empty_table()
    return pa.concat_tables(found).combine_chunks()


def _in_sample(rows: pa.Table, order: WindowOrder) -> Bools:
    """Which rows are in a sample. The same for the same values, in whatever window they are."""
    return kept(rows, order.sample_by or "row", "", order.sample)


def rows_between(file: RetainedFile, after: int, through: int, names: Sequence[str] | None = None) -> pa.Table:
    """Rows of a file whose event time is in ``(after, through]``: their times, and those of the columns that it has.

    Without names, all columns. Nothing is copied where all rows are wanted.
    """
    rows = stored_rows(file)
    if names is not None:
        rows = rows.select([TIME, *(name for name in names if name in rows.column_names)])
    if file.least > after and file.greatest <= through:
        return rows
    if file.greatest <= after or file.least > through:
        return rows.slice(0, 0)
    times = rows.column(TIME).to_numpy()
    return rows.filter(pa.array((times > after) & (times <= through)))


def stored_rows(file: RetainedFile) -> pa.Table:
    """All rows of a file, which stays mapped as long as they live; ``state.corrupt`` naming it when it is damaged."""
    if file.crc is not None:
        _check(file.path, file.offset, file.length, file.crc)
    try:
        rows = from_ipc(_section(file.path, file.offset, file.length))
    except (pa.ArrowException, OSError) as error:
        raise corrupt(file.path, f"it holds no rows: {error}") from error
    if TIME not in rows.column_names:
        raise corrupt(file.path, "its rows have no event time")
    return rows


@lru_cache(maxsize=MOST_CHECKED)
def _check(path: str, offset: int, length: int, crc: int) -> None:
    """See once that a section is as it was written: it never changes, and sliding windows read it again and again."""
    if zlib.crc32(_section(path, offset, length)) != crc:
        raise corrupt(path, "the checksum of its rows does not fit")


def _section(path: str, offset: int, length: int) -> pa.Buffer:
    try:
        with pa.memory_map(path) as file:
            whole = file.read_buffer()
    except FileNotFoundError as error:
        raise corrupt(path, "it is missing") from error
    except OSError as error:
        raise corrupt(path, f"it cannot be read: {error}") from error
    if offset + length > whole.size:
        raise corrupt(path, "it is shorter than its manifest says")
    return whole.slice(offset, length)


def _shared(rows: pa.Table, share: Share) -> pa.Table:
    hashes = row_hashes([rows.column(name) for name in share.columns], rows.num_rows)
    return rows.filter(pa.array(hashes % np.uint64(share.parts) == share.part))


def _typed(rows: pa.Table, asked: pa.Schema, event_time: str) -> pa.Table:
    """The times of rows, and the columns that are asked for as the types that are asked for."""
    arrays = [rows.column(TIME)]
    for field in asked:
        if field.name == event_time:
            arrays.append(rows.column(TIME).cast(pa.timestamp("us", tz="UTC")).cast(field.type))
        else:
            arrays.append(rows.column(field.name).cast(field.type))
    return pa.Table.from_arrays(arrays, names=[TIME, *asked.names])
