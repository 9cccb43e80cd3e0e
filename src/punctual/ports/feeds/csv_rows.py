"""CSV: columns found by the names in each file's header, values read as text and cast.

Headers are read on the driver (a few hundred bytes per file) and files whose declared columns stand at the same places
share one plan. Spark reads every field as text, without pruning, so that a record with too few or too many fields is
seen; the cast to the declared type is ours, so a value that does not fit is a malformed row with a reason, never a
silent NULL. An empty field is NULL.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from punctual.own_names import RAW
from punctual.plan.sql_text import literal, quoted
from punctual.ports.feeds.read_plan import (
    Columns,
    Inspection,
    ReadPlan,
    flag,
    misfits,
    row_text,
)
from punctual.ports.feeds.slices import FileRef
from punctual.ports.feeds.stretches import is_packed_for_spark, stretches
from punctual.scan.parts import CsvPart, Weighed

Layout = tuple[int, tuple[int | None, ...]]
"""How many fields a record has, and which of them each declared column is."""

NESTED = ("ARRAY", "MAP", "STRUCT")


FIRST_BYTES, MOST_BYTES = 1 << 14, 1 << 20
"""How much of a file is read in search of its header: at first, and at most."""
MOST_COLUMNS = 20_480
"""Spark's default for ``maxColumns``."""


class _HeaderError(Exception):
    """A header that gives no column."""


class _CutError(Exception):
    """The header goes on after what was read of the file."""


def inspect_csv(files: Sequence[FileRef], columns: Columns, options: Sequence[tuple[str, str]]) -> Inspection:
    """Plans by layout; a file whose header cannot be read or matches nothing is unreadable."""
    layouts: dict[Layout, list[FileRef]] = defaultdict(list)
    faults: list[tuple[str, str]] = []
    has_header = flag(options, "header", "true").lower() == "true"
    by_position: Layout = (len(columns), tuple(range(len(columns))))
    for ref in files:
        try:
            header = _header(ref.path, options) if has_header else []
            if header is not None:
                layouts[_layout(header, columns, options) if has_header else by_position].append(ref)
        except _HeaderError as problem:
            faults.append((ref.path, str(problem)))
        except (OSError, ValueError, LookupError, csv.Error, pa.ArrowException) as problem:
            faults.append((ref.path, f"its header cannot be read: {problem}"))

    def plans() -> tuple[ReadPlan, ...]:
        return tuple(
            _plan(tuple(ref.path for ref in refs), layout, columns, options, has_header)
            for layout, refs in layouts.items()
        )

    packed = any(is_packed_for_spark(ref.path) for ref in files)
    return Inspection(None if packed else _parts(layouts), plans, tuple(faults))


def _parts(layouts: Mapping[Layout, Sequence[FileRef]]) -> Weighed:
    return [
        (CsvPart(ref.path, start, end, width, places), end - start)
        for (width, places), refs in layouts.items()
        for ref in refs
        for start, end in stretches(ref.path, ref.size)
    ]


def _header(path: str, options: Sequence[tuple[str, str]]) -> list[str] | None:
    """The names in the first line that is neither blank nor a comment; None for a file without one."""
    with pa.input_stream(path, compression="detect") as stream:
        data, wanted = b"", FIRST_BYTES
        while True:
            more = stream.read(wanted - len(data))
            data += more
            try:
                return _first_record(data, options, is_whole=not more)
            except _CutError:
                if wanted >= MOST_BYTES:
                    raise _HeaderError(f"its header is longer than {MOST_BYTES:,} bytes") from None
                wanted *= 2


def _first_record(data: bytes, options: Sequence[tuple[str, str]], *, is_whole: bool) -> list[str] | None:
    """The first record of the beginning of a file; raises ``_CutError`` where it is not all there."""
    separator = flag(options, "sep", flag(options, "delimiter", ","))
    comment = flag(options, "comment", "")
    encoding = flag(options, "encoding", flag(options, "charset", "utf-8"))
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)()
    text = io.StringIO(decoder.decode(data, final=is_whole), newline="")

    def lines() -> Iterator[str]:
        for line in text:
            if not is_whole and not line.endswith(("\n", "\r")):
                break
            if line.strip() and not (comment and line.startswith(comment)):
                yield line
        if not is_whole:
            raise _CutError

    if len(separator) > 1:
        line = next(lines(), None)
        return None if line is None else line.rstrip("\r\n").split(separator.replace("\\t", "\t"))
    quote = flag(options, "quote", '"')
    escape = flag(options, "escape", quote)
    rows = csv.reader(
        lines(),
        delimiter=separator,
        quotechar=quote or None,
        escapechar=escape if escape not in (quote, "") else None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )
    return next(rows, None)


def _layout(header: Sequence[str], columns: Columns, options: Sequence[tuple[str, str]]) -> Layout:
    most = int(flag(options, "maxColumns", str(MOST_COLUMNS)))
    if len(header) > most:
        raise _HeaderError(f"its header has {len(header):,} columns, and the reader takes {most:,} (maxColumns)")
    places: dict[str, int] = {}
    repeated: set[str] = set()
    for place, name in enumerate(header):
        plain = name.strip().lower()
        if places.setdefault(plain, place) != place:
            repeated.add(plain)
    twice = [name for name, _kind in columns if name.lower() in repeated]
    if twice:
        raise _HeaderError(f'its header names column "{twice[0]}" twice')
    found = tuple(places.get(name.lower()) for name, _kind in columns)
    if all(place is None for place in found):
        raise _HeaderError(f"its header has none of the declared columns: {', '.join(header)[:200]}")
    return len(header), found


def _plan(
    paths: tuple[str, ...], layout: Layout, columns: Columns, options: Sequence[tuple[str, str]], has_header: bool
) -> ReadPlan:
    width, places = layout
    values: list[str] = []
    checks: list[tuple[str, str, str]] = []
    shown: list[str] = []
    for place, (name, kind) in zip(places, columns):
        if place is None:
            values.append(f"CAST(NULL AS {kind})")
            continue
        text = f"nullif(`_c{place}`, '')"
        value = _from_text(text, kind, options)
        values.append(value)
        shown.append(f"{literal(name)}, `_c{place}`")
        if value != text:
            checks.append((f"{text} IS NOT NULL AND {value} IS NULL", name, kind))
    raw = quoted(RAW)
    as_read = row_text(f"named_struct({', '.join(shown)})")
    count = f"CASE WHEN {raw} IS NOT NULL THEN 'not a record of {width} field{'s' if width != 1 else ''}'"
    return ReadPlan(
        paths=paths,
        format="csv",
        fields=(*((f"_c{place}", "STRING") for place in range(width)), (RAW, "STRING")),
        options=(
            # A quote inside quotes is doubled, as everything but Spark writes it.
            ("escape", flag(options, "quote", '"')),
            # A parser lives until its task ends, and a task reads hundreds of files: with the default of a million
            # characters for each, a thousand small files need more than a gigabyte.
            ("inputBufferSize", "16384"),
            *options,
            ("header", "true" if has_header else "false"),
            ("enforceSchema", "true"),
            ("mode", "PERMISSIVE"),
            ("columnNameOfCorruptRecord", RAW),
            ("columnPruning", "false"),
        ),
        values=tuple(values),
        reason=f"{count} ELSE {misfits(checks)} END",
        raw=f"coalesce({raw}, {as_read})",
    )


def _from_text(text: str, kind: str, options: Sequence[tuple[str, str]]) -> str:
    """A field as its declared type, NULL where it does not fit; the reader's formats of time hold."""
    if kind == "STRING":
        return text
    if kind.startswith(NESTED):
        return f"from_json({text}, {literal(kind)})"
    time_format = flag(options, "timestampFormat", "")
    if time_format and kind.startswith("TIMESTAMP"):
        return f"CAST(try_to_timestamp({text}, {literal(time_format)}) AS {kind})"
    date_format = flag(options, "dateFormat", "")
    if date_format and kind == "DATE":
        return f"CAST(try_to_timestamp({text}, {literal(date_format)}) AS DATE)"
    return f"try_cast({text} AS {kind})"
