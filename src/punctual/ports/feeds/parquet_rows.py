"""Parquet: the file's own types, read from its footer, then cast to the declared ones.

Spark fails a whole job when it is told another type than the file has, so footers are read on the driver (a fraction of
a millisecond a file) and files whose declared columns have the same names and types share one plan. A value that the
declared type cannot hold is a malformed row; a type that can never become the declared one makes the file unreadable.
Nanoseconds, which Spark does not know, are read as numbers and cut to microseconds, and milliseconds as numbers too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from punctual.plan.sql_text import literal, quoted
from punctual.ports.feeds.read_plan import Columns, Inspection, ReadPlan, misfits, row_text
from punctual.ports.feeds.slices import FileRef
from punctual.scan.parquet.exact_cast import MILLIS, MOST_DAYS, MOST_MILLIS, NANOS, VOID
from punctual.scan.parquet.kinds import flat_kind, supported
from punctual.scan.parts import ParquetPart, Part

NUMBERED = (NANOS, MILLIS)
"""Columns of times that are read as BIGINT: Spark does not know nanoseconds, and fails at the first millisecond that
64 bits cannot hold as microseconds."""

Shape = tuple[tuple[str, str] | None, ...]
"""For each declared column its name and type in the file, or None where the file lacks it."""

_ALIASES = {"INTEGER": "INT", "LONG": "BIGINT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "REAL": "FLOAT",
            "TIMESTAMP_LTZ": "TIMESTAMP", "DEC": "DECIMAL", "NUMERIC": "DECIMAL"}  # fmt: skip
_FAMILIES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"), "number"),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ"), "time"),
    "BOOLEAN": "truth", "DATE": "date", "BINARY": "bytes", "ARRAY": "list",
}  # fmt: skip
_CASTS = {
    "number": {"number", "text", "truth"},
    "text": {"number", "text", "truth", "time", "date", "bytes"},
    "truth": {"number", "text", "truth"},
    "time": {"time", "text", "date"},
    "date": {"date", "text", "time"},
    "bytes": {"bytes", "text"},
}


GROUP_BYTES = 1 << 20
WEIGHT = 4
"""What a byte of columns weighs against one of text: reading it takes less, its rows take as long as others."""


class _FileError(Exception):
    """A file that cannot give the declared columns."""


def inspect_parquet(files: Sequence[FileRef], columns: Columns, options: Sequence[tuple[str, str]]) -> Inspection:
    """Plans by shape; a file without a footer, without a declared column or with an impossible type is unreadable."""
    shapes: dict[Shape, list[str]] = defaultdict(list)
    parts: list[tuple[Part, int]] = []
    scanned = True
    faults: list[tuple[str, str]] = []
    for ref in files:
        try:
            metadata = pq.read_metadata(ref.path)
            shape = _shape(metadata, columns)
            shapes[shape].append(ref.path)
            names = tuple(None if found is None else found[0] for found in shape)
            parts += _groups(ref.path, metadata, names)
            scanned = scanned and supported(metadata, names, columns)
        except _FileError as problem:
            faults.append((ref.path, str(problem)))
        except (OSError, pa.ArrowException) as problem:
            first = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            faults.append((ref.path, f"its footer cannot be read: {first}"))

    def plans() -> tuple[ReadPlan, ...]:
        return tuple(_plan(tuple(paths), shape, columns, options) for shape, paths in shapes.items())

    return Inspection(parts if scanned else None, plans, tuple(faults))


def _groups(path: str, metadata: pq.FileMetaData, names: tuple[str | None, ...]) -> Iterator[tuple[Part, int]]:
    """Row groups as parts; many small ones are one."""
    first, size = 0, 0
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).total_byte_size
        if size >= GROUP_BYTES or group + 1 == metadata.num_row_groups:
            yield ParquetPart(path, first, group + 1, names), WEIGHT * size
            first, size = group + 1, 0


def _shape(metadata: pq.FileMetaData, columns: Columns) -> Shape:
    # The Parquet types alone count: Arrow's own note in the footer may name types that Spark never sees.
    schema = metadata.schema.to_arrow_schema()
    physical = {leaf.path: leaf.physical_type for leaf in map(metadata.schema.column, range(metadata.num_columns))}
    by_name: dict[str, list[str]] = defaultdict(list)
    for name in schema.names:
        by_name[name.lower()].append(name)
    shape: list[tuple[str, str] | None] = []
    for name, kind in columns:
        found = by_name.get(name.lower(), [])
        if len(found) > 1:
            raise _FileError(f'it has column "{name}" more than once')
        if not found:
            shape.append(None)
            continue
        field = schema.field(found[0])
        own = "TIMESTAMP" if physical.get(found[0]) == "INT96" else spark_type(field.type)
        if own is None or not castable(own, kind):
            raise _FileError(f'its column "{found[0]}" is {field.type} and can never be {kind}')
        shape.append((found[0], own))
    if not any(shape):
        raise _FileError(f"it has none of the declared columns: {', '.join(schema.names)[:200]}")
    return tuple(shape)


def spark_type(own: pa.DataType) -> str | None:
    """The type as which Spark reads a Parquet column, or None when it cannot.

    >>> spark_type(pa.uint32()), spark_type(pa.list_(pa.timestamp("ms"))), spark_type(pa.timestamp("ns"))
    ('BIGINT', 'ARRAY<TIMESTAMP_NTZ>', 'NANOSECONDS')
    >>> spark_type(pa.null()), spark_type(pa.dictionary(pa.int8(), pa.string()))
    ('VOID', 'STRING')
    """
    flat = flat_kind(own, "")
    if flat is not None:
        return flat
    if pa.types.is_list(own) or pa.types.is_large_list(own):
        inner = _inner_type(own.value_type)
        return None if inner is None else f"ARRAY<{inner}>"
    if pa.types.is_map(own):
        key, value = _inner_type(own.key_type), _inner_type(own.item_type)
        return None if key is None or value is None else f"MAP<{key},{value}>"
    if pa.types.is_struct(own):
        inner_types = [(field.name, _inner_type(field.type)) for field in own]
        if any(kind is None for _name, kind in inner_types):
            return None
        return f"STRUCT<{','.join(f'{quoted(name)}:{kind}' for name, kind in inner_types)}>"
    return None


def _inner_type(own: pa.DataType) -> str | None:
    """The type of what a list, map or struct holds, which Spark reads itself."""
    kind = spark_type(own)
    return None if kind == NANOS else _time_type(own) if kind == MILLIS else kind


def _time_type(own: pa.TimestampType) -> str:
    return "TIMESTAMP" if own.tz else "TIMESTAMP_NTZ"


def castable(own: str, declared: str) -> bool:
    """Whether some value of one type can be one of the other.

    A number is no point in time: nothing says in which unit it counts. Declare it as a number and derive the time.

    >>> castable("BIGINT", "DOUBLE"), castable("ARRAY<INT>", "ARRAY<DOUBLE>"), castable("DATE", "INT")
    (True, True, False)
    >>> castable("VOID", "TIMESTAMP"), castable("ARRAY<VOID>", "ARRAY<INT>"), castable("ARRAY<VOID>", "INT")
    (True, True, False)
    """
    if own == VOID or canonical(own) == canonical(declared):
        return True
    if own in NUMBERED:
        return castable("TIMESTAMP", declared)
    source, target = _family(own), _family(declared)
    if source == target == "list":
        return castable(own[len("ARRAY<") : -1], canonical(declared)[len("ARRAY<") : -1])
    return target in _CASTS.get(source, set())


def canonical(kind: str) -> str:
    """A type without spaces, quotes around names and synonyms.

    >>> canonical("decimal(10, 2)"), canonical("ARRAY<INTEGER>"), canonical("STRUCT<`x`: INT>")
    ('DECIMAL(10,2)', 'ARRAY<INT>', 'STRUCT<X:INT>')
    """
    plain = re.sub(r"[\s`]+", "", kind)
    return re.sub(r"[A-Za-z_]+", lambda word: _ALIASES.get(word[0].upper(), word[0].upper()), plain)


def _family(kind: str) -> str:
    return _FAMILIES.get(re.split(r"[(<]", canonical(kind))[0], kind)


def _plan(paths: tuple[str, ...], shape: Shape, columns: Columns, options: Sequence[tuple[str, str]]) -> ReadPlan:
    values: list[str] = []
    checks: list[tuple[str, str, str]] = []
    shown: list[str] = []
    fields: list[tuple[str, str]] = []
    for found, (name, kind) in zip(shape, columns):
        if found is None:
            values.append(f"CAST(NULL AS {kind})")
            continue
        column, own = quoted(found[0]), found[1]
        fields.append((found[0], "BIGINT" if own in NUMBERED else own))
        shown.append(f"{literal(name)}, {column}")
        value = _value(column, own, kind)
        values.append(value)
        if value != column:
            checks.append((f"{column} IS NOT NULL AND {value} IS NULL", name, kind))
    return ReadPlan(
        paths=paths,
        format="parquet",
        fields=tuple(fields),
        options=tuple(options),
        values=tuple(values),
        reason=misfits(checks),
        raw=row_text(f"named_struct({', '.join(shown)})"),
    )


def _value(column: str, own: str, declared: str) -> str:
    """A column as its declared type, NULL where a value does not fit."""
    value, kind = column, own
    if own == NANOS:
        # Division rounds towards zero; times before 1970 must be cut towards the past like all others.
        micros = f"{column} div 1000L - CAST({column} % 1000L < 0 AS BIGINT)"
        value, kind = f"timestamp_micros({micros})", "TIMESTAMP"
    elif own == MILLIS:
        value, kind = _within(column, MOST_MILLIS, f"timestamp_millis({column})"), "TIMESTAMP"
    elif _family(own) == "date" and _family(declared) == "time":
        value = _within(f"unix_date({column})", MOST_DAYS, f"CAST({column} AS TIMESTAMP)")
    return value if canonical(kind) == canonical(declared) else f"try_cast({value} AS {declared})"


def _within(number: str, most: int, value: str) -> str:
    """The value where the number is small enough for 64 bits of microseconds: beyond that Spark fails the job."""
    return f"CASE WHEN {number} BETWEEN -{most}L AND {most}L THEN {value} END"
