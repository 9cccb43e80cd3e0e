"""A part as blocks: the one place that knows which format reads what."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from punctual.scan.block import Block
from punctual.scan.csv.records import read_csv
from punctual.scan.csv.settings import CsvSettings
from punctual.scan.generated import read_rate
from punctual.scan.json.lines import read_json
from punctual.scan.parquet.groups import read_parquet
from punctual.scan.parts import CsvPart, JsonPart, ParquetPart, Part, RatePart
from punctual.scan.sieve import Sieve


class Reading(msgspec.Struct, frozen=True):
    """How the parts of a stream are read: its declared columns that are not derived, and the settings of its format."""

    columns: tuple[tuple[str, str], ...]
    csv: CsvSettings | None = None


def open_part(
    part: Part, reading: Reading, wanted: frozenset[str], sieve: Sieve | None = None
) -> Iterator[Block]:
    """The rows of a part, some at a time; ``wanted`` are the columns that will be asked for of every block.

    With a ``sieve`` only rows that it keeps are read; blocks say how many were shed.
    """
    match part:
        case JsonPart(path, start, end):
            return read_json(path, start, end, reading.columns, sieve=sieve)
        case CsvPart(path, start, end, width, places):
            assert reading.csv is not None
            return read_csv(path, start, end, width, places, reading.columns, reading.csv, sieve=sieve)
        case ParquetPart():
            return read_parquet(part, reading.columns, wanted, sieve)
        case RatePart():
            return read_rate(part, sieve)


def origin_of(part: Part) -> str:
    """Where the rows of a part come from, as dead letters say it."""
    return "rate" if isinstance(part, RatePart) else part.path
