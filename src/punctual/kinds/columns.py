"""Columns of answers: what an expression's names stand for, in the types that Spark gave them."""

from __future__ import annotations

import pyarrow as pa

from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.plan.expression import INSTANT, aggregate_name, key_name

TIME = pa.timestamp("us", tz="UTC")


def answer_column(job: Job, answered: Answered, name: str) -> pa.Array:
    """The column that expressions call by this name: a key, an aggregate or the instant of the answer."""
    if name == INSTANT:
        return pa.array(job.due.instants[answered.instant], pa.int64()).cast(TIME)
    for index, kind in enumerate(job.types.keys):
        if name == key_name(index):
            return of_type(answered.keys[index], kind)
    return next(array for index, array in enumerate(answered.values) if name == aggregate_name(index))


def of_type(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The array in a type that it nearly always has already: a cast that does nothing costs as much as any."""
    return array if array.type == data_type else array.cast(data_type)
