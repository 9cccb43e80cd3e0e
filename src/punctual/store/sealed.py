"""Small JSON files that know whether they are whole.

A sealed file is one line of JSON, an object whose last key is ``crc``: the CRC32 of all bytes before
that key. People and tools read it as plain JSON; any changed, missing or added byte is noticed.
"""

from __future__ import annotations

import zlib
from typing import Any

import orjson

from punctual.errors import StateError
from punctual.ports.storage import Files

JSON = dict[str, Any]
"""An object of JSON values; what the keys mean is the writer's."""

_SEAL_BYTES = len(b',"crc":"00000000"}\n')


def seal(value: JSON) -> bytes:
    """The text of a sealed file; the value has at least one key.

    >>> seal({"format": 1})
    b'{"format":1,"crc":"1bb205f2"}\\n'
    """
    text = orjson.dumps(value)[:-1]
    return text + _seal_of(text)


def unseal(text: bytes, path: str) -> JSON:
    """The value of a sealed text; ``state.corrupt`` naming the path when it is not as it was written."""
    body = text[:-_SEAL_BYTES]
    if text[-_SEAL_BYTES:] != _seal_of(body):
        raise corrupt(path, "its checksum does not fit its text")
    value: JSON = orjson.loads(body + b"}")
    return value


def read_sealed(files: Files, path: str) -> JSON | None:
    """The value of a sealed file; None when there is no such file."""
    return None if files.size(path) is None else unseal(files.read(path), path)


def corrupt(path: str, why: str) -> StateError:
    """The error for a file of the state that is not what was written."""
    return StateError(
        "state.corrupt",
        f'file "{path}" is damaged: {why}',
        detail="the state was left as it is, and nothing was read from it",
        hint="restore the state directory from a copy, or start with an empty one",
    )


def _seal_of(text: bytes) -> bytes:
    return b',"crc":"%08x"}\n' % zlib.crc32(text)
