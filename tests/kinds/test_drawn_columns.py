"""Draws of an attribute for some rows of a window are those of the same rows among all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.kinds.worlds.laws import drawn_column
from punctual.kinds.worlds.texts import TextCodes
from punctual.plan.uncertain import GivenBy
from punctual.plan.worlds import Attribute

ROWS = 9


@pytest.mark.parametrize("law", [GivenBy("NORMAL", ("a", "b")), GivenBy("DISCRETE", ("a", "b"))])
def test_some_rows_draw_what_they_draw_among_all(law: GivenBy) -> None:
    """Lists have different lengths, and some values of them are NULL."""
    identity = pa.array(np.arange(ROWS, dtype=np.int64) * 77)
    lists: list[list[Any]] = [
        [None if place == 2 else 10.0 * n + place for place in range(1 + n % 4)] for n in range(ROWS)
    ]
    columns = [pa.array([50.0 + n for n in range(ROWS)]), pa.array([1.0 + n for n in range(ROWS)])]
    if law.kind == "DISCRETE":
        columns = [pa.array(lists), pa.array([[1.0] * len(values) for values in lists])]
    attribute = Attribute("s", "x", law, (0, 1), 2, 3)
    drawn = drawn_column(attribute, [*columns, identity, identity], np.ones(ROWS, np.bool_), TextCodes([], []), 1)
    every = drawn.bundle(np.arange(ROWS), range(40))
    some = np.array([1, 2, 5, 8])
    found = drawn.bundle(some, range(40))
    known = np.ones((4, 40), np.bool_) if found.known is None else found.known
    if law.kind == "DISCRETE":
        assert every.known is not None
        assert (known == every.known[some]).all()
        assert (~known).any()
        for n, row, there in zip(some.tolist(), found.values, known):
            assert set(row[there].tolist()) == {value for value in lists[n] if value is not None}
    assert (found.values[known] == every.values[some][known]).all()
