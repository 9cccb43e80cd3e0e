"""Constants as columns: a thousand queries that differ in numbers are one shape to Catalyst.

``a0 > 5`` and ``a0 > 7`` become ``a0 > p0`` over a column of constants. Only where that cannot change the meaning: in
plain arithmetic and comparisons, where the binder marks them (``plan.expression.Term``), over integers and doubles.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from punctual.own_names import own
from punctual.plan.expression import Part, Term
from punctual.runtime.backend import Question

NUMBERS = {pa.int32(), pa.int64(), pa.float64()}


def parametrised(question: Question) -> Question:
    """The question with its constants as columns, where that is safe.

    >>> from punctual.plan.expression import compose
    >>> above = compose(Term("column", "x"), " > ", Term("number", "5"))
    >>> parametrised(Question((above,), (pa.bool_(),), {"x": pa.array([4, 6])})).expressions[0].written
    'x > p0'
    """
    types = {array.type for array in question.columns.values()}
    if not types <= NUMBERS:
        return question
    columns = dict(question.columns)

    def moved(part: Part) -> Part:
        if isinstance(part, str) or part.kind != "number":
            return part
        name = own(f"p{len(columns) - len(question.columns)}")
        columns[name] = _constants(part.text, question.rows, exact=types == {pa.float64()})
        return Term("column", name)

    expressions = tuple(replace(one, parts=tuple(moved(part) for part in one.parts)) for one in question.expressions)
    if any(array is None for array in columns.values()):
        return question
    return replace(question, expressions=expressions, columns=columns)


def _constants(text: str, rows: int, *, exact: bool) -> pa.Array | None:
    """A column of the literal as Spark would compare it; None where its type matters.

    A literal with a point is a decimal. Against doubles it is that double (``exact``), as long as a double holds its
    digits; against integers Spark goes on with decimals, and so it stays as it is.
    """
    if "e" in text.lower() or ("." in text and exact and len(text) <= 16):
        return pa.array(np.full(rows, np.float64(text)))
    if "." in text or int(text) >= 2**31:
        return None
    return pa.array(np.full(rows, np.int32(text)))
