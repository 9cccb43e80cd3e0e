"""Punctual: ticks of so many files each of one engine, answers kept in memory."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contenders.sustained.task import Answer, Task, given_task, report, some_by_some
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink


def program(task: Task) -> str:
    stream = (
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, v DOUBLE, n INT) "
        f"FROM FILES '{task.folder}' FORMAT {task.kind};"
    )
    queries = (
        f"CREATE QUERY q{number} AS SELECT avg(v) AS a, max(v) AS m "
        f"FROM s [RANGE {window.length} SECONDS SLIDE {window.slide} SECONDS];"
        for number, window in enumerate(task.windows)
    )
    return "\n".join([stream, *queries])


def main() -> None:
    task = given_task()
    sink = MemorySink()
    with Engine(live=False, options={"max_files_per_tick": str(task.together)}) as engine:
        engine.add_sink("memory", sink)
        engine.sql(program(task))
        engine.open()

        def tick(_files: list[str]) -> None:
            settled = engine.tick()
            assert settled is not None

        files, meter = some_by_some(task, tick)
    through = min(max(at for at, _average, _greatest in answers(sink, number)) for number in range(len(task.windows)))
    every = (answer for number in range(len(task.windows)) for answer in answers(sink, number))
    report(files, meter, through, every)


def answers(sink: MemorySink, number: int) -> Iterator[Answer]:
    for block in sink.blocks(f"q{number}"):
        for at, rows in zip(block.table.column("at").to_pylist(), block.table.column("rows").to_pylist()):
            for row in rows:
                if row["a"] is not None:
                    yield at // 1_000_000, row["a"], row["m"]


if __name__ == "__main__":
    main()
