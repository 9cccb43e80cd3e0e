"""Answers on their way out: Arrow tables, one row per answer, and their form in the answer log.

Model
-----
A block holds answers of one query, oldest first; the fields of an answer are the columns of its table
(:func:`answer_schema`), its result rows a list of structs. A column after the last standard one (such as
``covered`` of a model's answers) is a field that only some answers have: null where an answer has it not. The column
``GROUPS`` is logged and is nobody's field: `Answers.visible` leaves it out.

Design
------
A pass over a thousand queries would make a thousand tables of a row or two. Handled one by one they cost more than
the answers themselves, so answers are made, logged and written as *groups*: blocks whose columns have the same types in
the same order, whatever their names, as one table with columns ``c0, c1, ...``; names are kept aside. A block's own
table is a slice of it with names of its own, a view of the same memory, made when somebody asks.

Encoded: ``u32 length of the head | head (JSON) | one Arrow IPC stream per group``, streams at multiples of eight.
A thousand answers that are a group already encode in about a millisecond.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, compress
from typing import overload

import msgspec
import numpy as np
import pyarrow as pa

from punctual.errors import InternalError

FIELDS: tuple[tuple[str, pa.DataType], ...] = (
    ("number", pa.int32()),
    ("at", pa.int64()),
    ("from", pa.int64()),
    ("rows", pa.null()),  # its type is the query's
    ("basis", pa.string()),
    ("quality", pa.float64()),
    ("kept", pa.float64()),
    ("complete", pa.bool_()),
    ("error", pa.string()),
    ("released", pa.int64()),
    ("deadline", pa.int64()),
    ("answered", pa.int64()),
    ("on_time", pa.bool_()),
    ("execution", pa.string()),
    ("late_rows", pa.int64()),
)
"""Every field of an answer in the order of its JSON; instants are microseconds since 1970, ``error`` is JSON text."""

GROUPS = "_groups"
"""For each row of an answer the keys of its group, which need not be selected, where the next answer needs them."""
SAMPLE = "sample"
"""A field of sampled answers, JSON text: of each input what sample of it was drawn."""
JSON_TEXTS = ("error", SAMPLE)
INSTANTS = ("at", "from", "released", "deadline", "answered")
_NAMES = [name for name, _type in FIELDS]
_ROWS = _NAMES.index("rows")
_HEAD = struct.Struct("<I")
# Types that their number says all about; a type with parameters needs its text, which is slower to make.
_PLAIN = {
    data_type.id
    for data_type in (
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.binary(), pa.date32(),
    )
}
Shape = tuple[object, ...]


def answer_schema(columns: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    """The schema of a block whose query selects these columns.

    >>> answer_schema([("n", pa.int64())]).field("rows").type
    ListType(list<item: struct<n: int64>>)
    """
    rows = pa.list_(pa.struct([pa.field(name, data_type) for name, data_type in columns]))
    return pa.schema([(name, rows if name == "rows" else data_type) for name, data_type in FIELDS])


class AnswerBlock:
    """Answers of one query. Where they are part of a group, their table is cut out of it once somebody looks."""

    __slots__ = ("_cut", "_table", "count", "query")

    def __init__(self, query: str, table: pa.Table) -> None:
        if table.column_names[: len(_NAMES)] != _NAMES:
            raise InternalError(f'answers of query "{query}" have fields {table.column_names}')
        self.query = query
        self.count: int = table.num_rows
        self._table: pa.Table | None = table
        self._cut: tuple[Group, int, int] | None = None

    @staticmethod
    def of_group(group: Group, place: int, start: int) -> AnswerBlock:
        """The block that has this place in a group, its first answer that number."""
        block = AnswerBlock.__new__(AnswerBlock)
        block.query, block.count = group.queries[place], group.counts[place]
        block._table, block._cut = None, (group, place, start)
        return block

    @property
    def table(self) -> pa.Table:
        """The answers, oldest first."""
        if self._table is None:
            assert self._cut is not None
            group, place, start = self._cut
            own = group.table.slice(start, self.count)
            rows = own.column(_ROWS)
            rows = rows.chunk(0) if rows.num_chunks == 1 else rows.combine_chunks()
            named = _named(rows, _rows_type(group.table.schema, group.names[place]))
            self._table = own.set_column(_ROWS, "rows", named)
        return self._table

    def columns(self) -> list[str]:
        """Names of the query's output columns."""
        return _column_names(self.table.schema)


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks of one shape as one table.

    Attributes
    ----------
    table : pa.Table
        All answers, one chunk a column, result columns named ``c0, c1, ...``.
    queries, names, counts : list
        For each block: its query, the names of its result columns, how many answers it has.
    """

    table: pa.Table
    queries: list[str]
    names: list[tuple[str, ...]]
    counts: list[int]

    def only(self, wanted: Callable[[str], bool]) -> Group:
        """The blocks of some queries."""
        kept = [wanted(query) for query in self.queries]
        if all(kept):
            return self
        table = self.table.filter(pa.array(np.repeat(kept, self.counts))).combine_chunks()
        return Group(
            table,
            list(compress(self.queries, kept)),
            list(compress(self.names, kept)),
            list(compress(self.counts, kept)),
        )


class Answers(Sequence[AnswerBlock]):
    """Blocks that are kept as groups, group after group."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = [group for group in groups if group.queries]
        self._blocks: list[AnswerBlock] | None = None

    @staticmethod
    def of(blocks: Sequence[AnswerBlock]) -> Answers:
        """Blocks that were made one by one."""
        return Answers(grouped(blocks))

    def _listed(self) -> list[AnswerBlock]:
        if self._blocks is None:
            self._blocks = [
                AnswerBlock.of_group(group, place, end - group.counts[place])
                for group in self.groups
                for place, end in enumerate(accumulate(group.counts))
            ]
        return self._blocks

    def __len__(self) -> int:
        return sum(len(group.queries) for group in self.groups)

    def __iter__(self) -> Iterator[AnswerBlock]:
        return iter(self._listed())

    @overload
    def __getitem__(self, place: int) -> AnswerBlock: ...
    @overload
    def __getitem__(self, place: slice) -> list[AnswerBlock]: ...
    def __getitem__(self, place: int | slice) -> AnswerBlock | list[AnswerBlock]:
        return self._listed()[place]

    @property
    def size(self) -> int:
        """How many answers there are."""
        return sum(group.table.num_rows for group in self.groups)

    def only(self, wanted: Callable[[str], bool]) -> Answers:
        """The answers of some queries."""
        return Answers(group.only(wanted) for group in self.groups)

    def visible(self) -> Answers:
        """The answers as they are handed out."""
        if not any(GROUPS in group.table.column_names for group in self.groups):
            return self
        return Answers(
            replace(group, table=group.table.drop_columns([GROUPS])) if GROUPS in group.table.column_names else group
            for group in self.groups
        )


class _GroupHead(msgspec.Struct, frozen=True):
    """What an encoded group consists of: bytes of its stream, different names of columns, and for each block its query,
    the index of its names and how many answers it has."""

    length: int
    names: tuple[tuple[str, ...], ...]
    blocks: tuple[tuple[str, int, int], ...]


_HEADS = msgspec.json.Decoder(list[_GroupHead])


def grouped(blocks: Sequence[AnswerBlock]) -> list[Group]:
    """Blocks gathered by shape, then by names; blocks of one query and schema keep their order."""
    if isinstance(blocks, Answers):
        return blocks.groups
    by_shape: dict[Shape, dict[tuple[str, ...], list[AnswerBlock]]] = {}
    known: pa.Schema | None = None
    members: list[AnswerBlock] = []
    for block in blocks:
        schema = block.table.schema
        if known is None or not schema.equals(known):  # neighbours are often alike
            known = schema
            further = {name: schema.field(name).type for name in schema.names[len(_NAMES) :]}
            shape = shape_of(schema.field(_ROWS).type, further)
            members = by_shape.setdefault(shape, {}).setdefault(tuple(_column_names(schema)), [])
        members.append(block)
    return [_group(by_names) for by_names in by_shape.values()]


class CannotEncode(Exception):
    """Answers that Arrow cannot write: ``reasons`` by query. All other blocks can be written."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f'query "{query}": {reason}' for query, reason in reasons.items()))
        self.reasons = reasons


def encode(blocks: Sequence[AnswerBlock]) -> bytes:
    """Blocks as one record of the answer log; `CannotEncode` names those that cannot be one."""
    try:
        return _encoded(blocks)
    except pa.ArrowException as problem:
        reasons = {block.query: reason for block in blocks if (reason := _why_not(block)) is not None}
        if not reasons:  # each by itself, but not together
            raise
        raise CannotEncode(reasons) from problem


def _why_not(block: AnswerBlock) -> str | None:
    try:
        _encoded([block])
    except pa.ArrowException as problem:
        return str(problem).split("\n", 1)[0]
    return None


def _encoded(blocks: Sequence[AnswerBlock]) -> bytes:
    heads, streams = [], []
    for group in grouped(blocks):
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, group.table.schema) as writer:
            writer.write_table(group.table)
        stream = out.getvalue()
        place = {names: at for at, names in enumerate(dict.fromkeys(group.names))}
        members = zip(group.queries, (place[names] for names in group.names), group.counts)
        heads.append(_GroupHead(stream.size, tuple(place), tuple(members)))
        streams.append(stream)
    head = msgspec.json.encode(heads)
    parts: list[bytes | pa.Buffer] = [_HEAD.pack(len(head)), head, bytes(-(_HEAD.size + len(head)) % 8)]
    for stream in streams:
        parts += [stream, bytes(-stream.size % 8)]
    return b"".join(parts)


def decode(payload: bytes) -> Answers:
    """The blocks of a record; blocks of one query in their order. Tables read the payload's memory."""
    heads, start = _heads(payload)
    start += -start % 8
    whole = pa.py_buffer(payload)
    groups: list[Group] = []
    for head in heads:
        with pa.ipc.open_stream(whole.slice(start, head.length)) as reader:
            table = reader.read_all().combine_chunks()
        start += head.length + -head.length % 8
        queries, places, counts = (list(part) for part in zip(*head.blocks))
        groups.append(Group(table, queries, [head.names[place] for place in places], counts))
    return Answers(groups)


def queries_in(payload: bytes) -> set[str]:
    """Whose answers a record holds, without reading them."""
    heads, _end = _heads(payload)
    return {query for head in heads for query, _place, _count in head.blocks}


def _heads(payload: bytes) -> tuple[list[_GroupHead], int]:
    """The heads of a record's groups, and where they end."""
    (size,) = _HEAD.unpack_from(payload)
    end = _HEAD.size + size
    return _HEADS.decode(payload[_HEAD.size : end]), end


def _group(by_names: dict[tuple[str, ...], list[AnswerBlock]]) -> Group:
    tables = [pa.concat_tables([block.table for block in members]) for members in by_names.values()]
    chunks = [positional(table.column(_ROWS).combine_chunks()) for table in tables]
    others = pa.concat_tables([table.remove_column(_ROWS) for table in tables])
    table = others.add_column(_ROWS, "rows", pa.chunked_array(chunks)).combine_chunks()
    members = [(block, names) for names, named in by_names.items() for block in named]
    return Group(
        table,
        [block.query for block, _ in members],
        [names for _, names in members],
        [block.count for block, _ in members],
    )


def positional(rows: pa.ListArray) -> pa.ListArray:
    """Rows with their columns named as in groups."""
    columns = [pa.field(f"c{at}", field.type) for at, field in enumerate(rows.type.value_type)]
    return _named(rows, pa.list_(pa.struct(columns)))


def _named(rows: pa.ListArray, rows_type: pa.ListType) -> pa.ListArray:
    """The same rows with other names."""
    if not _has_void(rows_type):
        return rows.view(rows_type)
    # Arrow's views lose the length of columns of NULLs alone.
    struct = rows.values
    columns = [struct.field(at) for at in range(struct.type.num_fields)]
    renamed = pa.StructArray.from_arrays(columns, fields=list(rows_type.value_type))
    return pa.ListArray.from_arrays(rows.offsets, renamed)


@lru_cache(maxsize=4_096)
def _has_void(data_type: pa.DataType) -> bool:
    """Whether a part of a type is that of NULL alone."""
    parts = (data_type.field(at).type for at in range(data_type.num_fields))
    return pa.types.is_null(data_type) or any(_has_void(part) for part in parts)


def _rows_type(schema: pa.Schema, names: Sequence[str]) -> pa.ListType:
    fields = schema.field(_ROWS).type.value_type
    return pa.list_(pa.struct([pa.field(name, fields.field(at).type) for at, name in enumerate(names)]))


def _column_names(schema: pa.Schema) -> list[str]:
    fields = schema.field(_ROWS).type.value_type
    return [fields.field(at).name for at in range(fields.num_fields)]


def shape_of(rows: pa.ListType, further: Mapping[str, pa.DataType]) -> Shape:
    """What blocks of one group have in common, cheap to compute and to compare: the types of their rows, and the
    columns after the standard ones."""
    types = [field.type for field in rows.value_type]
    extra = tuple((name, str(data_type)) for name, data_type in further.items())
    return (*(t.id if t.id in _PLAIN else str(t) for t in types), extra)
