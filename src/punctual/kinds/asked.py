"""What a query asks of the cells, pass after pass, and which queries are answered as one.

It follows from the query and its types, so it is worked out once and not for every answer. Queries that ask the same
have the very same objects, which is how the kernel sees at once that they do.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from punctual.clock import Micros
from punctual.kernel.panes import spec as kernel
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.registry import kind_of
from punctual.plan.shared import Conditions, Reader
from punctual.runtime.backend import QueryTypes

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What does not change from one job of a query to the next.

    ``family`` numbers what queries that are answered as one have in common; None: this one is answered by itself.
    ``names`` are those of the columns, ``execution`` is how names of its executions begin.
    """

    reader: Reader
    types: QueryTypes
    kind: Kind[Any]
    family: int | None
    where: kernel.Selection
    calls: tuple[kernel.Call, ...]
    range_us: Micros
    names: tuple[str, ...]
    execution: str


def asked(job: Job) -> Asked:
    """What a job asks; the same object for all jobs of a query."""
    which = id(job.reader.query), job.setting  # plans come and go, and what was known for an older one makes room
    known = _KNOWN.get(which)
    if known is None or known.reader is not job.reader or known.types is not job.types:
        if len(_KNOWN) >= MAX_KNOWN:
            _KNOWN.clear()
            _SAME.clear()
        known = _KNOWN[which] = _made(job)
    return known


def kernel_reader(job: Job, place: int) -> kernel.Reader:
    """What is asked of the cells by the job that has this place in its pass."""
    own = asked(job)
    family = -1 - place if own.family is None else own.family
    return kernel.Reader(own.where, own.range_us, job.due.instants, own.calls, family)


def _made(job: Job) -> Asked:
    query, kind = job.query, kind_of(job.query)
    alike = kind.alike(query, job.types)
    setting = () if job.setting is None else (job.setting,)  # the knob's is the last parameter of every call
    calls = tuple(
        kernel.Call(use.function, use.synopsis, use.parameters + setting, _selection(use.conditions), data_type)
        for use, data_type in zip(job.reader.uses, job.types.aggregates)
    )
    return Asked(
        job.reader,
        job.types,
        kind,
        None if alike is None else _FAMILIES.setdefault((kind.body, alike), len(_FAMILIES)),
        _selection(job.reader.where),
        _same(calls),
        query.range_us,
        _same(tuple(output.name for output in query.outputs)),
        f"{'+'.join(query.streams)}/",
    )


def _selection(conditions: Conditions) -> kernel.Selection:
    return _same(tuple(
        tuple(kernel.Comparison(comparison.operator, comparison.values) for comparison in conjunction)
        for conjunction in conditions
    ))  # fmt: skip


def _same(value: T) -> T:
    """The first object that is equal to this one."""
    found: T = _SAME.setdefault(value, value)
    return found


MAX_KNOWN = 16_384
_KNOWN: dict[tuple[int, float | None], Asked] = {}
"""By the identity of the objects: even a hash of a query looks at all of it."""
_SAME: dict[Any, Any] = {}
_FAMILIES: dict[Hashable, int] = {}
"""Numbers are never given twice; there are as many as there are forms of queries."""
