"""Rows that no file holds yet: given from Python, or by a streaming DataFrame. They are landed as files first.

A file lands whole: written under a name that feeds ignore, flushed to the disk, then renamed to ``<sequence>.json`` or
``<sequence>.parquet``. Landing the same sequence again replaces the file by one with the same rows, so a repeat after a
crash is harmless.

Rows given as dicts or tuples become JSON lines, because a bad value is then one malformed row and not a failed call;
tables (Arrow, pandas) become Parquet. Rows are encoded in C (orjson); only a row that JSON proper cannot hold, with a
NaN or a huge integer, takes the slower way.
"""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from punctual.errors import FeedError
from punctual.ports.feeds.read_plan import Columns

_ROWS = "give a list of dicts, a list of tuples in declared order, a pandas DataFrame or an Arrow table"
_ORJSON = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE


def file_name(number: int, suffix: str) -> str:
    """What a landed file is called.

    >>> file_name(7, "json")
    '000000000007.json'
    """
    return f"{number:012d}.{suffix}"


def number_of(path: str) -> int | None:
    """The number of a landed file; None for other files."""
    number, _dot, suffix = os.path.basename(path).partition(".")
    return int(number) if suffix in ("json", "parquet") and number.isascii() and number.isdecimal() else None


def write_rows(folder: str | Path, sequence: int, rows: Any, columns: Columns) -> Path:
    """Land rows as the file of that sequence number and return its path.

    Parameters
    ----------
    rows : iterable of dict or tuple, one dict, pyarrow.Table, or pandas.DataFrame
        Tuples have the declared columns in order. A missing column is NULL. Times without a zone are UTC.

    Raises
    ------
    FeedError
        ``feed.unknown-column``, ``feed.wrong-width``, ``feed.bad-value``; then nothing is landed.
    """
    table = _as_table(rows)
    if table is not None:
        names = _declared_names(table.column_names, columns)
        table = table.rename_columns(names)

        def write(path: Path) -> None:
            pq.write_table(table, path)

        return _land(Path(folder), file_name(sequence, "parquet"), write)
    encoded = _encode_rows(_as_rows(rows), columns)
    return _land(Path(folder), file_name(sequence, "json"), lambda path: path.write_bytes(encoded))


def land(df: DataFrame, folder: str | Path, checkpoint: str | Path) -> StreamingQuery:
    """Land a streaming DataFrame: each of its batches becomes one Parquet file named by the batch's id.

    One file per batch makes landing atomic; a batch that Spark repeats after a crash finds its file and does nothing.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)

    def write_batch(batch: DataFrame, batch_id: int) -> None:
        name = file_name(batch_id, "parquet")
        if (target / name).exists():
            return
        scratch = target / f"_landing-{batch_id:012d}"
        batch.coalesce(1).write.mode("overwrite").parquet(scratch.absolute().as_uri())
        for part in scratch.glob("part-*.parquet"):
            _land(target, name, lambda path, part=part: os.replace(part, path))  # type: ignore[misc]
        shutil.rmtree(scratch, ignore_errors=True)

    return df.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(checkpoint)).start()


def _land(folder: Path, name: str, write: Callable[[Path], object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    scratch, final = folder / f".landing-{name}", folder / name
    write(scratch)
    _flush(scratch)
    os.replace(scratch, final)
    _flush(folder)
    return final


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _as_table(rows: Any) -> pa.Table | None:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    # pandas is not imported for this question: who passes a frame has it.
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    return None


def _as_rows(rows: Any) -> Iterable[Any]:
    if isinstance(rows, Mapping):  # one row
        return [rows]
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
        return rows
    raise FeedError("feed.bad-value", f"rows are {type(rows).__name__}, which holds none", hint=_ROWS)


def _declared_names(given: Iterable[str], columns: Columns) -> list[str]:
    declared = {name.lower(): name for name, _kind in columns}
    names: list[str] = []
    for name in given:
        if str(name).lower() not in declared:
            raise FeedError(
                "feed.unknown-column",
                f'rows have a column "{name}" that the stream does not declare',
                hint=f"declared are: {', '.join(name for name, _kind in columns)}",
            )
        names.append(declared[str(name).lower()])
    return names


def _encode_rows(rows: Iterable[Any], columns: Columns) -> bytes:
    known: dict[tuple[str, ...], list[str] | None] = {}
    declared = [name for name, _kind in columns]
    lines: list[bytes] = []
    for row in rows:
        if isinstance(row, Mapping):
            keys = tuple(row)
            if keys not in known:
                names = _declared_names(keys, columns)
                known[keys] = None if names == list(keys) else names
            renamed = known[keys]
            record = dict(row) if renamed is None else dict(zip(renamed, row.values()))
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
            if len(row) != len(declared):
                raise FeedError("feed.wrong-width", f"a row has {len(row)} values, the stream {len(declared)} columns")
            record = dict(zip(declared, row))
        else:
            raise FeedError("feed.bad-value", f"a row is {type(row).__name__}, neither a dict nor a tuple", hint=_ROWS)
        lines.append(_encode(record))
    return b"".join(lines)


def _encode(record: dict[str, Any]) -> bytes:
    # orjson writes NaN and infinities as null, silently; such rows go the other way.
    if not any(isinstance(value, float) and not math.isfinite(value) for value in record.values()):
        try:
            return orjson.dumps(record, default=_plain, option=_ORJSON)
        except orjson.JSONEncodeError:
            pass  # integers beyond 64 bits, or a value that is refused below with its name
    try:
        return json.dumps(record, default=_plain, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    except (TypeError, ValueError) as problem:
        raise FeedError("feed.bad-value", f"a row cannot be written: {problem}") from problem


def _plain(value: Any) -> Any:
    """What JSON has no form for, as Spark's reader expects it."""
    match value:
        case datetime():
            if value != value:  # the missing time of pandas
                return None
            aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case np.datetime64():
            return None if np.isnat(value) else _plain(value.astype("datetime64[us]").item())
        case np.generic():
            return value.item()
        case np.ndarray():
            return value.tolist()
    raise TypeError(f"values of type {type(value).__name__} have no form in JSON")
