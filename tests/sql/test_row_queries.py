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
        rendered = part.rendered(_shown, "AT")
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
    found_windows = [(one.stream, one.range_us // 1_000_000, list(one.columns)) for one in statement.windows]
    assert found_windows == windows


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
    ("bind.two-cadences", f"SELECT DISTINCT kmh FROM speed {WINDOW} PERIOD 1 MINUTE FREQUENCY 1 HOUR",
     "FREQUENCY 1 HOUR"),
    ("bind.two-slides", "SELECT a.kmh FROM speed [RANGE 1 HOUR SLIDE 1 HOUR] a, speed [RANGE 1 HOUR SLIDE 2 HOURS] b",
     "SLIDE 2 HOURS"),
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
