"""Whatever is typed, the compiler answers with a program or with its own errors, and every place lies in the text."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.parsers.spark import SparkParser

from punctual.errors import ProgramErrors, PunctualError
from punctual.kinds.program import compile_program
from punctual.sql.syntax.tokens import tokenize
from tests.sql.mutations import STATEMENTS, mutant
from tests.sql.programs import BASE, DECLARED

EXTRA = ["(", ")", "[", "]", ",", ";", ".", "*", "%", "-", "~", "=>", "->", "::", "SELECT", "FROM", "AS", "CASE", "END",
         "INTERVAL", "OVER", "FILTER", "DISTINCT", "IN", "NOT", "5", "0.5", "1e999", "'s'", "'it''s'", "`q`", "lane",
         "PERIOD", "MODEL", "UNION", "ALL", "ROWS", "NULLS", "cast", "?", "@", "$", "{{", "{%", "/*", "'", "`", "\\",
         "²", "é", "\0", "struct", "<", ">", "IGNORE", "WITHIN", "GROUP BY", "DATE", "99999999999999999999"]


CATALOG = compile_program(DECLARED, base=BASE).catalog
MOST_CALLS = 3_000_000
"""Calls of functions that the compiler may make for one program: a bound of its work that no clock decides."""


class TooMuchWorkError(Exception):
    """The compiler went on and on."""


@contextmanager
def bounded_work() -> Iterator[None]:
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > MOST_CALLS:
            sys.setprofile(None)
            raise TooMuchWorkError

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def compiles_or_points(text: str) -> None:
    found: list[PunctualError] = []
    try:
        with bounded_work():
            compile_program(text, CATALOG, base=BASE)
    except ProgramErrors as errors:
        found = list(errors.errors)
    for error in found:
        assert error.span is not None
        assert 0 <= error.span.start <= error.span.end <= len(text)
        assert error.render(text)


@pytest.mark.parametrize("statement", STATEMENTS.split(";\n"))
def test_any_prefix(statement: str) -> None:
    for end in range(0, len(statement) + 1, 2):
        compiles_or_points(statement[:end])


@pytest.mark.parametrize("statement", STATEMENTS.split(";\n"))
def test_any_token_left_out_doubled_or_replaced(statement: str) -> None:
    tokens, broken = tokenize(statement)
    assert broken is None
    rng = random.Random(0)
    for token in tokens:
        before, after = statement[: token.start], statement[token.end :]
        compiles_or_points(before + after)
        compiles_or_points(f"{before}{token.text} {token.text}{after}")
        compiles_or_points(f"{before}{rng.choice(EXTRA)}{after}")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*EXTRA, "CREATE", "QUERY", "q", "speed", "[NOW]", "count(*)", "WHERE"]), max_size=12))
def test_any_expression(words: list[str]) -> None:
    compiles_or_points(f"CREATE QUERY q AS SELECT {' '.join(words)} FROM speed [NOW] PERIOD 1 MINUTE; SET tick = 3")
    compiles_or_points(f"CREATE QUERY q AS SELECT count(*) FROM speed [NOW] WHERE {' '.join(words)} PERIOD 1 MINUTE")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    compiles_or_points(text)
    compiles_or_points(f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, x INT AS ({text})) FROM FEED")


@pytest.mark.parametrize("text", ["", ";", ";;;", "-- nothing", "/* nothing */ ;", "\n\t"])
def test_nothing_is_a_program(text: str) -> None:
    assert compile_program(text, base=BASE).statements == ()


def test_deep_nesting_is_refused_not_crashed() -> None:
    deep = "(" * 3000 + "1" + ")" * 3000
    with pytest.raises(ProgramErrors):
        compile_program(f"{DECLARED}CREATE QUERY q AS SELECT {deep} FROM speed [NOW] PERIOD 1 DAY", base=BASE)
    long = " + ".join(["kmh"] * 1000)
    compiles_or_points(f"CREATE QUERY q AS SELECT sum({long}) FROM speed [NOW] PERIOD 1 DAY")
    long = " AND ".join(["kmh > 1"] * 1000)
    compiles_or_points(f"CREATE QUERY q AS SELECT count(*) FROM speed [NOW] WHERE {long} PERIOD 1 DAY")


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_mutants(first: int) -> None:
    for seed in range(first, first + 100):
        compiles_or_points(mutant(random.Random(seed)))


def test_the_bound_of_work_is_one() -> None:
    with pytest.raises(TooMuchWorkError), bounded_work():
        list(map(abs, map(lambda number: number, range(MOST_CALLS + 1))))  # noqa: C417


@pytest.mark.parametrize("query", [
    "SELECT " + ", ".join(f"x{i}" for i in range(1000)) + " FROM speed [NOW]",
    "SELECT count(*) AS a0, " + ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(16)) + " FROM speed [NOW]",
    "SELECT " + " + ".join(["(lane + 1)"] * 200) + " AS c FROM speed [NOW] GROUP BY lane + 1",
    "SELECT count(*) FROM " + ", ".join(f"lanes AS l{i}" for i in range(60)) + ", speed [NOW] WHERE l59.id = lane AND "
    + " AND ".join(f"l{i}.id = l{i + 1}.id" for i in range(59)),
    "SELECT count(*) FROM speed [NOW]" + "".join(f" LEFT JOIN lanes AS l{i} ON l{i}.id = lane" for i in range(90)),
    "SELECT count(*) FROM speed [NOW] WHERE " + "NOT " * 3000 + "kmh > 1",
    "SELECT sum(" + "CASE WHEN kmh > 1 THEN " * 300 + "kmh" + " END" * 300 + ") FROM speed [NOW]",
    "SELECT count(*) FROM speed [NOW] QUALITY (" + ", ".join(f"{100 - i / 10}% => 1" for i in range(900)) + ")",
    "SELECT " + " + ".join(["lane + 1 * 2", "(lane + 1)", "abs(lane)"] * 330) + " AS c, count(*) FROM speed [NOW] "
    "GROUP BY lane + 1, abs(lane), lane",
    "SELECT " + " + ".join(f"sum(kmh + {i})" for i in range(1000)) + " AS c FROM speed [NOW]",
    "SELECT " + ", ".join(f"max(kmh + {i}) AS o{i}" for i in range(500)) + " FROM speed [NOW] ORDER BY "
    + ", ".join(f"o{i}" for i in range(500)),
    "SELECT " + ", ".join(f"lane + {i} AS k{i}" for i in range(500)) + " FROM speed [NOW] GROUP BY "
    + ", ".join(f"lane + {i}" for i in range(500)),
    "SELECT count(*) FROM speed [NOW] WHERE " + " AND ".join(f"kmh <> {i}" for i in range(2000)),
    "SELECT count(*) FROM speed [NOW] WHERE " + " OR ".join(f"kmh <> {i}" for i in range(2000)),
    "SELECT max(ts + " + " + ".join(f"INTERVAL {i} SECONDS" for i in range(1, 1000)) + ") FROM speed [NOW]",
    "SELECT max(" + " + ".join(f"CAST(kmh + {i} AS INT)" for i in range(1000)) + ") FROM speed [NOW]",
    "SELECT " + ", ".join(f"count(*) FILTER (WHERE kmh > {i}) AS o{i}" for i in range(500)) + " FROM speed [NOW]",
])
def test_long_programs_take_bounded_work(query: str) -> None:
    compiles_or_points(f"CREATE QUERY q AS {query} PERIOD 1 MINUTE")


@pytest.mark.parametrize("term", ["(lane + 1)", "lane + 1 * 2", "abs(lane + 1)", "sum(lane)"])
def test_how_often_a_query_is_parsed_does_not_depend_on_the_length_of_its_terms(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By aggregates apart: their arguments are expressions of their own."""
    parse, counts, parsed = SparkParser.parse_into, [], 0

    def counted(self: SparkParser, *arguments: Any) -> Any:
        nonlocal parsed
        parsed += 1
        return parse(self, *arguments)

    monkeypatch.setattr(SparkParser, "parse_into", counted)
    for terms in (10, 1000):
        parsed = 0
        compiles_or_points(
            f"CREATE QUERY q AS SELECT {' + '.join([term] * terms)} AS c, max(kmh) FROM speed [NOW] "
            "GROUP BY lane + 1, lane PERIOD 1 MINUTE"
        )
        counts.append(parsed - terms * term.startswith("sum"))
    assert counts[0] == counts[1] < 10


@pytest.mark.parametrize(("expression", "fact"), [
    ("(" * 300 + "max(kmh)" + ")" * 300, "brackets are more than 100 deep"),
    ("- " * 3000 + "max(kmh)", "this is nested too deep"),
    ("max(tags" + "[0]" * 3000 + ")", "this is nested too deep"),
    ("CASE WHEN true THEN " * 300 + "max(kmh)" + " END" * 300, "this is nested too deep"),
    ("max(kmh) AS a0, " + ", ".join(f"a{i} + 1 AS a{i + 1}" for i in range(300)),
     "brackets are more than 100 deep once every alias is replaced by what it stands for"),
])
def test_what_is_nested_too_deep_is_said_at_its_place(expression: str, fact: str) -> None:
    text = f"CREATE QUERY q AS SELECT {expression} FROM speed [NOW] PERIOD 1 MINUTE"
    with pytest.raises(ProgramErrors) as caught:
        compile_program(text, CATALOG, base=BASE)
    assert [error.fact for error in caught.value.errors] == [fact]
    assert caught.value.span is not None
    assert text.index("SELECT") < caught.value.span.start < caught.value.span.end <= text.index(" FROM")


def test_aliases_of_aliases_do_not_explode() -> None:
    chain = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(16))
    text = f"CREATE QUERY q AS SELECT count(*) AS a0, {chain} FROM speed [NOW] PERIOD 1 MINUTE"
    with pytest.raises(ProgramErrors) as caught, bounded_work():
        compile_program(text, CATALOG, base=BASE)
    assert [error.code for error in caught.value.errors] == ["bind.too-long"]


def test_nothing_is_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    compiles_or_points("CREATE QUERY q AS SELECT IF 3 FROM speed [NOW] PERIOD 1 MINUTE")
    assert caplog.text == ""
