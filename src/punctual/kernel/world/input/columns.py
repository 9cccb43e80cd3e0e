"""Columns as callers give them: one value per row, in any container, brought to one of three forms.

A column is a list or any other iterable in an order, a NumPy array (masked or not), a pandas column or an Arrow one. It
becomes an Arrow array where the container knows missing values besides its type, a NumPy array where it does not, and
else a list of Python objects. No form changes a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.world.input.rows import WorldError

SHOWN = 60
"""Characters of a value in a message."""
UNCONVERTED = (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError)
"""What Arrow raises for values that it does not know."""


def plain(values: Any, code: str, name: str) -> Any:
    """A column as an Arrow array, a NumPy array or a list; ``name`` says what its values are, in the plural.

    >>> plain(range(3), "world.bad-score", "scores")
    [0, 1, 2]
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _decoded(values)
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise WorldError(code, f"{name} have {dimensions} dimensions; they have one", hint="give one value per row")
    if isinstance(values, np.ma.MaskedArray):
        return _arrow(values.data, np.ma.getmaskarray(values)) or values.tolist()
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, str | bytes | bytearray | Mapping | Set) or not isinstance(values, Iterable):
        raise WorldError(code, f"{name} are {shown(values)}, which is no column", hint="give a list, one value per row")
    if isinstance(getattr(values, "dtype", None), np.dtype):  # a column of pandas that is one of NumPy
        return np.asarray(values)
    if hasattr(values, "dtype"):
        return _arrow(values, None) or list(values)
    return list(values)


def shown(value: object) -> str:
    """A value as messages name it.

    >>> shown("a"), shown(10**5000)
    ("'a'", 'an int')
    """
    kind = type(value).__name__
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever somebody's __repr__ does; of an int it is the limit on its digits
        text = ""
    if text and len(text) <= SHOWN:
        return text
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _arrow(values: Any, mask: NDArray[np.bool_] | None) -> pa.Array | None:
    """As an Arrow array, or None where that does not hold such values."""
    try:
        return _decoded(pa.array(values, mask=mask, from_pandas=mask is None))
    except UNCONVERTED:
        return None


def _decoded(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array of plain values: dictionaries may hold a value twice, or a null."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays([_decoded(chunk) for chunk in values.chunks]) if values.num_chunks else pa.nulls(0)
    while isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary.take(values.indices)
    return values
