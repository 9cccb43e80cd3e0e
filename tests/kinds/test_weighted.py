"""Parts of a sampled row put together: what is a value, and what is nothing."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from punctual.kernel.panes.panes import Answered
from punctual.kernel.sample.draw import ITSELF
from punctual.kernel.sample.marks import row_marks, share_marks
from punctual.kinds.aggregates.sampled_answers import _of_call
from punctual.kinds.aggregates.weighted import weighted
from punctual.plan.aggregates import Aggregate, Aggregates
from punctual.plan.expression import column_of
from punctual.plan.rows import GroupedRows


def test_a_sum_with_nan_is_nan_and_a_sum_of_nothing_is_null() -> None:
    """Three groups of two sampled rows of four each: a NaN among them, NULLs alone, numbers."""
    _kept, marks = row_marks(np.array([0.1, 0.2, 0.7, 0.9]), 0.5, np.zeros(4, np.bool_))
    sums = [float("nan"), 1.0, None, None, 2.0, 3.0]
    counts = [1, 1, 0, 0, 1, 1]
    body = Aggregates(GroupedRows(keys=(column_of("k"),)), (Aggregate("sum", column_of("x")),))
    values = [pa.array(sums), pa.array([1] * 6), pa.array(counts), *(pa.array(sums) for _power in range(3))]
    keys = [pa.array(["a", "a", "b", "b", "c", "c"]), pa.array(np.tile(marks, 3))]
    found = weighted(body, Answered(np.zeros(6, np.int64), keys, values, [None] * len(values)), 1)
    total = found.values[0].to_pylist()
    assert np.isnan(total[0])
    assert total[1:] == [None, 10.0]


def test_least_and_greatest_values_are_open_on_one_side_where_rows_may_be_missing() -> None:
    """Three groups: some rows of the first may be missing, none of the second, and all of the third are NULL."""
    thinned = int(share_marks(np.array([0.1]), 0.5)[0])
    calls = (Aggregate("min", column_of("x")), Aggregate("max", column_of("x")))
    body = Aggregates(GroupedRows(keys=(column_of("k"),)), calls)
    seen = pa.array([4, 5, None], pa.int32())
    keys = [pa.array(["a", "b", "c"]), pa.array([thinned, ITSELF, ITSELF])]
    values = [seen, seen, pa.array([1] * 3)]
    found = weighted(body, Answered(np.zeros(3, np.int64), keys, values, [None] * 3), 1)
    ends = [[confidence, *(end and end.to_pylist() for end in said)] for confidence, *said in (
        _of_call(body, found, number) for number in range(2)
    )]  # fmt: skip
    assert ends == [[1.0, [None, 5, None], [4, 5, None]], [1.0, [4, 5, None], [None, 5, None]]]


def test_an_estimate_that_does_not_fit_its_type_is_null_and_has_no_interval() -> None:
    """As an exact sum that overflows is; the other group, whose sum fits, has its value and its interval."""
    _kept, marks = row_marks(np.array([0.1, 0.2, 0.7, 0.9]), 0.5, np.zeros(4, np.bool_))
    calls = tuple(Aggregate("sum", column_of(name)) for name in ("big", "cents"))
    body = Aggregates(GroupedRows(keys=(column_of("k"),)), calls)
    numbers = [[2**62, 2**61, 3, 4], [Decimal("99.97"), Decimal("0.01"), Decimal("1.25"), Decimal("2.50")]]
    kinds = [pa.int64(), pa.decimal128(4, 2)]
    powers = [pa.array([float(x) ** power for x in of]) for of in numbers for power in (1, 2, 3)]
    counted = pa.array([1] * 4)
    values = [*(pa.array(of, kind) for of, kind in zip(numbers, kinds)), counted]
    values += [counted, *powers[:3], counted, *powers[3:]]
    keys = [pa.array(["a", "a", "b", "b"]), pa.array(np.tile(marks, 2))]
    found = weighted(body, Answered(np.zeros(4, np.int64), keys, values, [None] * len(values)), 1)
    for number, fits in enumerate((14, Decimal("7.50"))):
        assert found.values[number].to_pylist() == [None, fits]
        _confidence, low, high = _of_call(body, found, number)
        assert low is not None
        assert high is not None
        assert low[0].as_py() is high[0].as_py() is None
