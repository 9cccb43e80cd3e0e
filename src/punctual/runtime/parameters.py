"""Constants as columns: a thousand queries that differ in numbers are one shape to Catalyst.

``a0 > 5`` and ``a0 > 7`` become ``a0 > p0`` over a column of constants. Only where that cannot change the meaning:
plain arithmetic, comparisons and AND, OR, NOT over integers and doubles. Elsewhere a literal may matter as such (the
scale of ``round``, the precision of a decimal), and the expression stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from punctual.runtime.backend import Question

NUMBER = r"(?<![\w`.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])"
PLAIN = re.compile(rf"(?:\s|[-+*/%<>=!()]|`[ka]\d+`|\b(?:AND|OR|NOT)\b|{NUMBER})+", re.IGNORECASE)
BETWEEN_CONSTANTS = re.compile(rf"{NUMBER}[\s()]*[-+*/%][\s()]*{NUMBER}")
"""Arithmetic of constants alone is Spark's to fold."""
NUMBERS = {pa.int32(), pa.int64(), pa.float64()}


def parametrised(question: Question) -> Question:
    """The question with its constants as columns, where that is safe.

    >>> asked = Question(("`a0` > 5",), (pa.bool_(),), {"a0": pa.array([4, 6])})
    >>> parametrised(asked).expressions
    ('`a0` > `p0`',)
    """
    types = {array.type for array in question.columns.values()}
    if not types <= NUMBERS:
        return question
    constants: list[str] = []

    def column(match: re.Match[str]) -> str:
        constants.append(match.group(0))
        return f"`p{len(constants) - 1}`"

    expressions = tuple(
        re.sub(NUMBER, column, text) if PLAIN.fullmatch(text) and not BETWEEN_CONSTANTS.search(text) else text
        for text in question.expressions
    )
    values = [_value(text, exact=types == {pa.float64()}) for text in constants]
    if not constants or any(value is None for value in values):
        return question
    added: Mapping[str, pa.Array] = {
        f"p{i}": pa.array(np.full(question.rows, value)) for i, value in enumerate(values) if value is not None
    }
    return replace(question, expressions=expressions, columns={**question.columns, **added})


def _value(text: str, *, exact: bool) -> np.int32 | np.float64 | None:
    """The literal as Spark would compare it; None where its type matters.

    A literal with a point is a decimal. Against doubles it is that double (``exact``), as long as a double holds its
    digits; against integers Spark goes on with decimals, and so it stays as it is.
    """
    if re.search(r"[eE]", text):
        return np.float64(text)
    if "." in text:
        return np.float64(text) if exact and len(text) <= 16 else None
    return np.int32(text) if int(text) < 2**31 else None
