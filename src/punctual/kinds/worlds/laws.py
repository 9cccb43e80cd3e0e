"""Uncertain attributes over the rows of a window: which rows are drawn, from which law, and what the others are.

NORMAL, UNIFORM and DISCRETE stand in the row itself. What is missing is found among the observed rows of the query's
own window (``kernel/draw``): so no other query, and nothing that happens to be retained, changes an answer. Where
nothing is found for a row, any observed value of the window serves, and the row is *marked*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.arrays.row_hashes import U64
from punctual.kernel.arrays.shared import digest
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.draw import (
    Among,
    Choice,
    Normal,
    Number,
    Source,
    Uniform,
    Weighted,
    anywhere,
    draw_numbers,
    draw_places,
    empirical,
    interpolated,
    nearest,
    source,
    three_moments,
)
from punctual.kernel.draw.bundle_values import Bundle
from punctual.kernel.panes.keys import encode
from punctual.kinds.worlds.columns import Plain, plain_column
from punctual.kinds.worlds.texts import TextCodes
from punctual.plan.uncertain import FoundBy
from punctual.plan.worlds import Attribute

FOREVER = 2**62
Content = tuple[NDArray[Any], I64 | None]
"""Values of rows; where a row has several, with where those of each begin, and the last ones end."""


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """Rows in ascending order, and what each of them is drawn from; a choice is among places of the ``pool``."""

    rows: I64
    law: Number | Choice
    pool: Plain | None = None

    def take(self, chosen: I64) -> _Law:
        """Some of the rows, by their places among these. The lists of DISCRETE are the rows' own: others go."""
        rows, law, pool = self.rows[chosen], self.law.take(chosen), self.pool
        if isinstance(self.law, Weighted) and pool is not None:
            members, _offsets = self.law.places(chosen)
            pool = Plain(pool.values[members], None if pool.known is None else pool.known[members], pool.kind)
        return _Law(rows, law, pool)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnColumn:
    """An attribute of all rows: as it is where it is certain, drawn where it is not."""

    drawn_from: Source
    identity: U64
    certain: Plain
    laws: tuple[_Law, ...]
    marked: int = 0
    """How many rows had to take any value of the window."""

    def name(self) -> bytes:
        """What its draws follow from."""
        drawn_from = digest(self.identity, int(self.drawn_from.key), int(self.drawn_from.column))
        parts: list[Any] = [drawn_from.hex(), self.certain.values, self.certain.known, self.certain.kind]
        for one in self.laws:
            parts += [type(one.law).__name__, one.rows, *(getattr(one.law, part.name) for part in fields(one.law))]
            parts += [] if one.pool is None else [one.pool.values, one.pool.known]
        return digest(*parts)

    def contents(self, rows: I64) -> list[Content]:
        """What the draws of some rows follow from, where they need their rows alone."""
        (law,) = (one.take(rows) for one in self.laws)
        found: list[Content] = [(self.identity[rows], None)]
        if isinstance(law.law, Normal | Uniform):
            return [*found, *((getattr(law.law, part.name), None) for part in fields(law.law))]
        assert isinstance(law.law, Weighted), "a draw that needs other rows"
        assert law.pool is not None, "a choice without values"
        offsets, pool = law.law.offsets, law.pool
        lists = (law.law.cumulative, pool.values, pool.there())
        return [*found, (np.diff(offsets), None), *((one, offsets) for one in lists)]

    @property
    def uncertain(self) -> Bools:
        """Which rows are drawn."""
        found = np.zeros(self.identity.size, np.bool_)
        for law in self.laws:
            found[law.rows] = True
        return found

    def there(self) -> Bools:
        """Which rows have a value: of what is missing those for which there is one to choose."""
        found = self.certain.there().copy()
        for one in self.laws:
            found[one.rows] = one.law.sizes > 0 if isinstance(one.law, Among) else True
        return found

    def moments(self) -> tuple[F64, F64, F64]:
        """Mean, variance and third central moment of each row, NaN where it is NULL."""
        mean = self.certain.values.astype(np.float64)
        variance, third = np.zeros(self.identity.size), np.zeros(self.identity.size)
        if self.certain.known is not None:
            mean = np.where(self.certain.known, mean, np.nan)
        for law in self.laws:
            pool = None if law.pool is None else law.pool.values.astype(np.float64)
            mean[law.rows], variance[law.rows], third[law.rows] = three_moments(law.law, pool)
        return mean, variance, third

    def bundle(self, rows: I64, rounds: range) -> Bundle:
        """Its values for some rows, in ascending order, in every one of these rounds."""
        certain = self.certain
        if rows.size == self.identity.size and len(self.laws) == 1 and self.laws[0].rows.size == rows.size:
            alone = self.laws[0].law
            if isinstance(alone, Normal | Uniform):  # all rows, and all of them are drawn
                return Bundle(draw_numbers(self.drawn_from, self.identity, alone, rounds), None, certain.kind)
        parts = [(law, np.flatnonzero(np.isin(law.rows, rows, assume_unique=True))) for law in self.laws]
        if not any(chosen.size for _law, chosen in parts):
            return certain.bundle(rows)
        values = np.repeat(certain.values[rows][:, None], len(rounds), axis=1)
        known = None if certain.known is None else np.repeat(certain.known[rows][:, None], len(rounds), axis=1)
        for every, chosen in parts:
            if not chosen.size:
                continue
            law = every if chosen.size == every.rows.size else every.take(chosen)
            where, identity = np.searchsorted(rows, law.rows), self.identity[law.rows]
            if isinstance(law.law, Normal | Uniform):
                values[where] = draw_numbers(self.drawn_from, identity, law.law, rounds)
                if known is not None:
                    known[where] = True
                continue
            assert law.pool is not None, "a choice without values"
            places = draw_places(self.drawn_from, identity, law.law, rounds)
            values[where] = law.pool.values[places]
            missing = places < 0
            if law.pool.known is not None or missing.any():
                known = np.ones(values.shape, np.bool_) if known is None else known
                known[where] = ~missing if law.pool.known is None else law.pool.known[places] & ~missing
            elif known is not None:
                known[where] = True
        return Bundle(values, known, certain.kind)


def drawn_column(
    attribute: Attribute,
    columns: Sequence[pa.Array],
    inside: Bools,
    codes: TextCodes,
    seed: int,
    missing: Bools | None = None,
) -> DrawnColumn:
    """An attribute of the rows of a window; ``inside`` are those that are not from before it.

    ``missing`` says where a value is treated as if it were NULL.
    """
    drawn_from = source(seed, attribute.stream.lower(), attribute.name.lower())
    identity = columns[attribute.identity].to_numpy(zero_copy_only=False).view(np.uint64)
    if isinstance(attribute.law, FoundBy):
        certain = plain_column(columns[attribute.columns[0]], codes)
        certain = certain if missing is None else certain.without(missing)
        return _found(attribute, attribute.law, certain, columns, inside, drawn_from, identity)
    every = np.arange(identity.size)
    one, other = (columns[number] for number in attribute.columns)
    if attribute.law.kind == "DISCRETE":
        lists, weights = one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one, other
        pool = plain_column(lists.flatten(), codes)
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        law = Weighted.of_lists(offsets, weights.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False))
        certain = Plain(np.zeros(identity.size, pool.values.dtype), None, pool.kind)
        return DrawnColumn(drawn_from, identity, certain, (_Law(every, law, pool),))
    first, second = (_doubles(part) for part in (one, other))
    number: Number = Normal(first, second) if attribute.law.kind == "NORMAL" else Uniform(first, second)
    return DrawnColumn(drawn_from, identity, Plain(np.zeros(identity.size), None, "number"), (_Law(every, number),))


def _found(
    attribute: Attribute,
    law: FoundBy,
    certain: Plain,
    columns: Sequence[pa.Array],
    inside: Bools,
    drawn_from: Source,
    identity: U64,
) -> DrawnColumn:
    """An attribute whose missing values are found among the observed ones."""
    if certain.known is None or not (missing := ~certain.known & inside).any():
        return DrawnColumn(drawn_from, identity, certain, ())
    asked, observed = np.flatnonzero(missing), certain.known & inside
    by = [columns[number] for number in attribute.columns[1:]]
    values = np.unique(certain.values, return_inverse=True)[1].ravel()
    order = np.argsort(np.argsort(identity, kind="stable"), kind="stable")
    times = columns[attribute.time].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    found: Bools
    choice: Choice
    if law.kind == "EMPIRICAL":
        choice, found = empirical(encode(by, identity.size)[0], observed, values, asked)
        return DrawnColumn(drawn_from, identity, certain, (_Law(asked, choice, certain),), int((~found).sum()))
    if law.kind == "INTERPOLATED":
        within = FOREVER if law.within_us is None else law.within_us
        key = encode(by, identity.size)[0]
        choice, found = interpolated(key, times, certain.known, order, asked, within)
    else:
        points = np.column_stack([_doubles(column) for column in by])
        choice, found = nearest(points, times, observed, order, asked, law.neighbours or 1)
    laws = [_Law(asked[found], choice.take(np.flatnonzero(found)), certain)] if found.any() else []
    lost = asked[~found]
    if lost.size:
        laws.append(_Law(lost, anywhere(observed, values, lost.size), certain))
    return DrawnColumn(drawn_from, identity, certain, tuple(laws), int(lost.size))


def _doubles(column: pa.Array) -> F64:
    found: F64 = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan")).to_numpy(zero_copy_only=False)
    return found
