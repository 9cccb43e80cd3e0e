"""Strings of a query as whole numbers: one dictionary for all of them, in the order of their UTF-8 bytes.

So comparing strings is comparing numbers, in every world. Strings of constants are in it whether or not a row has them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw.bundle_values import Bundle
from punctual.plan.world_expression import Constant


class TextCodes:
    """Codes of strings, those of equal strings equal."""

    def __init__(self, columns: Iterable[pa.Array], constants: Iterable[str]) -> None:
        parts = [pa.array(sorted(constants), pa.string()), *(column.cast(pa.string()) for column in columns)]
        distinct = pc.unique(pa.chunked_array(parts).combine_chunks()).drop_null()
        # Arrow compares strings by their bytes, as Spark does.
        self.texts: pa.Array = distinct.take(pc.sort_indices(distinct))

    def of(self, column: pa.Array) -> tuple[I64, Bools]:
        """The codes of a column, and where there is one."""
        found = pc.index_in(column.cast(pa.string()), self.texts)
        known: Bools = found.is_valid().to_numpy(zero_copy_only=False)
        return found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), known

    def constant(self, one: Constant) -> Bundle:
        """A string of the program."""
        code = int(pc.index(self.texts, pa.scalar(one.value)).as_py())
        return Bundle(np.full((1, 1), code, np.int64), None, "text")
