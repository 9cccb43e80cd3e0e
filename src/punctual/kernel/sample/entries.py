"""What is known of a sample: totals by output row and mark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.sample.marks import Strata, strata


@dataclass(frozen=True, slots=True)
class Entries:
    """Parts of output rows: ``row`` says whose part each is, ``marks`` which rows of the inputs it is made of.

    There is a mark for each input that is sampled on its own: their weights multiply. A row that has no entry with a
    mark of a thinned window (`Strata.thinned`) is taken for exact. Where that is wrong, because none of its rows
    happened to be kept, give it an entry of that mark whose moments are zero.
    """

    rows: int
    row: I64
    marks: tuple[I64, ...]


@dataclass(frozen=True, slots=True)
class Moments:
    """Over the rows of each entry in which one call's argument is not NULL: how many, and the sums of its powers.

    ``cubes`` are None where nobody kept them; then Poisson samples of sums and averages have no interval.
    """

    count: F64
    sum: F64
    squares: F64
    cubes: F64 | None = None


@dataclass(frozen=True, slots=True)
class Coded:
    """Marks of many entries, of which few are different: ``strata`` has an entry for each different one."""

    strata: Strata
    which: I64
    stratum: I64
    """Of each different mark: a number, the same for all groups of one window, another for what is certain."""

    @property
    def strata_count(self) -> int:
        return int(self.stratum.max(initial=-1)) + 1

    def first_of_stratum(self) -> I64:
        """A mark of each stratum, by its place among the different ones."""
        return np.unique(self.stratum, return_index=True)[1]


def coded(marks: I64) -> Coded:
    """Marks with the different ones numbered."""
    different = pa.array(marks).dictionary_encode()
    known = strata(different.dictionary.to_numpy())
    parts = [known.certain, known.window, known.poisson, known.sampled, known.population]
    numbers = np.unique(np.column_stack(parts).astype(np.int64), axis=0, return_inverse=True)[1].ravel()
    return Coded(known, different.indices.to_numpy().astype(np.int64), numbers)


def weights(entries: Entries) -> F64:
    """How many rows, or combinations of rows, each row of an entry stands for."""
    product = np.ones(entries.row.size)
    for marks in entries.marks:
        of_input = coded(marks)
        product *= of_input.strata.weight[of_input.which]
    return product


def thinned(entries: Entries) -> Bools:
    """Whether rows of each input may be missing from an output row: ``[rows, inputs]``."""
    found = np.zeros((entries.rows, len(entries.marks)), np.bool_)
    for number, marks in enumerate(entries.marks):
        of_input = coded(marks)
        found[entries.row[of_input.strata.thinned[of_input.which]], number] = True
    return found


@dataclass(frozen=True, slots=True)
class Cells:
    """Entries of one input with the groups of a stratum put together: what its variance is computed from."""

    row: I64
    strata: Strata
    moments: Moments

    @property
    def uncertain(self) -> Bools:
        """Whose rows were drawn: they stand for others as well."""
        return self.strata.thinned & ~self.strata.certain


def cells_of(entries: Entries, moments: Moments) -> Cells:
    """The cells of a sample of one input."""
    of_input = coded(entries.marks[0])
    row, stratum, where = by_stratum(entries.row, of_input)
    powers = (moments.count, moments.sum, moments.squares)
    count, total, squares = (totals(where, values, row.size) for values in powers)
    cubes = None if moments.cubes is None else totals(where, moments.cubes, row.size)
    kept = Moments(count, total, squares, cubes)
    return Cells(row, of_input.strata.take(of_input.first_of_stratum()[stratum]), kept)


def totals(where: I64, values: F64, size: int) -> F64:
    """The sum of the values that go to each of so many places."""
    return np.bincount(where, values, size).astype(np.float64, copy=False)


def by_stratum(row: I64, of_input: Coded) -> tuple[I64, I64, I64]:
    """The pairs of an output row and a stratum that occur (rows, strata), and the pair of each entry."""
    strata_count = max(1, of_input.strata_count)
    pairs = pa.array(row * strata_count + of_input.stratum[of_input.which]).dictionary_encode()
    found = pairs.dictionary.to_numpy()
    return found // strata_count, found % strata_count, pairs.indices.to_numpy().astype(np.int64)
