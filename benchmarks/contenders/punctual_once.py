"""Punctual over all files of a folder to their end: what ``punctual run --once`` does, with its phases timed."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial

from benchmarks.workload import program, sliding
from punctual.engine.engine import Engine
from punctual.ports.answers import AnswerBlock
from punctual.runtime.spark import SparkBackend


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--windows", type=int, required=True)
    parser.add_argument("--out")
    parser.add_argument("--files-per-tick", default="10")
    parser.add_argument("--java", default="", help="further options of the JVM")
    arguments = parser.parse_args()
    began = time.perf_counter()
    first: list[float] = []
    backend = None
    if arguments.java:
        backend = partial(SparkBackend, None, {"spark.driver.extraJavaOptions": arguments.java})
    answers = 0

    def count(blocks: list[AnswerBlock]) -> None:
        nonlocal answers
        first.append(time.perf_counter() - began)
        answers += sum(block.table.num_rows for block in blocks)

    with tempfile.TemporaryDirectory(prefix="punctual-benchmark-") as state:
        engine = Engine(
            state,
            out=arguments.out,
            live=False,
            options={"max_files_per_tick": arguments.files_per_tick},
            backend=backend,
        )
        with engine:
            engine.sql(program(arguments.folder, sliding(arguments.windows)))
            engine.listen(count)
            engine.open()
            opened = time.perf_counter() - began
            engine.run_once()
            done = time.perf_counter() - began
    print(json.dumps({"answers": answers, "opened": opened, "first_answer": first[0], "done": done}))


if __name__ == "__main__":
    main()
