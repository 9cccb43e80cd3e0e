"""Small JSON files that know whether they are whole.

A sealed file is one line of JSON, an object whose last key is ``crc``: the CRC32 of all bytes before
that key. People and tools read it as plain JSON; any changed, missing or added byte is noticed.
"""

from __future__ import annotations

import zlib
from typing import TypeVar

import msgspec

from punctual.errors import corrupt
from punctual.ports.storage import Files
from punctual.store.codec import decode, encode

T = TypeVar("T")
_SEAL_BYTES = len(b',"crc":"00000000"}\n')


def seal(value: object) -> bytes:
    """The text of a sealed file; the value is an object with at least one key.

    >>> seal({"format": 1})
    b'{"format":1,"crc":"1bb205f2"}\\n'
    """
    text = encode(value)[:-1]
    return text + _seal_of(text)


def unseal(text: bytes, path: str, kind: type[T]) -> T:
    """The value of a sealed text; ``state.corrupt`` naming the path when it is not as it was written."""
    body = text[:-_SEAL_BYTES]
    if text[-_SEAL_BYTES:] != _seal_of(body):
        raise corrupt(path, "its checksum does not fit its text")
    return typed(body + b"}", path, kind)


def read_sealed(files: Files, path: str, kind: type[T]) -> T | None:
    """The value of a sealed file; None when there is no such file."""
    if files.is_folder(path):
        raise corrupt(path, "it is a folder and should be a file")
    return None if files.size(path) is None else unseal(files.read(path), path, kind)


def typed(text: bytes | msgspec.Raw, path: str, kind: type[T]) -> T:
    """The value of this type that a file's text holds; ``state.corrupt`` naming the path when it is none."""
    try:
        return decode(text, kind)
    except msgspec.DecodeError as error:
        raise corrupt(path, f"it does not hold what it should: {error}") from error


def _seal_of(text: bytes) -> bytes:
    return b',"crc":"%08x"}\n' % zlib.crc32(text)
