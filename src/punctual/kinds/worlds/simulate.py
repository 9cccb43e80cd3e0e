"""Groups of a window in many worlds: rows are drawn, conditions judged, groups folded, in blocks of rounds.

Rows that are the same in all worlds are folded once; only the others are drawn. A block has so many rounds that its
bundles stay in a cache, and all that is kept of it is a value for each group, round and aggregate. The rounds of an
answer are always 0 .. R - 1, in whatever blocks they were computed: so it follows from rows, seed and R.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.shared import digest
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw import Fold, Function, finished, fold, merged
from punctual.kernel.draw.bundle_values import Bundle, Kind, Values, holds
from punctual.kernel.panes.keys import encode, order
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.rounds.panes import Folds, Keeping, PaneRounds, RowsOfGroups, panes_of, rounds_at_once
from punctual.kinds.worlds.world_rows import Leaves, WorldRows, bundle_bytes, expressions_of
from punctual.plan.world_expression import DrawnAttribute, Operation, WorldExpression, leaves
from punctual.plan.worlds import Folded, Worlds

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class GroupWorlds:
    """What groups are in some rounds: groups by rounds, or by one where all rounds are alike.

    ``there`` says where they have rows.
    """

    aggregates: tuple[Bundle, ...]
    there: Bools
    rounds: int
    alike: tuple[bool, ...] = ()
    """Of one round, whose shape does not tell: whether each aggregate, at last ``there``, is so in all others."""

    @property
    def same(self) -> tuple[bool, ...]:
        """Whether each aggregate, and at last ``there``, is the same in all rounds."""
        if self.rounds == 1 and self.alike:
            return self.alike
        return tuple(one.shape[1] == 1 for one in (*(bundle.values for bundle in self.aggregates), self.there))

    def first(self, rounds: int) -> GroupWorlds:
        """The first of its rounds."""
        if rounds == self.rounds:
            return self
        aggregates = []
        for one in self.aggregates:
            known = None if one.known is None else one.known[:, :rounds]
            aggregates.append(Bundle(one.values[:, :rounds], known, one.kind))
        return GroupWorlds(tuple(aggregates), self.there[:, :rounds], rounds, self.same)

    @staticmethod
    def joined(blocks: Sequence[GroupWorlds]) -> GroupWorlds:
        """Rounds one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        rounds = [block.rounds for block in blocks]
        same = [any(of) for of in zip(*(block.same for block in blocks))]  # one that has more rounds than one knows
        parts = zip(*(block.aggregates for block in blocks))
        aggregates = tuple(_first(own) if alike else _joined(own, rounds) for own, alike in zip(parts, same))
        if same[-1]:  # however they were drawn
            return GroupWorlds(aggregates, blocks[0].there[:, :1], sum(rounds))
        there = [np.broadcast_to(block.there, (block.there.shape[0], block.rounds)) for block in blocks]
        return GroupWorlds(aggregates, np.concatenate(there, axis=1), sum(rounds))


def _first(parts: Sequence[Bundle]) -> Bundle:
    """What is the same in all rounds."""
    one = parts[0]
    return Bundle(one.values[:, :1], None if one.known is None else one.known[:, :1], one.kind)


def _joined(parts: Sequence[Bundle], rounds: Sequence[int]) -> Bundle:
    shapes = [(part.values.shape[0], width) for part, width in zip(parts, rounds)]
    values = np.concatenate([np.broadcast_to(part.values, shape) for part, shape in zip(parts, shapes)], axis=1)
    if all(part.known is None for part in parts):
        return Bundle(values, None, parts[0].kind)
    known = [
        np.ones(shape, np.bool_) if part.known is None else np.broadcast_to(part.known, shape)
        for part, shape in zip(parts, shapes)
    ]
    return Bundle(values, np.concatenate(known, axis=1), parts[0].kind)


class GroupsInWorlds:
    """The groups of a window, ready for rounds; where ``keeping`` says so, panes keep the first of them."""

    def __init__(self, body: Worlds, rows: WorldRows, keeping: Keeping | None = None) -> None:
        self._body, self.rows_of_window, self.codes = body, rows, rows.codes
        self.itself = object()
        """What names these very groups."""
        self._folds = folds_of(body)
        found = grouped_rows(body, rows)
        self.keys, self.groups, self.everything = found.keys, found.groups, found.every
        chosen, group = self.everything.rows, self.everything.group
        varies = rows.uncertain(attributes_read(body))[chosen]
        self._same = RowsOfGroups.of(chosen[~varies], group[~varies], self.groups)
        self._varying = RowsOfGroups.of(chosen[varies], group[varies], self.groups)
        self._panes = None if keeping is None else self._in_panes(keeping)
        self.kept = 0 if self._panes is None else self._panes.rounds
        """So many rounds panes keep."""

    def _in_panes(self, keeping: Keeping) -> PaneRounds | None:
        """The panes of the window, where it is less work to put them together than to draw all rows."""
        keeping.folds.begin(keeping.query, keeping.at)
        conditions = [one for one in conjuncts(self._body.where) if is_drawn(one)]
        if not self.varies or None in self._names:
            return None
        return panes_of(keeping, self.rows_of_window, self._varying, (*self._folds, ROWS), conditions)

    def at_once(self, first: int) -> int:
        """How many rounds are drawn at once from this one on: those that panes keep are one part."""
        return self.kept - first if first < self.kept else rounds_at_once(self._varying.rows.size)

    @staticmethod
    def of(body: Worlds, rows: WorldRows, keeping: Keeping | None = None) -> GroupsInWorlds:
        """The groups, one object for all queries of a pass that fold the same of the same rows."""
        name = (
            rows.itself, "folded", body.where, body.keys, body.grouped, body.aggregates, attributes_read(body),
            None if keeping is None else keeping.windows,
        )  # fmt: skip
        return rows.shared.of(
            name, lambda: GroupsInWorlds(body, rows, keeping), lambda one: 48 * one.everything.rows.size
        )

    @property
    def varies(self) -> bool:
        """Whether worlds differ at all."""
        return self._varying.rows.size > 0

    def joined(self, parts: Sequence[GroupWorlds]) -> GroupWorlds:
        """Parts that were drawn one after the other, from the first round on."""
        name = self.itself, "rounds", sum(part.rounds for part in parts)
        return self.rows_of_window.shared.of(name, lambda: GroupWorlds.joined(parts), _world_bytes)

    def members(self, _rounds: range) -> tuple[I64, I64]:
        """All rows in ascending order, and the group of each, the same in all rounds."""
        return self.everything.rows, self.everything.group[:, None]

    def counted(self, folded: Folded, leaf: Leaves) -> Bools:
        """Which of all rows an aggregate counts, where that is certain: its FILTER holds, and they have a value."""
        found = np.ones((self.everything.rows.size, 1), np.bool_)
        if folded.where is not None:
            found &= holds(evaluate(folded.where, leaf))
        if folded.argument is not None and not is_drawn(folded.argument):
            known = evaluate(folded.argument, leaf).known
            found &= True if known is None else known
        return found.ravel()

    @cached_property
    def _same_folds(self) -> list[tuple[Fold, Kind]]:
        leaf = self.rows_of_window.leaves(self._same.rows, range(1))
        where = where_in_worlds(self._body, leaf)
        return [self._folded(one, self._same, where, leaf) for one in (*self._folds, ROWS)]

    def part(self, rounds: range) -> GroupWorlds:
        """What the groups are in some rounds."""
        name = self.itself, "part", rounds.start, rounds.stop
        return self.rows_of_window.shared.of(name, lambda: self._part(rounds), _world_bytes)

    def _part(self, rounds: range) -> GroupWorlds:
        folds, window = (*self._folds, ROWS), self.rows_of_window
        if not self.varies:
            every = [finished_bundle(one, *same) for one, same in zip(folds, self._same_folds)]
            return GroupWorlds(tuple(every[:-1]), every[-1].values > 0, len(rounds))
        names = [None if name is None else (name, rounds.start, rounds.stop) for name in self._names]
        if self._panes is not None and rounds.stop <= self.kept:
            wanted = [number for number, name in enumerate(names) if not window.shared.has(name)]
            found: Folds = self._panes.folds(wanted, rounds, self._folds_of).__getitem__
        else:
            found = self._folds_of(self._varying, rounds, self._drawn_name)

        def aggregate(number: int) -> Bundle:
            (same, kind), own = self._same_folds[number], found(number)
            return finished_bundle(folds[number], merged(own, same) if self._same.rows.size else own, kind)

        every = [
            window.shared.of(name, partial(aggregate, number), bundle_bytes) for number, name in enumerate(names)
        ]  # fmt: skip
        return GroupWorlds(tuple(every[:-1]), every[-1].values > 0, len(rounds), self._alike)

    @cached_property
    def _alike(self) -> tuple[bool, ...]:
        """Whether each aggregate, and at last how many rows there are, is the same in all rounds, by what it reads."""
        window, rows = self.rows_of_window, self._varying.rows
        drawn = {number for number, one in enumerate(window.attributes) if one.uncertain[rows].any()}

        def differs(*read: WorldExpression | None) -> bool:
            every = (leaf for one in read if one is not None for leaf in leaves(one))
            return any(isinstance(leaf, DrawnAttribute) and leaf.number in drawn for leaf in every)

        chosen, exists = differs(self._body.where), bool(window.existence_name)
        return tuple(
            not (chosen or (exists and not one.stored) or differs(one.argument, one.where))
            for one in (*self._folds, ROWS)
        )

    def _folds_of(self, part: RowsOfGroups, rounds: range, named: Hashable) -> Folds:
        """Aggregates over some rows in some rounds; ``named`` tells the rows from others."""
        leaf = self.rows_of_window.leaves(part.rows, rounds, named)
        present = cache(partial(self._present, part, rounds, named, leaf))

        def found(number: int) -> Fold:
            one = (*self._folds, ROWS)[number]
            return self._folded(one, part, present(one.stored), leaf)[0]

        return found

    def _present(self, part: RowsOfGroups, rounds: range, named: Hashable, leaf: Leaves, stored: bool) -> Bools | None:
        """Where rows that are drawn count in some rounds; None where all do.

        Other queries may ask the same of them. Conditions alone are sooner judged again than kept.
        """
        window, where = self.rows_of_window, [one for one in conjuncts(self._body.where) if is_drawn(one)]
        exists = () if stored else window.existence_name
        if not where and not exists:
            return None

        def made() -> Bools:
            found = where_in_worlds(self._body, leaf)
            found = found if stored else both(found, window.existing(part.rows, rounds))
            assert found is not None, "nothing says which rows count"
            return found

        names = [window.name(one) for one in where]
        name = ("present", *names, exists, named, rounds.start, rounds.stop)
        return window.shared.of(name if exists and None not in names else None, made, lambda one: int(one.nbytes))

    @cached_property
    def _drawn_name(self) -> bytes:
        """What tells the rows that are drawn from others, however they are grouped."""
        return digest(self._varying.rows)

    @cached_property
    def _rows_name(self) -> bytes:
        """What tells the rows of these groups, and those that are drawn, from others."""
        return digest(self.everything.rows, self.everything.group, self._varying.rows, self.groups)

    @cached_property
    def _names(self) -> list[Hashable | None]:
        """What each aggregate follows from, besides the rounds; None where it has no name."""
        window = self.rows_of_window
        where = [window.name(condition) for condition in conjuncts(self._body.where) if is_drawn(condition)]
        found: list[Hashable | None] = []
        for one in (*self._folds, ROWS):
            parts = (window.name(one.argument), window.name(one.where), *where)
            name = (one.function, one.stored, *parts, self._rows_name, window.existence_name)
            found.append(None if None in parts else name)
        return found

    def _folded(self, folded: Folded, part: RowsOfGroups, present: Bools | None, leaf: Leaves) -> tuple[Fold, Kind]:
        """What is known of an aggregate over some rows, and what its argument is."""
        values, present, kind = folded_values(folded, part.rows.size, present, leaf)
        width = max(values.shape[1], 1 if present is None else present.shape[1])
        shape = (part.rows.size, width)
        mask = None if present is None else filled(present, shape)
        function = function_of(folded, kind)
        whole = np.broadcast_to(values, shape) if function == "count" else filled(values, shape)
        return fold([function], part.group, part.groups, whole, mask, part.order), kind


def _world_bytes(worlds: GroupWorlds) -> int:
    return sum(bundle_bytes(one) for one in worlds.aggregates) + int(worlds.there.nbytes)


ROWS = Folded("count")
"""How many rows a group has in a world."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """The rows that count, their groups, and the keys of these in their order."""

    keys: list[pa.Array]
    groups: int
    every: RowsOfGroups


def grouped_rows(body: Worlds, rows: WorldRows) -> GroupedRows:
    """The rows of a window by group: found once for all queries of a pass that group the same rows alike."""
    name = rows.itself, "grouped", body.where, body.keys, body.grouped
    return rows.shared.of(name, lambda: _grouped(body, rows), lambda one: 16 * one.every.rows.size)


def _grouped(body: Worlds, rows: WorldRows) -> GroupedRows:
    chosen = counted_rows(body, rows)
    keys = [rows.given[number].take(pa.array(chosen)) for number in body.keys]
    codes, distinct = encode(keys, chosen.size)
    if not keys:
        groups = 1 if chosen.size or not body.grouped else 0
        return GroupedRows([], groups, RowsOfGroups.of(chosen, codes, groups))
    rank = order(distinct) if chosen.size else np.zeros(0, np.int64)
    found = [key.take(pa.array(np.argsort(rank))) for key in distinct]
    return GroupedRows(found, int(rank.size), RowsOfGroups.of(chosen, rank[codes], int(rank.size)))


def attributes_read(body: Worlds) -> frozenset[int]:
    """The attributes that a query reads."""
    every = (leaf for one in expressions_of(body) for leaf in leaves(one))
    return frozenset(leaf.number for leaf in every if isinstance(leaf, DrawnAttribute))


def folds_of(body: Worlds) -> tuple[Folded, ...]:
    """The aggregates that are folds of rows."""
    return tuple(one for one in body.aggregates if isinstance(one, Folded))


def function_of(folded: Folded, kind: Kind) -> Function:
    if folded.function != "value":
        return folded.function
    return "avg" if kind in ("number", "whole") else "max"


def folded_values(
    folded: Folded, rows: int, present: Bools | None, leaf: Leaves
) -> tuple[Values, Bools | None, Kind]:
    """What an aggregate is over: the values of so many rows in each round, which of them count, and what they are."""
    if folded.where is not None:
        present = both(present, holds(evaluate(folded.where, leaf)))
    if folded.argument is None:
        return np.zeros((rows, 1)), present, "whole"
    argument = evaluate(folded.argument, leaf)
    as_type = np.int64 if argument.kind == "whole" else np.float64
    values: Values = filled(argument.values, (rows, argument.values.shape[1])).astype(as_type, copy=False)
    return values, both(present, argument.known), argument.kind


def finished_bundle(folded: Folded, found: Fold, kind: Kind) -> Bundle:
    """An aggregate of each group in each round."""
    function = function_of(folded, kind)
    values, there = finished(function, found, whole=kind == "whole")
    known = None if there.all() else there
    if function == "count" or (kind == "whole" and function != "avg"):
        return Bundle(values.astype(np.int64), known, "whole")
    if kind == "text":
        return Bundle(values.astype(np.int64), known, "text")
    return Bundle(values != 0.0, known, "truth") if kind == "truth" else Bundle(values, known, "number")


def counted_rows(body: Worlds, rows: WorldRows) -> I64:
    """The rows of the window for which all conditions hold that are certain."""
    counted = rows.inside
    leaf = rows.leaves(np.arange(rows.size), range(1))
    for condition in conjuncts(body.where):
        if not is_drawn(condition):
            counted = counted & np.broadcast_to(holds(evaluate(condition, leaf)), (rows.size, 1)).ravel()
    return np.flatnonzero(counted)


def where_in_worlds(body: Worlds, leaf: Leaves) -> Bools | None:
    """For which rows the other conditions hold in each round; None where there are none."""
    found: Bools | None = None
    for condition in conjuncts(body.where):
        if is_drawn(condition):
            found = both(found, holds(evaluate(condition, leaf)))
    return found


def conjuncts(where: WorldExpression | None) -> list[WorldExpression]:
    """The conditions that AND holds together."""
    if where is None:
        return []
    if isinstance(where, Operation) and where.name == "and":
        return [part for argument in where.arguments for part in conjuncts(argument)]
    return [where]


def is_drawn(expression: WorldExpression) -> bool:
    """Whether an expression of rows differs between worlds."""
    return any(isinstance(leaf, DrawnAttribute) for leaf in leaves(expression))


def filled(values: NDArray[Scalar], shape: tuple[int, int]) -> NDArray[Scalar]:
    """The same for all rows and rounds, and not copied where it is so already."""
    return values if values.shape == shape else np.broadcast_to(values, shape).copy()


def both(one: Bools | None, other: Bools | None) -> Bools | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
