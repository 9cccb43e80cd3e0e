"""The same windows by a short DuckDB program over the files: panes by hand, or every window from the rows."""

from __future__ import annotations

import argparse
import json
import time

import duckdb
import pyarrow.parquet as pq

from benchmarks.workload import sliding

PANES = """
CREATE TABLE panes AS
SELECT epoch_us(ts) // 1000000 + 1 AS hi, k, sum(v) AS s, count(*) AS n, max(v) AS m
FROM read_parquet('{folder}/*.parquet') GROUP BY ALL
"""
FROM_PANES = """
WITH ends AS (
    SELECT unnest(range((min(hi) + {slide} - 1) // {slide} * {slide}, max(hi), {slide})) AS instant FROM panes
)
SELECT instant, k, sum(s) / sum(n) AS a, max(m) AS m
FROM ends JOIN panes ON hi > instant - {length} AND hi <= instant
GROUP BY instant, k
"""
FROM_ROWS = """
WITH spread AS (
    SELECT k, v, unnest(range((t + {slide}) // {slide} * {slide}, t + {length} + 1, {slide})) AS instant
    FROM (SELECT k, v, epoch_us(ts) // 1000000 AS t FROM read_parquet('{folder}/*.parquet'))
)
SELECT instant, k, avg(v) AS a, max(v) AS m FROM spread GROUP BY instant, k
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--windows", type=int, required=True)
    parser.add_argument("--naive", action="store_true", help="every window from the rows, without panes")
    parser.add_argument("--keep", help="file for the answers of the last window")
    arguments = parser.parse_args()
    began = time.perf_counter()
    connection = duckdb.connect()
    if not arguments.naive:
        connection.execute(PANES.format(folder=arguments.folder))
    text = FROM_ROWS if arguments.naive else FROM_PANES
    answers = 0
    for window in sliding(arguments.windows):
        query = text.format(folder=arguments.folder, slide=window.slide_s, length=window.range_s)
        last = connection.sql(query).to_arrow_table()
        answers += last.num_rows
    done = time.perf_counter() - began
    if arguments.keep:
        pq.write_table(last, arguments.keep)
    print(json.dumps({"rows": answers, "done": done}))


if __name__ == "__main__":
    main()
