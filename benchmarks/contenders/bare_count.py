"""The least that a PySpark program can do with the files of a folder: start, read the columns, count the rows.

In the same session as Punctual's, in as many jobs as Punctual has ticks, through one stage of Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import time

from benchmarks.bare import bare_job
from punctual.runtime import session


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--files-per-tick", type=int, default=10)
    arguments = parser.parse_args()
    began = time.perf_counter()
    spark = session.start(None, "bare", {})
    opened = time.perf_counter() - began
    paths = sorted(os.path.join(arguments.folder, name) for name in os.listdir(arguments.folder))
    step = arguments.files_per_tick
    rows = sum(bare_job(spark, paths[at : at + step]) for at in range(0, len(paths), step))
    done = time.perf_counter() - began
    session.stop(spark)
    print(json.dumps({"rows": rows, "opened": opened, "done": done}))


if __name__ == "__main__":
    main()
