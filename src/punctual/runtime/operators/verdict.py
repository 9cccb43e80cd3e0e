"""Which rows of a block count, and why the others do not: the rules of a stream, in their order.

A row that does not fit its declared types; one without an event time, or with one before the earliest or beyond the
horizon; one without a probability, or with one that is none; one that lacks a parameter of a distribution, or has one
that is none, column by column; one that came too late. The first rule that a row breaks is its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.draw.given_parameters import faulty_parameters
from punctual.own_names import ORIGIN, ROW, TIME, WHY
from punctual.runtime.operators.order import StreamOrder
from punctual.runtime.operators.reduction import DEAD, LATE_REASON
from punctual.scan.block import Block, Columns
from punctual.scan.written.row_text import row_texts

REASONS = (
    "missing event time",
    "event time before earliest",
    "event time too far ahead",
    "missing probability",
    "probability outside [0, 1]",
    LATE_REASON,
)
MISSING_TIME, TOO_EARLY, TOO_FAR, NO_PROBABILITY, BAD_PROBABILITY, LATE = range(1, len(REASONS) + 1)
MALFORMED = len(REASONS) + 1
FIRST_LAW = MALFORMED + 1
"""From here on two rules for each distribution that rows give: a parameter is missing, or is none."""


@dataclass(frozen=True, slots=True)
class GivenLaw:
    """The distribution of a column, and the two columns of a row that have its parameters."""

    column: str
    kind: Literal["NORMAL", "UNIFORM", "DISCRETE"]
    parameters: tuple[str, str]

    @property
    def reasons(self) -> tuple[str, str]:
        """Why a row does not count that lacks a parameter, and one that has a parameter that is none."""
        return f"missing parameter of {self.column}", f"bad parameter of {self.column}"


@dataclass(frozen=True, slots=True)
class Meanings:
    """What a stream's columns mean, as far as rules go."""

    event_time: str
    probability: str | None = None
    laws: tuple[GivenLaw, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The columns that say which rows count."""
        certain = {self.event_time} if self.probability is None else {self.event_time, self.probability}
        return frozenset(certain).union(*(law.parameters for law in self.laws))

    @property
    def reasons(self) -> list[str]:
        """Why a row does not count, by the rule that it breaks; malformed rows have reasons of their own."""
        return ["", *REASONS, "", *(reason for law in self.laws for reason in law.reasons)]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The event times of a block's rows in microseconds, and the rule that each row breaks (None: nobody breaks any).

    The time of a row without one means nothing.
    """

    times: NDArray[np.int64]
    broken: NDArray[np.uint16] | None

    @property
    def good(self) -> NDArray[np.bool_] | None:
        """Which rows count; None for all."""
        return None if self.broken is None else self.broken == 0


def judge(block: Block, meanings: Meanings, order: StreamOrder) -> Verdict:
    """The verdict on every row of a block."""
    time = block.column(meanings.event_time)
    times: NDArray[np.int64] = time.view(pa.int64()).fill_null(0).to_numpy()
    rules = [
        (LATE, times <= order.complete_through),
        *_law_rules(block, meanings),
        *_probability_rules(block, meanings),
        (TOO_FAR, times > order.horizon),
        (TOO_EARLY, times < order.earliest),
    ]
    if time.null_count:
        rules.append((MISSING_TIME, time.is_null().to_numpy(zero_copy_only=False)))
    broken: NDArray[np.uint16] | None = None
    for rule, rows in rules:
        if rows.any():
            broken = np.zeros(times.size, np.uint16) if broken is None else broken
            broken[rows] = rule
    faults = block.faults
    if faults is not None and faults.rows.size:
        broken = np.zeros(times.size, np.uint16) if broken is None else broken
        broken[faults.rows] = MALFORMED
    return Verdict(times, broken)


def _probability_rules(block: Block, meanings: Meanings) -> list[tuple[int, NDArray[np.bool_]]]:
    if meanings.probability is None:
        return []
    chance = block.column(meanings.probability)
    inside = pc.and_(pc.greater_equal(chance, 0), pc.less_equal(chance, 1))  # never true of NaN
    outside = pc.invert(inside).fill_null(False)
    return [
        (BAD_PROBABILITY, outside.to_numpy(zero_copy_only=False)),
        (NO_PROBABILITY, chance.is_null().to_numpy(zero_copy_only=False)),
    ]


def _law_rules(block: Block, meanings: Meanings) -> list[tuple[int, NDArray[np.bool_]]]:
    """Those of the last column first: the later one in this list wins."""
    rules = []
    for number, law in reversed(list(enumerate(meanings.laws))):
        one, other = map(block.column, law.parameters)
        missing = pc.or_(one.is_null(), other.is_null()).to_numpy(zero_copy_only=False)
        rule = FIRST_LAW + 2 * number
        rules += [(rule + 1, faulty_parameters(law.kind, one, other)), (rule, missing)]
    return rules


def dead_rows(block: Block, verdict: Verdict, meanings: Meanings, columns: Columns, origin: str) -> pa.Table:
    """The rows that break a rule, as ``DEAD``: with their reason, and as they read."""
    if verdict.broken is None:
        return DEAD.empty_table()
    faults = block.faults
    malformed = faults.rows if faults is not None else np.empty(0, np.int64)
    others = np.flatnonzero((verdict.broken > 0) & (verdict.broken != MALFORMED))
    chosen = pa.array(others)
    texts = row_texts([(name, block.column(name).take(chosen)) for name, _kind in columns])
    reasons = pa.array(meanings.reasons).take(pa.array(verdict.broken[others]))
    if faults is not None:
        reasons = pa.concat_arrays([reasons, faults.reasons])
        texts = pa.concat_arrays([texts, faults.texts])
    rows = pa.array(np.concatenate([others, malformed]))
    times = block.column(meanings.event_time).view(pa.int64()).take(rows)
    found = {WHY: reasons, ROW: texts, ORIGIN: pa.repeat(origin, len(rows)), TIME: times}
    return pa.Table.from_arrays([found[name] for name in DEAD.names], schema=DEAD)
