"""Bytes as text the way the JVM reads UTF-8: what is no UTF-8 becomes U+FFFD, one per broken sequence.

Python agrees on what is broken, and not always on where a broken sequence ends.
"""

from __future__ import annotations

_BROKEN = "\ufffd"


def java_text(data: bytes) -> str:
    """Bytes decoded as by ``new String(bytes, UTF_8)``.

    >>> java_text(b"a\\xffb"), java_text(b"\\xed\\xa0\\x80")
    ('a\ufffdb', '\ufffd')
    """
    parts: list[str] = []
    at = 0
    while True:
        try:
            parts.append(data[at:].decode())
            return "".join(parts)
        except UnicodeDecodeError as problem:
            parts.append(data[at : at + problem.start].decode())
            parts.append(_BROKEN)
            at += problem.start + _broken_bytes(data[at + problem.start : at + problem.start + 4])


def _broken_bytes(data: bytes) -> int:
    """How many bytes one U+FFFD stands for, at the start of what is no UTF-8 (its first four bytes)."""
    first, second = data[0], data[1] if len(data) > 1 else -1
    if 0xE0 <= first <= 0xEF:
        if second < 0 or not _follows(second) or (first == 0xE0 and second < 0xA0):
            return 1
        # Half of a surrogate pair is whole as bytes.
        return 3 if len(data) > 2 and _follows(data[2]) else 2
    if 0xF0 <= first <= 0xF4:
        if second < 0 or not _follows(second) or (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
            return 1
        return 3 if len(data) > 2 and _follows(data[2]) else 2
    return 1


def _follows(byte: int) -> bool:
    return byte & 0xC0 == 0x80
