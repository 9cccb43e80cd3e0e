"""Values of the state as JSON, by their types: frozen dataclasses and structs, read back into the same types."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def encode(value: object) -> bytes:
    """One line of JSON.

    >>> encode({"a": (1, None), "b": range(2, 5)})
    b'{"a":[1,null],"b":[2,5]}'
    """
    return msgspec.json.encode(value, enc_hook=_encoded)


def decode(text: bytes | msgspec.Raw, kind: type[T]) -> T:
    """The value of this type; a ``msgspec.DecodeError`` where the text is not one.

    >>> decode(b"[2,5]", range)
    range(2, 5)
    """
    return msgspec.json.decode(text, type=kind, dec_hook=_decoded)


def _encoded(value: object) -> Any:
    if isinstance(value, range) and value.step == 1:
        return value.start, value.stop
    raise NotImplementedError(f"{type(value).__name__} has no form in the state")


def _decoded(kind: type[Any], value: Any) -> Any:
    if kind is range:
        start, stop = value
        return range(start, stop)
    raise NotImplementedError(f"{kind.__name__} has no form in the state")
