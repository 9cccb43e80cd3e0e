"""What rankings with STABLE have on display: the last answer of each, from which the next one is made.

Model
-----
An answer of such a query is made of its ranking at the instant and of the answer before it
(:mod:`punctual.kernel.world.steady`), group by group. An entry is what is displayed of it: the selected columns, within
its group; of equal ones the first on display is the best now, and so on. So the state is an answer: its rows and, as
group keys need not be selected, a column of keys that is logged and never handed out. It is durable when the answer is,
and a query that was resumed goes on from the last answer in the log. An answer from before the query stood in its
present meaning does not count: it starts anew.

Invariant: a query's answers are made in the order of their instants, whatever the passes (see ``Waiting``).

Cost: one call for each instant and group; rows are encoded and taken for all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.order import ranks
from punctual.kernel.arrays.ragged import lists_of, offsets_of
from punctual.kernel.panes.keys import dense
from punctual.kernel.panes.panes import Answered
from punctual.kernel.world.ranked import reaches
from punctual.kernel.world.steady import steady
from punctual.kinds.columns import of_type
from punctual.kinds.job import Job
from punctual.plan.ranking import Ranking
from punctual.ports.answers import GROUPS

I64 = NDArray[np.int64]
NOBODY = np.zeros(0, np.int64)
OF_THE_RANKING = 2
"""The last columns of an entry are its value and its rank, which do not tell who it is."""


def next_display(job: Job, body: Ranking, answered: Answered) -> Answered:
    """What a query displays, given its rankings with their near misses."""
    if job.last is None or job.last.table["at"][0].as_py() <= job.after:
        return _steadied(job, body, answered, [], [])
    table = job.last.table
    try:
        former = _members(table["rows"], job.types.outputs)[:-OF_THE_RANKING]
        keys = _members(table[GROUPS], job.types.keys) if body.rows.keys else []
    except pa.ArrowException:  # the stream was declared anew, and its columns have other types
        former = keys = []
    return _steadied(job, body, answered, former, keys)


def _members(lists: pa.ChunkedArray, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The fields of the structs in a column of lists, in these types."""
    return [of_type(field, t) for field, t in zip(lists.combine_chunks().flatten().flatten(), types)]


def _steadied(
    job: Job, body: Ranking, answered: Answered, former: Sequence[pa.Array], former_keys: Sequence[pa.Array]
) -> Answered:
    """The rankings of all instants made displays, the first from the former one: its entries, and their groups."""
    lists = answered.values[0].field("rows")
    items = lists.flatten()
    bounds = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    before = len(former[0]) if former else 0
    group = _codes(former_keys, answered.keys, job.types.keys, before + answered.instant.size)
    code = _codes(former, items.flatten()[:-OF_THE_RANKING], job.types.outputs, before + len(items))
    cell = np.repeat(np.arange(before, before + answered.instant.size), np.diff(bounds))
    # Former entries are numbered within their group, those of now within theirs at their instant.
    number = _numbered(np.concatenate([group[:before], group.size + cell]), code)
    entries, values = number[before:], items.field("value").to_numpy()
    threshold = body.parameters[0] if body.semantics == "PT" else None
    ascending = body.semantics == "EXPECTED_RANK"
    shown = _by_group(group[:before], number[:before])
    taken: list[I64] = []
    starts = np.searchsorted(answered.instant, np.arange(job.due.instants.size + 1)).tolist()
    for first, after in pairwise(starts):
        here: dict[int, I64] = {}  # a group that has no rows now has nothing on display
        for one in range(first, after):
            own, begin, end = int(group[before + one]), bounds[one], bounds[one + 1]
            places = begin + steady(
                shown.get(own, NOBODY), entries[begin:end], values[begin:end],
                k=body.k, margin=body.margin, ascending=ascending, threshold=threshold,
            )  # fmt: skip
            here[own] = entries[places]
            taken.append(places)
        shown = here
    rows = np.concatenate([NOBODY, *taken])
    sizes = np.array([one.size for one in taken], np.int64)
    if threshold is None:
        is_held = rows - np.repeat(bounds[:-1], sizes) >= body.k
    else:
        is_held = ~reaches(values[rows], threshold)
    held = np.bincount(np.repeat(np.arange(sizes.size), sizes), is_held, sizes.size).astype(np.int64)
    columns = [column.take(pa.array(rows)) for column in items.flatten()[:-1]]
    place = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    struct = pa.StructArray.from_arrays([*columns, pa.array(place.astype(np.int32))], names=list(_names(items)))
    said = {name: answered.values[0].field(name) for name in ("rejected", "short")}
    parts = {"rows": lists_of(offsets_of(sizes), struct), **said, "held": pa.array(held)}
    return replace(answered, values=[pa.StructArray.from_arrays(list(parts.values()), names=list(parts))])


def _names(items: pa.StructArray) -> Iterable[str]:
    return (field.name for field in items.type)


def _codes(former: Sequence[pa.Array], now: Sequence[pa.Array], types: Sequence[pa.DataType], size: int) -> I64:
    """Equal rows as equal numbers, former ones before those of now."""
    codes = np.zeros(size, np.int64)
    space = 1
    for place, (column, data_type) in enumerate(zip(now, types)):
        one = ranks(pa.concat_arrays([*former[place : place + 1], of_type(column, data_type)]))
        width = int(one.max(initial=0)) + 1
        codes, first = dense(codes * width + one, space * width)
        space = max(1, first.size)
    return codes


def _numbered(owner: I64, code: I64) -> I64:
    """Numbers of entries: of equal codes of one owner the first is one entry, the second another."""
    order = np.lexsort((code, owner))
    new = np.ones(order.size, np.bool_)
    new[1:] = (owner[order][1:] != owner[order][:-1]) | (code[order][1:] != code[order][:-1])
    starts = np.flatnonzero(new)
    occurrence = np.empty(order.size, np.int64)
    occurrence[order] = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return occurrence * (int(code.max(initial=0)) + 1) + code


def _by_group(group: I64, number: I64) -> dict[int, I64]:
    """The numbers of each group, in their order."""
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    return {int(group[part[0]]): number[part] for part in np.split(order, cuts) if part.size}
