"""Flink SQL on a cluster inside one JVM: a HOP window per query, all of them one job that reads each file once.

Its file source takes the files of a folder in any order, and rows that come too late are dropped. So files arrive: the
source watches a folder, and files are linked into it, at most four ahead of the first that was not read, and the
watermark is as many files behind. That costs little, since Flink keeps slices of windows and not rows. What was read
is told by one more query, which passes on ten rows per second of event time. Answers go back to Python.
"""

from __future__ import annotations

import calendar
import os
import sys
import tempfile
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

from benchmarks.contenders.sustained.task import START, Answer, Task, given_task, report
from benchmarks.processes import Meter

AHEAD = 4
SOURCE = """
CREATE TABLE s (
    ts TIMESTAMP_LTZ(3), k STRING, v DOUBLE, n INT, WATERMARK FOR ts AS ts - {behind}
) WITH (
    'connector' = 'filesystem', 'path' = 'file://{folder}', 'source.monitor-interval' = '50 ms',
    'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
HOP = """
SELECT {number}, window_end, AVG(v), MAX(v)
FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), {slide}, {length}))
GROUP BY window_start, window_end
"""
LAST_ROWS = """
SELECT -1, CAST(ts AS TIMESTAMP(3)), CAST(NULL AS DOUBLE), CAST(NULL AS DOUBLE)
FROM s WHERE MOD(EXTRACT(MILLISECOND FROM ts), 1000) = 999
"""
OPTIONS = {
    "parallelism.default": "2",
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",
    "taskmanager.memory.managed.size": "2g",  # the default is not enough for 80 windows
    "taskmanager.memory.network.min": "512m",
    "taskmanager.memory.network.max": "512m",
}


class Arrivals:
    """Links the task's files into a folder, a few ahead of the first that was not read to its end."""

    def __init__(self, task: Task, folder: Path) -> None:
        self._files = task.files
        self._folder = folder
        self._span = task.span
        self._linked = 0
        self.read: set[int] = set()
        self._link()

    @property
    def over(self) -> bool:
        return len(self.read) == len(self._files)

    def seen(self, second: int) -> bool:
        """A row of the last millisecond of this second was read: whether it was the last of a file."""
        number, within = divmod(second - START, self._span)
        if within < self._span - 1 or number in self.read:
            return False
        self.read.add(number)
        self._link()
        return True

    def _link(self) -> None:
        unread = next(number for number in range(len(self._files) + 1) if number not in self.read)
        for file in self._files[self._linked : unread + AHEAD]:
            os.link(file, self._folder / Path(file).name)
            self._linked += 1


def interval(seconds: int) -> str:
    """Flink takes no more than two digits of any part."""
    return f"INTERVAL '{seconds // 60:02d}:{seconds % 60:02d}' MINUTE TO SECOND"


def query(task: Task) -> str:
    hops = [
        HOP.format(number=number, slide=interval(window.slide), length=interval(window.length))
        for number, window in enumerate(task.windows)
    ]
    return " UNION ALL ".join([*hops, LAST_ROWS])


def main() -> None:
    task = given_task()
    assert task.kind == "JSON", "its reader of Parquet is a jar that is not in the Python package"
    with tempfile.TemporaryDirectory(prefix="sustained-flink-", dir=Path(task.folder).parent) as folder:
        arrivals = Arrivals(task, Path(folder))
        environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, value in OPTIONS.items():
            environment.get_config().set(name, value)
        environment.execute_sql(SOURCE.format(folder=folder, behind=interval(AHEAD * task.span)))
        running = environment.execute_sql(query(task))
        answers: list[list[Answer]] = [[] for _window in task.windows]
        meter = Meter()
        began = before = 0.0
        with running.collect() as rows:
            for number, end, average, greatest in rows:
                second = calendar.timegm(end.timetuple())
                if number >= 0:
                    answers[number].append((second, average, greatest))
                    continue
                if not arrivals.seen(second):
                    continue
                if not began and len(arrivals.read) >= task.warm:
                    began, before = time.perf_counter(), len(arrivals.read)
                    meter.__enter__()
                elif began and (arrivals.over or time.perf_counter() - began >= task.seconds):
                    break
            meter.__exit__()
            through = min(max((at for at, _average, _greatest in some), default=0) for some in answers)
            report(len(arrivals.read) - before, meter, through, [answer for some in answers for answer in some])
        running.get_job_client().cancel()
        sys.stdout.flush()
        os._exit(0)  # the gateway's threads would keep the process


if __name__ == "__main__":
    main()
