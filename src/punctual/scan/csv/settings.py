"""How CSV files are written: what our scan reads of the options of Spark's reader."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

NOT_SET = "\0"
"""A character that is not set; as in Spark's parser, so a NUL in a file can have odd effects."""
_KNOWN = frozenset({"header", "sep", "delimiter", "quote", "escape", "comment", "encoding", "charset"})


class CsvSettings(msgspec.Struct, frozen=True):
    """Header lines and the characters with a meaning; ``quote`` and ``escape`` may be NOT_SET."""

    header: bool = True
    sep: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str | None = None


def csv_settings(options: Sequence[tuple[str, str]]) -> CsvSettings | None:
    """The settings that options of the reader give, names in any case and the last one winning.

    None where an option is used that the scan does not read, or characters for which it is not exact.

    >>> csv_settings([("SEP", "\\\\t"), ("header", "false")])
    CsvSettings(header=False, sep='\\t', quote='"', escape='"', comment=None)
    >>> csv_settings([("multiLine", "true")])
    """
    given = {name.lower(): value for name, value in options}
    if not given.keys() <= _KNOWN or given.get("encoding", given.get("charset", "utf-8")).lower() not in _UTF_8:
        return None
    sep = given.get("sep", given.get("delimiter", ","))
    sep = "\t" if sep == "\\t" else sep
    quote = given.get("quote", '"') or NOT_SET
    # A quote inside quotes is doubled, as everything but Spark writes it.
    escape = given.get("escape", quote)
    comment = given.get("comment") or None
    marks = [sep, quote, *([escape] if escape != quote else []), *([comment] if comment is not None else [])]
    if len(set(marks)) < len(marks) or any(len(mark) != 1 or mark > "\x7f" or mark in "\r\n" for mark in marks):
        return None
    if sep in ("\\", NOT_SET) or comment == NOT_SET or (escape == NOT_SET) != (quote == NOT_SET):
        return None
    return CsvSettings(given.get("header", "true").lower() == "true", sep, quote, escape, comment)


_UTF_8 = ("utf-8", "utf8")
