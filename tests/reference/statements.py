"""Statements as the reference reads them: with regular expressions, apart from the package's own parser."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

UNITS_US = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}
SPAN = r"([\d.]+)\s*([A-Za-z]*)"
WINDOW = re.compile(rf"\[\s*(?:RANGE|SIZE)\s+{SPAN}(?:\s+(?:SLIDE|ADVANCE)\s+{SPAN})?\s*\]", re.IGNORECASE)
NOW = re.compile(r"\[\s*NOW\s*\]", re.IGNORECASE)
CADENCE = re.compile(rf"\b(?:PERIOD|FREQUENCY)\s+{SPAN}", re.IGNORECASE)
DEADLINE = re.compile(
    rf"\bDEADLINE\s+{SPAN}|\bQUALITY\s+(CONVEX|LINEAR|CONCAVE|\((?:[^()]|\([^()]*\))*\))", re.IGNORECASE
)
"""What changes no answer as long as there is time."""
STREAM = re.compile(r"\s*CREATE\s+STREAM\s+(\w+)\s*\((.*)\)\s*FROM\s+FEED\s*;?\s*", re.IGNORECASE | re.DOTALL)
TABLE = re.compile(
    r"\s*CREATE\s+TABLE\s+(\w+)\s*\((.*)\)\s*FROM\s+FILES\s+'([^']*)'\s*FORMAT\s+CSV\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
QUERY = re.compile(r"\s*CREATE\s+QUERY\s+(\w+)\s+AS\s+((?:SELECT|WITH)\b.*?);?\s*", re.IGNORECASE | re.DOTALL)
DROP = re.compile(r"\s*DROP\s+QUERY\s+(\w+)\s*;?\s*", re.IGNORECASE)
SET = re.compile(r"\s*SET\s+.*", re.IGNORECASE | re.DOTALL)
COLUMN = re.compile(r"\s*(\w+)\s+([A-Za-z]+(?:\([\d\s,]*\))?)(.*)", re.DOTALL)
DERIVED = re.compile(r"\bAS\s*\((.*)\)\s*$", re.IGNORECASE | re.DOTALL)
WATERMARK = re.compile(rf"\bWATERMARK\s+{SPAN}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    derived: str | None


@dataclass(frozen=True, slots=True)
class Stream:
    name: str
    columns: tuple[Column, ...]
    event_time: str
    watermark_us: int

    def type_of(self, name: str) -> str:
        return next(column.type for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its SELECT without window and clauses, and what those said."""

    name: str
    select: str
    range_us: int
    step_us: int


@dataclass(frozen=True, slots=True)
class RowText:
    """A row query as written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Drop:
    name: str


@dataclass(frozen=True, slots=True)
class Option:
    """A SET statement: it must not change answers, so the reference does not look into it."""


Statement = Stream | Table | Query | RowText | Drop | Option


def read_statement(text: str, base: Path, row_queries: Collection[str] = ()) -> Statement:
    """One statement of a case; paths are relative to ``base``, ``row_queries`` are the names of such queries."""
    bare = re.sub(r"--[^\n]*", "", text)
    if match := STREAM.fullmatch(bare):
        return _stream(match[1], match[2])
    if match := TABLE.fullmatch(bare):
        return Table(match[1], _columns(match[2]), base / match[3])
    if match := QUERY.fullmatch(bare):
        if match[1] in row_queries:
            return RowText(match[1], match[2])
        return _query(match[1], match[2])
    if match := DROP.fullmatch(bare):
        return Drop(match[1])
    if SET.fullmatch(bare):
        return Option()
    raise ValueError(f"the reference cannot read: {text}")


def _stream(name: str, inner: str) -> Stream:
    parts = _split(inner)
    (time,) = (part for part in parts if re.search(r"\bEVENT\s+TIME\b", part, re.IGNORECASE))
    watermark = WATERMARK.search(time)
    watermark_us = duration_us(watermark[1], watermark[2]) if watermark else 0
    return Stream(name, _columns(inner), time.split()[0], watermark_us)


def _columns(inner: str) -> tuple[Column, ...]:
    columns = []
    for part in _split(inner):
        match = COLUMN.fullmatch(part)
        assert match, part
        derived = DERIVED.search(match[3])
        columns.append(Column(match[1], re.sub(r"\s", "", match[2]).upper(), derived[1] if derived else None))
    return tuple(columns)


def _query(name: str, select: str) -> Query:
    cadence = CADENCE.search(select)
    if cadence:  # the rows since the previous instant are those of one step
        select = NOW.sub(f"[RANGE {cadence[1]} {cadence[2]}]", select)
    window = WINDOW.search(select)
    assert window, select
    step = cadence or window
    at = 1 if cadence else 3
    bare = DEADLINE.sub("", CADENCE.sub("", WINDOW.sub("", select)))
    return Query(name, bare, duration_us(window[1], window[2]), duration_us(step[at], step[at + 1]))


def duration_us(number: str, unit: str) -> int:
    """A duration of a case's program in microseconds."""
    size = UNITS_US[unit.upper().removesuffix("S")] if unit else 1_000_000
    return round(float(number) * size)


def _split(inner: str) -> list[str]:
    """Parts between the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
