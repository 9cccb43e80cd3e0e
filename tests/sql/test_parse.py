"""Every construct of the language parses: what it becomes, or that no error of syntax is left."""

from __future__ import annotations

import pytest

from punctual.clock import SECOND
from punctual.plan.expression import column_of, compose
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Bound, Period
from punctual.plan.ranking import Ranking
from punctual.plan.relation import Column
from punctual.plan.source import FeedSource, FileSource, RateSource
from punctual.sql.bound import DropQuery, Explain, SetOption
from tests.sql.programs import DECLARED, body_of, compiled, errors, query, sql

MINUTE = 60 * SECOND


def test_a_stream_with_everything() -> None:
    stream = compiled(DECLARED).catalog.streams["speed"]
    assert (stream.event_time, stream.watermark_us, stream.keys) == ("ts", 5 * SECOND, ("sensor",))
    assert (stream.probability, stream.rule) == ("p", "rule")
    assert stream.source == FileSource("/programs/data/speed", "JSON")
    assert stream.column("LOC") == Column("loc", "STRUCT<x: INT, y: INT>")


def test_sources() -> None:
    streams = compiled("""
        CREATE STREAM a (ts TIMESTAMP EVENT TIME, value BIGINT, kmh DOUBLE AS (50 + value % 30))
            FROM RATE 1000 PER SECOND;
        create stream b (ts timestamp event time) from rate 5 per minute limit 20 rows;
        CREATE STREAM c (ts TIMESTAMP EVENT TIME AS (timestamp_millis(time_ms)), time_ms BIGINT) FROM FEED;
        CREATE STREAM d (ts TIMESTAMP EVENT TIME) FROM FILES '/abs/*.csv' FORMAT CSV OPTIONS (header 'false', sep ';');
        CREATE STREAM e (ts TIMESTAMP EVENT TIME WATERMARK 0 SECONDS) FROM FILES '../x/y.parquet';
    """).catalog.streams
    assert streams["a"].source == RateSource(1000, SECOND, None)
    assert sql(streams["a"].columns[2].derived) == "50 + `value` % 30"
    assert streams["b"].source == RateSource(5, MINUTE, 20)
    assert streams["c"].source == FeedSource()
    derived = compose("timestamp_millis(", column_of("time_ms"), ")")
    assert streams["c"].columns[0] == Column("ts", "TIMESTAMP", derived)
    assert streams["d"].source == FileSource("/abs/*.csv", "CSV", (("header", "false"), ("sep", ";")))
    assert streams["e"].source == FileSource("/x/y.parquet", "PARQUET")


@pytest.mark.parametrize(("written", "bound"), [
    ("integer", "INT"), ("Long", "BIGINT"), ("DECIMAL", "DECIMAL(10,0)"), ("dec(12, 3)", "DECIMAL(12,3)"),
    ("real", "FLOAT"), ("ARRAY<array<Int>>", "ARRAY<ARRAY<INT>>"), ("map<string, double>", "MAP<STRING,DOUBLE>"),
    ("struct<a: int, `b c`: array<struct<D:date>>>", "STRUCT<a: INT, `b c`: ARRAY<STRUCT<D: DATE>>>"),
    ("timestamp_ntz", "TIMESTAMP_NTZ"), ("timestamp_ltz", "TIMESTAMP"),
])
def test_types_have_one_spelling(written: str, bound: str) -> None:
    program = compiled(f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, x {written} KEY) FROM FEED")
    assert program.catalog.streams["s"].columns[1].type == bound


@pytest.mark.parametrize(("window", "clauses", "range_us", "cadence"), [
    ("[RANGE 20 MINUTES]", "PERIOD 2 MINUTES", 20 * MINUTE, Period(2 * MINUTE)),
    ("[RANGE 20 MINUTES]", "FREQUENCY 2 MINUTES", 20 * MINUTE, Bound(2 * MINUTE)),
    ("[range 20 minutes slide 90 seconds]", "", 20 * MINUTE, Bound(90 * SECOND)),
    ("[SIZE 30 ADVANCE 10]", "", 30 * SECOND, Bound(10 * SECOND)),
    ("[SIZE 1 HOUR ADVANCE 0.5]", "", 60 * MINUTE, Bound(SECOND // 2)),
    ("[SIZE 30]", "PERIOD 1 DAY", 30 * SECOND, Period(24 * 60 * MINUTE)),
    ("[NOW]", "PERIOD 5 SECONDS", 5 * SECOND, Period(5 * SECOND)),
    ("[RANGE 1 WEEK]", "PERIOD 1500 MICROSECONDS", 7 * 24 * 60 * MINUTE, Period(1500)),
    ("[RANGE 1 HOUR]", "PERIOD 250 ms", 60 * MINUTE, Period(250_000)),
])
def test_windows_and_cadences(window: str, clauses: str, range_us: int, cadence: Period | Bound) -> None:
    found = query(f"SELECT count(*) FROM speed {window} {clauses}")
    assert (found.range_us, found.cadence) == (range_us, cadence)


def test_clauses_stand_in_any_order() -> None:
    one = query("SELECT lane, count(*) n FROM speed [NOW] WHERE kmh > 1 GROUP BY lane HAVING n > 1 ORDER BY n LIMIT 3 "
                "PERIOD 1 MINUTE DEADLINE 5 SECONDS")
    other = query("SELECT lane, count(*) n FROM speed [NOW] DEADLINE 5 SECONDS LIMIT 3 PERIOD 1 MINUTE ORDER BY n "
                  "HAVING n > 1 GROUP BY lane WHERE kmh > 1")
    assert fingerprint(one) == fingerprint(other)


def test_our_words_are_not_reserved() -> None:
    """Columns called like clauses, in every place where an expression may end."""
    found = query("SELECT period, max(error) AS deadline, sum(period + error) quality "
                  "FROM rfid [RANGE 1 MINUTE] AS sample "
                  "WHERE error > period AND period = 3 GROUP BY period HAVING max(error) > period "
                  "ORDER BY period DESC, deadline PERIOD 1 MINUTE")
    assert [output.name for output in found.outputs] == ["period", "deadline", "quality"]
    assert body_of(found).rows.where.opaque[0].sql == "`error` > `period`"


def test_quoted_names_case_and_comments() -> None:
    program = compiled("""
        -- a comment; with a semicolon
        create stream `my stream` (`event ts` timestamp event time, `a``b` int /* ; */) from feed;
        CREATE QUERY `Q 1` AS select MAX(`A``B`) from `MY STREAM` [range 1 minute] x period 1 minute -- no semicolon
    """)
    found = program.catalog.queries["q 1"]
    assert (*found.streams, found.name) == ("my stream", "Q 1")
    assert body_of(found).calls[0].argument == column_of("a`b")


def test_other_statements() -> None:
    program = compiled(DECLARED + """
        CREATE QUERY q AS SELECT count(*) FROM speed [NOW] PERIOD 1 MINUTE;
        EXPLAIN Q; EXPLAIN SHARING; EXPLAIN SCHEDULE;
        SET qos = best-effort; SET tick = '500 ms'; SET keep_answers = 2 days;
        DROP QUERY Q;
    """)
    explained = [(s.kind, s.query.name if s.query else None) for s in program.statements if isinstance(s, Explain)]
    assert explained == [("query", "q"), ("sharing", None), ("schedule", None)]
    options = [(s.name, s.value) for s in program.statements if isinstance(s, SetOption)]
    assert options == [("qos", "best-effort"), ("tick", "500 ms"), ("keep_answers", "2 days")]
    assert [s.name for s in program.statements if isinstance(s, DropQuery)] == ["q"]
    assert program.catalog.queries == {}
    assert dict(program.catalog.options) == {"qos": "best-effort", "tick": "500 ms", "keep_answers": "2 days"}


@pytest.mark.parametrize("body", [
    *(f"SELECT TOP 3 {by} sensor, kmh FROM speed [RANGE 1 MINUTE] ORDER BY kmh DESC PERIOD 1 MINUTE" for by in (
        "BY PT(0.5) STREAMS", "BY PT(0.5) STREAMS EXCLUSIVE",
    )),
    "SELECT kmh FROM speed MODEL kmh = kmh + lane * t FOR 60 SECONDS SAMPLE EVERY 1 SECOND ERROR WITHIN 0.5 ON kmh",
    "SELECT x FROM speed MODEL (x = kmh + lane * t, s.y = kmh) FOR 60 SECONDS AS s, lanes WHERE s.x > 3 AND lane = id "
    "SAMPLE EVERY 1 SECOND PERIOD 1 MINUTE ERROR WITHIN 1% OR 0.01 ON x",
    "SELECT *, s.* FROM speed MODEL kmh FIT AS s PERIOD 1 SECOND ERROR WITHIN 1%, 2 ON kmh SPLIT GRADIENT",
    "SELECT kmh AS v FROM speed MODEL kmh FIT WITHIN 0.5 DEGREE 2 GAP 60 SECONDS PERIOD 1 SECOND ERROR WITHIN 1% ON v",
    "SELECT kmh FROM speed MODEL kmh BY linear_ode(lane, kmh, 2) FOR 5 SECONDS SAMPLE EVERY 1 SECOND",
    "SELECT avg(kmh) FROM speed [RANGE 1 MINUTE SLIDE 1 SECOND] MODEL kmh FIT WITHIN 1%",
    "SELECT count(*) FROM (SELECT lane FROM speed [RANGE 1 MINUTE] WHERE kmh > 3) [ROWS 5] AS x FREQUENCY 1 SECOND",
    "SELECT avg(kmh) FROM speed [RANGE 1 HOUR] EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1%",
    "SELECT count(*) FROM speed [NOW] a JOIN lanes ON lane = id UNION ALL rfid [NOW] PERIOD 1 SECOND",
])
def test_what_does_not_run_yet_parses_and_binds(body: str) -> None:
    found = errors(f"{DECLARED}CREATE QUERY q AS {body};")
    assert {error.code for error in found} == {"plan.not-yet"}, [error.fact for error in found]


@pytest.mark.parametrize(("by", "semantics", "numbers"), [
    ("", "PK", ()), ("BY PK", "PK", ()), ("BY U_TOPK", "U_TOPK", ()), ("BY U_KRANKS", "U_KRANKS", ()),
    ("BY PT(0.3)", "PT", (0.3,)), ("BY GLOBAL", "GLOBAL", ()), ("BY EXPECTED_RANK", "EXPECTED_RANK", ()),
    ("BY PRF(1, 0.5, -0.25)", "PRF", (1.0, 0.5, -0.25)), ("BY PRFE(0.9)", "PRFE", (0.9,)),
    ("STREAMS", "STREAMS", ()), ("STREAMS EXCLUSIVE", "STREAMS_EXCLUSIVE", ()),
])
def test_rankings(by: str, semantics: str, numbers: tuple[float, ...]) -> None:
    body = f"SELECT TOP 3 {by} sensor, kmh * 2 AS fast FROM speed [RANGE 1 MINUTE] ORDER BY fast DESC PERIOD 1 MINUTE"
    (query,) = compiled(f"{DECLARED}CREATE QUERY q AS {body};").catalog.queries.values()
    top = query.body
    assert isinstance(top, Ranking)
    assert (top.k, top.semantics, top.score.sql, top.parameters) == (3, semantics, "`kmh` * 2", numbers)
    assert not top.ascending
    first, second, key = *top.fields, top.key
    assert (first, second[0], key) == ("tie0", "x", "tie0" if semantics.startswith("STREAMS") else "")
    assert f"'{second}', `kmh` * 2" in top.kept.sql  # a declared column is kept anyway
    assert "sensor" not in top.kept.names or semantics == "STREAMS_EXCLUSIVE"
    assert top.selected.sql.startswith("named_struct('s', `kmh` * 2, 'p', ")
    named = {"EXPECTED_RANK": "expected", "PRF": "score", "PRFE": "score", "STREAMS": "expected"}
    value = named.get(semantics, "probability")
    assert [output.name for output in query.outputs] == ["sensor", "fast", value, "rank"]


@pytest.mark.parametrize(("stable", "margin"), [
    ("STABLE 5%", 0.05), ("stable 0.5 %", 0.005), ("STABLE 100%", 1.0), ("DEADLINE 1 SECOND STABLE 1e1%", 0.1),
])
@pytest.mark.parametrize("by", ["", "BY PT(0.3)", "STREAMS"])
def test_stable_rankings(by: str, stable: str, margin: float) -> None:
    body = f"SELECT TOP 3 {by} sensor FROM speed [RANGE 1 MINUTE] GROUP BY lane ORDER BY kmh PERIOD 1 MINUTE {stable}"
    (query,) = compiled(f"{DECLARED}CREATE QUERY q AS {body};").catalog.queries.values()
    assert isinstance(query.body, Ranking)
    assert query.body.margin == margin
