"""Result rows that Spark found in every round: told apart by their keys, as groups by rounds.

Spark gives a row for each result row and round in which it is there. Where several rows of a round have the same keys,
which only a query without groups can have, they are one: the mean of numbers stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import I64
from punctual.kernel.draw import fold
from punctual.kernel.draw.bundle_values import Bundle
from punctual.kernel.panes.keys import encode, order
from punctual.kinds.worlds.by_rows.leaves import FIRST_COLUMN
from punctual.kinds.worlds.columns import kind_of_type, plain_column
from punctual.kinds.worlds.simulate import GroupWorlds, finished_bundle, folds_of, function_of
from punctual.kinds.worlds.summaries import Summaries
from punctual.kinds.worlds.texts import TextCodes
from punctual.kinds.worlds.world_rows import Remarks, strings_of
from punctual.plan.world_expression import CertainColumn
from punctual.plan.worlds import Folded, Worlds


@dataclass(frozen=True, slots=True, eq=False)
class ResultRows:
    """What is said of the result rows of some rounds, how many there are, and how many of them came in the first half
    of the rounds. ``remarks`` are about the rows of the windows."""

    said: Summaries
    groups: int
    earlier: int
    remarks: Remarks


def result_rows(body: Worlds, columns: Sequence[pa.Array], rounds: int) -> ResultRows:
    """Result rows in rounds 0 up to so many, from what Spark gave in each of them, round after round."""
    keys, group = _groups([columns[number] for number in body.keys], len(columns[0]))
    groups = len(keys[0]) if keys else 1
    number = columns[0].to_numpy(zero_copy_only=False)
    cell = group * rounds + number
    codes = TextCodes([column for column in columns if kind_of_type(column.type) == "text"], strings_of(body))
    shape = (groups, rounds)
    aggregates = tuple(_folded(one, columns, codes, cell, shape) for one in folds_of(body))
    there = np.bincount(cell, minlength=groups * rounds).reshape(shape) > 0
    said = Summaries(body, keys, GroupWorlds(aggregates, there, rounds, (False,) * (len(aggregates) + 1)), codes)
    first = (int(column[0].as_py()) if len(column) else 0 for column in columns[1:FIRST_COLUMN])
    remarks = Remarks(*first)  # without a result row nothing rests on such rows
    earlier = np.unique(group[number < rounds // 2]).size
    return ResultRows(said, groups, earlier, remarks)


def _groups(keys: Sequence[pa.Array], rows: int) -> tuple[list[pa.Array], I64]:
    """The distinct keys in their order, and which of them each row has."""
    codes, distinct = encode(keys, rows)
    if not keys:
        return [], codes
    rank = order(distinct) if rows else np.zeros(0, np.int64)
    return [key.take(pa.array(np.argsort(rank))) for key in distinct], rank[codes]


def _folded(
    folded: Folded, columns: Sequence[pa.Array], codes: TextCodes, cell: I64, shape: tuple[int, int]
) -> Bundle:
    """What result rows have in a column: groups by rounds."""
    assert isinstance(folded.argument, CertainColumn), "Spark has computed everything"
    column = plain_column(columns[folded.argument.number], codes)
    as_type = np.int64 if column.kind == "whole" else np.float64
    values = np.ascontiguousarray(column.values.astype(as_type))[:, None]
    mask = None if column.known is None else np.ascontiguousarray(column.known)[:, None]
    found = fold([function_of(folded, column.kind)], cell, shape[0] * shape[1], values, mask)
    one = finished_bundle(folded, found, column.kind)
    known = None if one.known is None else one.known.reshape(shape)
    return Bundle(one.values.reshape(shape), known, one.kind)
