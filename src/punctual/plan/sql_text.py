"""Names and strings as Spark SQL writes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as one identifier.

    >>> print(quoted("köln"), quoted("a`b"))
    `köln` `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string.

    >>> literal("it's")
    "'it\\\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
