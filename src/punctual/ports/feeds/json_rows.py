"""JSON lines: Spark's own reader with the declared types, every declared column parsed.

A record that is no JSON, or one of whose fields does not have its type, is malformed and keeps its text. Whether a
record is malformed must not depend on which columns the standing queries read, so the reason refers to every declared
column: Spark then prunes none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.ports.feeds.reading import RAW, Columns, Inspection, ReadPlan, literal, misfits, name_fault, quoted
from punctual.ports.feeds.slices import FileRef


def inspect_json(files: Sequence[FileRef], columns: Columns, options: Sequence[tuple[str, str]]) -> Inspection:
    """One plan for all files: JSON names its fields in every record, so there is nothing to look up."""
    faults = {ref.path: fault for ref in files if (fault := name_fault(ref.path)) is not None}
    paths = tuple(ref.path for ref in files if ref.path not in faults)
    raw = quoted(RAW)
    # Only for malformed records: a field that is there in the text and not in the row is one that did not fit.
    checks = [(_lost(name, raw), name, kind) for name, kind in columns if "'" not in name]
    # A constant here would let Spark prove the reason from the record alone and prune columns after all.
    unparsed = f"concat('not a JSON object', substring({raw}, 1, 0))"
    plan = ReadPlan(
        paths=paths,
        format="json",
        schema=", ".join([*(f"{quoted(name)} {kind}" for name, kind in columns), f"{raw} STRING"]),
        options=(*options, ("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", RAW)),
        values=tuple(quoted(name) for name, _kind in columns),
        reason=f"CASE WHEN {raw} IS NOT NULL THEN coalesce({misfits(checks)}, {unparsed}) END",
        raw=raw,
    )
    return Inspection((plan,) if paths else (), tuple(faults.items()))


def _lost(name: str, raw: str) -> str:
    path = literal(f"$['{name}']")
    return f"{quoted(name)} IS NULL AND get_json_object({raw}, {path}) IS NOT NULL"
