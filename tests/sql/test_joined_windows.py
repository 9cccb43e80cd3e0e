"""Joins of windows with QUALITY: which are aggregates from rows, and by which columns their windows are sampled."""

from __future__ import annotations

import pytest

from punctual.errors import ProgramErrors
from punctual.kinds.program import compile_program, share
from punctual.plan.query import Query
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import AggregatedRows, RowReader

STREAMS = """
CREATE STREAM a (t TIMESTAMP EVENT TIME, k STRING, j INT, x DOUBLE, d DECIMAL(10,2), p DOUBLE PROBABILITY) FROM FEED;
CREATE STREAM b (t TIMESTAMP EVENT TIME, k STRING, j BIGINT, y DOUBLE, d DECIMAL(12,2)) FROM FEED;
CREATE STREAM c (t TIMESTAMP EVENT TIME, k STRING, j SMALLINT, z DOUBLE) FROM FEED;
CREATE TABLE owners (id STRING, owner STRING) FROM FILES 'owners.csv' FORMAT CSV;
"""
AB = "FROM a [RANGE 1 MINUTE], b [RANGE 2 MINUTES]"


def query(text: str) -> Query:
    program = compile_program(f"{STREAMS} CREATE QUERY q AS {text} PERIOD 1 MINUTE;", base=".")
    return program.catalog.queries["q"]


def read(text: str) -> RowReader:
    (reader,) = share([query(text)]).row_readers
    return reader


def joined(text: str) -> AggregatedRows:
    statement = read(text).statement
    assert isinstance(statement, AggregatedRows)
    return statement


@pytest.mark.parametrize(("source", "by"), [
    (f"{AB} WHERE a.k = b.k", (("k",), ("k",))),
    ("FROM a [RANGE 1 MINUTE] JOIN b [RANGE 1 MINUTE] ON b.k = a.k AND x < y", (("k",), ("k",))),
    (f"{AB} WHERE a.j = b.j AND a.k = b.k", (("k", "j"), ("k", "j"))),
    (f"{AB} WHERE a.x = b.y", (("x",), ("y",))),
    (f"{AB} WHERE a.d = b.d", ()),  # equal values of two scales have two hashes
    (f"{AB} WHERE a.x = b.j", ()),
    (f"{AB} WHERE a.j + 1 = b.j", ()),
    ("FROM a [RANGE 1 MINUTE], a [RANGE 2 MINUTES] AS e WHERE a.k = e.k", (("k",), ("k",))),
    ("FROM a [RANGE 1 MINUTE], b [NOW], c [RANGE 1 HOUR] WHERE a.k = b.k AND b.k = c.k", (("k",), ("k",), ("k",))),
    ("FROM a [RANGE 1 MINUTE], b [NOW], c [RANGE 1 HOUR] WHERE a.j = c.j AND c.j = b.j AND a.k = b.k",
     (("j",), ("j",), ("j",))),
    ("FROM a [RANGE 1 MINUTE], b [NOW], c [RANGE 1 HOUR] WHERE a.k = b.k AND b.j = c.j", ()),
    (f"{AB}, owners WHERE a.k = id AND id = b.k AND a.j = b.j", (("k", "j"), ("k", "j"))),
])
def test_windows_are_sampled_by_what_is_equal_in_all_of_them(source: str, by: tuple[tuple[str, ...], ...]) -> None:
    found = joined(f"SELECT count(*) AS n, sum(a.x) AS s {source} QUALITY LINEAR")
    assert found.by == by
    assert len(found.windows) == len(found.names)
    assert len(found.unit.drawn_apart) == (0 if by else len(found.names) - 1)


@pytest.mark.parametrize("text", [
    f"SELECT count(*) AS n {AB} WHERE a.k = b.k",
    f"SELECT a.k, b.k AS other {AB} WHERE a.k = b.k QUALITY LINEAR",
    f"SELECT stddev(a.x) AS n {AB} WHERE a.k = b.k QUALITY LINEAR",
    f"SELECT count(DISTINCT a.x) AS n {AB} WHERE a.k = b.k QUALITY LINEAR",
    f"SELECT count(*) AS n {AB} WHERE lower(a.k) = lower(b.k) QUALITY LINEAR",
    f"SELECT count(*) AS n {AB} WHERE a.x < b.y QUALITY LINEAR",
    f"SELECT a.k, count(*) AS n {AB} WHERE a.k = b.k GROUP BY a.k ORDER BY k QUALITY LINEAR",
    "SELECT count(*) AS n FROM a [RANGE 1 MINUTE] LEFT JOIN b [RANGE 1 MINUTE] ON a.k = b.k QUALITY LINEAR",
    "SELECT count(*) AS n FROM a [ROWS 5], b [RANGE 1 MINUTE] WHERE a.k = b.k QUALITY LINEAR",
    "SELECT count(*) AS n FROM (a [NOW] UNION ALL b [NOW]) AS u, c [NOW] WHERE u.k = c.k QUALITY LINEAR",
])
def test_all_other_joins_are_sparks(text: str) -> None:
    assert isinstance(read(text).statement, RowStatement)


def test_a_table_of_shares_draws_windows_apart() -> None:
    table = "QUALITY (1 => (l 100%, r 100%), 0.7 => (l 60%, r 30%))"
    found = joined(
        f"SELECT sum(l.x) AS s, sum(y) AS o FROM a [RANGE 1 MINUTE] AS l, b [RANGE 1 HOUR] AS r WHERE l.k = r.k {table}"
    )
    assert (found.by, found.names, found.unit.drawn_apart) == ((), ("l", "r"), ("r",))
    assert found.summed == (("x",), ("y",))
    assert [window.range_us // 60_000_000 for window in found.windows if window.range_us] == [1, 60]


@pytest.mark.parametrize(("keys", "whole"), [
    ("a.k", True), ("b.k", True), ("owners.id", True), ("upper(a.k), b.k", True), ("a.j", False), ("owner", False),
    ("upper(a.k)", False),
])
def test_groups_that_have_the_key_are_whole(keys: str, whole: bool) -> None:
    source = f"{AB}, owners WHERE a.k = b.k AND owners.id = a.k"
    found = query(f"SELECT count(*) AS n {source} GROUP BY {keys} QUALITY LINEAR")
    assert found.body.rows.has_whole_keys is whole  # type: ignore[attr-defined]


def test_rankings_do_not_join_windows() -> None:
    with pytest.raises(ProgramErrors) as refused:
        query("SELECT TOP 2 a.k FROM a [NOW], a [NOW] AS e WHERE a.k = e.k ORDER BY a.x QUALITY LINEAR")
    assert [error.code for error in refused.value.errors] == ["plan.not-yet"]
