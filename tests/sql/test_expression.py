"""Expressions reach Spark as they were written: found columns, one spelling, and the same values.

The last test runs every expression twice on Spark, as written and as the compiler hands it on, and compares.
"""

from __future__ import annotations

from typing import Any

import pytest

from punctual.runtime import session
from punctual.sql.expression import Expression, parse_expression, same_but_for_brackets
from punctual.sql.pieces import Piece, render, to_pieces
from punctual.sql.tokens import tokenize

ROW = (
    "SELECT 7 AS a, 3 AS b, 2.5D AS x, 'it\\'s a Test' AS s, timestamp '2024-02-29 13:14:15.5' AS ts, "
    "array(3, 1, 2) AS arr, map('k', 1, 'j', 2) AS m, named_struct('F', 1, 'g', 'y') AS st, CAST(NULL AS INT) AS n, "
    "array('p', 'q') AS words, 12.34BD AS d"
)
COLUMNS = ("a", "b", "x", "s", "ts", "arr", "m", "st", "n", "words", "d")

EXPRESSIONS = """\
CAST(x AS INT)|a::double / 2|try_cast(s AS INT)|cast(s as decimal(10,2))|CAST(arr AS ARRAY<STRING>)
cast(named_struct('P', a) AS STRUCT<Q: STRING>)|CASE WHEN a > 1 THEN 'x' ELSE 'y' END|CASE a WHEN 7 THEN 1 END
date_trunc('HOUR', ts)|timestamp_millis(a)|timestamp_seconds(a * 1000)|to_timestamp('2020-01-01')|arr[0]|m['k']|st.F|st.f
element_at(arr, 1)|transform(arr, v -> v + a)|aggregate(arr, 0, (acc, v) -> acc + v * b)|filter(arr, v -> v > 1)
exists(arr, v -> v = b)|forall(arr, v -> v > 0)|zip_with(arr, arr, (p, q) -> p * q)|transform(arr, (v, i) -> v * i)
ts + INTERVAL 1 DAY|ts + INTERVAL '1 02:03:04' DAY TO SECOND|ts - interval '5' minute|ts + make_interval(0, 0, 0, a)
a DIV b|a % b|mod(a, b)|pmod(-a, b)|- a|- -a|+a|~a|a & b|a ^ b|a << 2|a >> 1|a - (b - 1)|a / (b / 2)|a - b - 1
s LIKE 'it%'|s RLIKE 'T.st'|s NOT LIKE '%x%'|s ILIKE 'IT%'|s LIKE ANY ('x%', 'it%')|s REGEXP '\\\\w+'|s rlike r'\\w+'
a IN (1, 7)|a NOT IN (1, 2)|a BETWEEN b AND 10|n IS DISTINCT FROM a|n IS NOT DISTINCT FROM n|n <=> a|n IS NULL|a IS NOT NULL
NOT a = b|!(a = b)|a = 7 AND b = 3 OR n = 1|(a = 7 OR b = 1) AND x > 2|a == 7|a != b|a <> b|true AND NOT false
if(a > b, 'p', 'q')|coalesce(n, a)|nvl(n, a)|ifnull(n, a)|nullif(a, 7)|nvl2(n, 1, 2)|greatest(a, b, x)|least(a, b)
substr(s, 1, 2)|substring(s FROM 4 FOR 3)|left(s, 2)|right(s, 2)|trim(BOTH 'i' FROM s)|position('a' IN s)|instr(s, 'a')
overlay(s PLACING 'XX' FROM 2)|upper(s)|UPPER( s )|initcap(s)|lpad(s, 20, '*')|concat_ws('-', s, a)|split(s, ' ')[1]
regexp_replace(s, 't', 'T')|regexp_extract(s, '(T)', 1)|replace(s, 'a')|translate(s, 'ae', 'AE')|to_char(d, '99.99')
extract(hour FROM ts)|hour(ts)|dayofweek(ts)|date_format(ts, 'yyyy-MM-dd')|unix_timestamp(ts)|to_unix_timestamp(ts)
datediff(ts, '2024-01-01')|date_add(ts, 1)|date_sub(ts, b)|timestampdiff(HOUR, ts, ts + INTERVAL 1 DAY)|dateadd(DAY, a, ts)
add_months(ts, 1)|months_between(ts, '2024-01-01')|trunc(ts, 'MM')|last_day(ts)|from_utc_timestamp(ts, 'Asia/Tokyo')
log(x)|log(2, x)|log2(x)|log10(x)|ln(x)|pow(x, 2)|power(a, b)|round(x, 0)|bround(x)|ceil(x)|ceiling(x)|floor(d, 1)|sign(x)
array(1, a)|map('z', a)|struct(a, b)|named_struct('P', a).P|struct(a AS Foo, b).Foo|array_contains(arr, b)|size(arr)
sort_array(arr)|array_join(words, ',')|sequence(1, b)|slice(arr, 1, 2)|map_keys(m)|flatten(array(arr, arr))|hash(a, s)
1.5D|1.5F|1.5BD|10L|5S|3Y|1e3|.5|'it''s'|'it\\'s'|"double"|r'\\d'|X'1F'|DATE '2020-01-01'|TIMESTAMP '2020-01-01 00:00:00'
'a' 'b'|concat('--', s, '/*')|int(x)|string(a)|double(d)|date('2020-01-01')|typeof(d)|md5(s)|sha2(s, 256)|xxhash64(s, a)
decode(a, 7, 'seven', 'other')|nanvl(x, 1)|shiftleft(a, 1)|bit_count(a)|from_json('{"p": 1}', 'p INT').p|str_to_map('a:1')
get_json_object('{"p": 1}', '$.p')|format_string('%d %s', a, s)|chr(65)|char(66)|ascii(s)|hex(a)|conv('ff', 16, 10)
try_divide(a, 0)|a / 0|equal_null(n, n)|weekday(ts)|make_date(2020, 1, a)|quarter(ts)|convert_timezone('UTC', 'Asia/Tokyo', \
timestamp_ntz '2020-01-01 00:00:00')|s COLLATE UTF8_LCASE = 'IT\\'S A TEST'|space(b)|repeat('x', b)|reverse(s)|elt(1, s)\
"""
EACH = ["cast(a AS string) || '!'", "st.g || st.f", "a | b"] + [text for line in EXPRESSIONS.split("\n") for text in line.split("|") if text]


def parsed(text: str) -> Expression:
    tokens, broken = tokenize(text)
    assert broken is None
    return parse_expression(text, tokens)


def handed_on(text: str) -> str:
    """The expression with every column quoted, as the binder hands it to Spark."""
    expression = parsed(text)

    def quote(reference: Any) -> tuple[Piece, ...]:
        span = expression.place(reference.first, reference.end)
        return (Piece(".".join(f"`{part}`" for part in reference.parts), "column", span),)

    return render(to_pieces(expression, quote))


@pytest.mark.parametrize("text", EACH)
def test_columns_are_found_and_nothing_else(text: str) -> None:
    names = {column.parts[0].lower() for column in parsed(text).columns}
    assert names <= set(COLUMNS)


@pytest.mark.parametrize(("text", "names"), [
    ("transform(arr, v -> v + a)", ["arr", "a"]),
    ("aggregate(arr, x, (acc, v) -> acc + v + b)", ["arr", "x", "b"]),
    ("to_char(d, s)", ["d", "s"]), ("date_sub(ts, b)", ["ts", "b"]), ("count(a, b, x)", ["a", "b", "x"]),
    ("round(a, b, x)", ["a", "b", "x"]), ("struct(a AS k, b)", ["a", "b"]), ("timestampdiff(DAY, a, b)", ["a", "b"]),
    ("sum(a) FILTER (WHERE b > x)", ["a", "b", "x"]), ("first(a) IGNORE NULLS", ["a"]), ("a.b.c[x].d", ["a.b.c", "x"]),
    ("extract(DAY FROM ts)", ["ts"]), ("cast(a AS STRUCT<b: INT>)", ["a"]), ("make_interval(days => a)", ["a"]),
    ("interval(a, 95%)", ["a"]), ("period + error", ["period", "error"]),
])
def test_columns(text: str, names: list[str]) -> None:
    assert [".".join(column.parts) for column in parsed(text).columns] == names


@pytest.mark.parametrize(("one", "other"), [
    ("AVG( a )", "avg(a)"), ("a+b", "a  +  b"), ("CASE WHEN a THEN b END", "case when a then b end"),
    ("a\n-- why\n+ b", "a + b"), ("CAST(a AS INT)", "cast(a as int)"), ("f(a,b)[0].c", "F(a, b) [ 0 ] . c"),
])
def test_one_spelling(one: str, other: str) -> None:
    assert handed_on(one) == handed_on(other)


def test_what_names_a_field_keeps_its_case() -> None:
    assert handed_on("struct(a AS Foo)") == "struct(`a` as Foo)"
    assert handed_on("named_struct('Foo', a).Foo") == "named_struct('Foo', `a`).Foo"


@pytest.mark.parametrize(("one", "other", "same"), [
    ("a + b * c", "a + (b * c)", True), ("a + b * c", "(a + b) * c", False), ("f((a))", "f(a)", True),
    ("a - b - c", "a - (b - c)", False), ("NOT a = b", "NOT (a = b)", True), ("a AND b OR c", "a AND (b OR c)", False),
])
def test_brackets(one: str, other: str, same: bool) -> None:
    assert same_but_for_brackets(one, other) is same


@pytest.mark.spark
def test_spark_gives_the_same_values() -> None:
    """As written and as handed on: both in one row, so that one job compares them all."""
    pairs = [(text, handed_on(text)) for text in EACH]
    both = [f"({sql}) AS {side}{i}" for i, pair in enumerate(pairs) for side, sql in zip("wh", pair)]
    spark = session.start("local[1]", "expressions", {})
    try:
        values = spark.sql(ROW).selectExpr(*both).collect()[0]
    finally:
        session.stop(spark)
    differing = [pair for i, pair in enumerate(pairs) if repr(values[f"w{i}"]) != repr(values[f"h{i}"])]
    assert differing == []
