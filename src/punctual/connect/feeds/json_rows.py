"""JSON lines: Spark's own reader with the declared types, every declared column parsed.

A record that is no JSON, or one of whose fields does not have its type, is malformed and keeps its text. Whether a
record is malformed must not depend on which columns the standing queries read, so the reason refers to every declared
column: Spark then prunes none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.connect.feeds.reading import RAW, Columns, Inspection, ReadPlan, literal, misfits, name_fault, quoted
from punctual.connect.feeds.slices import FileRef


def inspect_json(files: Sequence[FileRef], columns: Columns, options: Sequence[tuple[str, str]]) -> Inspection:
    """One plan for all files: JSON names its fields in every record, so there is nothing to look up."""
    faults = {ref.path: fault for ref in files if (fault := name_fault(ref.path)) is not None}
    paths = tuple(ref.path for ref in files if ref.path not in faults)
    raw = quoted(RAW)
    # Only for malformed records: a field that is there in the text and not in the row is one that did not fit.
    checks = [
        (quoted(name) + f" IS NULL AND get_json_object({raw}, " + literal(f"$['{name}']") + ") IS NOT NULL", name, kind)
        for name, kind in columns
        if "'" not in name
    ]
    plan = ReadPlan(
        paths=paths,
        format="json",
        schema=", ".join([*(f"{quoted(name)} {kind}" for name, kind in columns), f"{raw} STRING"]),
        options=(*options, ("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", RAW)),
        values=tuple(quoted(name) for name, _kind in columns),
        reason=f"CASE WHEN {raw} IS NOT NULL THEN coalesce({misfits(checks)}, 'not a JSON object') END",
        raw=raw,
    )
    return Inspection((plan,) if paths else (), tuple(faults.items()))
