"""One Spark job over the slices of all streams.

Every branch reads a slice, is projected by one SQL text, coalesced, and reduced by ``operators.reduce``; the union of
all branches is one job of one stage. The number of calls to the JVM depends on the number of streams, not of queries.
Nothing in the text of a tick's plan that becomes Java code changes from tick to tick, so that code is compiled once.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from punctual.own_names import joined_column, joined_flag, own
from punctual.plan.rows import Join
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import SliceWork, Tick
from punctual.runtime.lower import Branch, Limits, branch_sql
from punctual.runtime.operators.reduce import InWorker, Reduce
from punctual.store.products import OUTPUT_DDL

BYTES_PER_TASK = 16 << 20


def run_tick(spark: SparkSession, tick: Tick, slots: int, views: TableViews) -> pa.Table:
    """Run the job; the result's size follows the number of cells, not of rows."""
    frames = []
    for number, work in enumerate(tick.work):
        view = own(f"slice {number}")
        rows = work.feed.read(spark, work.slice)
        rows.createOrReplaceTempView(quoted(view))
        parts = max(1, min(slots, -(-work.slice.size // BYTES_PER_TASK)))
        frames += [_branch(spark, tick, work, branch, view, views, parts) for branch in work.branches]
    union = reduce(DataFrame.unionAll, frames)
    if len(frames) > 1:
        union = union.coalesce(slots)
    return union.toArrow()


def _branch(
    spark: SparkSession, tick: Tick, work: SliceWork, branch: Branch, view: str, views: TableViews, parts: int
) -> DataFrame:
    tables = {join.alias: views.view(spark, join, tick.tables[join.table.lower()]) for join in branch.joins}
    time = work.branches[0].stream.event_time
    limits = Limits(
        f"{work.earliest}L", limit_sql(work.horizon, time), limit_sql(work.complete_through, time)
    )
    text = branch_sql(branch, view, tables, limits, tops=work.tops)
    operator = Reduce(
        work.stream,
        branch.units,
        work.late if branch.counted else None,
        tick.shards,
        tick.incoming,
        branch.counted,
        work.tops,
    )
    return spark.sql(text).coalesce(parts).mapInArrow(InWorker(operator), OUTPUT_DDL)


def limit_sql(value: int, column: str) -> str:
    """A number that moves with every tick, as SQL that does not make Spark compile the stage again.

    Catalyst writes a plain number into the Java code of the stage, so a limit that moves would have that code compiled,
    loaded and warmed up again with every tick: a hundred milliseconds. An array is passed by reference, and an index
    that depends on the row (on whether a column is NULL) keeps Catalyst from folding its element back into a number.
    """
    return f"array({value}L, {value}L)[CAST({quoted(column)} IS NULL AS INT)]"


class TableViews:
    """Views of static tables, one for each join, remade when the table's content changes."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[pa.Table, str]] = {}

    def view(self, spark: SparkSession, join: Join, table: pa.Table) -> str:
        key = (join.table.lower(), join.alias)
        made = self._made.get(key)
        if made is None or made[0] is not table:
            name = own(f"table {len(self._made)}") if made is None else made[1]
            spark.createDataFrame(joined_table(join, table)).hint("broadcast").createOrReplaceTempView(quoted(name))
            made = self._made[key] = (table, name)
        return made[1]


def joined_table(join: Join, table: pa.Table) -> pa.Table:
    """The table as columns of the enriched row, and the flag that says that a row was found."""
    names = [*(joined_column(join.alias, column) for column in table.column_names), joined_flag(join.alias)]
    return pa.Table.from_arrays([*table.columns, pa.repeat(True, table.num_rows)], names=names)


def unique_keys(table: pa.Table, columns: tuple[str, ...]) -> bool:
    """Whether no two rows of the table agree on these columns (rows with a NULL there are never found)."""
    keys = table.select(list(columns)).drop_null()
    return bool(keys.num_rows == keys.group_by(list(columns)).aggregate([]).num_rows)
