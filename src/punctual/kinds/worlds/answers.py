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
from punctual.kinds.job import Job
from punctual.kinds.result import Result
from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.by_rows.row_drawing import RowDrawing
from punctual.kinds.worlds.rounds.panes import keeping
from punctual.kinds.worlds.rounds.settle import Settled, as_drawn, settle
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.kinds.worlds.summaries import Said
from punctual.kinds.worlds.types import output_types
from punctual.plan.worlds import Worlds
from punctual.ports.sinks.json_text import fragments

CONFIDENCE = 0.95
REMARKS = "marked", "rejected"
"""Fields of an answer that has them to say."""


def world_result(job: Job, body: Worlds, answered: Answered) -> Result:
    """The answers of a job, from the rows of its windows."""
    run = job.worlds if job.worlds is not None else WorldRun()
    instants: list[Micros] = job.due.instants.tolist()
    windows = [answered] if len(instants) == 1 else [answered.part(n, n + 1) for n in range(len(instants))]
    found = [_settled(job, body, rows, at, run) for rows, at in zip(windows, instants)]
    types = [*output_types(body, job.types.outputs), pa.float64()]
    columns = [_column([one.said.outputs[n] for one in found], kind) for n, kind in enumerate(types[:-1])]
    columns.append(_column([one.said.probability for one in found], types[-1]))
    instant = np.repeat(np.arange(len(found)), [one.said.size for one in found])
    having = pa.array(np.concatenate([one.said.chosen for one in found] or [np.zeros(0, np.bool_)]))
    order = [pa.concat_arrays([one.said.order[n] for one in found]) for n in range(len(body.order))]
    chosen = arranged(job.query, instant, having, order)
    assert chosen is not None, "a result row may be there in no world"
    kept = chosen.to_numpy()
    in_place = kept.size == instant.size and bool((kept == np.arange(instant.size)).all())
    offsets = np.searchsorted(instant[kept], np.arange(len(found) + 1)).astype(np.int32)
    names = [output.name for output in job.query.outputs]
    outputs = [column.values for column in columns][: len(names)]
    struct = pa.StructArray.from_arrays([one if in_place else one.take(chosen) for one in outputs], names=names)
    listed = pa.ListArray.from_arrays(pa.array(offsets), struct)
    exact = np.array([one.rounds == 0 for one in found])
    errors = _errors(names, columns, kept, np.diff(offsets).astype(np.int64))
    remarks = {name: np.array([getattr(one.remarks, name) for one in found], np.int64) for name in REMARKS}
    fields = {
        "rounds": pa.array([one.rounds for one in found], pa.int64()),
        "reached": pa.array([one.reached for one in found], pa.bool_()),
        **{name: pa.array(count, mask=count == 0) for name, count in remarks.items()},
    }
    curve = CONVEX if job.query.quality is None else curve_of(job.query.quality)
    return Result(
        listed,
        pa.array([None if one else text for one, text in zip(exact, errors)], pa.string()),
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
    drawing = WindowDrawing(body, rows.values, at, run, job.query.name, keeping(job.query, body, at, run.kept))
    found = settle(body.effort, drawing, job.number, 1.0 if job.setting is None else job.setting)
    if run.meter is not None:
        new = found.wanted // (job.number + 1) if body.effort.confidence is None else found.wanted
        besides_us = run.meter.now() - began - drawing.drawn_us
        drawn, new = (max(0, rounds - drawing.kept) for rounds in (found.rounds, new))
        run.meter.told(job.query.name, besides_us, drawing.drawn_us, drawn, new)
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
    """A column of all answers, with the ends of its intervals.

    ``said`` is whether each answer has an error of it: in one window it may be exact and in the next one not, and what
    an answer says does not depend on which others are made together with it.
    """

    values: pa.Array
    low: F64 | None
    high: F64 | None
    level: F64 | None
    said: tuple[bool, ...]


def _column(parts: Sequence[Said], kind: pa.DataType) -> _Column:
    said = tuple(part.low is not None or part.level is not None for part in parts)
    if len(parts) == 1:
        (one,) = parts
        return _Column(of_type(one.values, kind), one.low, one.high, one.level, said)
    values = pa.concat_arrays([of_type(part.values, kind) for part in parts])
    low, high, level = (_ends([getattr(part, end) for part in parts], parts) for end in ("low", "high", "level"))
    return _Column(values, low, high, level, said)


def _ends(ends: Sequence[F64 | None], parts: Sequence[Said]) -> F64 | None:
    """One end of all intervals, NaN where there is none; None where no part has any."""
    if all(end is None for end in ends):
        return None
    return np.concatenate([np.full(len(part.values), np.nan) if end is None else end for end, part in zip(ends, parts)])


def _errors(names: Sequence[str], columns: Sequence[_Column], kept: I64, lengths: I64) -> list[str | None]:
    """What each answer says of its error, as JSON: of columns that rest on rounds, how far off they may be."""
    members: list[list[str]] = [[] for _length in range(lengths.size)]
    edges = np.cumsum(lengths)[:-1]
    for name, column in zip(names, columns):
        quoted = orjson.dumps(name).decode()
        if column.low is not None and column.high is not None:
            ends = (np.split(end[kept], edges) for end in (column.low, column.high))
            found = [_interval(low, high) for low, high in zip(*ends)]
        elif column.level is not None:
            levels = np.split(column.level[kept], edges)
            found = [f'{{"confidence":null,"level":{_listed(level)}}}' for level in levels]
        else:
            continue
        for texts, text, said in zip(members, found, column.said, strict=True):
            texts += [f"{quoted}:{text}"] if said else []
    return [f"{{{','.join(texts)}}}" if texts else None for texts in members]


def _interval(low: F64, high: F64) -> str:
    """The intervals of a column of one answer; where there is none it has no confidence."""
    if np.isnan(low).all() and np.isnan(high).all():
        return '{"confidence":null}'
    return f'{{"confidence":{CONFIDENCE},"low":{_listed(low)},"high":{_listed(high)}}}'


def _listed(values: F64) -> str:
    """Numbers as JSON, null where they are NaN."""
    if np.isinf(values).any():
        return f"[{','.join(fragments(pa.array(values, mask=np.isnan(values))).to_pylist())}]"
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY).decode()
