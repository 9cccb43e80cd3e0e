"""What our scan reads, and what is left to Spark's own readers: nested values, and what options of Spark's ask for.

An option of Spark's reader may mean anything, so with one that is not known here to the letter its reader is used.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.scan.block import Columns, arrow_type
from punctual.scan.csv.settings import csv_settings


def why_spark_reads(format: str, columns: Columns, options: Sequence[tuple[str, str]]) -> str | None:  # noqa: A002
    """Why files of a format are read by Spark; None where tasks read them.

    >>> why_spark_reads("JSON", [("a", "INT")], []), why_spark_reads("JSON", [("a", "ARRAY<INT>")], [])
    (None, 'column a is ARRAY<INT>')
    >>> why_spark_reads("JSON", [("a", "INT")], [("multiLine", "true")])
    'option multiLine'
    """
    for name, kind in columns:
        if arrow_type(kind) is None:
            return f"column {name} is {kind}"
    if options and (format != "CSV" or csv_settings(options) is None):
        return f"option{'s' if len(options) > 1 else ''} {', '.join(name for name, _value in options)}"
    return None
