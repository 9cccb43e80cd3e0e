"""Flink SQL on a cluster inside one JVM: a HOP window per query, all of them one job that reads each file once.

Its file source takes the files of a folder in no order, and rows that come out of order are late. So files arrive: the
source watches a folder, and files are linked into it, four ahead of the answers. Two are read by the two source tasks
at a time, and whichever of the other two is next, the slower task holds the watermark back. What was read is told by
the answers, since an answer says how far the watermark is. Answers go back to Python.
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

SOURCE = """
CREATE TABLE s (ts TIMESTAMP_LTZ(3), k STRING, v DOUBLE, n INT, WATERMARK FOR ts AS ts) WITH (
    'connector' = 'filesystem', 'path' = 'file://{folder}', 'source.monitor-interval' = '50 ms',
    'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
HOP = """
SELECT window_end, AVG(v), MAX(v)
FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '{slide}' SECOND, INTERVAL '{length}' SECOND))
GROUP BY window_start, window_end
"""
OPTIONS = {"parallelism.default": "2", "table.local-time-zone": "UTC", "pipeline.object-reuse": "true"}
AHEAD = 4
SHORTEST_SLIDE = 2


def main() -> None:
    task = given_task()
    assert task.kind == "JSON", "its reader of Parquet is a jar that is not in the Python package"
    with tempfile.TemporaryDirectory(prefix="sustained-flink-", dir=Path(task.folder).parent) as folder:
        arrivals = Arrivals(task, Path(folder))
        environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, value in OPTIONS.items():
            environment.get_config().set(name, value)
        environment.execute_sql(SOURCE.format(folder=folder))
        hops = (HOP.format(slide=window.slide, length=window.length) for window in task.windows)
        running = environment.execute_sql(" UNION ALL ".join(hops))
        answers: list[Answer] = []
        meter = Meter()
        began = 0.0
        before = 0
        with running.collect() as rows:
            for end, average, greatest in rows:
                instant = calendar.timegm(end.timetuple())
                answers.append((instant, average, greatest))
                arrivals.answered(instant)
                if not began and arrivals.finished >= task.warm:
                    began, before = time.perf_counter(), arrivals.through
                    meter.__enter__()
                elif began and (arrivals.over or time.perf_counter() - began >= task.seconds):
                    break
            meter.__exit__()
            files = (arrivals.through - before) / task.span
            through = arrivals.through - max(window.slide for window in task.windows)
            report(files, meter, through, answers)
            running.get_job_client().cancel()
        sys.stdout.flush()
        os._exit(0)  # the gateway's threads would keep the process


class Arrivals:
    """Links the task's files into a folder, a few ahead of what was answered."""

    def __init__(self, task: Task, folder: Path) -> None:
        self._files = task.files
        self._folder = folder
        self._span = task.span
        self._linked = 0
        self.through = START
        self._link()

    @property
    def finished(self) -> int:
        """Files that were read to their last instant."""
        return (self.through - START + SHORTEST_SLIDE) // self._span

    @property
    def over(self) -> bool:
        return self.finished == len(self._files)

    def answered(self, instant: int) -> None:
        if instant > self.through:
            self.through = instant
            self._link()

    def _link(self) -> None:
        for file in self._files[self._linked : self.finished + AHEAD]:
            os.link(file, self._folder / Path(file).name)
            self._linked += 1


if __name__ == "__main__":
    main()
