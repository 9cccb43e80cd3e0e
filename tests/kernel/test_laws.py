"""What ``plan.functions`` declares of synopses holds, for every kind and every function found there.

States are compared, not answers: equal states answer alike. Each case names argument types that take another way
through the code; a kind without a case fails.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.synopses.synopsis import KINDS, Invertible, State, Synopsis, make
from punctual.kernel.synopses.values import Values
from punctual.plan.functions import FUNCTIONS, SYNOPSES
from tests.kernel.synopses import content, lift, stack, whole
from tests.oracles.aggregates import WIDE

INTS = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))
DOUBLES = st.one_of(
    st.sampled_from([0.0, -0.0, 1e300, -1e300, 1.0, 5e-324, math.nan, math.inf, -math.inf, 0.1, 1e-30]), st.floats()
)
DECIMALS = st.decimals(-(10**8), 10**8, places=2)
WIDE_DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda i: Decimal(i).scaleb(-2, WIDE))
TEXTS = st.text("aé€\U0001f600", max_size=3)
MOMENTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))


UNCERTAIN = pa.struct([("s", pa.float64()), ("p", pa.float64()), ("r", pa.string()), ("x0", pa.string())])
UNCERTAIN_ROWS = st.fixed_dictionaries(
    {"s": st.none() | DOUBLES, "p": st.floats(0, 1), "r": st.none() | st.sampled_from("ab"), "x0": TEXTS}
)


@dataclass(frozen=True)
class Case:
    kind: str
    type: pa.DataType
    values: st.SearchStrategy[Any]
    parameters: tuple[Any, ...] = ()
    ignore_nulls: bool = False

    def __str__(self) -> str:
        return f"{self.kind}-{self.type}-{self.parameters}-{self.ignore_nulls}"

    def synopsis(self) -> Synopsis:
        return make(self.kind, self.parameters, self.ignore_nulls)


TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), INTS),
    (pa.float64(), DOUBLES),
    (pa.decimal128(11, 2), DECIMALS),
    (pa.string(), TEXTS),
]
CASES = [
    Case("rows", pa.int64(), INTS),
    Case("count", pa.string(), TEXTS),
    *(Case("sum", *one) for one in TYPES[:3]),
    *(Case("moments", *one) for one in TYPES[:3]),
    *(Case("minimum", *one) for one in TYPES),
    *(Case("maximum", *one) for one in TYPES[1:3]),
    Case("minimum", pa.decimal128(38, 2), WIDE_DECIMALS),
    Case("maximum", pa.timestamp("us", "UTC"), MOMENTS),
    *(Case(kind, *one, ignore_nulls=True) for kind in ("first", "last") for one in TYPES[1:4:2]),
    *(Case(kind, *one) for kind in ("first", "last") for one in TYPES[1:4:2]),
    *(Case("values", *one, parameters=(None,)) for one in TYPES),
    *(Case("values", *one, parameters=(3,)) for one in TYPES[:3]),
    Case("values", pa.decimal128(38, 2), WIDE_DECIMALS, parameters=(2,)),
    *(Case("distinct", *one, parameters=(5,)) for one in TYPES[1:4:2]),
    # Cut to candidates, states depend on how they were merged and answers do not: tests/kernel/world/test_synopsis.py.
    *(Case("world", UNCERTAIN, UNCERTAIN_ROWS, parameters=(0, ascending)) for ascending in (0, 1)),
]
some = settings(derandomize=True, deadline=None, max_examples=6, database=None)
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def rows(case: Case, data: st.DataObject, most: int = 14) -> list[tuple[Any, int, Any]]:
    """Rows (argument, time, tie), with many that are equal in some of them."""
    row = st.tuples(st.none() | case.values, st.integers(0, 2), st.none() | st.integers(0, 1))
    return data.draw(st.lists(row, max_size=most))


def lifted(case: Case, chosen: Sequence[tuple[Any, int, Any]], cell: Sequence[int] | None, cells: int = 1) -> State:
    values, times, ties = zip(*chosen) if chosen else ((), (), ())
    return case.synopsis().lift(
        np.zeros(len(chosen), np.int64) if cell is None else np.array(cell, np.int64),
        cells,
        pa.array(values, case.type),
        np.array(times, np.int64),
        (pa.array(ties, pa.int32()),),
    )


def test_every_kind_and_function_is_covered() -> None:
    assert set(KINDS) == set(SYNOPSES) == {case.kind for case in CASES}
    for function in FUNCTIONS.values():
        for kind in {function.synopsis, function.distinct} - {None}:
            assert any(case.kind == kind for case in CASES)


@every_case
@some
@given(data=st.data())
def test_any_partition_gives_the_same_state(case: Case, data: st.DataObject) -> None:
    """Rows in any order, in any cells, merged in two steps in any order, are the rows lifted at once."""
    assert SYNOPSES[case.kind].mergeable
    chosen, synopsis = rows(case, data), case.synopsis()
    expected = content(lifted(case, chosen, None))

    shuffled = data.draw(st.permutations(chosen))
    cells = data.draw(st.integers(1, 5))
    cell = data.draw(st.lists(st.integers(0, cells - 1), min_size=len(chosen), max_size=len(chosen)))
    state = lifted(case, shuffled, cell, cells)
    cuts = np.array([0, *sorted(data.draw(st.lists(st.integers(0, cells), max_size=3))), cells])
    halfway = synopsis.combine(state, cuts[:-1], cuts[1:])
    assert content(whole(synopsis, halfway)) == expected
    assert content(whole(synopsis, state)) == expected


@every_case
@some
@given(data=st.data())
def test_merges_associate_and_commute_and_have_a_neutral_state(case: Case, data: st.DataObject) -> None:
    synopsis = case.synopsis()
    a, b, c = (lifted(case, rows(case, data, most=6), None) for _ in range(3))

    def merge(x: State, y: State) -> State:
        return whole(synopsis, stack(x, y))

    assert content(merge(merge(a, b), c)) == content(merge(a, merge(b, c)))
    assert content(merge(a, b)) == content(merge(b, a))
    nothing = synopsis.combine(a, np.array([1]), np.array([1]))
    assert content(nothing) == content(lifted(case, [], None))
    assert content(merge(a, nothing)) == content(merge(nothing, a)) == content(a)


@every_case
def test_only_kinds_that_are_declared_invertible_subtract(case: Case) -> None:
    assert isinstance(case.synopsis(), Invertible) == SYNOPSES[case.kind].invertible


@pytest.mark.parametrize("case", [case for case in CASES if SYNOPSES[case.kind].invertible], ids=str)
@some
@given(data=st.data())
def test_what_was_merged_can_be_taken_out(case: Case, data: st.DataObject) -> None:
    synopsis = case.synopsis()
    assert isinstance(synopsis, Invertible)
    kept, gone = rows(case, data), rows(case, data)
    a, b = (lifted(case, part, None) for part in (kept, gone))
    both = whole(synopsis, stack(a, b))
    if case.kind == "values" and len(both["buckets"][0]):
        # A whole in buckets leaves buckets, those of the rows that are left.
        a = lift(Values(cap=0), pa.array([row[0] for row in kept], case.type))
    assert content(synopsis.subtract(both, b)) == content(a)


@every_case
def test_overlapping_ranges_are_those_of_their_rows(case: Case) -> None:
    """All ranges of thirty cells at once: long enough that they go through the tree."""
    numbers = np.random.default_rng(5)
    cells, count = 30, 90
    pools = {
        pa.int64(): [3, -7, 2**62, -(2**63), 2**63 - 1, 11],
        pa.float64(): [0.1, -0.1, 1e300, -1e300, 5e-324, math.inf, math.nan],
        pa.string(): ["a", "b", "é", "zz", ""],
        UNCERTAIN: [{"s": s, "p": 0.5, "r": r, "x0": "x"} for s in (0.5, 2.0, math.nan, None) for r in ("a", None)],
        pa.timestamp("us", "UTC"): [datetime.datetime(2000, 1, d) for d in range(1, 9)],
    }
    pool = pools.get(case.type, [Decimal("0.01"), Decimal("-3.50"), Decimal("99.99"), Decimal("7.00")])
    chosen = [
        (None if numbers.random() < 0.2 else pool[numbers.integers(len(pool))], int(t), int(numbers.integers(2)))
        for t in numbers.integers(0, 40, count)
    ]
    cell = np.sort(numbers.integers(0, cells, count))
    starts, ends = (np.array(side) for side in zip(*((i, j) for i in range(cells) for j in range(i, cells + 1))))
    state = lifted(case, chosen, cell.tolist(), cells)
    merged = case.synopsis().combine(state, starts, ends)
    # The rows of each range lifted afresh, every range a cell of its own.
    pairs = [(j, i) for j in range(starts.size) for i in np.flatnonzero((cell >= starts[j]) & (cell < ends[j]))]
    fresh = lifted(case, [chosen[i] for _, i in pairs], [j for j, _ in pairs], starts.size)
    assert content(merged) == content(fresh)
    # A few short ranges alone: only the cells that they touch are read.
    few = np.flatnonzero(ends - starts == 4)[[2, 9, 17]]
    alone = case.synopsis().combine(state, starts[few], ends[few])
    assert content(alone) == content({name: column.take(pa.array(few)) for name, column in fresh.items()})


NEUTRAL = [
    ("count", "count", pa.int64()),
    ("sum", "sum", pa.decimal128(20, 2)),
    ("sum", "avg", pa.float64()),
    ("moments", "var_pop", pa.float64()),
    ("minimum", "min", pa.timestamp("us", "UTC")),
    ("maximum", "max", pa.string()),
    ("first", "first", pa.date32()),
    ("last", "last", pa.list_(pa.int32())),
    ("values", "approx_percentile", pa.timestamp("us", "UTC")),
    ("values", "approx_percentile", pa.list_(pa.date32())),
    ("values", "sum", pa.int64()),
    ("distinct", "approx_count_distinct", pa.int64()),
]


@pytest.mark.parametrize(("kind", "function", "result_type"), NEUTRAL, ids=str)
def test_a_neutral_state_of_any_argument_answers_in_any_type(
    kind: str, function: str, result_type: pa.DataType
) -> None:
    """A unit that had no rows yet does not know the type of its arguments."""
    synopsis = make(kind, {"distinct": (9,)}.get(kind, ()))
    none = np.zeros(0, np.int64)
    state = synopsis.lift(none, 2, pa.array([], pa.float64()), none, ())
    shares = (0.5, 0.9) if pa.types.is_list(result_type) else 0.5
    got, _ = synopsis.finish(function, (shares,), state, result_type)
    assert got.type == result_type
    assert got.to_pylist() == ([0, 0] if "count" in function else [None, None])
