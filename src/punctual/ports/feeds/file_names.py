"""Names of files as text, whatever their bytes.

A name that is not UTF-8 fits neither JSON nor a terminal, and Spark cannot open it. Such a path is written with escapes
(``\\xff``, and ``\\\\`` for a backslash) and with two slashes before the name, which no other path has: so it can be
told from a file that is really called like that, and the escapes can be undone.
"""

from __future__ import annotations

import os
import re

_MARK = "//"


def text_of(path: str) -> str:
    """A path as the operating system gives it, as text.

    >>> text_of("/data/a.json"), text_of(os.fsdecode(b"/data/a" + bytes([255])))
    ('/data/a.json', '/data//a\\\\xff')
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        folder, name = os.path.split(path)
        return f"{_escaped(folder.rstrip('/'))}{_MARK}{_escaped(name)}"
    return path


def path_of(text: str) -> str:
    """The path that a text stands for: what can be opened, moved and removed.

    >>> path_of(text_of("/data/a" + chr(0xDCFF))) == "/data/a" + chr(0xDCFF)
    True
    """
    if not is_escaped(text):
        return text
    plain = re.sub(rb"\\(\\|x[0-9a-f]{2})", _unescaped, text.replace(_MARK, "/").encode())
    return os.fsdecode(plain)


def is_escaped(text: str) -> bool:
    """Whether the name is not UTF-8."""
    return _MARK in text


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"\\" if match[1] == b"\\" else bytes([int(match[1][1:], 16)])
