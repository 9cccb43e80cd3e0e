"""Rows of a table by their keys, against a comparison of every row with every row of the table."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from punctual.kernel.arrays.lookup import LookupTable


def pairs(rows: list[tuple[object, ...]], table: list[tuple[object, ...]], *, outer: bool) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        same = [place for place, other in enumerate(table) if None not in row and row == other]
        found += [(number, place) for place in same or ([-1] if outer else [])]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_as_by_comparing_all_with_all(seed: int) -> None:
    rng = random.Random(seed)
    texts, numbers = ["a", "b", "", None], [1, 2, -(2**40), None]
    kinds = [(texts, pa.string()), (numbers, pa.int64())][: rng.randint(1, 2)]
    draw = [[tuple(rng.choice(values) for values, _type in kinds) for _ in range(rng.randint(0, 9))] for _ in range(2)]
    rows, table = draw

    def arrays(drawn: list[tuple[object, ...]]) -> list[pa.Array]:
        return [pa.array([one[place] for one in drawn], kind) for place, (_values, kind) in enumerate(kinds)]

    lookup = LookupTable(arrays(table))
    for outer in (True, False):
        found = lookup.find(arrays(rows), outer=outer)
        assert list(zip(*(one.tolist() for one in found))) == pairs(rows, table, outer=outer)
    whole = [one for one in table if None not in one]
    assert lookup.unique == (len(set(whole)) == len(whole))
