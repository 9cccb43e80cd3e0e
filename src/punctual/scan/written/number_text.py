"""Numbers as Java prints them: ``1.0E10``, ``0.001``, ``4.9E-324``.

Arrow finds the digits (the shortest that read back as the same number), and only the notation is ours. Since version
19 Java finds the same digits; earlier ones sometimes print one too many.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PLAIN_FROM, PLAIN_BELOW = 1e-3, 1e7
"""Sizes that are printed without an exponent."""
_TINY = {pa.float64(): 1e-320, pa.float32(): 1e-42}
"""Below these a number has so few digits that Java prints two where one would do, and Arrow one."""

Form = Callable[[pa.Array, pa.Array], pa.Array]
"""Makes texts of some numbers, from them and from what Arrow wrote for them."""


def float_texts(values: pa.Array) -> pa.Array:
    """Floats or doubles as texts; those that are no numbers are ``NaN``, ``Infinity`` and ``-Infinity``.

    >>> float_texts(pa.array([1.0, -0.0, 1e7, 0.00125, 1.5e-9, float("inf")])).to_pylist()
    ['1.0', '-0.0', '1.0E7', '0.00125', '1.5E-9', 'Infinity']
    """
    raw = pc.cast(values, pa.string())
    numbers = values.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        sizes = np.abs(numbers)
        plain = (sizes == 0) | ((sizes >= PLAIN_FROM) & (sizes < PLAIN_BELOW))
    # NULLs are NaN here; they stay NULL whatever is made of them.
    odd = pa.array(~plain)
    texts = _with_point(raw)
    return texts if plain.all() else pc.replace_with_mask(texts, odd, _scientific(values.filter(odd), raw.filter(odd)))


def _with_point(texts: pa.Array) -> pa.Array:
    whole = pc.invert(pc.match_substring(texts, "."))
    if not pc.any(whole).as_py():
        return texts
    return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)


def _scientific(values: pa.Array, raw: pa.Array) -> pa.Array:
    """Numbers that have an exponent, or are none."""
    sizes = pc.abs(values)
    tiny, below, infinite = (pa.scalar(limit, values.type) for limit in (_TINY[values.type], PLAIN_FROM, math.inf))
    forms: list[tuple[pa.Array, Form]] = [
        (pc.greater_equal(sizes, pa.scalar(PLAIN_BELOW, values.type)), lambda _values, some: _shifted_left(some)),
        (pc.less(sizes, below), lambda _values, some: _shifted_right(some)),
        (pc.match_substring(raw, "e"), lambda _values, some: _respelled(some)),
        (pc.less(sizes, tiny), lambda some, _texts: _tiny_texts(some)),
        (pc.equal(sizes, infinite), lambda _values, some: pc.replace_substring(some, "inf", "Infinity")),
        (pc.is_nan(values), lambda _values, some: pc.replace_substring_regex(some, "^.+$", "NaN")),
    ]
    result = raw
    for wanted, form in forms:
        mask = pc.fill_null(wanted, False)
        # Most columns have numbers of one size, so most forms have nothing to do.
        if pc.any(mask).as_py():
            result = pc.replace_with_mask(result, mask, form(values.filter(mask), raw.filter(mask)))
    return result


def _respelled(raw: pa.Array) -> pa.Array:
    """``1e+20`` as ``1.0E20``."""
    short = pc.replace_substring(pc.replace_substring(raw, "e+", "E"), "e", "E")
    return pc.replace_substring_regex(short, r"^(-?\d)E", r"\1.0E")


def _shifted_left(raw: pa.Array) -> pa.Array:
    """``12500000`` as ``1.25E7``."""
    texts = _with_point(raw)
    digits = pc.replace_substring_regex(texts, r"^(-?\d)(\d+)\.(\d*)$", r"\1.\2\3")
    cut = pc.replace_substring_regex(pc.utf8_rtrim(digits, "0"), r"\.$", ".0")
    signs = pc.cast(pc.starts_with(texts, "-"), pa.int32())
    exponents = pc.subtract(pc.subtract(pc.find_substring(texts, "."), signs), 1)
    return pc.binary_join_element_wise(cut, pc.cast(exponents, pa.string()), "E")


def _shifted_right(raw: pa.Array) -> pa.Array:
    """``0.000125`` as ``1.25E-4``."""
    digits = pc.replace_substring_regex(raw, r"^(-?)0\.0*", r"\1")
    exponents = pc.subtract(pc.subtract(pc.utf8_length(digits), pc.utf8_length(raw)), -1)
    pointed = pc.replace_substring_regex(digits, r"^(-?\d)(\d*)$", r"\1.\2")
    whole = pc.replace_substring_regex(pointed, r"\.$", ".0")
    return pc.binary_join_element_wise(whole, pc.cast(exponents, pa.string()), "E")


def _tiny_texts(values: pa.Array) -> pa.Array:
    """Numbers with hardly a digit: there are few, whatever the rows."""
    distinct = values.dictionary_encode()
    texts = [_tiny_text(number) for number in distinct.dictionary.to_numpy()]
    return pa.array(texts, pa.string()).take(distinct.indices)


def _tiny_text(number: np.floating) -> str:
    """Two digits where they read back as the number, or as many as that takes.

    >>> _tiny_text(np.float64(5e-324)), _tiny_text(np.float32(1e-45)), _tiny_text(np.float64(1.04e-322))
    ('4.9E-324', '1.4E-45', '1.04E-322')
    """
    two = f"{number:.1e}"
    text = two if type(number)(two) == number else np.format_float_scientific(number, trim="0")
    return text.replace("e", "E")
