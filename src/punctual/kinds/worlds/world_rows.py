"""The rows of one window, ready to be drawn: their columns as arrays, the laws of attributes, and which rows exist."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from weakref import proxy

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.row_hashes import U64, row_hashes
from punctual.kernel.arrays.shared import SharedWorlds, digest, place
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.draw import Source, Stretches, existing, of_broken_rules, source, stretches
from punctual.kernel.draw.bundle_values import Bundle, holds
from punctual.kernel.panes.keys import encode
from punctual.kinds.worlds.columns import Plain, kind_of_type, plain_column
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.laws import Content, drawn_column
from punctual.kinds.worlds.texts import TextCodes
from punctual.plan.world_expression import (
    CertainColumn,
    Constant,
    DrawnAttribute,
    Leaf,
    Operation,
    WorldExpression,
    leaves,
)
from punctual.plan.worlds import Attribute, Called, Existence, Worlds

MOST_LEAVES = 50
"""An expression that has more is not shared with other queries."""
Leaves = Callable[[Leaf], Bundle]
"""What stands at the leaves of row expressions: the values of some rows in some rounds."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What an answer says of rows of its windows that could not be taken as they are.

    marked : how many missing values had no group or neighbour, and are any value of the window
    rejected : how many rows are left out, since the probabilities of their rule add up to more than 1
    """

    marked: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Exists:
    """Which rows of a stream exist in a world."""

    drawn_from: Source
    stretches: Stretches
    probability: F64
    rule: pa.Array | None
    rejected: int = 0
    """How many rows have a rule that is broken within the window: they exist in no world."""

    @property
    def uncertain(self) -> Bools:
        """Which rows do not exist in every world."""
        found: Bools = self.probability < 1.0
        return found

    @staticmethod
    def of(existence: Existence, columns: Sequence[pa.Array], inside: Bools, seed: int) -> _Exists:
        """Rules are laid out over the rows of the window alone: those from before it take no part."""
        identity = columns[existence.identity].to_numpy(zero_copy_only=False).view(np.uint64)
        probability: F64 = columns[existence.probability].cast(pa.float64()).to_numpy(zero_copy_only=False)
        probability = np.where(inside, probability, 0.0)
        labels, rule, ruled, rejected = None, None, None, 0
        if existence.rule is not None:
            labels = columns[existence.rule]
            rule = row_hashes([labels], identity.size)
            ruled = labels.is_valid().to_numpy(zero_copy_only=False) & inside
            broken = of_broken_rules(identity, probability, rule, ruled)
            probability, rejected = np.where(broken, 0.0, probability), int(np.count_nonzero(broken))
        laid_out = stretches(identity, probability, rule, ruled)
        return _Exists(source(seed, existence.stream.lower(), ""), laid_out, probability, labels, rejected)


class WorldRows:
    """The rows of a window of a query.

    Parameters
    ----------
    body : Worlds
    columns : sequence of pa.Array
        Those of its statement.
    at : int
        The instant in microseconds. Rows at or before ``at - range_us`` only help to find values.
    seed : int
        Of all draws.
    shared : SharedWorlds, optional
        What other queries of the pass have made. It keeps rows, not they it: with the pass all of that ends.
    """

    def __init__(
        self, body: Worlds, columns: Sequence[pa.Array], at: int, seed: int, shared: SharedWorlds | None = None
    ) -> None:
        self.shared: SharedWorlds = SharedWorlds(0) if shared is None else proxy(shared)
        self.itself = object()
        """What names these very rows."""
        self._names: dict[Leaf | None, Hashable | None] = {}
        self.size = len(columns[0])
        self.given = self.read = columns
        """Columns as they are here, and as they were read: those keep their place in memory."""
        self.codes = TextCodes(_texts(columns), strings_of(body))
        self.inside = np.ones(self.size, np.bool_)
        if body.statement.windows[0].range_us != body.range_us:
            self.inside = self.times(body.attributes[0].time) > at - body.range_us
        self._plain: dict[int, Plain] = {}
        self.attributes = [
            drawn_column(one, columns, self.inside, self.codes, seed, self._missing(one)) for one in body.attributes
        ]
        self._exists = [_Exists.of(one, columns, self.inside, seed) for one in body.existence]

    @staticmethod
    def of(body: Worlds, columns: Sequence[pa.Array], at: int, seed: int, shared: SharedWorlds | None) -> WorldRows:
        """The rows of a window, made ready once for all queries of a pass that read the same columns.

        They are in the order of their identities: so those of queries that read other columns are in the same order,
        and have the same draws. Only functions of Python see in which order rows are.
        """
        if shared is None:
            return WorldRows(body, columns, at, seed)

        def made() -> WorldRows:
            identity = [*(one.identity for one in body.attributes), *(one.identity for one in body.existence)]
            if not identity or any(isinstance(one, Called) for one in body.aggregates):
                return WorldRows(body, columns, at, seed, shared)
            order = pa.array(np.argsort(columns[identity[0]].to_numpy(zero_copy_only=False), kind="stable"))
            rows = WorldRows(body, [column.take(order) for column in columns], at, seed, shared)
            rows.read = columns
            return rows

        name = (
            "rows", tuple(place(column) for column in columns), at, seed, body.range_us,
            body.statement.windows[0].range_us, body.attributes, body.existence, strings_of(body),
            any(isinstance(one, Called) for one in body.aggregates),
        )  # fmt: skip
        return shared.of(name, made, lambda rows: rows.kept_bytes)

    @property
    def kept_bytes(self) -> int:
        """About how much it takes to keep them ready."""
        return 8 * self.size * (len(self.given) + 3 * len(self.attributes))

    @property
    def remarks(self) -> Remarks:
        """What an answer has to say of these rows."""
        return Remarks(sum(column.marked for column in self.attributes), sum(one.rejected for one in self._exists))

    def uncertain(self, read: frozenset[int]) -> Bools:
        """Which rows differ between worlds: in one of these attributes, or in whether they exist."""
        found = np.zeros(self.size, np.bool_)
        for number in read:
            found |= self.attributes[number].uncertain
        for one in self._exists:
            found |= one.uncertain
        return found

    def existing(self, rows: I64, rounds: range) -> Bools | None:
        """Which of some rows exist in each round; None where all do."""
        found: Bools | None = None
        for one in self._exists:
            some = existing(one.drawn_from, one.stretches.take(rows), rounds)
            found = some if found is None else found & some
        return found

    def probabilities(self, rows: I64) -> tuple[F64 | None, I64 | None]:
        """How likely some rows are to exist, None: all do; and the number of the rule of each, -1 without one."""
        if not self._exists:
            return None, None
        (one,) = self._exists
        rules = None
        if one.rule is not None:
            codes, _labels = encode([one.rule.take(pa.array(rows))], rows.size)
            rules = np.where(one.rule.is_valid().to_numpy(zero_copy_only=False)[rows], codes, -1)
        return one.probability[rows], rules

    def moments(self, attribute: int, rows: I64) -> tuple[F64, F64, F64]:
        """Mean, variance and third central moment of an attribute of some rows, NaN where it is NULL."""
        mean, variance, third = self.attributes[attribute].moments()
        return mean[rows], variance[rows], third[rows]

    def name(self, expression: WorldExpression | None) -> Hashable | None:
        """What an expression follows from, wherever it stands.

        None where strings are in it, whose codes are the query's own, and where it is long.
        """
        if isinstance(expression, Operation):
            if len(list(islice(leaves(expression), MOST_LEAVES + 1))) > MOST_LEAVES:
                return None
            parts = [self.name(argument) for argument in expression.arguments]
            return None if None in parts else (expression.name, *parts)
        if expression not in self._names:
            self._names[expression] = self._leaf_name(expression)
        return self._names[expression]

    def _leaf_name(self, leaf: Leaf | None) -> Hashable | None:
        match leaf:
            case None:
                return "nothing"
            case Constant():
                return None if isinstance(leaf.value, str) else repr(leaf.value)
            case CertainColumn():
                column = self._column(leaf.number)
                return None if column.kind == "text" else digest(column.values, column.known, column.kind)
            case DrawnAttribute():
                drawn = self.attributes[leaf.number]
                return None if drawn.certain.kind == "text" else drawn.name()
        return None

    @cached_property
    def existence_name(self) -> tuple[bytes, ...]:
        """What it follows from which rows exist."""
        return tuple(
            digest(int(one.drawn_from.key), one.stretches.drawn_by, one.stretches.low, one.stretches.high)
            for one in self._exists
        )

    def contents(self, rows: I64, expressions: Iterable[WorldExpression]) -> list[Content]:
        """What these expressions of some rows follow from, and which of the rows exist, in any order of the rows."""
        found: list[Content] = []
        for leaf in dict.fromkeys(leaf for one in expressions for leaf in leaves(one)):
            if isinstance(leaf, DrawnAttribute):
                found += self.attributes[leaf.number].contents(rows)
            elif isinstance(leaf, CertainColumn):
                column = self._column(leaf.number)
                found += [(column.values[rows], None), (column.there()[rows], None)]
        for one in self._exists:
            some = one.stretches.take(rows)
            found += [(some.drawn_by, None), (some.low, None), (some.high, None)]
        return found

    def identities(self, column: int) -> U64:
        """What tells the rows from each other."""
        found: U64 = self.given[column].to_numpy(zero_copy_only=False).view(np.uint64)
        return found

    def times(self, column: int) -> I64:
        """The event time of each row in microseconds."""
        times = self.given[column].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        found: I64 = times.to_numpy(zero_copy_only=False)
        return found

    def sources(self) -> tuple[int, ...]:
        """What tells the draws of its attributes and of which rows exist from other draws: seed, stream and column."""
        every = [*(one.drawn_from for one in self.attributes), *(one.drawn_from for one in self._exists)]
        return tuple(number for one in every for number in (int(one.key), int(one.column)))

    def leaves(self, rows: I64, rounds: range, named: Hashable | None = None) -> Leaves:
        """The values of some rows, in ascending order, in each round; each is drawn once.

        ``named`` is what tells the rows from others, where draws are shared with other queries.
        """
        drawn: dict[int, Bundle] = {}

        def made(one: DrawnAttribute) -> Bundle:
            own = None if named is None else self.name(one)
            name = None if own is None else ("drawn", own, named, rounds.start, rounds.stop)
            return self.shared.of(name, lambda: self.attributes[one.number].bundle(rows, rounds), bundle_bytes)

        def leaf(one: Leaf) -> Bundle:
            match one:
                case Constant():
                    return self.codes.constant(one)
                case CertainColumn():
                    return self._column(one.number).bundle(rows)
                case DrawnAttribute():
                    if one.number not in drawn:
                        drawn[one.number] = made(one)
                    return drawn[one.number]
            raise InternalError(f"{one} stands in an expression of rows")

        return leaf

    def _missing(self, attribute: Attribute) -> Bools | None:
        """Which rows have a value that is treated as missing; None where none has."""
        if attribute.missing is None:
            return None
        found = holds(evaluate(attribute.missing, self.leaves(np.arange(self.size), range(1))))
        return np.broadcast_to(found, (self.size, 1)).ravel()

    def _column(self, number: int) -> Plain:
        if number not in self._plain:
            self._plain[number] = plain_column(self.given[number], self.codes)
        return self._plain[number]


def bundle_bytes(bundle: Bundle) -> int:
    """How much it takes to keep it."""
    return int(bundle.values.nbytes + (0 if bundle.known is None else bundle.known.nbytes))


def expressions_of(body: Worlds) -> Iterator[WorldExpression]:
    """All expressions of a query."""
    parts: list[WorldExpression | None] = [body.where, body.having, body.chosen, *body.drawn_keys]
    parts += [*body.outputs, *body.order]
    for one in body.aggregates:
        parts += [*(one.arguments if isinstance(one, Called) else (one.argument,)), one.where]
    parts += [summed.of for summed in body.summaries]
    parts += [one.missing for one in body.attributes]
    return (part for part in parts if part is not None)


def strings_of(body: Worlds) -> frozenset[str]:
    """The strings that stand in the expressions of a query."""
    constants = (leaf for one in expressions_of(body) for leaf in leaves(one) if isinstance(leaf, Constant))
    return frozenset(one.value for one in constants if isinstance(one.value, str))


def _texts(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns that have strings in them, as they are or in lists."""
    lists = [column.flatten() for column in columns if pa.types.is_list(column.type)]
    return [column for column in (*columns, *lists) if kind_of_type(column.type) == "text"]


