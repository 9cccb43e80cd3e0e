"""How files of one shape become rows: one reader, one projection, few calls to the JVM.

A *read plan* is all that Spark must be told: the reader's schema and options, one expression for each declared column,
and two more for rows that do not fit. Formats make read plans (``json_rows``, ``csv_rows``, ``parquet_rows``); this
module turns them into a DataFrame. The schema is always given, so Spark runs no job to infer one.

Every list (paths, expressions) is sent as one string and split inside the JVM, so the number of calls depends on the
number of shapes alone. Paths are escaped, never sent with globbing switched off: Spark then reads n files with wildcard
characters in their names n times each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from punctual.own_names import ORIGIN, RAW, REASON
from punctual.plan.sql_text import literal, quoted
from punctual.ports.feeds.file_names import is_escaped
from punctual.scan.parts import Weighed

Columns = Sequence[tuple[str, str]]
"""Declared columns: name and type as Spark's DDL."""

_GLOB = re.compile(r"([\\\[\]{}*?])")


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Files of one shape and the way to read them.

    ``fields`` are the reader's columns, name and type. ``values`` has one expression per declared column; ``reason`` is
    NULL where the row fits; ``raw`` is what was read. ``parsed`` are expressions with a name that all of these refer
    to, computed once per record; records for which ``counts`` is false are nothing at all.
    """

    paths: tuple[str, ...]
    format: str
    fields: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    values: tuple[str, ...]
    reason: str
    raw: str
    parsed: tuple[str, ...] = ()
    counts: str | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at the files on the driver gave: how to read them, and which cannot be read and why.

    ``parts`` are for tasks, None where only Spark reads these files; ``plans`` makes plans for Spark.
    """

    parts: Weighed | None
    plans: Callable[[], tuple[ReadPlan, ...]]
    unreadable: tuple[tuple[str, str], ...] = ()


def read_plans(spark: SparkSession, plans: Sequence[ReadPlan], columns: Columns) -> DataFrame:
    """The rows of all plans: declared columns, then ours. No Spark job runs."""
    frames = [_read(spark, plan, columns) for plan in plans]
    if not frames:
        nothing = [f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in columns]
        extra = [f"CAST(NULL AS STRING) AS {quoted(name)}" for name in (REASON, RAW, ORIGIN)]
        return spark.sql(f"SELECT {', '.join(nothing + extra)} WHERE false")
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    return DataFrame(whole, spark)


def _read(spark: SparkSession, plan: ReadPlan, columns: Columns) -> Any:
    schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in plan.fields)
    reader = spark.read._jreader.format(plan.format).schema(schema)
    for name, value in plan.options:
        reader = reader.option(name, value)
    paths = jvm_strings(spark, [f"file:{_GLOB.sub(_escape, path)}" for path in plan.paths])
    frame = reader.load(paths)
    if plan.counts is not None:
        frame = frame.where(plan.counts)
    origin = file_path([name for name, _kind in plan.fields])
    if plan.parsed:
        frame = frame.selectExpr(jvm_strings(spark, [*plan.parsed, f"{origin} AS {quoted(ORIGIN)}"]))
        origin = quoted(ORIGIN)
    expressions = [
        *(f"{value} AS {quoted(name)}" for value, (name, _kind) in zip(plan.values, columns)),
        f"{plan.reason} AS {quoted(REASON)}",
        f"CASE WHEN {plan.reason} IS NOT NULL THEN {plan.raw} END AS {quoted(RAW)}",
        f"{origin} AS {quoted(ORIGIN)}",
    ]
    return frame.selectExpr(jvm_strings(spark, expressions))


def _escape(found: re.Match[str]) -> str:
    return "\\" + found[0]


def file_path(fields: Sequence[str]) -> str:
    """The file of a row as the feed named it, in SQL: Spark's is a URI (``file:/a%20b``), whose plus signs mean
    themselves. Spark's hidden column gets one more underscore for each column of the reader that is called like it."""
    hidden, taken = "_metadata", {name.lower() for name in fields}
    while hidden in taken:
        hidden = "_" + hidden
    path = f"{hidden}.file_path"
    decoded = f"url_decode(replace({path}, '+', '%2B'))"
    return f"substring(CASE WHEN locate('%', {path}) > 0 THEN {decoded} ELSE {path} END, 6)"


def name_fault(path: str) -> str | None:
    """Why Spark cannot be given this path, or None."""
    if is_escaped(path):
        return "its path is not UTF-8"
    if ":" in path and _GLOB.search(path):
        return "Spark reads no path that has both a colon and one of \\ [ ] { } * ?"
    return None


def jvm_strings(spark: SparkSession, values: Sequence[str]) -> Any:
    """A Java array of strings in three calls; the separator can be in no path and in no expression."""
    return getattr(spark._jvm, "java.util.regex.Pattern").compile("\0").split("\0".join(values))


def sql_map(*pairs: tuple[str, str]) -> str:
    """Options as a map in SQL.

    >>> sql_map(("mode", "PERMISSIVE"))
    "map('mode', 'PERMISSIVE')"
    """
    return f"map({', '.join(literal(text) for pair in pairs for text in pair)})"


_AS_READ = sql_map(
    ("ignoreNullFields", "false"),
    ("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"),
    ("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
)


def row_text(row: str) -> str:
    """An expression for a row (a struct) as JSON that reads back as the same row: NULLs and microseconds stay."""
    return f"to_json({row}, {_AS_READ})"


def misfits(checks: Sequence[tuple[str, str, str]]) -> str:
    """An expression that names the columns whose value does not fit, or NULL; checks are (condition, name, type)."""
    if not checks:
        return "CAST(NULL AS STRING)"
    facts = [
        "CASE WHEN " + condition + " THEN " + literal(f'column "{name}" is not {kind}') + " END"
        for condition, name, kind in checks
    ]
    return f"nullif(concat_ws('; ', {', '.join(facts)}), '')"


def flag(options: Sequence[tuple[str, str]], name: str, default: str) -> str:
    """A reader's option; as in Spark its name has no case and the last one wins."""
    return next((value for key, value in reversed(options) if key.lower() == name.lower()), default)
