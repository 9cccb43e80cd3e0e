"""What queries mean once bound: keys, aggregates, answer expressions, joins."""

from __future__ import annotations

import pytest

from punctual.errors import Span
from punctual.kinds.program import compile_program
from punctual.plan.expression import column_of
from punctual.plan.quality import Quality, QualityPoint
from punctual.plan.rows import Join
from tests.sql.programs import DECLARED, body_of, compiled, conditions, found, query, sql

FROM = "FROM speed [RANGE 1 MINUTE] AS s"
PERIOD = "PERIOD 1 MINUTE"


def calls(body: str) -> list[tuple[str, str | None]]:
    return [(a.function, sql(a.argument)) for a in body_of(query(body)).calls]


def test_a_query_with_everything() -> None:
    bound = query(
        "SELECT s.lane, name, AVG( Kmh ) AS mean, count(*) - 1 AS others, upper(lanes.city) || '!' "
        f"{FROM}, lanes WHERE s.lane = lanes.id AND kmh > 50 AND (sensor LIKE 'a%' OR lane IN (1, 2)) "
        "GROUP BY lane, lanes.name, upper(lanes.city) HAVING mean > 3 AND count(*) > 1 "
        f"ORDER BY mean DESC, 1, others NULLS LAST LIMIT 5 {PERIOD}"
    )
    assert [sql(key) for key in body_of(bound).rows.keys] == ["`lane`", "`lanes.name`", "upper(`lanes.city`)"]
    assert [(o.name, sql(o.expression), o.expression.column is not None) for o in bound.outputs] == [
        ("lane", "`k0`", True), ("name", "`k1`", True), ("mean", "`a0`", True), ("others", "`a1` - 1", False),
        ("upper(lanes.city) || '!'", "`k2` || '!'", False),
    ]
    assert body_of(bound).rows.joins == (Join("lanes", "lanes", "inner", ((column_of("lane"), "id"),)),)
    where = (["(`sensor` like 'a%' or `lane` in (1, 2))"], {("`kmh`", ">", (50.0,))})
    assert conditions(body_of(bound).rows.where) == where
    assert [(a.function, sql(a.argument), conditions(a.where)) for a in body_of(bound).calls] == [
        ("avg", "`kmh`", where), ("count", None, where),
    ]
    assert sql(body_of(bound).having) == "`a0` > 3 and `a1` > 1"
    assert [(sql(o.expression), o.ascending, o.nulls_first) for o in bound.order] == [
        ("`a0`", False, False), ("`k0`", True, True), ("(`a1` - 1)", True, False),
    ]


def test_spans_point_into_the_program() -> None:
    body = f"SELECT lane AS l, max(kmh + 1) AS top {FROM} GROUP BY lane HAVING max(lane) > 1 {PERIOD}"
    text = f"{DECLARED}CREATE QUERY q AS {body};"
    bound = compiled(text).catalog.queries["q"]

    def at(span: Span | None) -> str:
        assert span is not None
        return text[span.start : span.end]

    assert [at(o.expression.span) for o in bound.outputs] == ["lane", "max(kmh + 1)"]
    assert [at(a.span) for a in body_of(bound).calls] == ["max(kmh + 1)", "max(lane)"]
    assert at(body_of(bound).rows.keys[0].span) == "lane"
    having = body_of(bound).having
    assert having is not None
    assert at(having.span) == "max(lane) > 1"
    assert at(bound.span) == bound.text
    assert bound.text.startswith("CREATE QUERY q AS")


@pytest.mark.parametrize(("keys", "selected", "found"), [
    ("lane + 1", "lane + 1", "`k0`"),
    ("lane + 1", "(lane + 1 + count(*))", "(`k0` + `a0`)"),
    ("lane + 1", "2 * (lane + 1) - abs(lane + 1)", "2 * (`k0`) - abs(`k0`)"),
    ("(lane + 1)", "lane + 1 + abs((lane + 1))", "`k0` + abs((`k0`))"),
    ("(lane)", "abs(lane)", "abs(`k0`)"),
    ("lane, lane + 1", "lane + 1 + lane + 1 * 2", "`k1` + `k0` + 1 * 2"),
    ("lane, lane + 1, lane + 1 + big", "lane + 1 + big + (lane + 1) * lane", "`k2` + (`k1`) * `k0`"),
    ("lane > 1, big", "NOT lane > 1 AND big BETWEEN 1 AND 2", "not `k0` and `k1` between 1 and 2"),
    ("abs(lane)", "CASE WHEN abs(lane) > 1 THEN abs(lane) ELSE - abs(lane) END",
     "case when `k0` > 1 then `k0` else - `k0` end"),
    ("'day', ts", "date_trunc('day', ts)", "date_trunc('day', `k1`)"),
])
def test_grouping_expressions_are_found_where_they_are_operands(keys: str, selected: str, found: str) -> None:
    bound = query(f"SELECT {selected} AS x {FROM} GROUP BY {keys} {PERIOD}")
    assert sql(bound.outputs[0].expression) == found


def test_equal_calls_are_one_aggregate() -> None:
    select = "SELECT sum(lane+1) a, SUM( s.LANE + 1 ) b, sum(lane + 1) + count(*) c, count(1) d"
    assert calls(f"{select} {FROM} {PERIOD}") == [("sum", "`lane` + 1"), ("count", None)]


def test_filters_join_where() -> None:
    bound = query(
        f"SELECT count(*) FILTER (WHERE lane > 2 AND upper(sensor) = 'X') a, count(*) FILTER (WHERE lane > 2) b {FROM} "
        f"WHERE kmh < 3 AND abs(lane) = 1 {PERIOD}"
    )
    below, lane = ("`kmh`", "<", (3.0,)), ("`lane`", ">", (2,))
    upper = ("CAST((upper(`sensor`) = 'X') AS INT)", "=", (1,))
    opaque = ["abs(`lane`) = 1"]
    assert conditions(body_of(bound).rows.where) == (opaque, {below})
    found = [conditions(a.where) for a in body_of(bound).calls]
    assert found == [(opaque, {below, lane, upper}), (opaque, {below, lane})]


def aggregate(
    function: str,
    argument: str | None,
    parameters: tuple[object, ...] = (),
    *,
    distinct: bool = False,
    ignore_nulls: bool = False,
) -> tuple[object, ...]:
    return function, argument, parameters, distinct, ignore_nulls


@pytest.mark.parametrize(("call", "expected"), [
    ("mean(kmh)", aggregate("avg", "`kmh`")),
    ("std(kmh)", aggregate("stddev_samp", "`kmh`")),
    ("variance(kmh)", aggregate("var_samp", "`kmh`")),
    ("count(DISTINCT lane)", aggregate("count", "`lane`", distinct=True)),
    ("max(DISTINCT lane)", aggregate("max", "`lane`")),
    ("sum(ALL lane)", aggregate("sum", "`lane`")),
    ("count_if(kmh > 3)", aggregate("count_if", "`kmh` > 3")),
    ("first(kmh)", aggregate("first", "`kmh`")),
    ("first(kmh, true)", aggregate("first", "`kmh`", ignore_nulls=True)),
    ("first_value(kmh) IGNORE NULLS", aggregate("first", "`kmh`", ignore_nulls=True)),
    ("last(kmh IGNORE NULLS)", aggregate("last", "`kmh`", ignore_nulls=True)),
    ("last(kmh) RESPECT NULLS", aggregate("last", "`kmh`")),
    ("any_value(kmh, false)", aggregate("first", "`kmh`")),
    ("percentile_approx(kmh, 0.5)", aggregate("approx_percentile", "`kmh`", (0.5,))),
    ("approx_percentile(kmh, array(0.25, 1), 500)", aggregate("approx_percentile", "`kmh`", ((0.25, 1), 500))),
    ("approx_count_distinct(lane, 0.02)", aggregate("approx_count_distinct", "`lane`", (0.02,))),
    ("sum(CASE WHEN lane = 1 THEN kmh END)", aggregate("sum", "case when `lane` = 1 then `kmh` end")),
    ("max(loc.x)", aggregate("max", "`loc`.`x`")),
    ("max(s.loc.x)", aggregate("max", "`loc`.`x`")),
    ("max(size(transform(tags, t -> upper(t))))", aggregate("max", "size(transform(`tags`, t -> upper(t)))")),
    ("count('x')", aggregate("count", None)),
])
def test_aggregates(call: str, expected: tuple[object, ...]) -> None:
    (bound,) = body_of(query(f"SELECT {call} {FROM} {PERIOD}")).calls
    parameters, flags = bound.parameters, (bound.distinct, bound.ignore_nulls)
    assert (bound.function, sql(bound.argument), parameters, *flags) == expected


@pytest.mark.parametrize(("select", "groups", "keys", "outputs"), [
    ("lane + 1 AS next", "next", ["`lane` + 1"], ["`k0`"]),
    ("kmh AS lane, max(lane)", "kmh", ["`kmh`"], ["`k0`", "`a0`"]),
    ("lane % 2, count(*)", "1", ["`lane` % 2"], ["`k0`", "`a0`"]),
    ("(lane + 1) * 2", "lane + 1", ["`lane` + 1"], ["(`k0`) * 2"]),
    ("LANE+1", "lane + 1", ["`lane` + 1"], ["`k0`"]),
    ("date_trunc('HOUR', ts), count(*)", "date_trunc('HOUR', s.ts)", ["date_trunc('HOUR', `ts`)"], ["`k0`", "`a0`"]),
    ("upper(sensor) || lane", "lane, upper(sensor)", ["`lane`", "upper(`sensor`)"], ["`k1` || `k0`"]),
    ("lane, lane + 1 AS n, n * 2 AS m", "lane", ["`lane`"], ["`k0`", "`k0` + 1", "(`k0` + 1) * 2"]),
    ("count(*) AS n, n / 2 AS half", "lane", ["`lane`"], ["`a0`", "`a0` / 2"]),
    ("loc.x", "loc", ["`loc`"], ["`k0`.`x`"]),
    ("loc.x", "loc.x", ["`loc`.`x`"], ["`k0`"]),
    ("now(), count(*)", "lane", ["`lane`"], ["`at`", "`a0`"]),
    ("'c', 1 + 1", "lane", ["`lane`"], ["'c'", "1 + 1"]),
    ("lane", "lane, LANE, s.lane", ["`lane`"], ["`k0`"]),
    ("cast(lane AS string) AS s1", "CAST(lane as STRING)", ["cast(`lane` as string)"], ["`k0`"]),
])
def test_groups(select: str, groups: str, keys: list[str], outputs: list[str]) -> None:
    bound = query(f"SELECT {select} {FROM} GROUP BY {groups} {PERIOD}")
    assert [sql(key) for key in body_of(bound).rows.keys] == keys
    assert [sql(output.expression) for output in bound.outputs] == outputs


def test_names_in_having_and_order_follow_spark() -> None:
    """HAVING takes a grouped column before an alias, ORDER BY an alias before a column."""
    bound = query(f"SELECT max(kmh) AS lane {FROM} GROUP BY lane HAVING lane > 1 ORDER BY lane {PERIOD}")
    assert sql(body_of(bound).having) == "`k0` > 1"
    assert sql(bound.order[0].expression) == "`a0`"
    bound = query(f"SELECT max(kmh) AS sensor {FROM} GROUP BY lane HAVING sensor > 1 ORDER BY s.lane {PERIOD}")
    assert sql(body_of(bound).having) == "`a0` > 1"
    assert sql(bound.order[0].expression) == "`k0`"


@pytest.mark.parametrize(("sources", "joins", "opaque"), [
    (f"{FROM} JOIN lanes l ON s.lane = l.id", [("lanes", "l", "inner", (("`lane`", "id"),))], ()),
    (f"{FROM} LEFT OUTER JOIN lanes ON id = lane + 1", [("lanes", "lanes", "left", (("`lane` + 1", "id"),))], ()),
    (f"{FROM} JOIN lanes ON lane = id AND name <> city", [("lanes", "lanes", "inner", (("`lane`", "id"),))],
     ("`lanes.name` <> `lanes.city`",)),
    (f"{FROM}, cities c, lanes l WHERE l.city = c.city AND lane = l.id",
     [("lanes", "l", "inner", (("`lane`", "id"),)), ("cities", "c", "inner", (("`l.city`", "city"),))], ()),
    (f"{FROM} LEFT JOIN lanes l ON lane = id LEFT JOIN cities c ON l.city = c.city WHERE c.country = c.city",
     [("lanes", "l", "left", (("`lane`", "id"),)), ("cities", "c", "left", (("`l.city`", "city"),))],
     ("`c.country` = `c.city`",)),
    (f"{FROM} LEFT JOIN lanes l ON lane = id JOIN cities c ON l.city = c.city",
     [("lanes", "l", "left", (("`lane`", "id"),)), ("cities", "c", "inner", (("`l.city`", "city"),))], ()),
    (f"{FROM} LEFT JOIN lanes l ON lane = id WHERE l.id = s.big",
     [("lanes", "l", "left", (("`lane`", "id"),))], ("`l.id` = `big`",)),
    (f"{FROM}, lanes l WHERE lane = id AND upper(sensor) = l.name",
     [("lanes", "l", "inner", (("`lane`", "id"), ("upper(`sensor`)", "name")))], ()),
    ("FROM lanes, speed [NOW] WHERE lanes.id = lane", [("lanes", "lanes", "inner", (("`lane`", "id"),))], ()),
    ("FROM lanes AS l JOIN speed [NOW] AS c ON l.id = c.lane", [("lanes", "l", "inner", (("`lane`", "id"),))], ()),
    ("FROM lanes AS l LEFT JOIN cities AS c ON l.city = c.city JOIN speed [NOW] ON id = lane AND country <> name",
     [("lanes", "l", "inner", (("`lane`", "id"),)), ("cities", "c", "left", (("`l.city`", "city"),))],
     ("`c.country` <> `l.name`",)),
    (f"{FROM} JOIN (lanes JOIN cities ON lanes.city = cities.city) ON id = lane",
     [("lanes", "lanes", "inner", (("`lane`", "id"),)), ("cities", "cities", "inner", (("`lanes.city`", "city"),))],
     ()),
])
def test_joins(sources: str, joins: list[tuple[object, ...]], opaque: tuple[str, ...]) -> None:
    bound = query(f"SELECT count(*) {sources} {PERIOD}")
    rows = body_of(bound).rows
    on = [tuple((sql(row), column) for row, column in join.on) for join in rows.joins]
    assert [(j.table, j.alias, j.how, pairs) for j, pairs in zip(rows.joins, on)] == joins
    assert conditions(rows.where) == (list(opaque), set())


def test_nothing_half_registers() -> None:
    before = compiled(DECLARED).catalog
    assert found(f"{DECLARED}SET tick = 3; CREATE QUERY q AS SELECT max(nothing) FROM speed [NOW] {PERIOD}") != []
    assert compiled(DECLARED).catalog == before


def test_a_catalog_goes_on() -> None:
    first = compiled(DECLARED)
    from_there = compile_program(
        f"CREATE QUERY q AS SELECT count(*) FROM speed [NOW] {PERIOD}", first.catalog, base="/elsewhere"
    )
    assert list(from_there.catalog.streams) == ["speed", "rfid"]
    assert list(from_there.catalog.queries) == ["q"]


@pytest.mark.parametrize(
    ("clause", "quality"),
    [
        ("QUALITY CONVEX", Quality("CONVEX")),
        (
            "QUALITY (10% => 0.4, 100% => 1, 50% => 0.9)",
            Quality(None, (QualityPoint(1.0, (1.0,)), QualityPoint(0.9, (0.5,)), QualityPoint(0.4, (0.1,)))),
        ),
        (
            "QUALITY (1 => (S 100%), 0.7 => (s 60%))",
            Quality(None, (QualityPoint(1.0, (1.0,)), QualityPoint(0.7, (0.6,))), ("s",)),
        ),
    ],
)
def test_quality(clause: str, quality: Quality) -> None:
    assert query(f"SELECT count(*) {FROM} {PERIOD} {clause}").quality == quality
    assert query(f"SELECT kmh {FROM} {PERIOD} {clause}").quality == quality


def test_quality_names_windows_of_joins_by_alias() -> None:
    bound = query(
        f"SELECT a.kmh {FROM.replace('AS s', 'a')} JOIN rfid [NOW] AS b ON a.sensor = b.tag {PERIOD} "
        "QUALITY (0.7 => (b 30%, a 60%), 1 => (a 100%, b 100%))"
    )
    assert bound.quality == Quality(None, (QualityPoint(1.0, (1.0, 1.0)), QualityPoint(0.7, (0.6, 0.3))), ("a", "b"))
    assert found(f"{DECLARED}CREATE QUERY q AS SELECT kmh {FROM} {PERIOD} QUALITY (1 => (speed 100%));") == [
        ("bind.unknown-stream", "speed")
    ]
