"""Operators inside Spark's Python workers: as a stage of a DataFrame, and as a job by itself.

A worker lives for many jobs. It keeps what it has unpacked of a program, which travels with every task as bytes that
are looked at once. It reports the core time that it used: as a product where products come out, else by an accumulator
of Spark's.
"""

from __future__ import annotations

import gc
import pickle
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import pyarrow as pa

from punctual.runtime.operators.order import current_order
from punctual.store.products import OUTPUT, Produced, TaskTime, output, to_ipc

MOST_OPERATORS = 32


@dataclass(frozen=True, slots=True)
class Packed:
    """An operator as bytes, and a token that is its own."""

    token: str
    payload: bytes

    def operator(self) -> Any:
        """The operator, unpacked once per worker."""
        if self.token not in _UNPACKED:
            if len(_UNPACKED) >= MOST_OPERATORS:
                _UNPACKED.clear()
            _UNPACKED[self.token] = self.unpacked()
        return _UNPACKED[self.token]

    def unpacked(self) -> Any:
        """The operator of a job that is run once: it has its work in it, which nobody should keep."""
        return pickle.loads(self.payload)


_UNPACKED: dict[str, Any] = {}


def packed(operator: Any) -> Packed:
    """The operator, ready to travel."""
    return Packed(uuid.uuid4().hex, pickle.dumps(operator, protocol=pickle.HIGHEST_PROTOCOL))


class Sum(Protocol):
    """An accumulator of Spark's."""

    def add(self, term: int) -> None: ...


class _Reported:
    """How much of its core time this worker has reported. A fork's clock begins at nothing."""

    def __init__(self) -> None:
        self._ns = 0

    def since(self) -> int:
        """Microseconds that were not reported yet: those of this task, with what came before its operator."""
        now = time.process_time_ns()
        since, self._ns = (now - self._ns) // 1_000, now
        return since


_REPORTED = _Reported()


def monotonic_us() -> int:
    """The machine's monotonic clock, which all of its processes share, in microseconds."""
    return time.monotonic_ns() // 1_000


def task_time() -> pa.RecordBatch:
    """The core time of this task so far, as a row of its output."""
    return output(Produced(TaskTime(), _REPORTED.since()))


@dataclass(frozen=True, slots=True)
class Timed:
    """A stage (``mapInArrow``) that says what it cost: as one more product, or by ``told`` where it yields others."""

    stage: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    told: Sum | None = None

    @property
    def __name__(self) -> str:
        """What Spark's plans call it: as the stage."""
        return str(getattr(self.stage, "__name__", type(self.stage).__name__))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.stage(batches)
        if self.told is None:
            yield task_time()
        else:
            self.told.add(_REPORTED.since())


@dataclass(frozen=True, slots=True)
class ByTask:
    """A stage over task numbers (``mapInArrow``): the operator reads what the order says for its task."""

    packed: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self.packed.operator().run(current_order(), task)
        keep_what_is_loaded()


@dataclass(frozen=True, slots=True)
class ByRows:
    """A stage over rows (``mapInArrow``)."""

    packed: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.packed.operator().run(current_order(), batches)
        keep_what_is_loaded()


@dataclass(frozen=True, slots=True)
class AsJob:
    """A whole job over task numbers (``mapPartitions``): products as one Arrow stream per task.

    ``ordered`` says whether its work comes by order; otherwise the operator has it.
    """

    packed: Packed
    ordered: bool = True

    def __call__(self, tasks: Iterable[int]) -> Iterator[bytes]:
        for task in tasks:
            operator = self.packed.operator() if self.ordered else self.packed.unpacked()
            batches = operator.run(current_order() if self.ordered else None, task)
            yield to_ipc(pa.Table.from_batches([*batches, task_time()], OUTPUT)).to_pybytes()
        keep_what_is_loaded()


@cache
def keep_what_is_loaded() -> None:
    """Take the kernels and libraries, loaded by now, out of the reach of the garbage collector; once per process.

    Spark's daemon collects garbage after every task, and looking through all of them takes longer than a small task.
    """
    gc.collect()
    gc.freeze()
