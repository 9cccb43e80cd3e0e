"""Arrow columns as columns of JSON text.

Model
-----
``fragments`` gives for each value of an array the JSON that stands for it, as text. Objects, lists and lines are
made of such columns by joining them, so a million values cost a few passes in C++ and no step in Python each.

The text
--------
Integers, booleans, NULL as in JSON. Doubles with the fewest digits that read back; NaN and the infinities
as strings. DECIMAL as string. Timestamps as ``"2012-04-21T09:20:00Z"``, six decimals only when not zero, times of day
likewise; dates ISO; years before 0 and after 9999 have a sign. Binary as base64. Lists and structs as arrays and
objects; a map as an object whose keys are text (the JSON of those that are no text). Durations as microseconds. Text
that is not UTF-8 shows U+FFFD where it is broken.

Fast enough because each column is one to four Arrow kernels; only strings that need escapes, and binary,
go through Python, and those once for each distinct value.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import iso

TEXT = pa.large_string()
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
_400_YEARS_DAYS = 146_097
_YEAR_1, _YEAR_10000 = -62_135_596_800 * _SECOND_US, 253_402_300_800 * _SECOND_US
_ESCAPED = np.zeros(256, dtype=np.bool_)
_ESCAPED[:0x20] = True
_ESCAPED[[ord('"'), ord("\\")]] = True
_ESCAPED[0x80:] = True  # may be broken UTF-8, which the careful way mends


def fragments(array: pa.Array) -> pa.Array:
    """The JSON of each value; a large_string array without nulls.

    >>> fragments(pa.array([1.5, None, float("nan")])).to_pylist()
    ['1.5', 'null', '"NaN"']
    >>> fragments(pa.array([[1, None], None, []], pa.list_(pa.int64()))).to_pylist()
    ['[1,null]', 'null', '[]']
    """
    text = _texts(array)
    return pc.fill_null(text, "null") if text.null_count else text


def instants(micros: pa.Array) -> pa.Array:
    """Microseconds since 1970 as quoted UTC times; null where null, also in a column of nothing but nulls.

    >>> instants(pa.array([0, 1_500_000, None])).to_pylist()
    ['"1970-01-01T00:00:00Z"', '"1970-01-01T00:00:01.500000Z"', None]
    """
    if micros.null_count == len(micros):  # as in every replay
        return pa.nulls(len(micros), TEXT)
    values = _filled(micros, 0)
    far = (values < _YEAR_1) | (values >= _YEAR_10000)
    if far.any():
        near = instants(pc.if_else(pa.array(far), pa.scalar(0, pa.int64()), pa.array(values)))
        texts = [f'"{iso(at)}"' if is_far else None for at, is_far in zip(values.tolist(), far.tolist())]
        return _nulls_of(micros, pc.coalesce(pa.array(texts, TEXT), near))
    seconds, fraction = np.divmod(values, _SECOND_US)
    whole = pa.array(seconds, pa.timestamp("s")).cast(TEXT)
    ending = _scalar('Z"')
    if fraction.any():
        decimals = pc.utf8_slice_codeunits(pa.array(fraction + _SECOND_US).cast(TEXT), 1)
        ending = pc.if_else(pa.array(fraction != 0), joined([".", decimals, 'Z"']), ending)
    text = joined(['"', pc.replace_substring(whole, " ", "T"), ending])
    return _nulls_of(micros, text)


def joined(parts: Sequence[str | pa.Array | pa.Scalar]) -> pa.Array:
    """Parts joined value by value; a plain string stands at every place."""
    texts = [_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, _scalar(""))


def joined_lists(lengths: NDArray[np.int64], texts: pa.Array, separator: str) -> pa.Array:
    """Consecutive runs of texts, each joined into one."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), texts), _scalar(separator))


def object_texts(keys: Sequence[str | pa.Array], values: Sequence[pa.Array]) -> pa.Array:
    """Objects with these keys (already JSON, one or one per row) and values."""
    parts: list[str | pa.Array] = []
    for key, value in zip(keys, values):
        parts += ["," if parts else "{", key, ":", fragments(value)]
    return joined([*parts, "}"])


def _texts(array: pa.Array) -> pa.Array:
    """As ``fragments``, null where null."""
    kind = array.type
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return _strings(array)
    if types.is_floating(kind):
        return _doubles(array)
    if types.is_boolean(kind):
        return pc.if_else(array, _scalar("true"), _scalar("false"))
    if types.is_integer(kind):
        return array.cast(TEXT)
    if types.is_null(kind):
        return pa.nulls(len(array), TEXT)
    if types.is_timestamp(kind):
        return instants(array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()))
    if types.is_date(kind):
        return _dates(array.cast(pa.date32()))
    if types.is_time(kind):
        return _times(array)
    if types.is_duration(kind):
        return array.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(TEXT)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return _by_distinct(array, lambda value: f'"{base64.b64encode(value).decode()}"')
    if types.is_dictionary(kind):
        return _texts(array.dictionary).take(array.indices)
    if types.is_map(kind):
        return _maps(array)
    if types.is_struct(kind):
        keys = [_quoted(kind.field(at).name) for at in range(kind.num_fields)]
        text = object_texts(keys, array.flatten()) if keys else _repeated("{}", len(array))
        return _nulls_of(array, text)
    if types.is_nested(kind):
        return _lists(array)
    return joined(['"', array.cast(pa.string()).cast(TEXT), '"'])  # decimals


def _dates(array: pa.Array) -> pa.Array:
    days = _filled(array.cast(pa.int32()), 0).astype(np.int64)
    far = (days < _YEAR_1 // _DAY_US) | (days >= _YEAR_10000 // _DAY_US)
    if not far.any():
        return joined(['"', array.cast(TEXT), '"'])
    cycles = np.where(far, days // _400_YEARS_DAYS, 0)  # the calendar repeats, and Arrow knows few years
    near = pa.array((days - cycles * _400_YEARS_DAYS).astype(np.int32)).cast(pa.date32()).cast(pa.string())
    texts = [_with_year(text, 400 * n) for text, n in zip(near.to_pylist(), cycles.tolist())]
    return _nulls_of(array, pa.array(texts, TEXT))


def _with_year(date: str, added: int) -> str:
    year = int(date[:4]) + added
    return f'"{year:+05d}{date[4:]}"' if not 0 <= year <= 9999 else f'"{year:04d}{date[4:]}"'


def _times(array: pa.Array) -> pa.Array:
    """Times of day, to the microsecond."""
    micros = array.cast(pa.time64("us"), safe=False).cast(pa.int64())
    text = instants(micros)
    return joined(['"', pc.replace_substring(pc.utf8_slice_codeunits(text, 12), 'Z"', '"')])


def _strings(array: pa.Array) -> pa.Array:
    if not _ESCAPED[_bytes_of(array)].any():
        return joined(['"', array.cast(TEXT), '"'])
    return _by_distinct(array, lambda value: orjson.dumps(value.decode(errors="replace")).decode())


def _doubles(array: pa.Array) -> pa.Array:
    if len(array) == 0:
        return pa.nulls(0, TEXT)
    if array.type == pa.float16():
        array = array.cast(pa.float32())
    values = _filled(array, 0.0)
    listed = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    whole = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, len(listed)])), pa.py_buffer(listed))
    text = pc.split_pattern(whole, ",").flatten()
    if not np.isfinite(values).all():
        infinite = pc.if_else(pa.array(values > 0), _scalar('"Infinity"'), _scalar('"-Infinity"'))
        named = pc.if_else(pa.array(np.isnan(values)), _scalar('"NaN"'), infinite)
        text = pc.if_else(pa.array(np.isfinite(values)), text, named)
    return _nulls_of(array, text)


def _lists(array: pa.Array) -> pa.Array:
    lengths = _filled(pc.list_value_length(array), 0).astype(np.int64)
    inner = joined_lists(lengths, fragments(array.flatten()), ",")
    return _nulls_of(array, joined(["[", inner, "]"]))


def _maps(array: pa.Array) -> pa.Array:
    edges = array.offsets.to_numpy()
    keys, values = (fragments(part[edges[0] : edges[-1]]) for part in (array.keys, array.items))
    keys = pc.if_else(pc.starts_with(keys, '"'), keys, _strings(keys))
    inner = joined_lists(np.diff(edges).astype(np.int64), joined([keys, ":", values]), ",")
    return _nulls_of(array, joined(["{", inner, "}"]))


def _by_distinct(array: pa.Array, render: Callable[[bytes], str]) -> pa.Array:
    encoded = array.cast(pa.large_binary()).dictionary_encode()
    texts = pa.array([render(value) for value in encoded.dictionary.to_pylist()], TEXT)
    return texts.take(encoded.indices)


def _bytes_of(array: pa.Array) -> NDArray[np.uint8]:
    """The bytes of all strings of an array, end to end."""
    wide = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _validity, offsets, data = array.buffers()
    if data is None or len(array) == 0:
        return np.empty(0, np.uint8)
    edges = np.frombuffer(offsets, wide)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8)[edges[0] : edges[-1]]


def _filled(array: pa.Array, value: float) -> NDArray[Any]:
    filled = pc.fill_null(array, pa.scalar(value, array.type)) if array.null_count else array
    values: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return values


def _nulls_of(array: pa.Array, text: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), text, pa.scalar(None, TEXT)) if array.null_count else text


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(_scalar(text), count)


def _quoted(name: str) -> str:
    return orjson.dumps(name).decode()


@lru_cache(1_024)  # the same few words in every line
def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, TEXT)
