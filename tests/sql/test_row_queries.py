"""What panes cannot answer is a row query: its windows, columns, tables and text."""

from __future__ import annotations

import pytest

from punctual.catalog import Catalog
from punctual.kinds.program import compile_program
from punctual.plan.query import Bound, Period, Query
from punctual.plan.row_query import RowQuery, RowStatement, WindowPlace
from tests.sql.test_errors import DECLARED, WINDOW, found

COUNT = f"SELECT count(*) FROM speed {WINDOW}"


def query_of(body: str) -> Query:
    catalog: Catalog = compile_program(f"{DECLARED}CREATE QUERY q AS {body};", base=".").catalog
    return catalog.queries["q"]


def statement_of(body: str) -> RowStatement:
    query = query_of(body)
    assert isinstance(query.body, RowQuery), body
    return query.body.statement


def _shown(place: WindowPlace) -> str:
    return f"w{place.window} AS {place.label}" if place.label else f"w{place.window}"


def text_of(statement: RowStatement) -> str:
    """The statement with its windows as w0, w1 ... and the instant as AT."""
    parts = []
    for part in (statement.select, statement.order, statement.tail):
        rendered = part.rendered(_shown, lambda back: f"AT-{back // 1_000_000}" if back else "AT")
        parts.append("".join(text for text, _span in rendered).strip())
    return " | ".join(parts).rstrip(" |")


@pytest.mark.parametrize(("body", "text", "windows"), [
    (f"SELECT kmh FROM speed {WINDOW} PERIOD 1 MINUTE", "SELECT kmh FROM w0 AS `speed`", [("speed", 60, ["kmh"])]),
    (f"SELECT DISTINCT lane FROM speed {WINDOW} AS s PERIOD 1 MINUTE", "SELECT DISTINCT lane FROM w0 AS s",
     [("speed", 60, ["lane"])]),
    (f"SELECT a.kmh, b.tag FROM speed {WINDOW} a JOIN rfid [RANGE 10 SECONDS] b ON a.sensor = b.tag PERIOD 5 SECONDS",
     "SELECT a.kmh, b.tag FROM w0 a JOIN w1 b ON a.sensor = b.tag",
     [("speed", 60, ["sensor", "kmh"]), ("rfid", 10, ["tag"])]),
    (f"{COUNT} WHERE ts < now() PERIOD 1 MINUTE", "SELECT count(*) FROM w0 AS `speed` WHERE ts < AT",
     [("speed", 60, ["ts"])]),
    (f"{COUNT} WHERE lane IN (SELECT id FROM lanes) PERIOD 1 MINUTE",
     "SELECT count(*) FROM w0 AS `speed` WHERE lane IN (SELECT id FROM lanes)", [("speed", 60, ["lane"])]),
    ("WITH x AS (SELECT kmh FROM speed [RANGE 1 HOUR SLIDE 1 MINUTE]) SELECT kmh FROM x ORDER BY kmh DESC LIMIT 3",
     "WITH x AS (SELECT kmh FROM w0 AS `speed`) SELECT kmh FROM x | kmh DESC | LIMIT 3", [("speed", 3600, ["kmh"])]),
    (f"SELECT lane FROM speed {WINDOW} EXCEPT SELECT lane FROM speed [NOW] PERIOD 5 SECONDS",
     "SELECT lane FROM w0 AS `speed` EXCEPT SELECT lane FROM w1 AS `speed`",
     [("speed", 60, ["lane"]), ("speed", 5, ["lane"])]),
    (f"SELECT DISTINCT lane FROM speed {WINDOW} ORDER BY ALL PERIOD 1 MINUTE",
     "SELECT DISTINCT lane FROM w0 AS `speed` | ALL", [("speed", 60, ["lane"])]),
    (f"SELECT median(kmh) FROM speed {WINDOW} PERIOD 1 MINUTE -- a comment",
     "SELECT median(kmh) FROM w0 AS `speed`", [("speed", 60, ["kmh"])]),
    (f"SELECT max(kmh) OVER (PARTITION BY lane ORDER BY ts) AS m FROM speed {WINDOW} PERIOD 1 MINUTE",
     "SELECT max(kmh) OVER (PARTITION BY lane ORDER BY ts) AS m FROM w0 AS `speed`",
     [("speed", 60, ["ts", "lane", "kmh"])]),
    (f"SELECT lane, count(*) FROM speed {WINDOW} GROUP BY ROLLUP(lane) PERIOD 1 MINUTE DEADLINE 5 SECONDS",
     "SELECT lane, count(*) FROM w0 AS `speed` GROUP BY ROLLUP(lane)", [("speed", 60, ["lane"])]),
])
def test_windows_and_clauses_are_found(body: str, text: str, windows: list[tuple[str, int, list[str]]]) -> None:
    statement = statement_of(body)
    assert text_of(statement) == text
    found_windows = [(one.stream, (one.range_us or 0) // 1_000_000, list(one.columns)) for one in statement.windows]
    assert found_windows == windows


@pytest.mark.parametrize(("body", "text", "windows"), [
    (f"SELECT max(n) AS m FROM (SELECT count(*) AS n FROM speed {WINDOW}) [RANGE 25 SECONDS] AS x PERIOD 10 SECONDS",
     "SELECT max(n) AS m FROM "
     "((SELECT count(*) AS n FROM w0 AS `speed`) UNION ALL (SELECT count(*) AS n FROM w1 AS `speed`) "
     "UNION ALL (SELECT count(*) AS n FROM w2 AS `speed`)) AS x",
     [("speed", 60, 0), ("speed", 60, 10), ("speed", 60, 20)]),
    ("SELECT t FROM (SELECT now() AS t FROM speed [NOW]) [RANGE 2 SECONDS SLIDE 1 SECOND] x WHERE t < now()",
     "SELECT t FROM ((SELECT AT AS t FROM w0 AS `speed`) UNION ALL (SELECT AT-1 AS t FROM w1 AS `speed`)) x "
     "WHERE t < AT",
     [("speed", 1, 0), ("speed", 1, 1)]),
    ("SELECT k FROM (SELECT k FROM (SELECT kmh AS k FROM speed [NOW]) [RANGE 2 SECONDS]) [RANGE 2 SECONDS] "
     "PERIOD 1 SECOND",
     "SELECT k FROM ((SELECT k FROM ((SELECT kmh AS k FROM w0 AS `speed`) UNION ALL (SELECT kmh AS k FROM w1 AS "
     "`speed`))) UNION ALL (SELECT k FROM ((SELECT kmh AS k FROM w1 AS `speed`) UNION ALL (SELECT kmh AS k FROM w2 AS "
     "`speed`))))",
     [("speed", 1, 0), ("speed", 1, 1), ("speed", 1, 2)]),
    ("WITH a AS (SELECT kmh FROM speed [NOW]), b AS (SELECT kmh FROM a), c AS (SELECT id FROM lanes) "
     "SELECT kmh FROM (SELECT kmh FROM b) [NOW] AS x PERIOD 1 SECOND",
     "WITH a AS (SELECT kmh FROM w0 AS `speed`), b AS (SELECT kmh FROM a), c AS (SELECT id FROM lanes) "
     "SELECT kmh FROM (( WITH a AS (SELECT kmh FROM w0 AS `speed`), b AS (SELECT kmh FROM a) "
     "SELECT * FROM (SELECT kmh FROM b ))) AS x",
     [("speed", 1, 0)]),
    (f"SELECT DISTINCT ts FROM speed {WINDOW} UNION ALL rfid [RANGE 2 SECONDS] PERIOD 1 SECOND",
     "SELECT DISTINCT ts FROM ( SELECT `ts` FROM w0 UNION ALL SELECT `ts` FROM w1 ) AS `speed`",
     [("speed", 60, 0), ("rfid", 2, 0)]),
    ("SELECT DISTINCT u.ts FROM (speed [NOW] UNION ALL rfid [NOW]) AS u PERIOD 1 SECOND",
     "SELECT DISTINCT u.ts FROM ( ( SELECT `ts` FROM w0 UNION ALL SELECT `ts` FROM w1 )) AS u",
     [("speed", 1, 0), ("rfid", 1, 0)]),
])
def test_windows_of_subqueries_and_unions(body: str, text: str, windows: list[tuple[str, int, int]]) -> None:
    statement = statement_of(body)
    assert " ".join(text_of(statement).split()) == text
    found_windows = [(one.stream, one.range_us // 1_000_000, one.back_us // 1_000_000) for one in statement.windows]
    assert found_windows == windows


def test_what_lies_before_the_first_instant_is_left_out() -> None:
    inner = "SELECT k FROM (SELECT kmh AS k FROM speed [NOW]) [RANGE 3 SECONDS] AS y"
    statement = statement_of(f"SELECT k FROM ({inner}) [RANGE 3 SECONDS] AS x PERIOD 1 SECOND")
    second = 1_000_000
    assert statement.since(4 * second) is statement
    assert text_of(statement.since(3 * second)).count("kmh") == 8
    assert text_of(statement.since(2 * second)).count("kmh") == 6
    assert text_of(statement.since(second)).count("kmh") == 3
    assert text_of(statement.since(0)).count("kmh") == 1


def test_a_query_reaches_as_far_as_its_subqueries_windows() -> None:
    body = f"SELECT n FROM (SELECT count(*) AS n FROM speed {WINDOW}) [RANGE 25 SECONDS] AS x FREQUENCY 10 SECONDS"
    query = query_of(body)
    assert query.range_us == 80_000_000
    assert query.cadence == Period(10_000_000), "its subquery is answered at the multiples, so it is too"


@pytest.mark.parametrize("body", [
    f"{COUNT} JOIN rfid [NOW] ON sensor = tag PERIOD 1 MINUTE",
    f"SELECT count(*) FROM lanes LEFT JOIN speed {WINDOW} ON lane = id PERIOD 1 MINUTE",
    f"{COUNT}, lanes WHERE lane < id PERIOD 1 MINUTE",
    f"{COUNT} LEFT JOIN lanes ON lane = id AND kmh > 3 PERIOD 1 MINUTE",
    f"{COUNT} FULL OUTER JOIN lanes ON lane = id PERIOD 1 MINUTE",
    f"{COUNT} PERIOD 1 MINUTE UNION ALL SELECT count(*) FROM rfid {WINDOW}",
    f"SELECT stddev(DISTINCT kmh) FROM speed {WINDOW} PERIOD 1 MINUTE",
    f"SELECT count(DISTINCT lane, kmh) FROM speed {WINDOW} PERIOD 1 MINUTE",
    f"SELECT collect_list(kmh) FROM speed {WINDOW} PERIOD 1 MINUTE",
    f"SELECT sum(count(*)) OVER (ORDER BY lane) FROM speed {WINDOW} GROUP BY lane PERIOD 1 MINUTE",
    f"SELECT count(*) FROM speed {WINDOW} GROUP BY window(ts, '1 hour') PERIOD 1 MINUTE",
    f"SELECT explode(tags) AS e FROM speed {WINDOW} PERIOD 1 MINUTE",
    f"SELECT e FROM speed {WINDOW} LATERAL VIEW explode(tags) x AS e PERIOD 1 MINUTE",
    f"SELECT n FROM (SELECT count(*) AS n FROM speed {WINDOW}) AS x PERIOD 1 MINUTE",
    f"{COUNT} SEMI JOIN lanes ON lane = id PERIOD 1 MINUTE",
    f"{COUNT} ANTI JOIN lanes ON lane = id PERIOD 1 MINUTE",
    f"FROM speed {WINDOW} SELECT kmh PERIOD 1 MINUTE",
    f"FROM speed {WINDOW} |> WHERE kmh > 3 |> SELECT kmh PERIOD 1 MINUTE",
    f"{COUNT} |> SELECT 1 AS one PERIOD 1 MINUTE",
    f"SELECT stack(2, kmh, lane) AS (a) FROM speed {WINDOW} PERIOD 1 MINUTE",
    f"SELECT id FROM range(3) AS r JOIN speed {WINDOW} AS s ON r.id = s.lane PERIOD 1 MINUTE",
    f"(SELECT kmh FROM speed {WINDOW}) PERIOD 1 MINUTE",
    f"SELECT kmh FROM speed {WINDOW} QUALIFY rank() OVER (ORDER BY kmh) = 1 PERIOD 1 MINUTE",
    "SELECT a.lane FROM speed [NOW] a JOIN rfid [NOW] b ON a.sensor = b.tag LEFT JOIN rfid [NOW] c ON c.tag = b.tag "
    "PERIOD 1 SECOND",
    "SELECT count(*) FROM lanes CROSS JOIN speed [NOW] WHERE lane = id PERIOD 1 SECOND",
    "SELECT count(*) FROM speed [NOW] LEFT JOIN (lanes JOIN cities ON lanes.city = cities.city) ON id = lane "
    "PERIOD 1 SECOND",
])
def test_what_panes_cannot_answer_is_answered_from_rows(body: str) -> None:
    assert isinstance(query_of(body).body, RowQuery)


@pytest.mark.parametrize("body", [
    f"{COUNT} PERIOD 1 MINUTE",
    f"SELECT avg(kmh) FROM speed {WINDOW}, lanes WHERE lane = id PERIOD 1 MINUTE",
])
def test_what_panes_can_answer_stays_with_them(body: str) -> None:
    assert not isinstance(query_of(body).body, RowQuery)


@pytest.mark.parametrize(("body", "rows", "keys", "columns"), [
    ("SELECT avg(kmh) FROM speed [ROWS 100] PERIOD 1 MINUTE", 100, (), ("kmh",)),
    ("SELECT count(*) FROM speed [ROWS 1] FREQUENCY 1 MINUTE", 1, (), ("ts",)),
    ("SELECT kmh FROM speed [PARTITION BY LANE, speed.sensor ROWS 3] AS s PERIOD 1 MINUTE", 3, ("sensor", "lane"),
     ("sensor", "lane", "kmh")),
    ("WITH x AS (SELECT lane FROM speed [PARTITION BY `lane` ROWS 3]) SELECT * FROM x PERIOD 1 MINUTE", 3, ("lane",),
     None),
])
def test_windows_by_rows(body: str, rows: int, keys: tuple[str, ...], columns: tuple[str, ...] | None) -> None:
    """They make a row query of what panes could answer otherwise; keys are kept though nobody else names them."""
    (window,) = statement_of(body).windows
    assert (window.range_us, window.rows, window.keys) == (None, rows, keys)
    assert window.columns == columns or (columns is None and len(window.columns) > 5)


@pytest.mark.parametrize(("source", "ranges"), [
    ("speed [ROWS 3] a", [60]),
    (f"speed [ROWS 3] a JOIN rfid {WINDOW} b ON a.sensor = b.tag", [60, 60]),
    ("speed [ROWS 3] a JOIN rfid [RANGE 5 SECONDS] b ON a.sensor = b.tag", [5, 5]),
])
def test_late_rows_of_windows_by_rows(source: str, ranges: list[int]) -> None:
    """They count as for the longest window by time, and without one since the previous instant."""
    query = query_of(f"SELECT DISTINCT a.kmh FROM {source} PERIOD 1 MINUTE")
    assert [one.range_us // 1_000_000 for one in query.inputs] == ranges


@pytest.mark.parametrize("select", ["*", "s.*", "struct(*)", "count(*), s.*"])
def test_a_star_keeps_all_columns(select: str) -> None:
    (window,) = statement_of(f"SELECT DISTINCT {select} FROM speed {WINDOW} AS s PERIOD 1 MINUTE").windows
    assert len(window.columns) > 5


@pytest.mark.parametrize("select", ["count(*)", "kmh * lane"])
def test_a_product_or_a_count_keeps_what_it_names(select: str) -> None:
    (window,) = statement_of(f"SELECT DISTINCT {select} FROM speed {WINDOW} PERIOD 1 MINUTE").windows
    assert window.columns in (("ts",), ("lane", "kmh"))


def test_cadence_and_inputs() -> None:
    join = f"speed [RANGE 1 HOUR SLIDE 5 SECONDS] a JOIN speed {WINDOW} b ON a.lane = b.lane"
    query = query_of(f"SELECT a.kmh FROM {join}")
    assert query.cadence == Bound(5_000_000)
    assert query.streams == ("speed",)
    assert query.range_us == 3_600_000_000
    assert query_of(f"SELECT kmh FROM speed {WINDOW} PERIOD 5 SECONDS").cadence == Period(5_000_000)


def test_layout_and_comments_mean_nothing() -> None:
    one = statement_of(f"SELECT DISTINCT kmh  FROM speed {WINDOW} PERIOD 1 MINUTE")
    other = statement_of(f"SELECT DISTINCT -- why\n kmh FROM speed\n{WINDOW} PERIOD 1 MINUTE")
    assert one == other


@pytest.mark.parametrize(("code", "body", "underlined"), [
    ("bind.missing-window", "SELECT DISTINCT kmh FROM speed PERIOD 1 MINUTE", "speed"),
    ("bind.missing-window", "WITH x AS (SELECT kmh FROM speed) SELECT kmh FROM x PERIOD 1 MINUTE", "speed"),
    ("bind.no-cadence", f"SELECT DISTINCT kmh FROM speed {WINDOW}", WINDOW),
    ("bind.no-cadence", "SELECT avg(kmh) FROM speed [ROWS 3]", "[ROWS 3]"),
    ("bind.unknown-column", "SELECT kmh FROM speed [PARTITION BY lane, sensr ROWS 3] PERIOD 1 MINUTE", "sensr"),
    ("bind.aggregate-in-window", "SELECT kmh FROM speed [PARTITION BY max(lane) ROWS 3] PERIOD 1 MINUTE", "max(lane)"),
    ("bind.window-on-table", f"SELECT kmh FROM speed {WINDOW} EXCEPT SELECT id FROM lanes [ROWS 3] PERIOD 1 MINUTE",
     "[ROWS 3]"),
    ("parse.syntax", "SELECT kmh FROM speed [ROWS 0] PERIOD 1 MINUTE", "0"),
    ("parse.syntax", "SELECT kmh FROM speed [PARTITION BY lane ROWS -1] PERIOD 1 MINUTE", "-1"),
    ("parse.syntax", "SELECT kmh FROM speed [ROWS 2.5] PERIOD 1 MINUTE", "2.5"),
    ("bind.two-cadences", f"SELECT DISTINCT kmh FROM speed {WINDOW} PERIOD 1 MINUTE FREQUENCY 1 HOUR",
     "FREQUENCY 1 HOUR"),
    ("bind.two-slides", "SELECT a.kmh FROM speed [RANGE 1 HOUR SLIDE 1 HOUR] a, speed [RANGE 1 HOUR SLIDE 2 HOURS] b",
     "SLIDE 2 HOURS"),
    ("bind.two-slides",
     "SELECT n FROM (SELECT 1 AS n FROM speed [RANGE 1 HOUR SLIDE 1 HOUR]) [RANGE 1 HOUR SLIDE 2 HOURS] AS x",
     "SLIDE 2 HOURS"),
    ("bind.too-many-instants", "SELECT n FROM (SELECT 1 AS n FROM speed [NOW]) [RANGE 2 MINUTES] AS x PERIOD 1 SECOND",
     "[RANGE 2 MINUTES]"),
    ("bind.too-many-instants",
     "SELECT n FROM (SELECT n FROM (SELECT 1 AS n FROM speed [NOW]) [RANGE 9 SECONDS] AS y) [RANGE 11 SECONDS] AS x "
     "PERIOD 1 SECOND", "[RANGE 9 SECONDS]"),
    ("plan.not-yet", "SELECT n FROM (SELECT 1 AS n FROM speed [NOW]) [ROWS 3] AS x PERIOD 1 SECOND", "[ROWS 3]"),
    ("bind.duplicate-name", "SELECT DISTINCT ts FROM speed [NOW] UNION ALL speed [NOW] PERIOD 1 SECOND", "speed"),
    ("bind.unknown-stream", f"SELECT kmh FROM speed {WINDOW} EXCEPT SELECT kmh FROM sped {WINDOW} PERIOD 1 MINUTE",
     "sped"),
    ("bind.window-on-table", f"SELECT kmh FROM speed {WINDOW} EXCEPT SELECT id FROM lanes {WINDOW} PERIOD 1 MINUTE",
     WINDOW),
    ("parse.syntax", f"SELECT kmh FROM speed {WINDOW} WHERE lane IN (SELECT 1 PERIOD 1 MINUTE", "("),
    ("parse.duplicate-clause", f"WITH x AS (SELECT 1) SELECT kmh FROM speed {WINDOW} PERIOD 1 DAY PERIOD 1 DAY",
     "PERIOD"),
    *(("bind.not-repeatable", f"SELECT DISTINCT {call} AS r FROM speed {WINDOW} PERIOD 1 MINUTE", name)
      for call, name in (("rand()", "rand"), ("current_date", "current_date"), ("unix_timestamp()", "unix_timestamp"))),
    ("bind.not-repeatable", f"SELECT kmh FROM speed {WINDOW} WHERE kmh > (SELECT rand() FROM lanes) PERIOD 1 MINUTE",
     "rand"),
])
def test_what_is_wrong_with_the_text_around_sparks(code: str, body: str, underlined: str) -> None:
    assert (code, underlined) in found(f"{DECLARED}CREATE QUERY q AS {body};")
