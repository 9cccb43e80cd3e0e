"""Answers of rankings: the ranked rows of every group, what STABLE displays of them, and what is said besides."""

from __future__ import annotations

import numpy as np
import orjson
import pyarrow as pa

from punctual.kernel.panes.panes import Answered
from punctual.kinds.columns import of_type
from punctual.kinds.job import Job
from punctual.kinds.ranking.displays import next_display
from punctual.kinds.result import Result
from punctual.plan.ranking import Ranking
from punctual.ports.answers import GROUPS


def finish(job: Job, body: Ranking, answered: Answered) -> Result:
    """The rows of each answer, and everything that a ranking says of itself."""
    if body.margin:
        answered = next_display(job, body, answered)
    rows = _rows(job, answered)
    incomplete = None
    if answered.values[0].field("short").true_count:  # so many rules broke that panes lack rows
        incomplete = _by_instant(job, answered, "short").to_numpy() > 0
    count = job.due.instants.size
    fields = {"semantics": pa.repeat(body.semantics, count), "rejected": _by_instant(job, answered, "rejected")}
    if body.margin:
        fields |= {"stable": pa.repeat(body.margin, count), "held": _by_instant(job, answered, "held")}
        if answered.keys:
            fields[GROUPS] = _groups(job, answered, rows)
    return Result(rows, _cut_errors(job, body), incomplete=incomplete, fields=fields)


def _rows(job: Job, answered: Answered) -> pa.ListArray:
    """The rows of each ranking, group after group."""
    lists = answered.values[0].field("rows")
    items = lists.flatten()
    ends = lists.offsets.to_numpy()
    # The groups of an instant are neighbours, and their lists go on from each other.
    offsets = (ends - ends[0])[np.searchsorted(answered.instant, np.arange(job.due.instants.size + 1))]
    columns = [of_type(column, t) for column, t in zip(items.flatten(), job.types.outputs)]
    struct = pa.StructArray.from_arrays(columns, names=[o.name for o in job.query.outputs])
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def _cut_errors(job: Job, body: Ranking) -> pa.Array | None:
    """By how much values may be less than they are, because a tail was cut; None where nothing was."""
    if job.setting is None:
        return None
    moved = job.setting
    if body.semantics.startswith("STREAMS"):
        moved *= body.k  # all rows of a key that are not read are among the k best so rarely, together
    elif body.semantics == "PRF":
        moved *= max(abs(weight) for weight in body.parameters)
    text = orjson.dumps({job.query.outputs[-2].name: moved}).decode()
    return pa.repeat(text, job.due.instants.size)


def _groups(job: Job, answered: Answered, rows: pa.ListArray) -> pa.ListArray:
    """For each displayed row the keys of its group, which need not be selected."""
    sizes = np.diff(answered.values[0].field("rows").offsets.to_numpy())
    group = pa.array(np.repeat(np.arange(sizes.size), sizes))
    keys = [of_type(key, t).take(group) for key, t in zip(answered.keys, job.types.keys)]
    struct = pa.StructArray.from_arrays(keys, names=[f"k{place}" for place in range(len(keys))])
    return pa.ListArray.from_arrays(rows.offsets, struct)


def _by_instant(job: Job, answered: Answered, name: str) -> pa.Array:
    """A count that each group's ranking has, for all groups of an answer."""
    counts = answered.values[0].field(name).to_numpy(zero_copy_only=False)
    return pa.array(np.bincount(answered.instant, counts, job.due.instants.size).astype(np.int64))
