"""A table of lines of JSON and what Spark makes of them, as it was observed; ``tests/spark`` asks Spark again.

Texts stand in the table byte for byte, as Latin-1. A group of lines has its declared columns. In some groups a text is
one value, and the line has it for every column.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from punctual.scan.block import Columns, arrow_type
from punctual.scan.json.lines import read_json

TABLE = Path(__file__).parent / "cases" / "json.jsonl.gz"
Answer = tuple[tuple[Any, ...], str | None, str | None]
"""Values as :func:`plain` has them, the reason, and the text of a row that does not fit."""


@dataclass(frozen=True)
class Group:
    """Lines with the same declared columns, and what becomes of each."""

    columns: Columns
    is_value: bool
    texts: list[str]
    answers: list[Answer]

    @property
    def lines(self) -> list[bytes]:
        """The lines of the texts."""
        return [
            line_of(text.encode("latin-1"), self.columns) if self.is_value else text.encode("latin-1")
            for text in self.texts
        ]


def line_of(value: bytes, columns: Columns) -> bytes:
    """An object that has the value for each column."""
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), value) for name, _kind in columns) + b"}"


def table() -> Iterator[Group]:
    """All groups."""
    group: Group | None = None
    with gzip.open(TABLE, "rt") as file:
        for record in map(json.loads, file):
            if isinstance(record, dict):
                if group:
                    yield group
                group = Group([tuple(column) for column in record["columns"]], record["is_value"], [], [])
            elif group:
                text, values, reason, raw = record
                group.texts.append(text)
                group.answers.append((tuple(values), reason, raw))
    if group:
        yield group


def write_table(groups: Sequence[Group]) -> None:
    """Write the table anew."""
    with gzip.GzipFile(TABLE, "wb", mtime=0) as file:
        for group in groups:
            file.write(json.dumps({"columns": group.columns, "is_value": group.is_value}).encode() + b"\n")
            for text, answer in zip(group.texts, group.answers):
                file.write(json.dumps([text, *answer]).encode() + b"\n")


def plain(array: pa.Array) -> list[Any]:
    """Values that JSON can hold and that compare exactly: times as numbers, text and bytes as Latin-1."""
    if pa.types.is_timestamp(array.type):
        return list(array.cast(pa.int64()).to_pylist())
    if pa.types.is_date(array.type):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        return [None if value is None else repr(value) for value in array.to_pylist()]
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return [None if value is None else value.decode("latin-1") for value in array.cast(pa.binary()).to_pylist()]
    return list(array.to_pylist())


def read_lines(columns: Columns, lines: Sequence[bytes], path: Path, piece_bytes: int = 1 << 16) -> list[Answer]:
    """What the scan makes of lines."""
    path.write_bytes(b"\n".join(lines) + b"\n")
    answers: list[Answer] = []
    for block in read_json(str(path), 0, path.stat().st_size, columns, piece_bytes):
        arrays = [block.column(name) for name, _kind in columns]
        assert [array.type for array in arrays] == [arrow_type(kind) for _name, kind in columns]
        assert {len(array) for array in arrays} == {block.rows}
        for array in arrays:
            array.validate(full=True)
        reasons: list[str | None] = [None] * block.rows
        texts: list[str | None] = [None] * block.rows
        if block.faults is not None:
            found = zip(block.faults.rows.tolist(), block.faults.reasons.to_pylist(), plain(block.faults.texts))
            for row, reason, text in found:
                reasons[row], texts[row] = reason, text
        answers += zip(zip(*map(plain, arrays)), reasons, texts)
    return answers


def differences(lines: Sequence[bytes], ours: Sequence[Answer], spark: Sequence[Answer]) -> list[str]:
    """Lines of which we make something else than Spark."""
    assert len(ours) == len(spark) == len(lines)
    return [f"{line!r}: {our} is not {its}" for line, our, its in zip(lines, ours, spark) if our != its]
