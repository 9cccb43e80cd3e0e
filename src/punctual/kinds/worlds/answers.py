"""Answers over worlds: a window for each instant, drawn in as many rounds as it is to have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa

from punctual.clock import Micros
from punctual.estimate.quality_curve import CONVEX, curve_of
from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.panes.panes import Answered
from punctual.kinds.arrange import arranged
from punctual.kinds.columns import of_type
from punctual.kinds.error_texts import interval_texts, json_objects
from punctual.kinds.job import Job
from punctual.kinds.result import Result
from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.by_rows.row_drawing import RowDrawing
from punctual.kinds.worlds.rounds.settle import Settled, as_drawn, settle
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.kinds.worlds.summaries import Said
from punctual.kinds.worlds.types import WorldTypes
from punctual.plan.worlds import Worlds

CONFIDENCE = 0.95


def world_result(job: Job, body: Worlds, answered: Answered) -> Result:
    """The answers of a job, from the rows of its windows."""
    run = job.worlds if job.worlds is not None else WorldRun()
    found = [
        _settled(job, body, answered.part(number, number + 1), at, run)
        for number, at in enumerate(job.due.instants.tolist())
    ]
    types = [*WorldTypes(body, job.types.outputs).outputs(), pa.float64()]
    columns = [_column([one.said.outputs[n] for one in found], kind) for n, kind in enumerate(types[:-1])]
    columns.append(_column([one.said.probability for one in found], types[-1]))
    instant = np.repeat(np.arange(len(found)), [one.said.size for one in found])
    having = pa.array(np.concatenate([one.said.chosen for one in found] or [np.zeros(0, np.bool_)]))
    order = [pa.concat_arrays([one.said.order[n] for one in found]) for n in range(len(body.order))]
    chosen = arranged(job.query, instant, having, order)
    assert chosen is not None, "a result row may be there in no world"
    kept = chosen.to_numpy()
    offsets = np.searchsorted(instant[kept], np.arange(len(found) + 1)).astype(np.int32)
    names = [output.name for output in job.query.outputs]
    outputs = [of_type(column.values, kind) for column, kind in zip(columns, types)][: len(names)]
    struct = pa.StructArray.from_arrays([array.take(chosen) for array in outputs], names=names)
    listed = pa.ListArray.from_arrays(pa.array(offsets), struct)
    exact = np.array([one.rounds == 0 for one in found])
    errors = _errors(names, columns, kept, np.diff(offsets).astype(np.int64))
    marked = np.array([one.marked for one in found], np.int64)
    fields = {
        "rounds": pa.array([one.rounds for one in found], pa.int64()),
        "reached": pa.array([one.reached for one in found], pa.bool_()),
        "marked": pa.array(marked, mask=marked == 0),
    }
    curve = CONVEX if job.query.quality is None else curve_of(job.query.quality)
    return Result(
        listed,
        pa.array([None if one else text for one, text in zip(exact, errors.to_pylist())], pa.string()),
        basis=pa.array(["exact" if one else "worlds" for one in exact]),
        quality=np.array([curve.quality(one.share) for one in found]),
        fields=fields,
    )


def _settled(job: Job, body: Worlds, rows: Answered, at: Micros, run: WorldRun) -> Settled:
    """The answer of an instant: from what was drawn ahead, or with as many rounds as it is to have."""
    if body.by_rows:
        return _settled_rows(job, body, rows, at, run)
    ahead = job.drawings.get(at)
    if ahead is not None:
        assert isinstance(ahead, WindowDrawing)
        return as_drawn(body.effort, ahead, job.number)
    began = 0.0 if run.meter is None else run.meter.now()
    drawing = WindowDrawing(body, rows.values, at, run, job.query.name)
    found = settle(body.effort, drawing, job.number, 1.0 if job.setting is None else job.setting)
    if run.meter is not None:
        new = found.wanted // (job.number + 1) if body.effort.confidence is None else found.wanted
        besides_us = run.meter.now() - began - drawing.drawn_us
        run.meter.told(job.query.name, besides_us, drawing.drawn_us, found.rounds, new)
    return found


def _settled_rows(job: Job, body: Worlds, rows: Answered, at: Micros, run: WorldRun) -> Settled:
    """The same from the rows that Spark found in the first rounds; it is asked for more where CONFIDENCE needs them."""
    ahead = job.drawings.get(at)
    if ahead is not None:
        assert isinstance(ahead, RowDrawing)
        return as_drawn(body.effort, ahead, job.number)
    first = body.effort.at_first(job.number)
    drawing = RowDrawing(body, at, run.by_rows, rows.values, first)
    found = settle(body.effort, drawing, job.number)
    if run.meter is not None and body.effort.confidence is not None:
        run.meter.told(job.query.name, 0.0, drawing.drawn_us, found.rounds - first, found.rounds - first)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of all answers, with the ends of its intervals."""

    values: pa.Array
    low: F64 | None
    high: F64 | None
    level: F64 | None


def _column(parts: Sequence[Said], kind: pa.DataType) -> _Column:
    values = pa.concat_arrays([of_type(part.values, kind) for part in parts])
    return _Column(values, *(_ends([getattr(part, end) for part in parts], parts) for end in ("low", "high", "level")))


def _ends(ends: Sequence[F64 | None], parts: Sequence[Said]) -> F64 | None:
    """One end of all intervals, NaN where there is none; None where no part has any."""
    if all(end is None for end in ends):
        return None
    return np.concatenate([np.full(len(part.values), np.nan) if end is None else end for end, part in zip(ends, parts)])


def _errors(names: Sequence[str], columns: Sequence[_Column], kept: I64, lengths: I64) -> pa.Array:
    """What each answer says of its error, as JSON: of columns that rest on rounds, how far off they may be."""
    members = []
    for name, column in zip(names, columns):
        if column.low is not None and column.high is not None:
            low, high = (pa.array(end, mask=np.isnan(end)) for end in (column.low, column.high))
            members.append(interval_texts(name, CONFIDENCE, low, high, kept, lengths))
        elif column.level is not None:
            level = column.level[kept]
            cuts = np.split(level, np.cumsum(lengths)[:-1])
            texts = (
                f"{orjson.dumps(name).decode()}:{{\"confidence\":null,\"level\":{orjson.dumps(_plain(cut)).decode()}}}"
                for cut in cuts
            )
            members.append(pa.array(texts, pa.large_string()))
    return json_objects(members, lengths.size)


def _plain(values: F64) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
