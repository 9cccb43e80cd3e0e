"""Groups that differ between worlds: GROUP BY of what is drawn.

A row may be in another group in every round, so groups are found while rounds are drawn: every row of every round is a
cell of its own. Which groups there are follows from all rounds together, and they are in the order of their keys: so it
does not show in which blocks rounds were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw import fold
from punctual.kernel.draw.bundle_values import Bundle, Kind, Values
from punctual.kernel.panes.keys import encode, order
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.rounds.panes import rounds_at_once
from punctual.kinds.worlds.simulate import (
    ROWS,
    GroupWorlds,
    both,
    counted_rows,
    finished_bundle,
    folded_values,
    folds_of,
    function_of,
    where_in_worlds,
)
from punctual.kinds.worlds.world_rows import WorldRows
from punctual.plan.worlds import Folded, Worlds


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCells:
    """The keys that occur in some rounds, and which of them each row has in each round."""

    numbers: range
    keys: list[pa.Array]
    codes: I64

    @property
    def rounds(self) -> int:
        """How many there are."""
        return len(self.numbers)


class DrawnGroups:
    """The groups of a window, some keys of which are drawn."""

    varies = True
    kept = 0

    def __init__(self, body: Worlds, rows: WorldRows) -> None:
        self._body, self._window, self.codes = body, rows, rows.codes
        self._rows = counted_rows(body, rows)
        self._certain = [rows.given[number].take(pa.array(self._rows)) for number in body.keys]
        self.keys: list[pa.Array] = []
        self.groups = 0
        """How many there were in the rounds that were looked at last."""
        self._members: list[I64] = []
        """Of each part of these the group of each row in each round."""

    def joined(self, parts: Sequence[DrawnCells]) -> GroupWorlds:
        """What the groups are in all of these rounds."""
        keys = [pa.concat_arrays([part.keys[n] for part in parts]) for n in range(len(parts[0].keys))]
        codes, distinct = encode(keys, len(keys[0]))
        rank = order(distinct) if len(distinct[0]) else np.zeros(0, np.int64)
        self.keys, self.groups = [key.take(pa.array(np.argsort(rank))) for key in distinct], int(rank.size)
        places = np.split(rank[codes], np.cumsum([len(part.keys[0]) for part in parts])[:-1])
        every = [place[part.codes] for part, place in zip(parts, places)]
        self._members = [one.reshape(self._rows.size, part.rounds) for one, part in zip(every, parts)]
        return GroupWorlds.joined([
            self._block(part.numbers, one, self.groups) for part, one in zip(parts, every)
        ])  # fmt: skip

    def at_once(self, _first: int) -> int:
        """How many rounds are drawn at once."""
        return rounds_at_once(self._rows.size)

    def members(self, rounds: range) -> tuple[I64, I64]:
        """All rows in ascending order, and the group of each in some of the rounds that were joined."""
        every = np.concatenate(self._members, axis=1)
        return self._rows, every[:, rounds.start : rounds.stop]

    def part(self, rounds: range) -> DrawnCells:
        """In which groups the rows are in some rounds."""
        shape = (self._rows.size, len(rounds))
        leaf = self._window.leaves(self._rows, rounds)
        every = pa.array(np.repeat(np.arange(self._rows.size), len(rounds)))
        columns = [key.take(every) for key in self._certain]
        columns += [self._flat(evaluate(key, leaf), shape) for key in self._body.drawn_keys]
        codes, distinct = encode(columns, shape[0] * shape[1])
        return DrawnCells(rounds, distinct, codes)

    def _flat(self, key: Bundle, shape: tuple[int, int]) -> pa.Array:
        values = np.broadcast_to(key.values, shape).ravel()
        mask = None if key.known is None else ~np.broadcast_to(key.known, shape).ravel()
        if key.kind == "text":
            return self._window.codes.texts.take(pa.array(values, pa.int64(), mask=mask))
        return pa.array(values, mask=mask)

    def _block(self, rounds: range, group: I64, groups: int) -> GroupWorlds:
        size = len(rounds)
        leaf = self._window.leaves(self._rows, rounds)
        where = where_in_worlds(self._body, leaf)
        exists = self._window.existing(self._rows, rounds)
        cell = group * size + np.tile(np.arange(size), self._rows.size)
        found = []
        for folded in (*folds_of(self._body), ROWS):
            present = where if folded.stored else both(where, exists)
            values, present, kind = folded_values(folded, self._rows.size, present, leaf)
            found.append(_folded(folded, kind, cell, (groups, size), values, present))
        return GroupWorlds(tuple(found[:-1]), found[-1].values > 0, size, (False,) * len(found))


def _folded(
    folded: Folded, kind: Kind, cell: I64, shape: tuple[int, int], values: Values, present: Bools | None
) -> Bundle:
    """An aggregate of cells, as groups by rounds."""
    wide = (values.shape[0], shape[1])
    flat = np.ascontiguousarray(np.broadcast_to(values, wide)).reshape(-1, 1)
    mask = None
    if present is not None:
        mask = np.ascontiguousarray(np.broadcast_to(present, wide)).reshape(-1, 1)
    one = finished_bundle(folded, fold([function_of(folded, kind)], cell, shape[0] * shape[1], flat, mask), kind)
    known = None if one.known is None else one.known.reshape(shape)
    return Bundle(one.values.reshape(shape), known, one.kind)

