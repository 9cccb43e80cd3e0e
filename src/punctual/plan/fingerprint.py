"""What a value means as a short text: names in the state, such as those of units and queries, are made of it.

Equal values have equal fingerprints, in every process and under every version of Python. What says where something
stands in a program has no meaning: fields whose type is a :class:`Span`, and those that are declared with ``LAYOUT``.
A field that has its default is left out, so a new field with a default leaves the fingerprints of old values alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

import msgspec

from punctual.errors import InternalError, Span

LAYOUT: Mapping[str, bool] = MappingProxyType({"layout": True})
"""Metadata of a field that says how a program is written, not what it means."""
_BYTES = 8
_LARGEST = 2**63
_MEANT: dict[type[Any], tuple[tuple[str, object], ...]] = {}


@lru_cache(maxsize=65_536)
def fingerprint(*values: object) -> str:
    """Sixteen hexadecimal digits that stand for these values: frozen dataclasses, numbers, texts, None, tuples of them.

    >>> fingerprint("a", 1) == fingerprint("a", 1.0) != fingerprint("a", "1")
    True
    """
    text = msgspec.msgpack.encode([_plain(value) for value in values], order="sorted")
    return hashlib.blake2b(text, digest_size=_BYTES).hexdigest()


def _plain(value: object) -> Any:
    """The value made of lists, texts and numbers; values that Python finds equal become the same."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bool | int | float | Fraction):
        return _number(value)
    if is_dataclass(value):
        kind: type[Any] = type(value)
        said = [(name, getattr(value, name), default) for name, default in _meant(kind)]
        return {kind.__name__: {name: _plain(one) for name, one, default in said if one != default}}
    raise InternalError(f"a value of type {type(value).__name__} has no fingerprint")


def _number(value: float | Fraction) -> Any:
    if isinstance(value, Fraction):
        return {"fraction": str(value)} if value.denominator != 1 else _number(value.numerator)
    if isinstance(value, float) and not value.is_integer():
        return value
    whole = int(value)
    return whole if -_LARGEST <= whole < _LARGEST else {"integer": str(whole)}


def _meant(kind: type[Any]) -> tuple[tuple[str, object], ...]:
    """The fields of a dataclass that have a meaning, each with its default."""
    if kind not in _MEANT:
        hints = get_type_hints(kind)
        _MEANT[kind] = tuple((f.name, _default(f)) for f in fields(kind) if not _is_layout(f, hints[f.name]))
    return _MEANT[kind]


def _is_layout(field: Field[Any], hint: object) -> bool:
    return "layout" in field.metadata or hint is Span or Span in get_args(hint)


def _default(field: Field[Any]) -> object:
    made: Callable[[], object] | object = field.default_factory
    if made is not MISSING and callable(made):
        return made()
    return field.default
