"""Types of declared columns: Spark's DDL names, in one spelling each.

A reader of files must know the type before a row is read, so what Spark has no reader for (CHAR, VARCHAR, intervals)
is refused here, with what to write instead.
"""

from __future__ import annotations

import difflib

from punctual.errors import BindError, Span
from punctual.plan.sql_text import quoted
from punctual.sql.syntax.cursor import Cursor

SPELLINGS = {
    "BOOLEAN": "BOOLEAN", "TINYINT": "TINYINT", "BYTE": "TINYINT", "SMALLINT": "SMALLINT", "SHORT": "SMALLINT",
    "INT": "INT", "INTEGER": "INT", "BIGINT": "BIGINT", "LONG": "BIGINT", "FLOAT": "FLOAT", "REAL": "FLOAT",
    "DOUBLE": "DOUBLE", "DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "STRING": "STRING",
    "BINARY": "BINARY", "DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
}
INSTEAD = {
    "VARCHAR": "STRING", "CHAR": "STRING", "TEXT": "STRING", "NUMBER": "DECIMAL(10,2)", "BOOL": "BOOLEAN",
    "DATETIME": "TIMESTAMP", "INT64": "BIGINT", "INT32": "INT", "FLOAT64": "DOUBLE", "DOUBLE PRECISION": "DOUBLE",
    "STR": "STRING", "TIME": "TIMESTAMP",
}
DEEPEST = 20


def parse_type(cursor: Cursor, depth: int = 0) -> tuple[str, Span]:
    """A type and its span.

    Returns
    -------
    str
        Upper case, such as ``DECIMAL(10,2)`` or ``ARRAY<STRUCT<x: INT>>``; field names stay as written.
    """
    first = cursor.index
    token = cursor.peek()
    if token.kind != "word" or depth > DEEPEST:
        raise cursor.wrong("a type", hint="for example: sensor STRING")
    word = token.word
    cursor.next()
    if word == "ARRAY":
        text = f"ARRAY<{_bracketed(cursor, depth, 1)[0]}>"
    elif word == "MAP":
        text = f"MAP<{','.join(_bracketed(cursor, depth, 2))}>"
    elif word == "STRUCT":
        text = f"STRUCT<{_fields(cursor, depth)}>"
    elif SPELLINGS.get(word) == "DECIMAL":
        text = _decimal(cursor, first)
    elif word in SPELLINGS:
        text = SPELLINGS[word]
    else:
        near = [INSTEAD[word]] if word in INSTEAD else difflib.get_close_matches(word, SPELLINGS, n=1)
        raise BindError(
            "bind.bad-type",
            f'there is no type "{token.text}" for a column',
            span=token.span,
            hint=f"did you mean {near[0]}?" if near else "types: " + ", ".join(sorted(set(SPELLINGS.values()))),
        )
    return text, cursor.since(first)


def _bracketed(cursor: Cursor, depth: int, count: int) -> list[str]:
    cursor.expect("<")
    parts = [parse_type(cursor, depth + 1)[0]]
    for _ in range(count - 1):
        cursor.expect(",")
        parts.append(parse_type(cursor, depth + 1)[0])
    cursor.expect(">")
    return parts


def _fields(cursor: Cursor, depth: int) -> str:
    cursor.expect("<")
    fields = []
    while True:
        name = cursor.name("a field name").text
        cursor.accept(":")
        plain = not name[0].isdigit() and all(letter == "_" or letter.isalnum() for letter in name)
        fields.append(f"{name if plain else quoted(name)}: {parse_type(cursor, depth + 1)[0]}")
        if not cursor.accept(","):
            break
    cursor.expect(">")
    return ", ".join(fields)


def _decimal(cursor: Cursor, first: int) -> str:
    precision, scale = 10, 0
    if cursor.accept("("):
        digits = [cursor.number("a precision").text]
        if cursor.accept(","):
            digits.append(cursor.number("a scale").text)
        cursor.expect(")")
        if not all(d.isdecimal() and len(d) <= 2 for d in digits):
            precision = 0
        else:
            precision, scale = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if not (1 <= precision <= 38 and scale <= precision):
        raise BindError(
            "bind.bad-type",
            "a decimal has 1 to 38 digits and no more of them after the point",
            span=cursor.since(first),
            hint="for example: DECIMAL(10,2)",
        )
    return f"DECIMAL({precision},{scale})"
