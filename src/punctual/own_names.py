"""Names that the engine gives to columns and views: none that a program can have.

They stand beside a program's own names in generated SQL. They begin with a control character, which the parser refuses
in names (``parse.bad-name``), so no column, alias or lambda variable of a user can be taken for one of ours.
"""

from __future__ import annotations

MARK = "\x1f"


def own(name: str) -> str:
    """A name of ours."""
    return MARK + name


def joined(alias: str, column: str) -> str:
    """What a row calls a column of a table that is joined to it: no column of its stream can have the name."""
    return f"{alias}{MARK}{column}"


def shown(text: str) -> str:
    """A name, or a text with names of ours in it, for people to read.

    >>> shown("kmh"), shown(joined("lanes", "city")), shown(f"{own('a0')} + 1")
    ('kmh', 'lanes.city', 'a0 + 1')
    """
    first, *others = text.split(MARK)
    for other in others:
        first += ("." if first[-1:].isalnum() or first[-1:] == "_" else "") + other
    return first


def is_printable(name: str) -> bool:
    """Whether a program may use the name: one without control characters.

    >>> is_printable("köln 1"), is_printable(own("time"))
    (True, False)
    """
    return not any(ord(letter) < 32 or ord(letter) == 127 for letter in name)


REASON, RAW, ORIGIN = own("reason"), own("raw"), own("origin")
"""Columns of every feed: why a row is malformed (NULL where it is not), its text then, and where it was read."""
TIME, WHY, ROW = own("time"), own("why"), own("row")
"""Columns that a tick adds: the event time in microseconds, why a row does not count, and how it read."""
FOUND = ""
"""What a joined table calls its column that is true: a row that met no row of the table has NULL there."""
