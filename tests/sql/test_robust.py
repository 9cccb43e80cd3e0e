"""Whatever is typed, the compiler answers with a program or with its own errors, and every place lies in the text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import ProgramErrors, PunctualError
from punctual.sql.program import compile_program
from punctual.sql.syntax.tokens import tokenize
from tests.sql.programs import BASE, DECLARED

VALID = """
CREATE QUERY a AS SELECT lane % 2 AS odd, avg(kmh) FILTER (WHERE sensor LIKE 'x%' AND lane IN (1, 2)) AS "m",
  approx_percentile(kmh, array(0.5, 0.9), 100), CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END AS size
FROM speed [RANGE 20 MINUTES SLIDE 2 MINUTES] AS s LEFT JOIN lanes ON s.lane = lanes.id, cities
WHERE cities.city = s.sensor AND kmh BETWEEN 1 AND 2.5 GROUP BY lane % 2 HAVING max(tags[0]) > 'a'
ORDER BY 2 DESC NULLS LAST, odd LIMIT 5 DEADLINE 5 SECONDS;
CREATE QUERY b AS SELECT TOP 3 BY PT(0.3) STREAMS sensor FROM speed [PARTITION BY sensor ROWS 5] ORDER BY kmh DESC
QUALITY (100% => 1, 50% => 0.9) PERIOD 1 MINUTE ERROR WITHIN 1% OR 0.01 ON kmh SPLIT EQUAL STABLE 5%;
CREATE QUERY c AS SELECT interval(kmh, 95%) FROM speed MODEL (x = kmh * t) FOR 60 SECONDS, (SELECT 1 FROM rfid [NOW]) y;
CREATE STREAM u (ts TIMESTAMP EVENT TIME, a DOUBLE ~ NEAREST 10 BY (a, b), b DECIMAL(4,2)) FROM RATE 5 PER SECOND;
CREATE MODEL m AS FIT kmh WITHIN 0.5 DEGREE 1 GAP 60 SECONDS BY sensor FROM speed;
EXPLAIN SHARING; DROP QUERY a; SET tick = 1 second;
""".replace('AS "m"', "AS `m`")
EXTRA = ["(", ")", "[", "]", ",", ";", ".", "*", "%", "-", "~", "=>", "->", "::", "SELECT", "FROM", "AS", "CASE", "END",
         "INTERVAL", "OVER", "FILTER", "DISTINCT", "IN", "NOT", "5", "0.5", "1e999", "'s'", "'it''s'", "`q`", "lane",
         "PERIOD", "MODEL", "UNION", "ALL", "ROWS", "NULLS", "cast", "?", "@", "$", "{{", "{%", "/*", "'", "`", "\\",
         "²", "é", "\0", "struct", "<", ">", "IGNORE", "WITHIN", "GROUP BY", "DATE", "99999999999999999999"]


CATALOG = compile_program(DECLARED, base=BASE).catalog


def judge(text: str) -> None:
    found: list[PunctualError] = []
    try:
        compile_program(text, CATALOG, base=BASE)
    except ProgramErrors as errors:
        found = list(errors.errors)
    for error in found:
        assert error.span is not None
        assert 0 <= error.span.start <= error.span.end <= len(text)
        assert error.render(text)


@pytest.mark.parametrize("statement", VALID.split(";\n"))
def test_any_prefix(statement: str) -> None:
    for end in range(0, len(statement) + 1, 2):
        judge(statement[:end])


@pytest.mark.parametrize("statement", VALID.split(";\n"))
def test_any_token_left_out_doubled_or_replaced(statement: str) -> None:
    tokens, broken = tokenize(statement)
    assert broken is None
    rng = random.Random(0)
    for token in tokens:
        before, after = statement[: token.start], statement[token.end :]
        judge(before + after)
        judge(f"{before}{token.text} {token.text}{after}")
        judge(f"{before}{rng.choice(EXTRA)}{after}")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*EXTRA, "CREATE", "QUERY", "q", "speed", "[NOW]", "count(*)", "WHERE"]), max_size=12))
def test_any_expression(words: list[str]) -> None:
    judge(f"CREATE QUERY q AS SELECT {' '.join(words)} FROM speed [NOW] PERIOD 1 MINUTE; SET tick = 3")
    judge(f"CREATE QUERY q AS SELECT count(*) FROM speed [NOW] WHERE {' '.join(words)} PERIOD 1 MINUTE")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    judge(text)
    judge(f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, x INT AS ({text})) FROM FEED")


@pytest.mark.parametrize("text", ["", ";", ";;;", "-- nothing", "/* nothing */ ;", "\n\t"])
def test_nothing_is_a_program(text: str) -> None:
    assert compile_program(text, base=BASE).statements == ()


def test_deep_nesting_is_refused_not_crashed() -> None:
    deep = "(" * 3000 + "1" + ")" * 3000
    with pytest.raises(ProgramErrors):
        compile_program(f"{DECLARED}CREATE QUERY q AS SELECT {deep} FROM speed [NOW] PERIOD 1 DAY", base=BASE)
    long = " + ".join(["kmh"] * 1000)
    judge(f"CREATE QUERY q AS SELECT sum({long}) FROM speed [NOW] PERIOD 1 DAY")
    long = " AND ".join(["kmh > 1"] * 1000)
    judge(f"CREATE QUERY q AS SELECT count(*) FROM speed [NOW] WHERE {long} PERIOD 1 DAY")
