"""Rows as JSON, to the byte as Spark's ``to_json`` writes them where NULLs and microseconds stay.

This is how a dead letter shows a row that was not a text to begin with. Whole columns are turned into texts and
joined; Python looks at single values of rare kinds alone.
"""

from __future__ import annotations

import binascii
import codecs
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.scan.written.number_text import float_texts
from punctual.scan.written.time_text import date_texts, time_texts

_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in range(32)},
    8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"',
}  # fmt: skip
_BACKSLASH = 92
_SPECIAL = np.isin(np.arange(256), [*_ESCAPES, _BACKSLASH])


def row_texts(columns: Sequence[tuple[str, pa.Array]]) -> pa.Array:
    """One JSON object per row: names and values in the order given, NULL as ``null``.

    >>> row_texts([("a", pa.array([1, None])), ("b", pa.array(['say "x"', "y"]))]).to_pylist()
    ['{"a":1,"b":"say \\\\"x\\\\""}', '{"a":null,"b":"y"}']
    """
    pieces: list[pa.Array | str] = []
    before = "{"
    for name, values in columns:
        key = before + f'"{_escaped(pa.array([name]))[0].as_py()}":'
        texts, left, right = _json(values)
        if left and texts.null_count:
            texts, left, right = pc.binary_join_element_wise(left, texts, right, ""), "", ""
        pieces += [key + left, texts]
        before = right + ","
    pieces.append(before[:-1] + "}")
    return pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement="null")


def _json(values: pa.Array) -> tuple[pa.Array, str, str]:
    """Values as JSON, NULLs as NULL, and what stands before and after each that is not NULL."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return pc.cast(values, pa.string()), "", ""
    if pa.types.is_floating(kind):
        return _numbers(values), "", ""
    if pa.types.is_string(kind):
        return _escaped(values), '"', '"'
    if pa.types.is_timestamp(kind):
        return time_texts(values), '"', '"' if kind.tz is None else 'Z"'
    if pa.types.is_date32(kind):
        return date_texts(values), '"', '"'
    if pa.types.is_binary(kind):
        return _base64(values), '"', '"'
    raise TypeError(f"no row text for {kind}")


def _numbers(values: pa.Array) -> pa.Array:
    """JSON has no NaN and no infinity: they are texts."""
    texts = float_texts(values)
    finite = pc.is_finite(values)
    if pc.all(finite).as_py() is not False:
        return texts
    return pc.if_else(finite, texts, pc.binary_join_element_wise('"', texts, '"', ""))


def _base64(values: pa.Array) -> pa.Array:
    texts = [None if value is None else binascii.b2a_base64(value, newline=False) for value in values.to_pylist()]
    return pa.array(texts, pa.binary()).cast(pa.string())


def _escaped(texts: pa.Array) -> pa.Array:
    """What JSON cannot hold as it is: quotes, backslashes, control characters, and bytes that are no UTF-8."""
    texts = as_utf8(texts)
    present = np.bincount(_bytes_of(texts), minlength=256) > 0
    if not (present & _SPECIAL).any():
        return texts
    if present[_BACKSLASH]:
        texts = pc.replace_substring(texts, "\\", "\\\\")
    for code, escape in _ESCAPES.items():
        if present[code]:
            texts = pc.replace_substring(texts, chr(code), escape)
    return texts


def as_utf8(texts: pa.Array) -> pa.Array:
    """Texts with the replacement character where bytes are no UTF-8, as Java decodes them."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = texts.view(pa.binary()).to_pylist()
        return pa.array([None if value is None else _decoded(value) for value in raw], pa.string())
    return texts


def _decoded(raw: bytes) -> str:
    """One replacement for each part that could be the start of a character, and one for a surrogate.

    >>> _decoded(b"a\\xed\\xa0\\x80\\xff") == "a\\ufffd\\ufffd"
    True
    """
    return raw.decode("utf-8", errors=_REPLACEMENT)


def _replace_as_java(problem: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(problem, UnicodeDecodeError)
    at = problem.object[problem.start : problem.start + 3]
    surrogate = at[0] == 0xED and 0xA0 <= at[1] <= 0xBF if len(at) > 1 else False
    if not surrogate:
        return "\ufffd", problem.end
    return "\ufffd", problem.start + (3 if len(at) == 3 and 0x80 <= at[2] <= 0xBF else 2)


_REPLACEMENT = "punctual-java"
codecs.register_error(_REPLACEMENT, _replace_as_java)


def _bytes_of(texts: pa.Array) -> np.ndarray:
    """The bytes of all texts, without copying them."""
    _valid, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)
    first, last = places[texts.offset], places[texts.offset + len(texts)]
    return np.frombuffer(data, np.uint8)[first:last]
