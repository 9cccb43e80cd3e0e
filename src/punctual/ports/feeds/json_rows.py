"""JSON: one object per line, every declared column parsed with its type.

A record that is not one JSON object, or one of whose fields does not have its type, is malformed and keeps its text.
Whether a record is malformed must not depend on which columns the standing queries read.

Spark's parser is content with the first value that it finds and never looks at what follows: the second of two
objects on a line would be lost, and ``{...} garbage`` would be a good row. So a line is read as text and parsed as the
first of two elements of an array, the second of which is ours. A line that is one object, and nothing else, gives
exactly these two. Spark's own reader remains for records that are no lines of UTF-8 (``multiLine``, ``encoding``); with
``multiLine`` a file may also be an array of objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from punctual.own_names import RAW, own
from punctual.plan.sql_text import literal, quoted
from punctual.ports.feeds.read_plan import (
    Columns,
    Inspection,
    ReadPlan,
    flag,
    misfits,
    sql_map,
)
from punctual.ports.feeds.slices import FileRef
from punctual.ports.feeds.stretches import is_packed_for_spark, stretches
from punctual.scan.parts import JsonPart, Part

ROWS, END = own("rows"), own("end")
"""The array that a line is parsed in, and the one field of the element that follows it."""
UNPARSED = "not one JSON object"
MISFIT = "a value inside does not have its declared type"
BLANK = "' \\t\\r\\n'"


def inspect_json(files: Sequence[FileRef], columns: Columns, options: Sequence[tuple[str, str]]) -> Inspection:
    """One plan for all files: JSON names its fields in every record, so there is nothing to look up.
    """
    paths = tuple(ref.path for ref in files)
    parts: list[tuple[Part, int]] | None = None
    if not any(is_packed_for_spark(path) for path in paths):
        cuts = ((ref.path, start, end) for ref in files for start, end in stretches(ref.path, ref.size))
        parts = [(JsonPart(path, start, end), end - start) for path, start, end in cuts]
    encoding = flag(options, "encoding", flag(options, "charset", "utf-8")).lower()
    has_lines = flag(options, "multiLine", "false").lower() != "true" and encoding in ("utf-8", "utf8")
    make = _lines if has_lines else _records
    return Inspection(parts, lambda: (make(paths, columns, options),) if paths else ())


def _lines(paths: tuple[str, ...], columns: Columns, options: Sequence[tuple[str, str]]) -> ReadPlan:
    fields = ", ".join(f"{quoted(name)}: {kind}" for name, kind in columns)
    schema = f"STRUCT<{quoted(ROWS)}: ARRAY<STRUCT<{fields}, {quoted(END)}: INT>>, {quoted(RAW)}: STRING>"
    # The line break ends a comment (``allowComments``).
    opening, closing = f"{{{json.dumps(ROWS)}:[", f"\n,{{{json.dumps(END)}:0}}]}}"
    whole = f"concat({literal(opening)}, value, {literal(closing)})"
    chosen = {name.lower(): (name, text) for name, text in options}
    permissive = (("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", RAW))
    chosen |= {name.lower(): (name, text) for name, text in permissive}
    rows = f"parsed.{quoted(ROWS)}"
    row, following = f"get({rows}, 0)", f"get({rows}, 1)"
    is_one = f"size({rows}) = 2 AND {row} IS NOT NULL AND {following}.{quoted(END)} = 0"
    # Only for malformed records: a field that is there in the text and not in the row is one that did not fit.
    checks = [(_lost(f"{row}.{quoted(n)}", n, "value"), n, kind) for n, kind in columns if "'" not in n]
    return ReadPlan(
        paths=paths,
        format="text",
        fields=(("value", "STRING"),),
        options=tuple(options),
        values=tuple(f"{row}.{quoted(name)}" for name, _kind in columns),
        reason=(
            f"CASE WHEN NOT coalesce({is_one}, false) THEN '{UNPARSED}'"
            f" WHEN parsed.{quoted(RAW)} IS NOT NULL THEN coalesce({misfits(checks)}, '{MISFIT}') END"
        ),
        raw="make_valid_utf8(value)",
        parsed=("value", f"from_json({whole}, {literal(schema)}, {sql_map(*chosen.values())}) AS parsed"),
        # Nearly every line begins with a visible character, which one comparison tells.
        counts=f"value >= '!' OR trim(BOTH {BLANK} FROM value) <> ''",
    )


def _records(paths: tuple[str, ...], columns: Columns, options: Sequence[tuple[str, str]]) -> ReadPlan:
    raw = quoted(RAW)
    checks = [(_lost(quoted(name), name, raw), name, kind) for name, kind in columns if "'" not in name]
    # A constant here would let Spark prove the reason from the record alone and prune columns after all.
    unparsed = f"concat('{UNPARSED}', substring({raw}, 1, 0))"
    return ReadPlan(
        paths=paths,
        format="json",
        fields=(*columns, (RAW, "STRING")),
        options=(*options, ("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", RAW)),
        values=tuple(quoted(name) for name, _kind in columns),
        reason=f"CASE WHEN {raw} IS NOT NULL THEN coalesce({misfits(checks)}, {unparsed}) END",
        raw=f"make_valid_utf8({raw})",
    )


def _lost(value: str, name: str, text: str) -> str:
    path = literal(f"$['{name}']")
    return f"{value} IS NULL AND get_json_object({text}, {path}) IS NOT NULL"
