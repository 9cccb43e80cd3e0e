"""The Spark session that row queries are analysed and planned in: no name of the user's, and no exchange without need.

Temporary views belong to a session, so what stands in another one is not seen here.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from punctual.runtime.session import SQL_OPTIONS

ROW_OPTIONS: dict[str, str] = {
    # A broadcast is a job of its own, and keeps the rows of the first execution. Inputs are single partitions, so
    # other joins need no exchange.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.excludedRules": ",".join((
        # Makes scalar subqueries, which keep their first result, of equal aggregates in a union.
        "org.apache.spark.sql.execution.planmerging.MergeSubplans",
        # Makes a relation without partitions of a query whose condition can never hold: no task would answer it.
        "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation",
    )),
    # Where there is an exchange all the same, rows stay in one partition, in one order.
    "spark.sql.shuffle.partitions": "1",
    # Shared windows live for one job: to compress them took a fifth of the time of joins that share them.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # parquet.`/a/path` is no table of the program.
    "spark.sql.runSQLOnFiles": "false",
}


def row_session(spark: SparkSession) -> SparkSession:
    """A session of its own with the options of this one, and those of row queries."""
    session = spark.newSession()
    for name in SQL_OPTIONS:
        if session.conf.isModifiable(name):
            session.conf.set(name, spark.conf.get(name))
    for name, value in ROW_OPTIONS.items():
        session.conf.set(name, value)
    return session
