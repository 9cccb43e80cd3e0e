"""Names that the engine gives to columns and views: none that a program can have.

They stand beside a program's own names in generated SQL. They begin with a control character, which the parser refuses
in names (``parse.bad-name``), so no column, alias or lambda variable of a user can be taken for one of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

MARK = "\x1f"


def own(name: str) -> str:
    """A name of ours."""
    return MARK + name


def joined_column(alias: str, column: str) -> str:
    """The column of a joined table in the enriched row.

    >>> shown(joined_column("lanes", "name"))
    'lanes.name'
    """
    return f"{alias}{MARK}.{column}"


def joined_columns(names: Iterable[str], alias: str) -> set[str]:
    """The columns of what is joined under an alias, of which the enriched row has these.

    >>> joined_columns(["x", joined_column("a", "k"), joined_column("b", "x")], "b")
    {'x'}
    """
    before = joined_flag(alias)
    return {name.removeprefix(before) for name in names if name.startswith(before) and name != before}


def joined_flag(alias: str) -> str:
    """The column of the enriched row that is true where a row of the joined table was found."""
    return f"{alias}{MARK}."


def shown(text: str) -> str:
    """SQL as people read it: names of ours look like others."""
    return text.replace(MARK, "")


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
SAMPLE_MARK, IDENTITY = own("mark"), own("identity")
"""Columns of rows that samples are drawn of: what a kept row stands for, and the hash of all its declared columns."""
ROW_IDENTITY = own("row identity")
"""Column of a window: the same hash, but that rows with the same values have different ones."""
BATCH_MARK = own("batch mark")
"""The same without the part of the sample that a row is in: one for all rows of a stream in a batch."""
ROUND = own("round")
"""Column of a window whose rows are handed on in every round: which one it is."""
MARKED = own("marked")
"""Column of rounds: how many missing values of a window had no group or neighbour."""
REJECTED = own("rejected")
"""Column of rounds: how many rows of a window have a rule whose probabilities add up to more than 1."""
READERS = own("readers")
"""Column of a window that several queries read, where samples differ: a bit for each of those who keep the row."""
