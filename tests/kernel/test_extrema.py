"""Smallest, greatest, first and last values against Python's min and max under Spark's order."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.errors import InternalError
from punctual.kernel.arrays.order import keyed, ranks
from punctual.kernel.synopses.ends import End
from punctual.kernel.synopses.extrema import Extremum
from tests.kernel.synopses import answer, lift
from tests.oracles import aggregates as oracle

DAY = datetime.date
POOLS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [-128, 0, 127]),
    (pa.int32(), [-(2**31), 5, 2**31 - 1]),
    (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
    (pa.float32(), [-1.5, 0.0, math.nan, math.inf, -math.inf]),
    (pa.float64(), [-1e300, -5e-324, 0.0, 5e-324, 0.1, math.nan, math.inf, -math.inf]),
    (pa.decimal128(5, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("999.99")]),
    (pa.decimal128(38, 0), [Decimal(10**37), Decimal(-(10**37)), Decimal(0), Decimal(2**64)]),
    (pa.string(), ["", "a", "ab", "é", "€", "\U0001f600", "\uffff"]),
    (pa.large_string(), ["x", "", "y"]),
    (pa.binary(), [b"", b"\x00", b"\xff", b"a"]),
    (pa.date32(), [DAY(1, 1, 1), DAY(1970, 1, 1), DAY(9999, 12, 31)]),
    (pa.timestamp("us"), [datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1, 0, 0, 0, 1)]),
    (pa.timestamp("us", "UTC"), [datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)]),
]
every_type = pytest.mark.parametrize(("kind", "pool"), POOLS, ids=[str(kind) for kind, _ in POOLS])


def draw(kind: pa.DataType, pool: list[Any], rows: int, seed: int) -> list[Any]:
    picks = np.random.default_rng(seed).integers(0, len(pool) + 1, rows)
    values = [None if p == len(pool) else pool[p] for p in picks]
    return pa.array(values, kind).to_pylist()


@every_type
@pytest.mark.parametrize(("name", "pick"), [("minimum", min), ("maximum", max)])
def test_extrema_of_every_type(kind: pa.DataType, pool: list[Any], name: str, pick: Any) -> None:
    values = draw(kind, pool, 60, 3)
    cell = np.random.default_rng(4).integers(0, 12, 60)
    synopsis = Extremum(name)
    state = lift(synopsis, pa.array(values, kind), cell, 13)
    got, error = synopsis.finish(pick.__name__, (), state, kind)
    by_cell = [[v for v, c in zip(values, cell) if c == k and v is not None] for k in range(13)]
    assert repr(got.to_pylist()) == repr([oracle.extreme(v, pick) for v in by_cell])
    assert got.type == kind
    assert error is None
    starts, ends = np.array([0, 3, 5]), np.array([13, 4, 5])
    got, _ = synopsis.finish(pick.__name__, (), synopsis.combine(state, starts, ends), None)
    expected = [oracle.extreme([v for mine in by_cell[i:j] for v in mine], pick) for i, j in zip(starts, ends)]
    assert repr(got.to_pylist()) == repr(expected)


@every_type
def test_keys_order_as_spark_does_and_lead_back(kind: pa.DataType, pool: list[Any]) -> None:
    values = sorted((v for v in draw(kind, pool, 40, 8) if v is not None), key=oracle.spark_key)
    coded = keyed(pa.array(values, kind))
    keys = [oracle.spark_key(v) for v in values]
    for i in range(len(values) - 1):
        assert (coded.keys[i] < coded.keys[i + 1]) == (keys[i] < keys[i + 1])
        assert coded.keys[i] <= coded.keys[i + 1]
    assert repr(coded.values(coded.keys).to_pylist()) == repr(values)


def test_negative_zero_is_zero() -> None:
    for name, function in (("minimum", "min"), ("maximum", "max")):
        assert math.copysign(1.0, answer(Extremum(name), function, pa.array([-0.0]))) == 1.0


def test_ranks_put_null_first_and_nan_last() -> None:
    assert ranks(pa.array([math.nan, None, 1.0, -1.0, None])).tolist() == [3, 0, 2, 1, 0]
    assert ranks(pa.array([[2], None, [1]])).tolist() == [2, 0, 1]
    assert ranks(pa.nulls(2)).tolist() == [0, 0]


TIES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.float64(), [1.0, -1.0, math.nan]),
    (pa.string(), ["a", "b"]),
    (pa.list_(pa.int32()), [[1], [1, 2]]),
    (pa.struct([("k", pa.int32())]), [{"k": 1}, {"k": 2}]),
]


@pytest.mark.parametrize("ignore_nulls", [True, False])
@pytest.mark.parametrize(("name", "pick"), [("first", min), ("last", max)])
@pytest.mark.parametrize(("kind", "pool"), POOLS[5:9:3] + TIES[2:], ids=str)
def test_ends_by_time_then_ties(kind: pa.DataType, pool: list[Any], name: str, pick: Any, ignore_nulls: bool) -> None:
    rows, cells = 120, 10
    values, ties = draw(kind, pool, rows, 1), [draw(*tie, rows, 20 + k) for k, tie in enumerate(TIES)]
    numbers = np.random.default_rng(2)
    cell, times = numbers.integers(0, cells, rows), numbers.integers(0, 3, rows)
    synopsis = End(name, ignore_nulls)
    tie_arrays = [pa.array(column, tie[0]) for column, tie in zip(ties, TIES)]
    state = synopsis.lift(cell, cells + 1, pa.array(values, kind), times, tie_arrays)

    def expected(start: int, end: int) -> Any:
        chosen = [
            (values[i], int(times[i]), tuple(column[i] for column in ties))
            for i in range(rows)
            if start <= cell[i] < end and not (ignore_nulls and values[i] is None)
        ]
        return oracle.end(chosen, pick)

    got, error = synopsis.finish(name, (), state, None)
    assert repr(got.to_pylist()) == repr([expected(c, c + 1) for c in range(cells + 1)])
    assert error is None
    starts, ends = np.array([0, 2, 4, 10]), np.array([11, 6, 4, 11])
    got, _ = synopsis.finish(name, (), synopsis.combine(state, starts, ends), None)
    assert repr(got.to_pylist()) == repr([expected(i, j) for i, j in zip(starts, ends)])


def test_a_null_may_come_first() -> None:
    values = pa.array([None, 5])
    assert answer(End("first", ignore_nulls=False), "first", values) is None
    assert answer(End("first", ignore_nulls=True), "first", values) == 5


def test_a_function_reads_its_own_synopsis_only() -> None:
    with pytest.raises(InternalError):
        answer(Extremum("minimum"), "max", pa.array([1]))
