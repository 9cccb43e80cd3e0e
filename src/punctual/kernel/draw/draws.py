"""Bundles: a draw of every row in every one of some rounds.

Rows may be drawn in any pieces, and rounds too: a draw follows from its name alone (``philox.py``). Each draw of a row
takes one uniform number, and is a function of it that does not fall: so a number stands for the same corner of the
distribution in whatever query.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.row_hashes import U64
from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.distributions import Among, Choice, Normal, Number, Weighted
from punctual.kernel.draw.normal_quantiles import to_normals
from punctual.kernel.draw.philox import Source, bundle, fill, plain, uniforms

U = np.uint64
TILE = 2048
"""Draws that are worked on together: they and their tails stay in the nearest cache."""
FEW = 32
"""So many places of a list are counted, in vector instructions; of more the right one is searched."""


def draw_numbers(drawn_from: Source, identity: U64, distribution: Number, rounds: range) -> F64:
    """A number for each row and round.

    Parameters
    ----------
    drawn_from : Source
        Of the column; see `source`.
    identity : U64
        What tells each row from all others, however often the same values occur.
    distribution : Normal or Uniform
        Of each of the rows.
    rounds : range
        Which rounds, one after the other.

    Examples
    --------
    >>> from punctual.kernel.draw import source
    >>> rows, kmh = np.array([7, 8], np.uint64), Normal(np.array([50.0, 90.0]), np.array([2.0, 0.0]))
    >>> drawn = draw_numbers(source(1, "speed", "kmh"), rows, kmh, range(0, 1000))
    >>> drawn.shape, bool(abs(drawn[0].mean() - 50.0) < 0.3), drawn[1, :3].tolist()
    ((2, 1000), True, [90.0, 90.0, 90.0])
    """
    found = bundle(identity.size, rounds)
    name = drawn_from.key, drawn_from.column, plain(identity, U), rounds.start
    if isinstance(distribution, Normal):
        _normals(*name, plain(distribution.mean, np.float64), plain(distribution.sd, np.float64), found)
    else:
        _uniforms(*name, plain(distribution.low, np.float64), plain(distribution.high, np.float64), found)
    return found


def draw_places(drawn_from: Source, identity: U64, distribution: Choice, rounds: range) -> I64:
    """The place of the value that each row has in each round; -1 where there is none to choose from.

    >>> from punctual.kernel.draw import Between, source
    >>> either = Between(np.array([3]), np.array([5]), np.array([0.25]))
    >>> places = draw_places(source(1, "weather", "rain"), np.array([7], np.uint64), either, range(0, 1000))
    >>> np.unique(places).tolist(), bool(abs((places == 3).mean() - 0.25) < 0.05)
    ([3, 5], True)
    """
    numbers = uniforms(drawn_from, identity, rounds)
    found = np.empty(numbers.shape, np.int64)
    if isinstance(distribution, Weighted):
        _weighted(numbers, plain(distribution.offsets, np.int64), distribution.cumulative, found)
    elif isinstance(distribution, Among):
        starts, sizes, pool = (
            plain(part, np.int64) for part in (distribution.starts, distribution.sizes, distribution.pool)
        )
        _among(numbers, starts, sizes, pool, found)
    else:
        earlier, later = (plain(part, np.int64) for part in (distribution.earlier, distribution.later))
        _between(numbers, earlier, later, plain(distribution.share, np.float64), found)
    return found


def values_at(places: I64, values: F64) -> F64:
    """The values that stand at drawn places, NaN at -1.

    >>> values_at(np.array([[1, -1]]), np.array([5.0, 6.0])).tolist()
    [[6.0, nan]]
    """
    return np.append(values, np.nan)[places]


@compiled
def _normals(key: U, column: U, identity: U64, first: int, mean: F64, sd: F64, out: F64) -> None:
    rows, rounds = out.shape
    if rounds == 0:
        return
    at_once = max(1, TILE // rounds)
    where, tails = np.empty(at_once * rounds, np.int64), np.empty((2, at_once * rounds))
    for start in range(0, rows, at_once):
        end = min(rows, start + at_once)
        fill(key, column, identity[start:end], first, out[start:end])
        to_normals(out[start:end].reshape(-1), where, tails)
        for i in range(start, end):
            row, middle, wide = out[i], mean[i], sd[i]
            for j in range(U(rounds)):
                row[j] = middle + wide * row[j]


@compiled
def _uniforms(key: U, column: U, identity: U64, first: int, low: F64, high: F64, out: F64) -> None:
    rows, rounds = out.shape
    at_once = max(1, TILE // max(1, rounds))
    for start in range(0, rows, at_once):
        end = min(rows, start + at_once)
        fill(key, column, identity[start:end], first, out[start:end])
        for i in range(start, end):
            row, least, wide = out[i], low[i], high[i] - low[i]
            for j in range(U(rounds)):
                row[j] = least + wide * row[j]


@compiled
def _weighted(numbers: F64, offsets: I64, cumulative: F64, out: I64) -> None:
    """The first place whose cumulative weight is above the number's share of all weight."""
    for i in range(numbers.shape[0]):
        start, end = offsets[i], offsets[i + 1]
        row, found = numbers[i], out[i]
        if end == start:
            found[:] = -1
            continue
        total, last = cumulative[end - 1], end - 1
        while last > start and cumulative[last - 1] >= total:  # places behind have no weight
            last -= 1
        if last - start <= FEW:
            found[:] = start
            for place in range(start, last):
                weight = cumulative[place]
                for j in range(U(row.size)):
                    found[j] += 1 if weight <= row[j] * total else 0
        else:
            for j in range(row.size):
                found[j] = start + np.searchsorted(cumulative[start:last], row[j] * total, "right")


@compiled
def _among(numbers: F64, starts: I64, sizes: I64, pool: I64, out: I64) -> None:
    for i in range(numbers.shape[0]):
        row, found, size = numbers[i], out[i], sizes[i]
        if size == 0:
            found[:] = -1
            continue
        members = pool[starts[i] : starts[i] + size]
        for j in range(U(row.size)):
            found[j] = members[min(size - 1, int(row[j] * size))]


@compiled
def _between(numbers: F64, earlier: I64, later: I64, share: F64, out: I64) -> None:
    for i in range(numbers.shape[0]):
        row, found, one, other, limit = numbers[i], out[i], earlier[i], later[i], share[i]
        for j in range(U(row.size)):
            found[j] = one if row[j] < limit else other
