"""Core time of calls: what tasks report is its thread's, and what the JVM uses is dealt out among calls under way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pytest

from punctual.clock import process_us
from punctual.runtime.core_time import CoreTime, JvmClock, StageTime
from punctual.runtime.operators.in_worker import AsJob, Timed, packed
from punctual.store.products import OUTPUT, Facts, Produced, from_ipc, output, outputs, without_times


class Aside:
    """A thread that does what it is told, and no more."""

    def __init__(self) -> None:
        self._told = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._what: Callable[[], object] = list
        self.result: object = None
        threading.Thread(target=self._run, daemon=True).start()

    def do(self, what: Callable[[], object]) -> object:
        self._what = what
        self._told.release()
        self._done.acquire()
        return self.result

    def _run(self) -> None:
        while True:
            self._told.acquire()
            self.result = self._what()
            self._done.release()


def test_what_the_jvm_uses_is_halved_while_two_calls_are_under_way() -> None:
    used = [100.0]
    core_time = CoreTime(lambda: used[0])
    other = Aside()
    mine, theirs = core_time.call(), core_time.call()
    used[0] += 5  # nobody's
    mine.__enter__()
    used[0] += 10
    other.do(theirs.__enter__)
    used[0] += 20
    mine.__exit__(None, None, None)
    used[0] += 40
    other.do(lambda: theirs.__exit__(None, None, None))
    used[0] += 80  # nobody's
    assert core_time.take() == 10 + 20 / 2
    assert other.do(core_time.take) == 20 / 2 + 40
    assert core_time.take() == 0
    assert core_time.total_us() == 100 + 5 + 10 + 20 + 40 + 80


def test_what_tasks_report_is_for_who_asked() -> None:
    core_time = CoreTime()
    other = Aside()
    core_time.add(7)
    other.do(lambda: core_time.add(11))
    assert core_time.take() == 7
    assert other.do(core_time.take) == 11
    assert core_time.total_us() == 18


def test_a_call_that_fails_is_counted_and_closed() -> None:
    used = [0.0]
    core_time = CoreTime(lambda: used[0])

    def failing() -> None:
        with core_time.call():
            used[0] += 3
            raise ValueError("no job")

    with pytest.raises(ValueError, match="no job"):
        failing()
    used[0] += 3
    assert core_time.take() == 3


def test_a_process_that_is_gone_keeps_its_last_time() -> None:
    pids: list[int | None] = [None]
    clock = JvmClock(lambda: pids[0])
    assert clock() == 0.0
    pids[0] = os.getpid()
    before = clock()
    assert 0 < before <= process_us()
    pids[0] = 2**22 + 1  # above all numbers of processes
    assert clock() == before


class Facing:
    """An operator that works for a while and yields one product."""

    def run(self, _order: None, task: int) -> Iterator[pa.RecordBatch]:
        sum(range(300_000))
        yield output(Produced(Facts("s"), task))


def test_a_job_reports_the_time_of_each_task_beside_its_products() -> None:
    parts = [from_ipc(part) for part in AsJob(packed(Facing()), ordered=False)([4, 5])]
    table = pa.concat_tables(parts)
    rest, us = without_times(table)
    assert [produced.rows for produced in outputs(rest)] == [4, 5]
    assert table.num_rows == 4
    assert us > 0


def test_a_stage_reports_by_a_product_or_by_a_sum() -> None:
    class Sum:
        value = 0

        def add(self, term: int) -> None:
            self.value += term

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sum(range(300_000))
            yield batch

    one = [output(Produced(Facts("s"), 1))]
    rest, us = without_times(pa.Table.from_batches(Timed(stage)(one), OUTPUT))
    assert rest.num_rows == 1
    assert us > 0
    told = StageTime(Sum())
    assert list(Timed(stage, told.told)(one)) == one
    assert told.take() > 0
    assert told.take() == 0


def test_a_tally_changes_only_under_the_mutex() -> None:
    """Another thread may deal time out to it at the same moment, and one of the two would be lost."""
    core_time = CoreTime()

    class Watched:
        _us = 0.0

        @property
        def us(self) -> float:
            return self._us

        @us.setter
        def us(self, now: float) -> None:
            assert core_time._mutex.locked()
            self._us = now

    core_time._own.tally = Watched()
    core_time.add(7)
    with core_time.call():
        core_time.add(11)
    assert core_time.untaken_us() == 18
    assert core_time.take() == 18
