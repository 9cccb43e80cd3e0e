"""Rows of parts dealt out to tasks by a seeded shuffle, so that what depends on their order shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.scan.block import Block, Faults, Sifted
from punctual.scan.open_part import Reading, open_part
from punctual.scan.parts import Part
from punctual.scan.sieve import Sieve


@dataclass(frozen=True, slots=True)
class Dealt:
    """Opens a part as the rows that are dealt to one of several tasks."""

    seed: int
    task: int
    tasks: int

    def __call__(
        self, part: Part, reading: Reading, wanted: frozenset[str], sieve: Sieve | None = None
    ) -> Iterator[Block]:
        random = np.random.default_rng(self.seed)
        for block in open_part(part, reading, wanted, sieve):
            order = random.permutation(block.rows)
            chosen = order[random.integers(0, self.tasks, block.rows)[order] == self.task]
            yield Some(block, chosen, counts_shed=self.task == 0)


class Some:
    """Some rows of a block; one of the tasks counts those that were shed."""

    def __init__(self, block: Block, chosen: NDArray[np.int64], *, counts_shed: bool) -> None:
        self._block = block
        self._chosen = pa.array(chosen)
        self.rows = chosen.size
        self.sifted = None
        if block.sifted is not None:
            self.sifted = Sifted(block.sifted.places[chosen], block.sifted.shed if counts_shed else 0)
        self.faults = None
        if block.faults is not None:
            place = np.full(block.rows, -1)
            place[block.faults.rows] = np.arange(block.faults.rows.size)
            here = np.flatnonzero(place[chosen] >= 0)
            which = pa.array(place[chosen][here])
            self.faults = Faults(here, block.faults.reasons.take(which), block.faults.texts.take(which))

    def column(self, name: str) -> pa.Array:
        return self._block.column(name).take(self._chosen)
