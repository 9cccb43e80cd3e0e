"""Aggregates as Spark defines them, over the list of a window's values, with Python's exact numbers.

DuckDB gathers the values of a group into a list; a function of ``tests/oracles/aggregates.py`` makes one value of it.
So sums and means of doubles are those nearest to the exact result, however the rows are ordered, and first, last and
percentiles are what the language says, not what DuckDB's functions of the same names mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from tests.oracles import aggregates as oracle
from tests.reference.duck import duck_sql, duck_type, types_of

NAMES = {
    "sum": "sum", "avg": "avg", "mean": "avg",
    "std": "stddev_samp", "stddev": "stddev_samp", "stddev_samp": "stddev_samp", "stddevsamp": "stddev_samp",
    "stddev_pop": "stddev_pop", "stddevpop": "stddev_pop",
    "variance": "var_samp", "var_samp": "var_samp", "variancepop": "var_pop", "var_pop": "var_pop",
    "approxquantile": "percentile", "approxdistinct": "approx_count_distinct",
    "first": "first", "firstvalue": "first", "anyvalue": "first", "last": "last", "lastvalue": "last",
}
"""The nodes and functions that are not DuckDB's own here; counts and extremes are."""


NUMBERS = count()
"""A name of its own for every function, also of several references."""


@dataclass(frozen=True, slots=True)
class ExecutionList:
    """An aggregate that became a function of a list."""

    name: str
    argument: exp.Expression
    distinct: bool
    ignore_nulls: bool
    shares: tuple[float, ...] | float | None


def replace_aggregates(
    select: exp.Select, connection: duckdb.DuckDBPyConnection, alias: str, ties: list[str]
) -> exp.Select:
    """The SELECT with its aggregates as registered functions over lists.

    ``ties`` are the stream's other columns in declared order, which decide between rows of one event time; the column
    ``_t`` is the event time in microseconds.
    """
    select = select.copy()
    for node in list(select.find_all(exp.Func)):
        assert isinstance(node, exp.Expression)
        listed = _listed(node)
        if listed is None:
            continue
        outer: exp.Expression = node
        if isinstance(outer.parent, exp.IgnoreNulls):
            outer = outer.parent
        where = outer.parent if isinstance(outer.parent, exp.Filter) else None
        replaced = where or outer
        values = _values(listed, alias, ties)
        gathered: exp.Expression = exp.Anonymous(this="list", expressions=[values])
        if where is not None:
            gathered = exp.Filter(this=gathered, expression=where.expression)
        name = _register(connection, select, listed, values)
        replaced.replace(exp.Anonymous(this=name, expressions=[gathered]))
    return select


def _listed(node: exp.Expression) -> ExecutionList | None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__.lower()
    known = NAMES.get(name)
    if known is None:
        return None
    argument = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    distinct = isinstance(argument, exp.Distinct)
    if distinct:
        argument = argument.expressions[0]
    shares: tuple[float, ...] | float | None = None
    if known == "percentile":
        quantile = node.args["quantile"]
        many = isinstance(quantile, exp.Array)
        shares = tuple(float(q.name) for q in quantile.expressions) if many else float(quantile.name)
    return ExecutionList(known, argument, distinct, isinstance(node.parent, exp.IgnoreNulls), shares)


def _values(listed: ExecutionList, alias: str, ties: list[str]) -> exp.Expression:
    if listed.name not in ("first", "last"):
        return listed.argument.copy()
    columns = [("v", listed.argument.copy()), ("t", exp.column("_t", table=alias))]
    columns += [(f"c{at}", exp.column(name, table=alias, quoted=True)) for at, name in enumerate(ties)]
    return exp.Struct(expressions=[exp.PropertyEQ(this=exp.to_identifier(n), expression=e) for n, e in columns])


def _register(
    connection: duckdb.DuckDBPyConnection, select: exp.Select, listed: ExecutionList, values: exp.Expression
) -> str:
    bare = exp.select(listed.argument.copy()).from_(select.args["from_"].this.copy())
    bare.set("joins", [join.copy() for join in select.args.get("joins") or []])
    (argument,) = types_of(connection, duck_sql(bare))
    bare.set("expressions", [values.copy()])
    (gathered,) = (row[1] for row in connection.execute(f"DESCRIBE {duck_sql(bare)}").fetchall())
    result, function = _function(listed, argument)
    name = f"listed_{next(NUMBERS)}"

    # As Arrow: a plain Python function's NaN would be taken for a NULL.
    def evaluate(lists: pa.ChunkedArray) -> pa.Array:
        return pa.array([function(values) for values in lists.to_pylist()], result)

    connection.create_function(
        name, evaluate, [f"{gathered}[]"], duck_type(result), type="arrow", null_handling="special"
    )
    return name


def _function(listed: ExecutionList, argument: pa.DataType) -> tuple[pa.DataType, Callable[[Any], Any]]:
    """The type of the result by Spark's rules, and the function of the list (NULL: of no rows)."""
    decimal = pa.types.is_decimal(argument)
    real = pa.types.is_floating(argument)
    if listed.name in ("first", "last"):
        pick = min if listed.name == "first" else max

        def end(rows: list[dict[str, Any]] | None) -> Any:
            kept = [(r["v"], r["t"], tuple(list(r.values())[2:])) for r in rows or []]
            return oracle.end([r for r in kept if r[0] is not None or not listed.ignore_nulls], pick)

        return argument, end
    if listed.name == "sum":
        wide = pa.decimal128(min(38, argument.precision + 10), argument.scale) if decimal else None
        return wide or (pa.float64() if real else pa.int64()), _over(listed, oracle.total, real)
    if listed.name == "avg":
        scale = argument.scale + 4 if decimal else None
        wide = pa.decimal128(min(38, argument.precision + 4), scale) if decimal else None
        return wide or pa.float64(), _over(listed, lambda v: oracle.mean(v, scale), real)
    if listed.name == "approx_count_distinct":
        return pa.int64(), _over(listed, lambda v: len(oracle.distinct(v)), real)
    if listed.name == "percentile":
        shares = listed.shares
        if isinstance(shares, tuple):
            return pa.list_(argument), _over(
                listed, lambda v: [oracle.percentile(v, share) for share in shares] if v else None, real
            )
        assert shares is not None
        return argument, _over(listed, lambda v: oracle.percentile(v, shares), real)
    lost = 1 if listed.name.endswith("samp") else 0

    def moment(values: list[Any]) -> float | None:
        found = oracle.variance(values, lost)
        if found is None or isinstance(found, float):
            return found
        return oracle.root(found) if listed.name.startswith("stddev") else oracle.nearest(found)

    return pa.float64(), _over(listed, moment, real)


def _over(listed: ExecutionList, of: Callable[[list[Any]], Any], real: bool) -> Callable[[Any], Any]:
    def evaluate(values: list[Any] | None) -> Any:
        present = [float(v) if real else v for v in values or [] if v is not None]
        return of(oracle.distinct(present) if listed.distinct else present)

    return evaluate
