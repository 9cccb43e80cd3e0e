"""What jobs yield: a closed union of typed products, one row of a job's output each.

================  ============================================  =====================================================
product           what it is                                    where it goes
================  ============================================  =====================================================
`Cells`           partial cells of a unit (Arrow)               a section of the batch's manifest, then the unit's panes
`LateCells`       counts of a stream's late rows (Arrow)        a section of the batch's manifest, then the late counts
`RetainedRows`    accepted rows of a stream (Arrow)             a section of the batch's manifest, then row queries
`DeadRows`        rows that do not count, with reasons (Arrow)  the batch's dead letters
`Facts`           counters of a partition, all in the value     the progress of its stream, in the manifest's body
`ShardAnswers`    answers of a reader from one shard (Arrow)    the pass that asked
`RowAnswer`       rows that answer a row query (Arrow)          the pass that asked
`CountedRows`     how many rows a window has                    the pass that asked
`FunctionValues`  what a function gave for calls of it (Arrow)  the pass that asked
`FunctionFault`   what is wrong with a function                 the pass that asked
`MergedCells`     all cells of one shard in one file (Arrow)    a section of a base
`TaskTime`        core time of a task, instead of rows          the core time of who asked for the job
================  ============================================  =====================================================

Spark's workers load this module: it imports nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

BEGINNING = -(2**63)
OUTPUT = pa.schema(
    [
        ("product", pa.binary()),
        ("rows", pa.int64()),
        ("payload", pa.binary()),
        ("path", pa.string()),
    ]
)
OUTPUT_DDL = "product BINARY, rows BIGINT, payload BINARY, path STRING"


class Cells(msgspec.Struct, frozen=True, tag="cells", tag_field="product"):
    """Cells of a unit; ``unit`` is its name in the state."""

    unit: str


class LateCells(msgspec.Struct, frozen=True, tag="late", tag_field="product"):
    """Counts, by pane, of a stream's rows that came too late."""

    stream: str


class RetainedRows(msgspec.Struct, frozen=True, tag="rows", tag_field="product"):
    """Accepted rows of a stream, for row queries; their event times are from ``least`` to ``greatest``.

    Columns are the event time in microseconds (``own_names.TIME``) and columns of the stream by their names, as many as
    the row queries of that time may name. ``meaning`` is that of the stream's columns: a stream that is declared in
    another way does not read them. ``columns`` are the names of all columns, none where they were not written down.
    ``sifted`` rows were chosen when files were merged, as the last ones that windows by rows need.
    """

    stream: str
    least: int
    greatest: int
    meaning: str = ""
    columns: tuple[str, ...] = ()
    sifted: bool = False


class DeadRows(msgspec.Struct, frozen=True, tag="dead", tag_field="product"):
    """Rows of a stream that do not count, each with its reason, origin and event time."""

    stream: str


class Facts(msgspec.Struct, frozen=True, tag="facts", tag_field="product"):
    """Counters of a stream's rows; ``least`` and ``greatest`` are event times of accepted rows.

    ``tops`` has the greatest event time by origin, where it was asked for. ``shed`` rows were not read at all: they are
    neither accepted, nor late, nor dead.

    >>> Facts("s", 2, greatest=9, least=3).plus(Facts("s", 1, 1, 0, 5, 11))
    Facts(stream='s', accepted=3, late=1, dead=0, least=3, greatest=11, tops={}, shed=0)
    """

    stream: str
    accepted: int = 0
    late: int = 0
    dead: int = 0
    least: int | None = None
    greatest: int | None = None
    tops: dict[str, int] = {}
    shed: int = 0

    def plus(self, other: Facts) -> Facts:
        """Both together."""
        least = [time for time in (self.least, other.least) if time is not None]
        greatest = [time for time in (self.greatest, other.greatest) if time is not None]
        return Facts(
            self.stream,
            self.accepted + other.accepted,
            self.late + other.late,
            self.dead + other.dead,
            min(least, default=None),
            max(greatest, default=None),
            {name: max(one.get(name, BEGINNING) for one in (self.tops, other.tops)) for name in self.tops | other.tops},
            self.shed + other.shed,
        )


class ShardAnswers(msgspec.Struct, frozen=True, tag="answers", tag_field="product"):
    """What a reader of a shard job's ``work`` is answered from one shard; both are indexes."""

    work: int
    reader: int


class RowAnswer(msgspec.Struct, frozen=True, tag="row answer", tag_field="product"):
    """The rows that a slot of a row job is answered; without a table there are none, or more than there may be."""

    slot: str


class CountedRows(msgspec.Struct, frozen=True, tag="counted", tag_field="product"):
    """How many rows a window of a counting job has; ``window`` is its index."""

    window: int


class FunctionValues(msgspec.Struct, frozen=True, tag="function values", tag_field="product"):
    """What the function of this number gave for some of a job's calls: their numbers, and a list of values for each."""

    function: int


class FunctionFault(msgspec.Struct, frozen=True, tag="function fault", tag_field="product"):
    """A call that failed, by its number, and why."""

    call: int
    fact: str


class MergedCells(msgspec.Struct, frozen=True, tag="merged", tag_field="product"):
    """The cells that ``work`` of a shard job has in one shard."""

    work: int


class TaskTime(msgspec.Struct, frozen=True, tag="time", tag_field="product"):
    """Core time that a task used in its Python worker: as many microseconds as the product has "rows"."""


Kept = Cells | LateCells | RetainedRows
"""What a manifest's sections hold."""
Product = (
    Cells | LateCells | RetainedRows | DeadRows | Facts
    | ShardAnswers | RowAnswer | CountedRows | FunctionValues | FunctionFault | MergedCells | TaskTime
)  # fmt: skip
_TIME = msgspec.json.encode(TaskTime())
_PRODUCTS: msgspec.json.Decoder[Product] = msgspec.json.Decoder(Product)


@dataclass(frozen=True, slots=True, eq=False)
class Produced:
    """A product, how many rows it has, and its bytes: here, in the file at this path, or none."""

    product: Product
    rows: int = 0
    data: bytes | pa.Buffer | str | None = None

    def table(self) -> pa.Table:
        """The product's table, mapped where it lies in a file."""
        assert self.data is not None, f"{self.product} has no table"
        if not isinstance(self.data, str):
            return from_ipc(self.data)
        with pa.memory_map(self.data) as file:
            return pa.ipc.open_stream(file).read_all()


def output(produced: Produced) -> pa.RecordBatch:
    """The row of a job's output that says this."""
    data = produced.data
    payload, path = (None, data) if isinstance(data, str) else (data, None)
    columns = [
        pa.array([msgspec.json.encode(produced.product)], pa.binary()),
        pa.array([produced.rows], pa.int64()),
        _one_value(payload),
        pa.array([path], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=OUTPUT)


def _one_value(payload: bytes | pa.Buffer | None) -> pa.Array:
    """A column of one value, without a copy. ``pa.array`` of a view would never let go of it (pyarrow 26)."""
    if payload is None:
        return pa.nulls(1, pa.binary())
    value = pa.py_buffer(payload)
    offsets = pa.array([0, value.size], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, value])


def outputs(table: pa.Table) -> Iterator[Produced]:
    """What the rows of a job's output say."""
    for row in table.to_pylist():
        data = row["payload"] if row["path"] is None else row["path"]
        yield Produced(_PRODUCTS.decode(row["product"]), row["rows"], data)


def without_times(table: pa.Table) -> tuple[pa.Table, int]:
    """The rows of a job's output without the times of its tasks, and their sum in microseconds.

    >>> table = pa.Table.from_batches([output(Produced(TaskTime(), 7)), output(Produced(Facts("s"), 2))])
    >>> rest, core_us = without_times(table)
    >>> [produced.rows for produced in outputs(rest)], core_us
    ([2], 7)
    """
    times = pc.equal(table.column("product"), pa.scalar(_TIME, pa.binary())).to_numpy().nonzero()[0].tolist()
    if not times:
        return table, 0
    starts, ends = [0, *(place + 1 for place in times)], [*times, table.num_rows]
    rest = pa.concat_tables([table.slice(start, end - start) for start, end in zip(starts, ends)])
    return rest, sum(table.column("rows").take(times).to_pylist())


def to_ipc(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_ipc(data: bytes | pa.Buffer) -> pa.Table:
    """The table of an Arrow IPC stream, without a copy."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
