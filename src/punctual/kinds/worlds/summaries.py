"""What all worlds together say of the groups of a window: EXPECTED, PROBABILITY, INTERVAL, HISTOGRAM, and how far off.

A result row is there in a world if its group has rows there and HAVING holds. All that is said of it is over the worlds
in which it is there; ``probability`` says in which part of them that is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import Protocol

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.shared import SharedWorlds
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.draw import (
    Expected,
    Probability,
    expected,
    histograms,
    how_often,
    interval,
    likeliest,
    of_counts,
    probability,
)
from punctual.kernel.draw.bundle_values import Bundle
from punctual.kinds.worlds.columns import plain_column
from punctual.kinds.worlds.evaluate import evaluate
from punctual.kinds.worlds.simulate import GroupWorlds, filled
from punctual.kinds.worlds.texts import TextCodes
from punctual.plan.world_expression import (
    CertainColumn,
    Constant,
    Leaf,
    WorldAggregate,
    WorldExpression,
    WorldSummary,
    leaves,
)
from punctual.plan.worlds import Summed, Worlds

ENDS = pa.struct([("low", pa.float64()), ("high", pa.float64())])
BINS = pa.list_(pa.struct([("low", pa.float64()), ("high", pa.float64()), ("probability", pa.float64())]))
LIKELIEST = pa.list_(pa.struct([("value", pa.string()), ("probability", pa.float64())]))
ITSELF = -1
"""The number of the summary that is the probability of the result row itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """A column of result rows: its values, and the ends of the interval around each, where there is one.

    ``level`` is how much of the law an INTERVAL has in it, where that is less than was asked for.
    """

    values: pa.Array
    low: F64 | None = None
    high: F64 | None = None
    level: F64 | None = None

    @property
    def exact(self) -> bool:
        return self.low is None


@dataclass(frozen=True, slots=True, eq=False)
class Summarised:
    """The result rows of a window: those that are there in some world, in the order of their keys."""

    outputs: tuple[Said, ...]
    probability: Said
    order: tuple[pa.Array, ...]
    chosen: Bools

    @property
    def size(self) -> int:
        return len(self.probability.values)


@dataclass(frozen=True, slots=True, eq=False)
class Seldom:
    """What rounds may have missed (``rounds/seldom.py``).

    ``least_rounds`` says for each aggregate from how many rounds on the expectations of each group have intervals,
    ``varies`` which groups differ between worlds: one that came out the same in all rounds says nothing of the others.
    """

    least_rounds: tuple[F64, ...]
    varies: Bools


class WithoutWorlds(Protocol):
    """What is known without any world (``closed.py``)."""

    def probability(self) -> Said: ...

    def said(self, summed: Summed) -> Said | None: ...


class Summaries:
    """Says it of the groups of one window, in some rounds."""

    def __init__(
        self,
        body: Worlds,
        keys: Sequence[pa.Array],
        worlds: GroupWorlds,
        codes: TextCodes,
        without_worlds: WithoutWorlds | None = None,
        seldom: Seldom | None = None,
        shared: tuple[SharedWorlds, Hashable] | None = None,
    ) -> None:
        """``shared`` has what other queries say of the same groups, and what names these."""
        self._body, self._keys, self._worlds, self._codes = body, keys, worlds, codes
        self._without_worlds = without_worlds
        self._seldom = seldom
        self.rounds = worlds.rounds
        """What it rests on; others may draw more meanwhile."""
        self._shape = (worlds.there.shape[0], worlds.rounds)
        self._shared = shared
        self._said: dict[int, Said] = {}

    @cached_property
    def _there_at(self) -> Bools:
        """Where result rows are there, in one round where that is so in every one."""
        body, worlds = self._body, self._worlds
        there = worlds.there if body.grouped else np.ones(worlds.there.shape, np.bool_)
        if body.having is not None:
            held = evaluate(body.having, self._in_worlds)
            there = there & (held.values if held.known is None else held.values & held.known)
        return there

    @property
    def _always(self) -> bool:
        """Whether what is there is there in every world."""
        having = () if self._body.having is None else (self._body.having,)
        alike = self._alike(*having) and (self.rounds > 1 or self._worlds.same[-1])
        return alike and bool(self._there_at.shape[1] == 1)

    def _alike(self, *expressions: WorldExpression) -> bool:
        """Whether what has one round is so in all of them: that does not go without saying where there is but one."""
        if self.rounds > 1:
            return True
        read = (leaf for one in expressions for leaf in leaves(one))
        return all(self._worlds.same[leaf.number] for leaf in read if isinstance(leaf, WorldAggregate))

    @cached_property
    def _there(self) -> Bools:
        return filled(self._there_at, self._shape)

    def all(self) -> Summarised:
        """Everything that answers say."""
        body = self._body
        outputs = tuple(self._column(one) for one in body.outputs)
        rank = tuple(self._column(one).values for one in body.order)
        likely = self._summary(ITSELF)
        chosen: Bools = likely.values.to_numpy(zero_copy_only=False) > 0.0
        if body.likely is not None:
            operator, limit = body.likely
            chosen &= COMPARED[operator](likely.values.to_numpy(zero_copy_only=False), limit)
        if body.chosen is not None:
            held = evaluate(body.chosen, self._in_answers)
            holds = held.values if held.known is None else held.values & held.known
            chosen &= np.broadcast_to(holds, (self._shape[0], 1)).ravel()
        return Summarised(outputs, likely, rank, chosen)

    def half_widths(self, confidence: float) -> tuple[F64, F64]:
        """Of all expectations and probabilities, the half-widths at a confidence and the values, row after row."""
        widths, values = [np.zeros(0)], [np.zeros(0)]
        scale = _quantile(confidence) / _quantile(0.95)
        for number, summed in enumerate(self._body.summaries):
            said = self._summary(number)
            if summed.summary in ("EXPECTED", "PROBABILITY") and said.low is not None and said.high is not None:
                widths.append((said.high - said.low) / 2 * scale)
                values.append(said.values.fill_null(np.nan).to_numpy(zero_copy_only=False))
        return np.concatenate(widths), np.concatenate(values)

    # -- leaves ------------------------------------------------------------------------------------

    def _in_worlds(self, leaf: Leaf) -> Bundle:
        match leaf:
            case Constant():
                return self._codes.constant(leaf)
            case CertainColumn():
                return plain_column(self._keys[leaf.number], self._codes).bundle()
            case WorldAggregate():
                return self._worlds.aggregates[leaf.number]
        raise InternalError(f"{leaf} stands in an expression of groups")

    def _in_answers(self, leaf: Leaf) -> Bundle:
        if isinstance(leaf, WorldSummary):
            return plain_column(self._summary(leaf.number).values, self._codes).bundle()
        return self._in_worlds(leaf)

    def _column(self, expression: WorldExpression) -> Said:
        """A column of answers."""
        if isinstance(expression, CertainColumn):
            return Said(self._keys[expression.number])
        if isinstance(expression, WorldSummary):
            return self._summary(expression.number)
        found = evaluate(expression, self._in_answers)
        values = np.broadcast_to(found.values, (self._shape[0], 1)).ravel()
        known = None if found.known is None else np.broadcast_to(found.known, (self._shape[0], 1)).ravel()
        column = self._arrow(values, known, found.kind)
        if all(self._summary(leaf.number).exact for leaf in leaves(expression) if isinstance(leaf, WorldSummary)):
            return Said(column)
        nothing = np.full(self._shape[0], np.nan)
        return Said(column, nothing, nothing)

    # -- summaries ---------------------------------------------------------------------------------

    def _summary(self, number: int) -> Said:
        if number not in self._said:
            self._said[number] = self._by_name(None if number == ITSELF else self._body.summaries[number])
        return self._said[number]

    def _by_name(self, summed: Summed | None) -> Said:
        """A summary, of the result row itself without one: another query may have said the same."""
        make = self._itself if summed is None else partial(self._made, summed)
        if self._shared is None:
            return make()
        shared, groups = self._shared
        return shared.of((groups, "said", self.rounds, self._body.having, summed), make, said_bytes)

    def _itself(self) -> Said:
        """The probability of the result row."""
        if self._without_worlds is not None:
            return self._without_worlds.probability()
        if self._always:
            return Said(pa.array(self._there[:, 0].astype(np.float64)))
        return _of_probability(of_counts(how_often(self._there), np.full(self._shape[0], self._worlds.rounds)))

    def _made(self, summed: Summed) -> Said:
        closed = None if self._without_worlds is None else self._without_worlds.said(summed)
        if closed is not None:
            return closed
        of = evaluate(summed.of, self._in_worlds)
        narrow = of.values.shape[1] == 1 and (of.known is None or of.known.shape[1] == 1)
        if self._always and narrow and self._alike(summed.of):
            same = self._of_one_world(summed, of)
            if same is not None:
                return same
        if summed.summary == "SAME":
            known = None if of.known is None else of.known[:, 0]
            return Said(self._arrow(of.values[:, 0], known, of.kind))
        there = self._there if of.known is None else self._there & of.known
        values = filled(of.values, self._shape)
        match summed.summary:
            case "PROBABILITY":
                return _of_probability(probability(values & there, self._there))
            case "EXPECTED":
                found = expected(values, there)
                missed = self._may_have_missed(summed.of, found)
                low, high = (np.where(missed, np.nan, end) for end in (found.low, found.high))
                return Said(pa.array(found.mean, mask=found.worlds == 0), low, high)
            case "INTERVAL":
                ends = interval(np.asarray(values, np.float64), summed.parameter, there)
                missing = ends.level <= 0.0
                struct = pa.StructArray.from_arrays(
                    [pa.array(ends.low), pa.array(ends.high)], fields=list(ENDS), mask=pa.array(missing)
                )
                short = (ends.level < summed.parameter - 1e-12) & ~missing
                return Said(struct, level=np.where(short, ends.level, np.nan) if short.any() else None)
            case "HISTOGRAM":
                return Said(self._histograms(of, values, there, int(summed.parameter)))
        raise InternalError(f"{summed.summary} says nothing")

    def _may_have_missed(self, of: WorldExpression, found: Expected) -> Bools:
        """Which expectations have no interval, since worlds that are seldom drawn may not have come."""
        if self._seldom is None:
            return np.zeros(found.worlds.size, np.bool_)
        aggregates = [self._seldom.least_rounds[one.number] for one in leaves(of) if isinstance(one, WorldAggregate)]
        few = found.worlds < np.max([np.zeros(found.worlds.size), *aggregates], axis=0)
        missed: Bools = few | (self._seldom.varies & (found.sd == 0.0))
        return missed

    def _of_one_world(self, summed: Summed, of: Bundle) -> Said | None:
        """What is the same in all worlds is known exactly."""
        values = np.broadcast_to(of.values, (self._shape[0], 1)).ravel()
        there = self._there[:, 0]
        if of.known is not None:
            there = there & np.broadcast_to(of.known, (self._shape[0], 1)).ravel()
        if summed.summary == "EXPECTED":
            return Said(pa.array(values.astype(np.float64), mask=~there))
        if summed.summary == "PROBABILITY":
            return Said(pa.array((values & there).astype(np.float64), mask=~self._there[:, 0]))
        return None

    def _histograms(self, of: Bundle, values: F64 | I64, there: Bools, n: int) -> pa.Array:
        rows: list[list[dict[str, object]]] = []
        if of.kind == "text":
            for row, some in zip(values, there):
                places, shares = likeliest(np.asarray(row, np.int64), n, some)
                texts = self._codes.texts.take(pa.array(places)).to_pylist()
                rows.append([{"value": v, "probability": p} for v, p in zip(texts, shares.tolist())])
            return pa.array(rows, LIKELIEST)
        found = histograms(values, n, there)
        offsets = np.concatenate([[0], np.cumsum(found.bins)]).astype(np.int32)
        ends = (found.edges[:, :-1], found.edges[:, 1:], found.probability)
        whole = np.arange(n) < found.bins[:, None]
        struct = pa.StructArray.from_arrays([pa.array(one[whole]) for one in ends], fields=list(BINS.value_type))
        return pa.ListArray.from_arrays(pa.array(offsets), struct).cast(BINS)

    def _arrow(self, values: F64 | I64 | Bools, known: Bools | None, kind: str) -> pa.Array:
        mask = None if known is None else ~known
        if kind == "text":
            return self._codes.texts.take(pa.array(values, pa.int64(), mask=mask))
        return pa.array(np.ascontiguousarray(values), mask=mask)


def said_bytes(said: Said) -> int:
    """How much it takes to keep it."""
    return int(said.values.nbytes + sum(0 if end is None else end.nbytes for end in (said.low, said.high, said.level)))


COMPARED: dict[str, Callable[[F64, float], Bools]] = {
    "<": lambda values, limit: values < limit,
    "<=": lambda values, limit: values <= limit,
    "=": lambda values, limit: values == limit,
    ">=": lambda values, limit: values >= limit,
    ">": lambda values, limit: values > limit,
}


def _of_probability(found: Probability) -> Said:
    return Said(pa.array(found.share, mask=found.worlds == 0), found.low, found.high)



def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)
