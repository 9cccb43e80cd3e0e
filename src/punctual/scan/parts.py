"""What tasks read: stretches of files or of generated rows, small values that travel to them.

Parts are cut by bytes, row groups and row numbers alone, so where a row is read does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class JsonPart(msgspec.Struct, frozen=True, tag="json", tag_field="part"):
    """The lines of a file that begin in ``[start, end)``; a compressed file is one part, of all its bytes."""

    path: str
    start: int
    end: int


class CsvPart(msgspec.Struct, frozen=True, tag="csv", tag_field="part"):
    """The lines of a file that begin in ``[start, end)``.

    A record has ``width`` fields; ``places`` has the field of each declared column, None where the file lacks it.
    """

    path: str
    start: int
    end: int
    width: int
    places: tuple[int | None, ...]


class ParquetPart(msgspec.Struct, frozen=True, tag="parquet", tag_field="part"):
    """Some row groups of a file: ``first`` up to, not including, ``last``.

    ``names`` has the name in the file of each declared column, None where the file lacks it.
    """

    path: str
    first: int
    last: int
    names: tuple[str | None, ...]


class RatePart(msgspec.Struct, frozen=True, tag="rate", tag_field="part"):
    """Generated rows ``start`` up to, not including, ``end``: row i is at ``origin_us + i * per_us // rows``."""

    start: int
    end: int
    origin_us: int
    rows: int
    per_us: int


Part = JsonPart | CsvPart | ParquetPart | RatePart

Weighed = Sequence[tuple[Part, int]]
"""Parts, and how many bytes each has."""
