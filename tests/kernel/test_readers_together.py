"""Readers with the same instants are asked as arrays: each has the answer that it has by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.panes.layout import progressions_for
from punctual.kernel.panes.lift import lift
from punctual.kernel.panes.panes import Answered, Panes
from punctual.kernel.panes.spec import Band, Call, Comparison, Readers, Selection, SynopsisSpec, UnitSpec

CUTS = (20, 40, 60)
WHERES: tuple[Selection, ...] = ((), *(((Comparison(">", (cut,)),),) for cut in CUTS))


def panes(chance: np.random.Generator, keys: tuple[str, ...]) -> Panes:
    spec = UnitSpec(
        keys,
        None,
        (Band("v", "number", CUTS),),
        progressions_for((length, 1) for length in range(1, 40)),
        (SynopsisSpec("rows"), SynopsisSpec("sum", "v")),
    )
    found = Panes(spec, 2)
    columns = {"v": pa.array(chance.integers(0, 80, 300)), "k": pa.array(chance.integers(0, 4, 300).astype(str))}
    found.add(lift(spec, chance.integers(0, 100, 300), columns, 2))
    found.seal(100)
    return found


def readers(chance: np.random.Generator, family: int) -> Readers:
    """Some share their windows, their selection or their calls; some share all of them."""
    count = int(chance.integers(1, 6))
    calls = tuple(
        (Call("count", 0, (), own, pa.int64()), Call("sum", 1, (), own, pa.int64()))
        for own in (WHERES[chance.integers(0, len(WHERES))] or ((),) for _ in range(2))
    )
    wheres = tuple(where or ((),) for where in WHERES)
    return Readers(
        wheres,
        chance.integers(0, len(wheres), count),
        chance.integers(1, 6, count) * 7,
        calls,
        chance.integers(0, len(calls), count),
        np.unique(chance.integers(0, 101, int(chance.integers(1, 4)))),
        family,
    )


def rows(answered: Answered) -> list[tuple[object, ...]]:
    columns = [*answered.keys, *answered.values]
    return list(zip(answered.instant.tolist(), *(column.to_pylist() for column in columns)))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("keys", [(), ("k",)])
def test_each_has_the_answer_that_it_has_by_itself(seed: int, keys: tuple[str, ...]) -> None:
    chance = np.random.default_rng(seed)
    cells = panes(chance, keys)
    asked = [readers(chance, int(chance.integers(0, 2))) for _ in range(4)]
    found: dict[int, list[Answered]] = {}
    answered = cells.answer_alike(asked)
    for one in answered:
        start = 0
        for place in one.readers:
            size = asked[place].instants.size
            for _reader in range(len(asked[place])):
                found.setdefault(place, []).append(one.answered.part(start, start + size))
                start += size
    assert len(answered) == len({one.family for one in asked})
    for place, several in enumerate(asked):
        for own, reader in zip(found[place], several.each(), strict=True):
            (alone,) = cells.answer([reader])
            assert rows(own) == rows(alone)
