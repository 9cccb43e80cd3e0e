"""Groups of a window with what functions of Python make of them, in many worlds.

A function is called with the rows of a group in `ROUNDS_AT_ONCE` rounds, always the same ones: so what it gives follows
from rows and seed alone, even where it adds numbers in another order when there are more worlds. Rounds that nobody
asked for are cut off again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw.bundle_values import TYPES, Bundle, Kind, holds
from punctual.kernel.draw.function_calls import FunctionCall
from punctual.kinds.world_run import Functions
from punctual.kinds.worlds.columns import plain_column
from punctual.kinds.worlds.drawn_groups import DrawnGroups
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.simulate import GroupsInWorlds, GroupWorlds, both, where_in_worlds
from punctual.kinds.worlds.texts import TextCodes
from punctual.kinds.worlds.world_rows import WorldRows
from punctual.plan.world_expression import Constant
from punctual.plan.worlds import Called, Folded, Returns, Worlds

ROUNDS_AT_ONCE = 25
"""Divides the numbers that people write after ROUNDS."""
MOST_BYTES = 16 << 20
"""Of arguments that go out together; what is left of them comes next."""
KINDS: dict[Returns, Kind] = {"DOUBLE": "number", "BIGINT": "whole", "STRING": "text", "BOOLEAN": "truth"}


@dataclass(frozen=True, slots=True)
class Calling:
    """Who calls functions, and for which query."""

    functions: Functions | None
    query: str


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A call that waits: of which function, for which group, and from which round on."""

    number: int
    group: int
    first: int
    call: FunctionCall


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What a function gave for a group, from a round on."""

    group: int
    first: int
    values: pa.Array


class CalledGroups:
    """The groups of a window, all of whose aggregates are known."""

    def __init__(
        self, body: Worlds, rows: WorldRows, groups: GroupsInWorlds | DrawnGroups, calling: Calling
    ) -> None:
        self._body, self._window, self._groups, self._calling = body, rows, groups, calling
        self._called = [one for one in body.aggregates if isinstance(one, Called)]
        self._found: list[list[_Found]] = [[] for _one in self._called]
        self._asked: list[_Asked] = []
        self._bytes = 0
        """Of arguments that wait."""
        self._rounds = 0
        self.codes = rows.codes

    @property
    def varies(self) -> bool:
        """Whether worlds differ at all."""
        return self._groups.varies

    kept = 0

    def at_once(self, first: int) -> int:
        """How many rounds are drawn at once."""
        return self._groups.at_once(first)

    @property
    def keys(self) -> list[pa.Array]:
        """Those of the groups, once they are known."""
        return self._groups.keys

    @property
    def groups(self) -> int:
        """How many there are, as far as that is known."""
        return self._groups.groups

    def part(self, rounds: range) -> Any:
        """What the groups are in some rounds, without what functions make of them."""
        return self._groups.part(rounds)

    def joined(self, parts: Sequence[Any]) -> GroupWorlds:
        """Parts that were drawn one after the other, the first of all, with what functions make of them."""
        rounds = sum(part.rounds for part in parts)
        step = ROUNDS_AT_ONCE if self.varies else 1
        whole = -(-rounds // step) * step
        folds = self._groups.joined([*parts, self.part(range(rounds, whole))] if whole > rounds else parts)
        if self._body.drawn_keys:  # groups have other numbers where there are more of them
            self._found, self._rounds = [[] for _one in self._called], 0
        for first in range(self._rounds, whole, step):
            for number, one in enumerate(self._called):
                self._ask(number, one, range(first, first + step))
        self._answered()
        self._rounds = max(self._rounds, whole)
        return self._joined(folds, whole).first(rounds)

    def _ask(self, number: int, called: Called, rounds: range) -> None:
        for group, call in self._calls(called, rounds):
            self._asked.append(_Asked(number, group, rounds.start, call))
            self._bytes += call.bytes
            if self._bytes > MOST_BYTES:
                self._answered()

    def _answered(self) -> None:
        """Have everything called that waits."""
        asked, self._asked, self._bytes = self._asked, [], 0
        if not asked:
            return
        if self._calling.functions is None:
            raise InternalError("nobody calls functions here")
        calls = [(self._called[one.number], one.call) for one in asked]
        found = self._calling.functions.results(self._calling.query, calls, self._window.codes.texts)
        for one, values in zip(asked, found, strict=True):
            self._found[one.number].append(_Found(one.group, one.first, values))

    def _calls(self, called: Called, rounds: range) -> Iterator[tuple[int, FunctionCall]]:
        """Every group that has rows in some of these rounds, and what the function is called with."""
        rows, group = self._groups.members(rounds)
        leaf = self._window.leaves(rows, rounds)
        present = where_in_worlds(self._body, leaf)
        if not called.stored:
            present = both(present, self._window.existing(rows, rounds))
        if called.where is not None:
            present = both(present, holds(evaluate(called.where, leaf)))
        arguments: list[Bundle | bool | int | float | str | None] = []
        for one in called.arguments:
            bundle = one.value if isinstance(one, Constant) else evaluate(one, leaf)
            if isinstance(bundle, Bundle):
                present = both(present, bundle.known)  # rows without a value are not there, as for any aggregate
            arguments.append(bundle)
        if present is not None:
            present = np.broadcast_to(present, (rows.size, present.shape[1]))
        for number, own, inside in _rows_of_groups(group):
            some = tuple(_of_rows(one, own) if isinstance(one, Bundle) else one for one in arguments)
            there = both(inside, None if present is None else present[own])
            yield number, FunctionCall(some, own.size, len(rounds), None if there is None or there.all() else there)

    def _joined(self, folds: GroupWorlds, rounds: int) -> GroupWorlds:
        """All aggregates in their order, texts by codes that know what functions gave."""
        flat = [pa.concat_arrays([one.values for one in several]) if several else None for several in self._found]
        texts = [one for one, called in zip(flat, self._called) if one is not None and called.returns == "STRING"]
        aggregates = folds.aggregates
        if texts:
            self.codes = TextCodes([self._window.codes.texts, *texts], ())
            places, _known = self.codes.of(self._window.codes.texts)
            aggregates = tuple(_recoded(one, places) for one in aggregates)
        folded = iter(aggregates)
        called = iter(
            self._bundle(one, several, values, (folds.there.shape[0], rounds))
            for one, several, values in zip(self._called, self._found, flat)
        )
        every = [next(folded) if isinstance(one, Folded) else next(called) for one in self._body.aggregates]
        return replace(folds, aggregates=tuple(every), alike=())

    def _bundle(
        self, called: Called, found: list[_Found], values: pa.Array | None, shape: tuple[int, int]
    ) -> Bundle:
        """What a function gave for all groups and rounds; NULL where it was not called."""
        kind = KINDS[called.returns]
        matrix, known = np.zeros(shape, TYPES[kind]), np.zeros(shape, np.bool_)
        if values is not None:
            plain = plain_column(values, self.codes)
            widths = [len(one.values) for one in found]
            group = np.repeat([one.group for one in found], widths)
            place = np.concatenate([one.first + np.arange(width) for one, width in zip(found, widths)])
            matrix[group, place] = plain.values
            known[group, place] = True if plain.known is None else plain.known
        return Bundle(matrix, None if known.all() else known, kind)


def _rows_of_groups(group: I64) -> Iterator[tuple[int, I64, Bools | None]]:
    """Each group with the rows that are in it in some round, and in which rounds; None: in all.

    ``group`` has the group of each row in each round, or in one that stands for all.
    """
    rows = group.shape[0]
    pairs = np.unique(group * rows + np.arange(rows)[:, None])
    numbers, members = np.divmod(pairs, max(1, rows))
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for number, own in zip(numbers[firsts].tolist(), np.split(members, firsts[1:])):
        yield number, own, None if group.shape[1] == 1 else group[own] == number


def _of_rows(bundle: Bundle, rows: I64) -> Bundle:
    """The values of some rows; what is the same for all rows has one."""
    values = bundle.values if bundle.values.shape[0] == 1 else bundle.values[rows]
    return Bundle(values, None, bundle.kind)


def _recoded(bundle: Bundle, places: I64) -> Bundle:
    """Texts by other codes."""
    if bundle.kind != "text" or not places.size:
        return bundle
    return replace(bundle, values=places[bundle.values])
