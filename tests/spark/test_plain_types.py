"""Types that are derived without Spark are those of its analyzer; what the analyzer refuses is never derived."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.errors import PunctualError
from punctual.kinds import registry
from punctual.kinds.program import compile_program
from punctual.plan.functions import FUNCTIONS
from punctual.plan.relation import Declared, Stream, Table
from punctual.runtime.analysis import typecheck
from punctual.runtime.backend import TypeRequest
from punctual.runtime.plain_types import plain_types

pytestmark = pytest.mark.spark

TYPES = {
    "bo": "BOOLEAN", "ti": "TINYINT", "sm": "SMALLINT", "i": "INT", "bi": "BIGINT", "fl": "FLOAT", "d": "DOUBLE",
    "st": "STRING", "by": "BINARY", "da": "DATE", "ts": "TIMESTAMP", "nt": "TIMESTAMP_NTZ", "d1": "DECIMAL(1,0)",
    "d2": "DECIMAL(10,2)", "d3": "DECIMAL(30,20)", "d4": "DECIMAL(38,0)", "d5": "DECIMAL(38,38)",
    "ar": "ARRAY<INT>", "at": "ARRAY<STRING>", "aa": "ARRAY<ARRAY<INT>>", "su": "STRUCT<u: INT>",
    "ma": "MAP<STRING,INT>",
}  # fmt: skip
COLUMNS = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
RELATIONS = f"""
CREATE STREAM s (t TIMESTAMP EVENT TIME, {COLUMNS}, p DOUBLE PROBABILITY, ru STRING RULE) FROM FEED;
CREATE STREAM z (t TIMESTAMP EVENT TIME, {COLUMNS}, p DOUBLE PROBABILITY) FROM FEED;
CREATE TABLE u ({COLUMNS}) FROM FILES 'u' FORMAT JSON;
"""
WINDOW = "s [RANGE 10 SECONDS]"
PARAMETERS = {
    "approx_percentile": ["0.5", "0", "1, 100", "array(0.25, 0.5)", "array(0, 1)", "array(0.5), 2147483647", "0.00001"],
    "approx_count_distinct": ["", "0.05", "0.01", "0.39", "0.4", "0.5"],
}


def calls() -> Iterator[str]:
    """Every function over every type."""
    for name, function in FUNCTIONS.items():
        for parameters, column in product(PARAMETERS.get(name, [""]), TYPES):
            yield f"{name}({', '.join(one for one in (column, parameters) if one)})"
        if function.distinct is not None:
            yield from (f"{name}(DISTINCT {column})" for column in TYPES)
    yield from (f"{name}({column}) IGNORE NULLS" for name, column in product(("first", "last", "any_value"), TYPES))


def selects() -> Iterator[str]:
    """Queries in which a type stands everywhere."""
    yield from (f"SELECT {call} AS o, now() AS at FROM {WINDOW}" for call in calls())
    yield f"SELECT count(*) FROM {WINDOW}"
    for one, other in zip(TYPES, (*list(TYPES)[1:], "t")):
        grouped = f"SELECT {one} AS a, {other}, count(*) AS n, last({one}) AS l FROM {WINDOW} GROUP BY {one}, {other}"
        yield from (f"{grouped} {rest}" for rest in (
            "", f"ORDER BY {one} DESC, l", f"HAVING {one} = last({one})", f"HAVING {one}", f"HAVING n > 2 AND {one} < l"
        ))  # fmt: skip
        yield f"SELECT count(*) FROM {WINDOW} WHERE {one}"
        yield f"SELECT count(*) FILTER (WHERE {one} IS NOT NULL) FROM {WINDOW} WHERE {one} = {other}"
        on = f"ON s.{one} = u.{one}"
        for how in ("JOIN", "LEFT JOIN"):
            yield f"SELECT u.{other}, max(u.{one}) AS m FROM {WINDOW} {how} u {on} GROUP BY u.{other}"
        yield f"SELECT count(u.{one}) AS n FROM {WINDOW} JOIN u ON s.{one} = u.{other}"
        yield f"SELECT TOP 3 {one}, {other} FROM {WINDOW} ORDER BY {one}"
        yield f"SELECT TOP 2 {other} FROM {WINDOW} UNION ALL z [RANGE 10 SECONDS] ORDER BY {one}"


NUMBERS = ("ti", "sm", "i", "bi", "fl", "d", "d2", "count(*)", "sum(i)")
NUMERALS = (
    "1", "0", "2147483647", "2147483648", "1.5", "0.05", "00.50", "100.00", "1e3", "2.5E-2", "123456789012345.6",
    "1e99",
)  # fmt: skip
LITERALS = (*NUMERALS, "'x'", "''", "true", "NULL", "false", "now()")


class Expressions:
    """Expressions of all kinds over columns of all types; most are of numbers alone, or of few types, so of use."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._columns: Sequence[str] = ()
        self._literals: Sequence[str] = ()

    def new(self, columns: Sequence[str]) -> str:
        few = self._random.sample(columns, 2)
        numbers = [name for name in columns if name.removeprefix("max(").removesuffix(")") in NUMBERS]
        self._columns, self._literals = self._random.choice((
            (few, LITERALS), (columns, LITERALS), (few[:1], LITERALS), (numbers, NUMERALS), (numbers, NUMERALS),
        ))  # fmt: skip
        return self._expression(self._random.randint(1, 3))

    def _leaf(self) -> str:
        return self._random.choice(self._literals if self._random.random() < 0.3 else self._columns)

    def _expression(self, depth: int) -> str:
        if depth == 0:
            return self._leaf()
        a, b, c = (self._expression(depth - 1 - (self._random.random() < 0.3 and depth > 1)) for _ in range(3))
        kind = self._random.choice(list(TYPES.values()))
        operator = self._random.choice(("+", "-", "*", "/", "%"))
        comparison = self._random.choice(("=", "<", ">=", "<>", "!=", "=="))
        name = self._random.choice((
            "abs", "ceil", "floor", "length", "lower", "upper", "timestamp_micros", "timestamp_millis",
            "timestamp_seconds", "unix_micros",
        ))  # fmt: skip
        return self._random.choice((
            f"{a} {operator} {b}", f"{a} {operator} {b}", f"{a} {operator} {b}", f"({a}) {operator} ({b})", f"-{a}",
            f"({a}) {comparison} ({b})", f"{a} {comparison} {b}", f"({a} {comparison} {b}) AND {c} {comparison} {a}",
            f"({a}) IS NULL OR NOT ({b}) IS NOT NULL", f"({a}) BETWEEN {b} AND {c}", f"({a}) NOT IN ({b}, {c})",
            f"({a}) LIKE ({b})", f"NOT ({a})", f"CASE WHEN ({a}) > ({b}) THEN {a} ELSE {c} END",
            f"CASE ({a}) WHEN {b} THEN {a} WHEN {a} THEN {c} END", f"cast({a} AS {kind})", f"{name}({a})",
            f"coalesce({a}, {b})", f"concat({a}, {b}, 'x')", f"substring({a}, 1, 2)", f"date_trunc('HOUR', {a})",
        ))  # fmt: skip


def odd_selects(number: int) -> Iterator[str]:
    """Expressions of rows, of groups and of answers."""
    make = Expressions(7)
    columns = [name for name in TYPES if name not in ("aa", "su", "ma")]
    for _ in range(number):
        row, condition = make.new(columns).replace("now()", "t"), make.new(columns).replace("now()", "t")
        yield f"SELECT first({row}) AS o FROM {WINDOW}"
        yield f"SELECT count(*) AS o FROM {WINDOW} WHERE {condition}"
        yield f"SELECT {row} AS o FROM {WINDOW} GROUP BY {row}"
        answer = make.new([f"max({name})" for name in columns if not name.startswith("a")] + ["count(*)", "sum(i)"])
        yield f"SELECT {answer} AS o FROM {WINDOW} HAVING ({answer}) IS NULL ORDER BY {answer}"


def compiled(selects: Sequence[str]) -> tuple[list[Declared], list[TypeRequest]]:
    """Relations, and requests of all SELECTs that the binder takes."""
    program = compile_program(RELATIONS, base=".")
    requests = []
    for number, select in enumerate(selects):
        try:
            text = f"CREATE QUERY q{number} AS {select} PERIOD 5 SECONDS;"
            query = compile_program(text, program.catalog, base=".").catalog.queries[f"q{number}"]
        except PunctualError:
            continue
        request = registry.kind_of(query).type_request(query)
        if isinstance(request, TypeRequest):  # types of row queries are always Spark's
            requests.append(request)
    return program.declarations, requests


def chunks(all_of_them: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (all_of_them[first : first + size] for first in range(0, len(all_of_them), size))


def derived(requests: list[TypeRequest], relations: Sequence[Declared], spark: SparkSession) -> list[TypeRequest]:
    """Compare all types that are derived; the requests of the others."""
    known: list[Stream | Table] = [one.relation for one in relations]
    plain = plain_types((), requests, known)
    left = {one.query.name for one in plain.requests}
    for some in chunks([one for one in requests if one.query.name not in left], 100):
        report = typecheck(spark, (), some, known)
        assert [(error.fact, error.detail) for error in report.errors] == []
        for one in some:
            assert plain.queries[one.query.name] == report.queries[one.query.name], one.query.text
    return list(plain.requests)


def test_every_function_of_every_type(spark: SparkSession) -> None:
    relations, requests = compiled(list(selects()))
    left = derived(requests, relations, spark)
    known = [one.relation for one in relations]
    needless = [one.query.text for one in left if not typecheck(spark, (), [one], known).errors]
    # Types with parts, strings and times that Spark reckons with as DOUBLE, joins of numbers of different types.
    assert len(needless) < 0.2 * len(requests), "\n".join(needless)


def test_expressions(spark: SparkSession) -> None:
    relations, requests = compiled(list(odd_selects(1_000)))
    left = derived(requests, relations, spark)
    assert len(requests) - len(left) > 500, "nearly nothing was compared"


def test_derived_columns(spark: SparkSession) -> None:
    make, pick = Expressions(11), random.Random(11)
    scalars = [name for name in TYPES if not name.startswith("a") and name not in ("su", "ma")]
    columns = ", ".join(f"{name} {TYPES[name]}" for name in scalars)
    found: list[Declared] = []
    for number in range(1_200):
        text = f"o {TYPES[pick.choice(scalars)]} AS ({make.new(scalars).replace('now()', 't')})"
        program = f"CREATE STREAM s{number} (t TIMESTAMP EVENT TIME, {columns}, {text}) FROM FEED;"
        with suppress(PunctualError):
            found += compile_program(program, base=".").declarations
    left = {one.relation.name for one in plain_types(found, (), ()).relations}
    taken = [one for one in found if one.relation.name not in left]
    assert len(taken) > 100, "nearly nothing was compared"
    for some in chunks(taken, 50):
        assert [(error.fact, error.detail) for error in typecheck(spark, some, ()).errors] == []
