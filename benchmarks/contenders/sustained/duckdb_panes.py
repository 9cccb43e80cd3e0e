"""DuckDB: the files of a step become panes of a second, and one query answers every window whose end was passed.

Panes and not rows are kept: rows would be aggregated again for each of the up to 60 instants that look at them. All
windows are one query, since a query costs about a millisecond whatever it asks. A table of windows joined with the
panes is the shortest text that does it. The file's types are declared, and its buffers are small enough for two
threads to share a JSON file (by default one would read it). Everything else is DuckDB's default.
"""

from __future__ import annotations

import duckdb

from benchmarks.contenders.sustained.task import Answer, Task, given_task, report, some_by_some

COLUMNS = "{ts: 'TIMESTAMP', k: 'VARCHAR', v: 'DOUBLE', n: 'INTEGER'}"
SOURCES = {
    "JSON": f"read_json(?, columns = {COLUMNS}, format = 'newline_delimited', maximum_object_size = 1048576)",
    "PARQUET": "read_parquet(?)",
}
CUT = """
INSERT INTO panes
SELECT (epoch_us(ts) + 999999) // 1000000 AS hi, sum(v), count(*), max(v) FROM {source} GROUP BY ALL
"""
ANSWER = """
WITH ends AS (
    SELECT length, slide, unnest(range((? // slide + 1) * slide, ?, slide)) AS instant FROM windows
), parts AS (
    SELECT length, slide, instant, unnest(range(instant - length + 1, instant + 1)) AS hi FROM ends
)
SELECT instant, sum(s) / sum(n), max(m) FROM parts JOIN panes USING (hi) GROUP BY length, slide, instant
"""


class Loop:
    """The state between two steps: panes, and the last instant that was answered."""

    def __init__(self, task: Task) -> None:
        self._cut = CUT.format(source=SOURCES[task.kind])
        self._longest = max(window.length for window in task.windows)
        self._through: int | None = None
        self.answers: list[Answer] = []
        self._connection = duckdb.connect()
        self._connection.execute("CREATE TABLE windows (length BIGINT, slide BIGINT)")
        self._connection.executemany(
            "INSERT INTO windows VALUES (?, ?)", [(window.length, window.slide) for window in task.windows]
        )
        self._connection.execute("CREATE TABLE panes (hi BIGINT, s DOUBLE, n BIGINT, m DOUBLE)")

    @property
    def through(self) -> int:
        assert self._through is not None
        return self._through

    def take(self, files: list[str]) -> None:
        execute = self._connection.execute
        execute(self._cut, [files])
        first, last = execute("SELECT min(hi), max(hi) FROM panes").fetchall()[0]
        before = first - 1 if self._through is None else self._through
        self.answers += execute(ANSWER, [before, last]).fetchall()
        self._through = last - 1
        execute("DELETE FROM panes WHERE hi <= ?", [self._through - self._longest])


def main() -> None:
    task = given_task()
    loop = Loop(task)
    files, meter = some_by_some(task, loop.take)
    report(files, meter, loop.through, loop.answers)


if __name__ == "__main__":
    main()
