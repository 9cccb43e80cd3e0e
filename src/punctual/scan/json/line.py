"""One line of JSON, read slowly and in full: its values and what is wrong with it, as Spark has them.

The line is read as the first of two elements of an array, the second of which is ours, so that it counts as one object
only if nothing follows it. A value that does not fit leaves its column NULL, and the rest of the line is read all the
same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from punctual.own_names import own
from punctual.scan.block import Columns
from punctual.scan.json.fields import Take, take_for
from punctual.scan.json.parser import (
    END_ARRAY,
    END_OBJECT,
    FIELD,
    NULL,
    START_ARRAY,
    START_OBJECT,
    STRING,
    JsonFault,
    JsonParser,
)  # fmt: skip
from punctual.scan.text.java_text import java_text

UNPARSED = "not one JSON object"
MISFIT = "a value inside does not have its declared type"
_ROWS, _END = own("rows"), own("end")
_OPENING = '{"\\u001frows":['
_CLOSING = '\n,{"\\u001fend":0}]}'


@dataclass(frozen=True, slots=True)
class Line:
    """What was read of a line: one value per declared column, and why it does not fit, if so."""

    values: tuple[Any, ...]
    reason: str | None


class LineReader:
    """Reads lines one by one.

    >>> reader = LineReader([("a", "INT"), ("b", "STRING")])
    >>> reader.read(b'{"a": "x", "b": "y"}')
    Line(values=(None, 'y'), reason='column "a" is not INT')
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = tuple(columns)
        self._takes: dict[str, tuple[int, Take]] = {
            name: (place, take_for(kind)) for place, (name, kind) in enumerate(columns)
        }
        self._takes[_END] = len(self._columns), take_for("INT")
        # As the path of get_json_object says it: blanks in front are lost, and a star names no field.
        self._paths = {name: name.lstrip(" \t\n\x0b\f\r") for name, _kind in columns if "'" not in name and name != "*"}

    def read(self, line: bytes) -> Line:
        """Values and reason of a line without its break."""
        text = java_text(line)
        rows, fits = self._rows(_OPENING + text + _CLOSING)
        first = rows[0] if rows else None
        values = tuple(first[:-1]) if first is not None else (None,) * len(self._columns)
        if len(rows) != 2 or first is None or rows[1] is None or rows[1][-1] != 0:
            return Line(values, UNPARSED)
        return Line(values, None if fits else self._misfits(text, values))

    def _misfits(self, text: str, values: tuple[Any, ...]) -> str:
        """The columns that have a value in the text and none in the row."""
        there = named_values(text)
        facts = [
            f'column "{name}" is not {kind}'
            for (name, kind), value in zip(self._columns, values)
            if value is None and self._paths.get(name) in there and self._paths[name]
        ]
        return "; ".join(facts) or MISFIT

    def _rows(self, text: str) -> tuple[list[list[Any] | None], bool]:
        """The elements of the array, and whether all of their values fit; none where the text broke off."""
        parser = JsonParser(text)
        rows: list[list[Any] | None] = []
        fits = True
        try:
            parser.next()
            while parser.next() not in (None, END_OBJECT):
                if parser.name != _ROWS:
                    parser.skip_children()
                    continue
                try:
                    found, fitting = self._array(parser)
                    rows, fits = found, fits and fitting
                except JsonFault:
                    fits = False
                    parser.skip_children()
        except JsonFault:
            return [], False
        return rows, fits

    def _array(self, parser: JsonParser) -> tuple[list[list[Any] | None], bool]:
        rows: list[list[Any] | None] = []
        fits = True
        token = parser.next() if parser.token == FIELD else parser.token
        if token in (None, NULL):
            return [], True
        if token != START_ARRAY:
            if token == STRING:
                parser.content()
            raise JsonFault
        while parser.next() not in (None, END_ARRAY):
            row, fitting = self._object(parser)
            rows.append(row)
            fits = fits and fitting
        return rows, fits

    def _object(self, parser: JsonParser) -> tuple[list[Any] | None, bool]:
        while parser.token == FIELD:
            parser.next()
        if parser.token in (None, NULL):
            return None, True
        if parser.token != START_OBJECT:
            raise JsonFault
        row: list[Any] = [None] * (len(self._columns) + 1)
        fits = True
        while parser.next() not in (None, END_OBJECT):
            known = self._takes.get(parser.name or "")
            if known is None:
                parser.skip_children()
                continue
            place, take = known
            try:
                row[place] = take(parser)
            except JsonFault:
                fits = False
                parser.skip_children()
        return row, fits


def named_values(text: str) -> set[str]:
    """Fields of the object in a text that get_json_object finds a value for; none if it is not JSON up to its end.

    >>> sorted(named_values('{"a": 1, "b": null, "c": {}}'))
    ['a', 'c']
    """
    parser = JsonParser(text, lenient=False)
    found: set[str] = set()
    broken: set[str] = set()
    try:
        if parser.next() != START_OBJECT:
            return set()
        while parser.next() != END_OBJECT:
            name = parser.name or ""
            token = parser.next()
            if token is None:
                return set()
            if token != NULL and name not in found | broken:
                half = token == STRING and _HALF.search(parser.content())
                (broken if half else found).add(name)
            parser.skip_children()
    except JsonFault:
        return set()
    return found


_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which cannot be written."""
