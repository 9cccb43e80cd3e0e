"""Declarations that the tests of the language start from, and ways to compile and to look at errors."""

from __future__ import annotations

from punctual.errors import ProgramErrors, PunctualError
from punctual.kinds.program import compile_program
from punctual.own_names import shown
from punctual.plan.aggregates import Aggregates
from punctual.plan.expression import Expression
from punctual.plan.query import Query
from punctual.plan.rows import Predicate
from punctual.sql.program import Program

BASE = "/programs"
SPEED = """
CREATE STREAM speed (
    ts     TIMESTAMP  EVENT TIME WATERMARK 5 SECONDS,
    sensor STRING     KEY,
    lane   INT,
    big    BIGINT,
    kmh    DOUBLE,
    ratio  FLOAT,
    loc    STRUCT<x: INT, y: INT>,
    tags   ARRAY<STRING>,
    p      DOUBLE     PROBABILITY,          -- the row exists with this probability
    rule   STRING     RULE                  -- rows of one (non-null) rule exclude each other
) FROM FILES 'data/speed' FORMAT JSON;
"""
RFID = """
CREATE STREAM rfid (ts TIMESTAMP EVENT TIME, tag STRING, strength DOUBLE, period INT, error INT) FROM FEED;
"""
LANES = "CREATE TABLE lanes (id INT, name STRING, city STRING) FROM FILES 'data/lanes.csv' FORMAT CSV;\n"
CITIES = "CREATE TABLE cities (city STRING, country STRING) FROM FILES 'data/cities.csv';\n"
DECLARED = SPEED + RFID + LANES + CITIES


def compiled(text: str) -> Program:
    return compile_program(text, base=BASE)


def query(body: str) -> Query:
    """The query of a SELECT over the declarations above."""
    return compiled(f"{DECLARED}CREATE QUERY q AS {body};").catalog.queries["q"]


def body_of(query: Query) -> Aggregates:
    """The body of a query that has aggregates."""
    assert isinstance(query.body, Aggregates)
    return query.body


def errors(text: str) -> list[PunctualError]:
    try:
        compiled(text)
    except ProgramErrors as found:
        return list(found.errors)
    return []


def found(text: str) -> list[tuple[str, str]]:
    """The code and the underlined text of every error."""
    return [(e.code, text[e.span.start : e.span.end] if e.span else "") for e in errors(text)]


def sql(expression: Expression | None) -> str | None:
    """As Spark SQL, names of ours as people read them."""
    return None if expression is None else expression.over({name: shown(name) for name in expression.names})


def conditions(predicate: Predicate) -> tuple[list[str | None], set[tuple[object, ...]]]:
    """What a predicate leaves to Spark, and its comparisons."""
    comparisons = {(sql(c.column), c.operator, c.values) for c in predicate.comparisons}
    return [sql(condition) for condition in predicate.opaque], comparisons
