"""Aggregates over samples: what cells gave for a group and a mark, put together with what each mark stands for.

Cells of rows that may be samples have one more key, the mark (``kernel/sample/marks.py``). Here the entries of a group
become one row again. Counts and sums are weighted, averages are ratios, least and greatest values are those that were
seen. A row that nothing can be missing from keeps the exact values that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.arrays.order import keyed
from punctual.kernel.panes.keys import encode
from punctual.kernel.panes.panes import Answered
from punctual.kernel.sample.entries import Entries, Moments, coded, thinned, totals
from punctual.kernel.sample.estimates import Function, Interval, estimated, interval, values_freedom
from punctual.kernel.sample.jackknife import jackknife, replicates, support
from punctual.kernel.sample.marks import rounded, share_marks
from punctual.kinds.aggregates.moments import COUNTED, ENDS, MomentPlaces, moment_places
from punctual.kinds.shed_span import ShedWindows
from punctual.plan.aggregates import Aggregate, Aggregates

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Weighted(Answered):
    """Rows of answers with estimates as values.

    entries : what they were made of
    moments : of each call what its estimate rests on; None for least and greatest values
    sampled : the rows that others may be missing from
    rows_seen : where rows may have been shed before they came into cells: by share how many were found, by instant
    clustered : whether rows were kept by key: those of a key all or none
    whole_groups : whether rows of a group were kept all or none: then every row is exact, and others are missing
    shed : by instant, what was shed before it came into cells; None where nothing was
    """

    entries: Entries
    moments: tuple[Moments | None, ...]
    sampled: Bools
    rows_seen: Mapping[float, F64]
    clustered: bool = False
    whole_groups: bool = False
    shed: ShedWindows | None = None

    @property
    def replicates(self) -> int:
        """How many there are of each row."""
        return 32 * len(self.entries.marks)

    def replicate_columns(self, call: int, function: str, kind: pa.DataType) -> pa.Array:
        """The values of a call without each group of the sample, all rows of one group after the other's."""
        moments = self.moments[call]
        if moments is None:
            return pa.concat_arrays([self.values[call]] * self.replicates)
        found = replicates(_function(function), self.entries, moments)
        return _typed(found.T.ravel(), kind, np.isnan(found.T.ravel()))

    def not_rounded(self, call: int, function: str, *, replicated: bool = True) -> F64:
        """The estimates of a call as they are, and then without each group of the sample: ``[rows, 1 + replicates]``.

        What has the type of whole numbers is rounded in answers. Here that would add noise to every replicate. Of a
        count only what its weights were rounded by is taken away: one that is known is a whole number.
        """
        moments = self.moments[call]
        assert moments is not None, "least and greatest values are no estimates"
        whole = estimated(_function(function), self.entries, moments)
        if function in COUNTED:
            near = np.rint(whole)
            whole = np.where(np.abs(whole - near) < 1e-6, near, whole)
        parts = [replicates(_function(function), self.entries, moments)] if replicated else []
        return np.column_stack([whole, *parts])

    def interval(self, call: int, function: str, *, all_rows: bool) -> Interval:
        """How far an estimate may be off."""
        moments = self.moments[call]
        assert moments is not None, "least and greatest values have one side"
        if self.clustered or len(self.entries.marks) > 1:
            found = self.not_rounded(call, function)
            known = self.jackknifed(found[:, 0], found[:, 1:], [call])
            if function not in COUNTED:
                return known
            # As many as were seen there are for certain.
            return replace(known, low=np.maximum(known.low, totals(self.entries.row, moments.count, self.entries.rows)))
        return interval(_function(function), self.entries, moments, all_rows=all_rows)

    def jackknifed(self, whole: F64, parts: F64, calls: Sequence[int], *, all_rows: bool = False) -> Interval:
        """How far anything may be off that was computed from these calls: ``parts`` has it of each replicate.

        ``all_rows`` says that they only count every row of a window: of a simple sample that is known.
        """
        used = [moments for moments in (self.moments[call] for call in calls) if moments is not None]
        count = np.minimum.reduce([np.ones(self.entries.row.size), *(moments.count for moments in used)])
        rests_on = support(self.entries, count)
        if all_rows:
            rests_on = replace(rests_on, thinned=rests_on.thinned & rests_on.poisson)
        by_row = not self.clustered and len(self.entries.marks) == 1
        return jackknife(whole, parts, rests_on, values_freedom(self.entries, used) if by_row else None)


def weighted(
    body: Aggregates,
    answered: Answered,
    instants: int,
    marks: int = 1,
    *,
    clustered: bool = False,
    shares: F64 | None = None,
    whole_groups: bool = False,
    shed: ShedWindows | None = None,
) -> Weighted:
    """The rows of answers at so many instants; the last ``marks`` keys are marks.

    ``shares`` is how much of the rows was used at each; None where nothing was left out after reading. Rows of
    ``whole_groups`` stand for themselves, whatever their marks say. Rows may be missing from the windows that are
    ``shed``, though no mark of theirs is there to say so.
    """
    keys = answered.keys[:-marks]
    if whole_groups:
        itself = pa.repeat(pa.scalar(int(share_marks(np.zeros(1), 1.0)[0]), pa.int64()), answered.instant.size)
        answered = replace(answered, keys=[*keys, itself])
    if not keys and shares is not None:
        answered = _with_every_instant(answered, marks, shares)
    if keys:
        codes, _different = encode(keys, answered.instant.size)
        new = np.ones(answered.instant.size, np.bool_)
        new[1:] = (np.diff(answered.instant) != 0) | (np.diff(codes) != 0)
        row, first = np.cumsum(new) - 1, np.flatnonzero(new)
        rows, instant = first.size, answered.instant[first]
    else:
        # Without groups every window has its row, though nothing was found in it.
        row, rows, instant = answered.instant.astype(np.int64), instants, np.arange(instants, dtype=np.int64)
        first = np.minimum(np.searchsorted(row, instant), max(0, row.size - 1))
    if shed is not None:
        answered, row = _with_shed(answered, row, instant, shed)
    # Where there are no rows at all nobody knows the types of keys.
    marked = tuple(key.cast(pa.int64()).to_numpy(zero_copy_only=False) for key in answered.keys[-marks:])
    entries = Entries(rows, row, marked)
    sampled: Bools = np.logical_or.reduce(thinned(entries), axis=1)
    count_of_rows, places = moment_places(body)
    seen = _numbers(answered.values[count_of_rows])
    rows_seen = _by_share(entries, instant, seen, instants) if shares is None else {}
    found = np.bincount(row, minlength=rows)
    values: list[pa.Array] = []
    moments: list[Moments | None] = []
    for number, (call, place) in enumerate(zip(body.calls, places)):
        own = answered.values[number]
        moments.append(_moments(call, own, place, answered.values))
        value = _value(call, own, moments[-1], entries)
        exact = (found == 1) & ~sampled
        if exact.any():
            value = pc.if_else(pa.array(exact), own.take(pa.array(first)), value)
        values.append(value)
    return Weighted(
        instant, [key.take(pa.array(first)) for key in keys], values, [None] * len(values), entries, tuple(moments),
        sampled, rows_seen, clustered, whole_groups, shed,
    )  # fmt: skip


def _with_every_instant(answered: Answered, marks: int, shares: F64) -> Answered:
    """What was found, and an entry of nothing where nothing was: there may be rows that the sample has not."""
    lacking = np.setdiff1d(np.flatnonzero(shares < 1.0), answered.instant)
    if not lacking.size:
        return answered
    instant = np.concatenate([answered.instant, lacking])
    order = np.argsort(instant, kind="stable")
    of_share = [share_marks(np.zeros(1), rounded(share)) for share in shares[lacking].tolist()]
    nothing = pa.array(np.concatenate(of_share), pa.int64())
    found = [key.cast(pa.int64()) for key in answered.keys[-marks:]]
    keys = [pa.concat_arrays([key, nothing]).take(pa.array(order)) for key in found]
    values = [
        pa.concat_arrays([value, pa.nulls(lacking.size, value.type)]).take(pa.array(order)) for value in answered.values
    ]
    return Answered(instant[order], keys, values, answered.errors)


def _with_shed(answered: Answered, row: I64, instant: I64, shed: ShedWindows) -> tuple[Answered, I64]:
    """What was found, and for every row an entry of nothing for each share at which others of it may have been shed;
    whose entries they are."""
    rows: list[I64] = []
    marks: list[int] = []
    for share, lost in shed.rows.items():
        reached = np.flatnonzero(lost[instant] > 0)
        rows.append(reached)
        marks += [int(share_marks(np.zeros(1), share)[0])] * reached.size
    if not marks:
        return answered, row
    mark = pa.concat_arrays([answered.keys[-1].cast(pa.int64()), pa.array(marks, pa.int64())])
    values = [pa.concat_arrays([value, pa.nulls(len(marks), value.type)]) for value in answered.values]
    whose = np.concatenate([row, *rows])
    return Answered(instant[whose], [mark], values, answered.errors), whose


def _by_share(entries: Entries, instant: I64, rows: F64, instants: int) -> dict[float, F64]:
    """How many rows were found at each instant, by the share at which they were drawn."""
    of_input = coded(entries.marks[0])
    share = (of_input.strata.sampled / of_input.strata.population)[of_input.which]
    at = instant[entries.row]
    return {one: totals(at, np.where(share == one, rows, 0.0), instants) for one in np.unique(share).tolist()}


def _function(name: str) -> Function:
    if name in COUNTED:
        return "count"
    return "sum" if name == "sum" else "avg"


def _moments(call: Aggregate, own: pa.Array, place: MomentPlaces | None, values: Sequence[pa.Array]) -> Moments | None:
    if call.function in ENDS:
        return None
    if place is None:
        count = _numbers(own)
        return Moments(count, count, count, count)  # every row that is counted counts as 1
    powers = (place.count, place.sum, place.squares, place.cubes)
    return Moments(*(_numbers(values[one]) for one in powers))


def _value(call: Aggregate, own: pa.Array, moments: Moments | None, entries: Entries) -> pa.Array:
    if moments is None:
        return _end(own, entries, least=call.function == "min")
    function = _function(call.function)
    nothing = (function != "count") & (totals(entries.row, moments.count, entries.rows) == 0)
    return _typed(estimated(function, entries, moments), own.type, nothing)


def _end(own: pa.Array, entries: Entries, *, least: bool) -> pa.Array:
    """The least or the greatest value of each row's entries."""
    some = np.flatnonzero(own.is_valid().to_numpy(zero_copy_only=False))
    known = keyed(own.take(pa.array(some)))
    bound = np.iinfo(np.int64)
    ends = np.full(entries.rows, bound.max if least else bound.min)
    (np.minimum if least else np.maximum).at(ends, entries.row[some], known.keys)
    there = np.zeros(entries.rows, np.bool_)
    there[entries.row[some]] = True
    found = known.values(ends[there])
    place = pa.array(np.cumsum(there) - 1, mask=~there)
    return found.take(place)


def _numbers(values: pa.Array) -> F64:
    """Sums of nothing are nothing."""
    filled = pc.fill_null(values.cast(pa.float64(), safe=False), 0.0)
    numbers: F64 = filled.to_numpy(zero_copy_only=False)
    return numbers


def _typed(estimates: F64, kind: pa.DataType, missing: Bools) -> pa.Array:
    """Estimates as a type, NULL where they are missing or do not fit it, as exact ones are. Whole numbers are rounded.

    >>> _typed(np.array([2.4, 1e19, -1e19]), pa.int64(), np.zeros(3, bool)).to_pylist()
    [2, None, None]
    >>> [str(one) for one in _typed(np.array([1.5, 99.96, np.nan]), pa.decimal128(3, 1), np.zeros(3, bool)).to_pylist()]
    ['1.5', 'None', 'None']
    """
    if pa.types.is_decimal(kind):
        fits = np.abs(estimates) + 0.5 * 10.0**-kind.scale < 10.0 ** (kind.precision - kind.scale)
        return pa.array(estimates, pa.float64(), mask=missing | ~fits).cast(kind, safe=False)
    if not pa.types.is_integer(kind):
        return pa.array(estimates, pa.float64(), mask=missing).cast(kind, safe=False)
    rounded, limits = np.rint(estimates), np.iinfo(kind.to_pandas_dtype())
    fits = (rounded >= float(limits.min)) & (rounded < float(limits.max + 1))
    return pa.array(np.where(fits, rounded, 0.0).astype(np.int64), pa.int64(), mask=missing | ~fits).cast(kind)
