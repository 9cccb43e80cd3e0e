"""What Spark takes the columns of a Parquet file for, and their values as Spark would read them.

Types that hold others are missing: Spark reads such columns itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from punctual.scan.block import Columns, arrow_type
from punctual.scan.parquet.exact_cast import MILLIS, NANOS, VOID, exact_cast

_FIXED = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.uint8(): "SMALLINT", pa.uint16(): "INT", pa.uint32(): "BIGINT", pa.uint64(): "DECIMAL(20,0)",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE", pa.null(): VOID,
    pa.string(): "STRING", pa.large_string(): "STRING", pa.binary(): "BINARY", pa.large_binary(): "BINARY",
}  # fmt: skip
_SPARK_VERSION = b"org.apache.spark.version"
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_NEW_CALENDAR_SINCE = b"3.1.0"


def flat_kind(own: pa.DataType, physical: str) -> str | None:
    """The type as which Spark reads a column, or None where it cannot, or where the column holds others.

    >>> flat_kind(pa.uint32(), "INT32"), flat_kind(pa.timestamp("ns"), "INT64"), flat_kind(pa.timestamp("us"), "INT96")
    ('BIGINT', 'NANOSECONDS', 'TIMESTAMP')
    """
    if physical == "INT96":
        return "TIMESTAMP"
    if own in _FIXED:
        return _FIXED[own]
    if pa.types.is_dictionary(own):
        return flat_kind(own.value_type, physical)
    if pa.types.is_fixed_size_binary(own):
        return "BINARY"
    if pa.types.is_decimal(own):
        return f"DECIMAL({own.precision},{own.scale})" if own.precision <= 38 else None
    if pa.types.is_timestamp(own):
        return {"ns": NANOS, "ms": MILLIS}.get(own.unit) or ("TIMESTAMP" if own.tz else "TIMESTAMP_NTZ")
    return None


def flat_kinds(metadata: pq.FileMetaData) -> dict[str, str | None]:
    """The kinds of a file's columns by name, None for those of which there is none."""
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    physical = {leaf.path: leaf.physical_type for leaf in leaves}
    return {
        field.name: flat_kind(field.type, physical.get(field.name, "")) for field in metadata.schema.to_arrow_schema()
    }


def supported(metadata: pq.FileMetaData, names: Sequence[str | None], columns: Columns) -> bool:
    """Whether :func:`~punctual.scan.parquet.groups.read_parquet` reads the file exactly as Spark does.

    ``names`` has the name in the file of each declared column, as in a part.
    """
    kinds = flat_kinds(metadata)
    for name, (_declared, kind) in zip(names, columns):
        if name is None:
            if arrow_type(kind) is None:
                return False
            continue
        own = kinds[name]
        # A point in a name reads like a path into a nested column.
        if own is None or "." in name or exact_cast(own, kind) is None:
            return False
    return not _of_old_calendar(metadata)


def _of_old_calendar(metadata: pq.FileMetaData) -> bool:
    """Whether old dates in the file may mean other days: Spark knows by whom it was written."""
    notes = metadata.metadata or {}
    version = notes.get(_SPARK_VERSION)
    return version is not None and (version < _NEW_CALENDAR_SINCE or any(note in notes for note in _OLD_CALENDAR))


def as_read(values: pa.Array, kind: str) -> pa.Array:
    """A column as Spark would read it: nanoseconds and milliseconds as numbers, the rest as their kind."""
    own = values.type
    if pa.types.is_dictionary(own):
        return as_read(values.dictionary_decode(), kind)
    target = pa.int64() if kind in (NANOS, MILLIS) else pa.null() if kind == VOID else arrow_type(kind)
    if own == target:
        return values
    return values.view(target) if pa.types.is_timestamp(own) else pc.cast(values, target)
