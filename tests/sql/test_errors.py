"""Every error code: the program that causes it, and what is underlined."""

from __future__ import annotations

import pytest

from punctual.errors import PlanError
from tests.sql.programs import DECLARED, errors, found

WINDOW = "[RANGE 1 MINUTE]"
COUNT = f"SELECT count(*) FROM speed {WINDOW}"
UNCERTAIN = ("ANSWERS WITHIN 1 SECOND, 2 SECONDS", "ROUNDS 100", "CONFIDENCE 95% WITHIN 0.5")
"""Clauses for what is uncertain."""

QUERIES: list[tuple[str, str, str]] = [
    ("parse.syntax", "SELECT count(* FROM speed [RANGE 1 MINUTE] PERIOD 1 MINUTE", "("),
    ("parse.syntax", "SELECT count(*) speed [RANGE 1 MINUTE] PERIOD 1 MINUTE", "["),
    ("parse.syntax", f"SELECT count(*) + FROM speed {WINDOW} PERIOD 1 MINUTE", "+"),
    ("parse.syntax", "SELECT count(*) FROM speed [RANGE 1] PERIOD 1 MINUTE", "]"),
    ("parse.syntax", "SELECT count(*) FROM speed [WIDE 1 MINUTE] PERIOD 1 MINUTE", "WIDE"),
    ("parse.syntax", f"{COUNT} PERIOD 1 MINUTE DEADLINE", "E"),
    ("parse.syntax", f"{COUNT} PERIOD 1 MINUTE QUALITY HIGH", "HIGH"),
    ("parse.syntax", f"{COUNT} WHERE lane lane PERIOD 1 MINUTE", "lane"),
    ("parse.duplicate-clause", f"{COUNT} PERIOD 1 MINUTE DEADLINE 1 SECOND PERIOD 2 MINUTES", "PERIOD"),
    ("parse.duplicate-clause", f"{COUNT} WHERE lane = 1 PERIOD 1 MINUTE WHERE lane = 2", "WHERE"),
    ("bind.unknown-column", f"SELECT avg(kph) FROM speed {WINDOW} PERIOD 1 MINUTE", "kph"),
    ("bind.unknown-column", f"SELECT count(*) FROM speed {WINDOW} s WHERE s.lanes = 3 PERIOD 1 MINUTE", "s.lanes"),
    ("bind.unknown-column", f"SELECT count(*) AS n FROM speed {WINDOW} ORDER BY m PERIOD 1 MINUTE", "m"),
    ("bind.ambiguous-column",
     f"SELECT count(*) FROM speed {WINDOW}, lanes, cities WHERE lane = id AND lanes.city = cities.city AND city = 'x' "
     "PERIOD 1 MINUTE", "city"),
    ("bind.unknown-stream", f"SELECT count(*) FROM sped {WINDOW} PERIOD 1 MINUTE", "sped"),
    ("bind.duplicate-name", f"SELECT count(*) AS n, sum(lane) AS N FROM speed {WINDOW} PERIOD 1 MINUTE", "N"),
    ("bind.duplicate-name", f"SELECT lane, lane FROM speed {WINDOW} GROUP BY lane PERIOD 1 MINUTE", "lane"),
    ("bind.duplicate-name",
     f"SELECT count(*) FROM speed {WINDOW} a, lanes AS a WHERE kmh > 3 PERIOD 1 MINUTE", "a"),
    ("bind.missing-window", "SELECT count(*) FROM speed PERIOD 1 MINUTE", "speed"),
    ("bind.bad-duration", "SELECT count(*) FROM speed [RANGE 0 SECONDS] PERIOD 1 MINUTE", "0 SECONDS"),
    ("bind.bad-duration", "SELECT count(*) FROM speed [RANGE -5 MINUTES] PERIOD 1 MINUTE", "-5 MINUTES"),
    ("bind.bad-duration", "SELECT count(*) FROM speed [RANGE 1 MONTH] PERIOD 1 MINUTE", "1 MONTH"),
    ("bind.bad-duration", f"{COUNT} PERIOD 2 YEARS", "2 YEARS"),
    ("bind.bad-duration", f"{COUNT} PERIOD 0.5 MICROSECONDS", "0.5 MICROSECONDS"),
    ("bind.two-cadences", f"{COUNT} PERIOD 1 MINUTE FREQUENCY 2 MINUTES", "FREQUENCY 2 MINUTES"),
    ("bind.two-cadences", "SELECT count(*) FROM speed [RANGE 1 MINUTE SLIDE 5 SECONDS] PERIOD 1 MINUTE",
     "PERIOD 1 MINUTE"),
    ("bind.two-slides", "SELECT count(*) FROM speed [RANGE 1 MINUTE SLIDE 1 SECOND] a, "
     "rfid [RANGE 1 MINUTE SLIDE 2 SECONDS] b WHERE a.sensor = b.tag", "SLIDE 2 SECONDS"),
    ("bind.no-cadence", COUNT, WINDOW),
    ("bind.no-cadence", "SELECT count(*) FROM speed [NOW]", "[NOW]"),
    ("bind.no-score", f"SELECT TOP 2 sensor FROM speed {WINDOW} PERIOD 1 MINUTE", "TOP 2"),
    ("bind.no-score", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh, lane PERIOD 1 MINUTE", "lane"),
    *(("parse.syntax", f"SELECT {top} FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "TOP") for top in (
        "TOP sensor", "TOP -1 sensor", "TOP (3) sensor", "TOP k sensor",
    )),
    ("parse.syntax", f"SELECT TOP -1 sensor FROM speed {WINDOW} PERIOD 1 MINUTE", "TOP"),
    *(("parse.syntax", f"SELECT TOP 2 BY {by}(3) sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "(")
      for by in ("PK", "U_TOPK", "U_KRANKS", "GLOBAL", "EXPECTED_RANK")),
    ("bind.bad-top", f"SELECT TOP 2 EXCLUSIVE sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "EXCLUSIVE"),
    ("parse.syntax", f"SELECT TOP 0 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "0"),
    ("bind.bad-top", f"SELECT TOP 2 BY PT(1.5) sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "1.5"),
    ("bind.bad-top", f"SELECT TOP 2 BY PRFE(-1) sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "-1"),
    ("parse.syntax", f"SELECT TOP 2 BY PT(0.5D) sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "0.5D"),
    *(("bind.bad-margin", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE {stable}", stable)
      for stable in ("STABLE 0%", "STABLE 0.0 %", "STABLE 100.5%", "STABLE 1e9%", "STABLE 1e999%")),
    *(("bind.stable-list", f"SELECT TOP 2 BY {by} sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE STABLE 5%",
       "STABLE 5%") for by in ("U_TOPK", "U_KRANKS")),
    ("bind.stable-without-top", f"{COUNT} PERIOD 1 MINUTE STABLE 5%", "STABLE 5%"),
    ("bind.stable-without-top", f"SELECT kmh FROM speed {WINDOW} PERIOD 1 MINUTE STABLE 5%", "STABLE 5%"),
    ("parse.syntax", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE STABLE 5 DEADLINE 1 DAY",
     "DEADLINE"),
    ("parse.syntax", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE STABLE -5%", "-"),
    ("parse.syntax", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE STABLE 5D%", "5D"),
    ("bind.top-and-limit", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh LIMIT 3 PERIOD 1 MINUTE", "TOP 2"),
    ("bind.aggregate-in-top", f"SELECT TOP 2 max(kmh) FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "max(kmh)"),
    ("bind.aggregate-in-top", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY sum(kmh) PERIOD 1 MINUTE", "sum(kmh)"),
    ("bind.duplicate-name", f"SELECT TOP 2 lane AS rank FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "lane"),
    ("bind.duplicate-name", f"SELECT TOP 2 lane, kmh AS lane FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "lane"),
    ("bind.unknown-column", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY knh PERIOD 1 MINUTE", "knh"),
    ("bind.no-probability", f"SELECT TOP 2 tag FROM rfid {WINDOW} ORDER BY strength DESC PERIOD 1 MINUTE", "TOP 2"),
    *(("bind.not-repeatable", f"SELECT max({call}) FROM speed {WINDOW} PERIOD 1 MINUTE", call) for call in (
        "rand()", "rand(42)", "random()", "randn()", "uuid()", "current_timestamp()", "current_timestamp",
        "current_date", "current_date()", "curdate()", "localtimestamp", "localtimestamp()",
        "monotonically_increasing_id()",
        "spark_partition_id()", "input_file_name()", "shuffle(tags)", "unix_timestamp()", "reflect('a', 'b')",
        "java_method('a', 'b')", "try_reflect('a', 'b')", "version()", "current_user()", "current_user", "user()",
        "`rand`()",
    )),
    *(("bind.makes-rows", f"SELECT {select} FROM speed {WINDOW} {rest} PERIOD 1 MINUTE", call)
      for call in ("explode(tags)", "`posexplode_outer`(tags)", "EXPLODE_OUTER(tags)", "inline(array(loc))",
                   "stack(2, lane, lane)", "json_tuple(sensor, 'a')")
      for select, rest in ((f"TOP 2 {call}", "ORDER BY kmh"), ("TOP 2 sensor", f"ORDER BY {call}"))),
    ("bind.nested-aggregate", f"SELECT sum(avg(kmh)) FROM speed {WINDOW} PERIOD 1 MINUTE", "avg(kmh)"),
    ("bind.nested-aggregate", f"SELECT sum(kmh) FILTER (WHERE max(kmh) > 3) FROM speed {WINDOW} PERIOD 1 MINUTE",
     "max(kmh)"),
    ("bind.aggregate-in-where", f"{COUNT} WHERE lane > 1 AND avg(kmh) > 3 PERIOD 1 MINUTE", "avg(kmh)"),
    ("bind.aggregate-in-group-by", f"SELECT max(lane) FROM speed {WINDOW} GROUP BY 1 PERIOD 1 MINUTE", "1"),
    ("bind.aggregate-in-group-by", f"SELECT 1 FROM speed {WINDOW} GROUP BY max(lane) PERIOD 1 MINUTE", "max(lane)"),
    ("bind.not-grouped", f"SELECT lane, count(*) FROM speed {WINDOW} PERIOD 1 MINUTE", "lane"),
    ("bind.not-grouped", f"SELECT count(*) FROM speed {WINDOW} GROUP BY lane + 1 HAVING lane > 1 PERIOD 1 MINUTE",
     "lane"),
    ("bind.not-grouped", f"SELECT lane + 1 * 2 FROM speed {WINDOW} GROUP BY lane + 1 PERIOD 1 MINUTE", "lane"),
    ("bind.not-grouped", f"SELECT count(*) FROM speed {WINDOW} GROUP BY lane ORDER BY sensor PERIOD 1 MINUTE",
     "sensor"),
    ("bind.bad-ordinal", f"SELECT count(*) FROM speed {WINDOW} GROUP BY 7 PERIOD 1 MINUTE", "7"),
    ("bind.bad-ordinal", f"SELECT count(*) FROM speed {WINDOW} ORDER BY 0 PERIOD 1 MINUTE", "0"),
    ("bind.bad-limit", f"{COUNT} LIMIT 0 PERIOD 1 MINUTE", "0"),
    ("bind.bad-limit", f"{COUNT} LIMIT -1 PERIOD 1 MINUTE", "-1"),
    ("bind.bad-limit", f"{COUNT} LIMIT 1.5 PERIOD 1 MINUTE", "1.5"),
    ("bind.bad-argument", f"SELECT sum(*) FROM speed {WINDOW} PERIOD 1 MINUTE", "sum(*)"),
    ("bind.bad-argument", f"SELECT sum(lane, kmh) FROM speed {WINDOW} PERIOD 1 MINUTE", "sum(lane, kmh)"),
    ("bind.bad-argument", f"SELECT count() FROM speed {WINDOW} PERIOD 1 MINUTE", "count()"),
    ("bind.bad-argument", f"SELECT approx_percentile(kmh, 50) FROM speed {WINDOW} PERIOD 1 MINUTE",
     "approx_percentile(kmh, 50)"),
    ("bind.bad-argument", f"SELECT approx_percentile(kmh, lane) FROM speed {WINDOW} PERIOD 1 MINUTE", "lane"),
    ("bind.window-on-table", f"SELECT count(*) FROM speed {WINDOW}, lanes [RANGE 2 MINUTES] WHERE lane = id "
     "PERIOD 1 MINUTE", "[RANGE 2 MINUTES]"),
    ("bind.no-join-condition", f"SELECT count(*) FROM speed {WINDOW}, lanes WHERE lane < 2 PERIOD 1 MINUTE", "lanes"),
    ("bind.model-on-table", f"SELECT count(*) FROM speed {WINDOW}, lanes MODEL id FIT WHERE lane = id PERIOD 1 MINUTE",
     "MODEL id FIT"),
    ("bind.union-of-table", f"SELECT count(*) FROM speed {WINDOW} UNION ALL lanes PERIOD 1 MINUTE", "lanes"),
    ("bind.bad-degree", "SELECT kmh FROM speed MODEL kmh FIT DEGREE 6 PERIOD 1 MINUTE", "6"),
    ("bind.bad-degree", "SELECT kmh FROM speed MODEL kmh FIT DEGREE -1 PERIOD 1 MINUTE", "-1"),
    ("bind.bad-degree", "SELECT kmh FROM speed MODEL kmh FIT DEGREE 1.5 PERIOD 1 MINUTE", "1.5"),
    ("parse.duplicate-clause", "SELECT kmh FROM speed MODEL kmh FIT DEGREE 1 DEGREE 2 PERIOD 1 MINUTE", "DEGREE"),
    ("bind.bad-stages", f"{COUNT} PERIOD 1 MINUTE ANSWERS WITHIN 3 SECONDS, 1 SECOND", "1 SECOND"),
    ("bind.bad-stages", f"{COUNT} PERIOD 1 MINUTE ANSWERS WITHIN 1 SECOND, 1000 MILLISECONDS", "1000 MILLISECONDS"),
    ("bind.bad-stages", f"{COUNT} PERIOD 1 MINUTE ANSWERS WITHIN 1 SECOND, 1004 MILLISECONDS", "1004 MILLISECONDS"),
    ("bind.bad-duration", f"{COUNT} PERIOD 1 MINUTE ANSWERS WITHIN 0 SECONDS, 1 SECOND", "0 SECONDS"),
    ("bind.two-deadlines", f"{COUNT} PERIOD 1 MINUTE DEADLINE 1 SECOND ANSWERS WITHIN 3 SECONDS", "DEADLINE 1 SECOND"),
    *(("bind.nothing-uncertain", f"SELECT count(*) FROM rfid {WINDOW} PERIOD 1 MINUTE {clause}", clause)
      for clause in UNCERTAIN),
    *(("bind.nothing-uncertain", f"SELECT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE {clause}",
       clause) for clause in UNCERTAIN),
    *(("bind.nothing-uncertain", f"SELECT tag FROM rfid {WINDOW} WHERE tag IN (SELECT 'a') PERIOD 1 MINUTE {clause}",
       clause) for clause in UNCERTAIN),
    ("bind.bad-bound", f"{COUNT} PERIOD 1 MINUTE ANSWERS WITHIN 1 SECOND CONFIDENCE 95% WITHIN 0", "0"),
    *(("bind.bad-share", f"{COUNT} PERIOD 1 MINUTE CONFIDENCE {share} WITHIN 1", share)
      for share in ("0%", "100%", "-5%", "101%", "1e999%")),
    ("bind.unknown-stream", f"{COUNT} PERIOD 1 MINUTE QUALITY (1 => (speed 100%, b 100%))", "b"),
    *(("bind.bad-quality", f"{COUNT} PERIOD 1 MINUTE QUALITY ({points})", underlined) for points, underlined in (
        ("50% => 0.9, 10% => 0.4", "QUALITY (50% => 0.9, 10% => 0.4)"),
        ("100% => 0.5, 50% => 0.9", "100% => 0.5"),
        ("100% => 1, 50% => 0.4, 50% => 0.5", "50% => 0.4"),
        ("100% => 1, 100% => 1", "100% => 1"),
        ("100% => 1, 120% => 0.4", "120%"),
        ("100% => 1, -1% => 0.4", "-1%"),
        ("100% => 1.5", "100% => 1.5"),
        ("100% => 1, 50% => -0.1", "50% => -0.1"),
        ("1 => (speed 90%)", "QUALITY (1 => (speed 90%))"),
        ("1 => (speed 100%, speed 100%)", "1 => (speed 100%, speed 100%)"),
        ("100% => 1, 0.5 => (speed 50%)", "0.5 => (speed 50%)"),
    )),
    ("bind.bad-quality", f"SELECT count(*) FROM speed {WINDOW} a, rfid {WINDOW} b WHERE tag = sensor PERIOD 1 MINUTE "
     "QUALITY (1 => (a 100%, b 100%), 0.7 => (a 60%))", "0.7 => (a 60%)"),
    ("bind.bad-quality", f"SELECT count(*) FROM speed {WINDOW} a, rfid {WINDOW} b WHERE tag = sensor PERIOD 1 MINUTE "
     "QUALITY (1 => (a 100%, b 100%), 0.7 => (a 60%, b 30%), 0.6 => (b 40%, a 50%))", "0.6 => (b 40%, a 50%)"),
    *(("bind.bad-quality", f"SELECT {what} FROM speed {WINDOW} a JOIN rfid {WINDOW} b ON tag = sensor PERIOD 1 MINUTE "
       "QUALITY (1 => (a 100%), 0.7 => (a 60%))", "1 => (a 100%)") for what in ("count(*)", "a.kmh")),
]

NOTHING_RUNS: list[tuple[str, str, str]] = [
    ("bind.bad-bound", f"SELECT 1 FROM (SELECT 1 FROM speed {WINDOW} ERROR WITHIN 0) AS x PERIOD 1 MINUTE", "0"),
    ("bind.no-cadence", "SELECT kmh FROM speed MODEL kmh FIT WITHIN 1%", "MODEL kmh FIT WITHIN 1%"),
    *(("bind.bad-bound", f"{COUNT} PERIOD 1 MINUTE ERROR WITHIN {within}", within)
      for within in ("0", "0%", "-1", "-1%", "1% OR 0", "0% OR 1", "1e999")),
    ("bind.bad-bound", f"SELECT count(*) AS n FROM speed {WINDOW} PERIOD 1 MINUTE ERROR WITHIN 1, 0 ON n", "0"),
    ("bind.bad-bound", f"SELECT count(*) AS n FROM speed {WINDOW} PERIOD 1 MINUTE ERROR WITHIN 1 ON N, 2 ON n", "n"),
    ("bind.bad-bound", f"{COUNT} EVERY 1 MINUTE BY 1 SECOND ERROR WITHIN -2%", "-2%"),
    ("bind.bad-bound", "SELECT kmh FROM speed MODEL kmh FIT WITHIN 0 PERIOD 1 MINUTE", "0"),
    ("bind.bad-share", f"{COUNT} EVERY 1 MINUTE BY 1 SECOND ERROR WITHIN 2% AT 100%", "100%"),
    ("bind.unknown-column", "SELECT kmh FROM speed MODEL kph FIT PERIOD 1 MINUTE", "kph"),
    ("bind.unknown-column", "SELECT kmh FROM speed MODEL kmh = kph * t FOR 1 MINUTE PERIOD 1 MINUTE", "kph"),
    ("bind.unknown-column", "SELECT kmh FROM speed MODEL kmh BY linear_ode(kmh, kph, 1) PERIOD 1 MINUTE", "kph"),
    ("bind.unknown-stream", "SELECT kmh FROM speed MODEL (r.kmh = kmh) FOR 1 MINUTE AS s PERIOD 1 MINUTE", "r"),
    ("bind.duplicate-name", "SELECT x FROM speed MODEL (x = kmh, X = lane) FOR 1 MINUTE PERIOD 1 MINUTE", "X"),
    ("bind.unknown-solver", "SELECT kmh FROM speed MODEL kmh BY magic(kmh, 1, 1) PERIOD 1 MINUTE", "magic"),
    ("bind.unknown-split", f"{COUNT} PERIOD 1 MINUTE ERROR WITHIN 1% SPLIT halves", "halves"),
    ("bind.unknown-column", f"{COUNT} PERIOD 1 MINUTE ERROR WITHIN 1% ON kmh", "kmh"),
    ("bind.unknown-column", f"SELECT max(kmh) AS top FROM speed {WINDOW} PERIOD 1 MINUTE ERROR WITHIN 1% ON kmh",
     "kmh"),
]
"""Mistakes in what does not run yet: they are found all the same, beside ``plan.not-yet``."""

PROGRAMS: list[tuple[str, str, str]] = [
    ("parse.syntax", "SELEKT 1", "SELEKT"),
    ("parse.syntax", "SELECT count(*) FROM speed [RANGE 1 MINUTE] PERIOD 1 MINUTE", "SELECT"),
    ("bind.makes-rows", "CREATE STREAM s (a TIMESTAMP EVENT TIME, t ARRAY<INT>, b INT AS (explode(t))) FROM FEED",
     "explode(t)"),
    ("bind.makes-rows", "CREATE TABLE t (t ARRAY<INT>, b INT AS (explode(t))) FROM FILES 'a.csv'", "explode(t)"),
    ("parse.syntax", "CREATE STREAM s (ts TIMESTAMP EVENT TIME) FROM FEED 3", "3"),
    ("parse.syntax", "CREATE STREAM s (ts TIMESTAMP EVENT TIMES) FROM FEED", "EVENT"),
    ("parse.syntax", "SET tick", "k"),
    ("parse.syntax", "SET tick = 'abc", "'"),
    ("parse.syntax", "SET tick = 3; /* abc", "/"),
    ("parse.duplicate-clause", "CREATE STREAM s (ts TIMESTAMP EVENT TIME KEY KEY) FROM FEED", "KEY"),
    ("bind.missing-event-time", "CREATE STREAM s (ts TIMESTAMP) FROM FEED", "s"),
    ("bind.two-event-times", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b TIMESTAMP EVENT TIME) FROM FEED",
     "EVENT TIME"),
    ("bind.bad-event-time-type", "CREATE STREAM s (a BIGINT EVENT TIME) FROM FEED", "BIGINT"),
    ("bind.bad-duration", "CREATE STREAM s (a TIMESTAMP EVENT TIME WATERMARK 1 MONTH) FROM FEED", "1 MONTH"),
    ("bind.bad-type", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b VARCHAR) FROM FEED", "VARCHAR"),
    ("bind.bad-type", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b ARRAY<DUBLE>) FROM FEED", "DUBLE"),
    ("bind.bad-type", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b DECIMAL(40,2)) FROM FEED", "DECIMAL(40,2)"),
    ("bind.duplicate-name", "CREATE STREAM s (a TIMESTAMP EVENT TIME, A INT) FROM FEED", "A"),
    ("bind.duplicate-name",
     "CREATE STREAM s (a TIMESTAMP EVENT TIME) FROM FEED; CREATE TABLE S (a INT) FROM FILES 'a.csv'", "S"),
    ("bind.bad-path", "CREATE TABLE t (a INT) FROM FILES ''", "''"),
    ("bind.bad-path", "CREATE TABLE t (a INT) FROM FILES FORMAT CSV", "FILES"),
    ("bind.bad-path", "CREATE TABLE t (a INT) FROM FILES 's3://bucket/x.csv'", "'s3://bucket/x.csv'"),
    ("bind.missing-format", "CREATE TABLE t (a INT) FROM FILES 'data'", "FILES 'data'"),
    ("bind.role-in-table", "CREATE TABLE t (a INT KEY) FROM FILES 'a.csv'", "KEY"),
    ("bind.role-in-table", "CREATE TABLE t (a TIMESTAMP EVENT TIME) FROM FILES 'a.csv'", "EVENT TIME"),
    ("bind.table-source", "CREATE TABLE t (a INT) FROM FEED", "FEED"),
    ("bind.two-probabilities",
     "CREATE STREAM s (a TIMESTAMP EVENT TIME, p DOUBLE PROBABILITY, q DOUBLE PROBABILITY) FROM FEED", "PROBABILITY"),
    ("bind.bad-probability-type", "CREATE STREAM s (a TIMESTAMP EVENT TIME, p STRING PROBABILITY) FROM FEED", "STRING"),
    ("bind.no-probability", "CREATE STREAM s (a TIMESTAMP EVENT TIME, r STRING RULE) FROM FEED", "RULE"),
    ("bind.watermark-without-event-time",
     "CREATE STREAM s (a TIMESTAMP EVENT TIME, b TIMESTAMP WATERMARK 1 SECOND) FROM FEED", "WATERMARK 1 SECOND"),
    ("bind.rate-column", "CREATE STREAM s (ts TIMESTAMP EVENT TIME, x INT) FROM RATE 5 PER SECOND", "x"),
    ("bind.unknown-column", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b INT AS (c + 1)) FROM FEED", "c"),
    ("bind.unknown-column",
     "CREATE STREAM s (a TIMESTAMP EVENT TIME, b INT AS (1), c INT AS (b + 1)) FROM FEED", "b"),
    ("bind.not-repeatable", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b DOUBLE AS (rand())) FROM FEED", "rand()"),
    ("bind.aggregate-in-column", "CREATE STREAM s (a TIMESTAMP EVENT TIME, b DOUBLE AS (max(a))) FROM FEED", "max(a)"),
    ("bind.unknown-query", "DROP QUERY nobody", "nobody"),
    ("bind.unknown-model", "DROP MODEL nobody", "nobody"),
    ("parse.syntax", "DROP STREAM nobody", "STREAM"),
    ("bind.unknown-stream", "CREATE MODEL m AS FIT x WITHIN 1 BY y FROM nobody", "nobody"),
    ("parse.syntax", "CREATE MODEL m AS FIT x DEGREE 1 BY y FROM nobody", "BY"),
    ("parse.syntax", "CREATE MODEL m FROM FEED", "FEED"),
    ("bind.unknown-query", "EXPLAIN nobody", "nobody"),
    ("config.unknown-option", "SET tikc = 3", "tikc"),
    ("parse.syntax", "CREATE STREAM d (t TIMESTAMP EVENT TIME, x DOUBLE ~ NORMAL(x, 2.5)) FROM FEED", "2.5"),
    ("config.bad-value", "SET tick = soon", "soon"),
    ("config.bad-value", "SET qos = best-of-all", "best-of-all"),
    ("plan.not-yet", "SET Advance = 7", "Advance"),
    ("config.bad-value", "SET anytime = sometimes", "sometimes"),
    ("config.bad-value", "SET epoch = 0", "0"),
    ("config.bad-value", "SET lead = 300", "300"),
    ("config.bad-value", "SET keep = 0%", "0%"),
]

NOT_YET: list[tuple[str, str]] = [
    (f"SELECT TOP 3 BY PT(0.3) STREAMS sensor FROM speed {WINDOW} ORDER BY kmh DESC PERIOD 1 MINUTE", "TOP 3"),
    ("SELECT x FROM speed MODEL (x = kmh + lane * t, y = kmh * t) FOR 60 SECONDS",
     "MODEL (x = kmh + lane * t, y = kmh * t) FOR 60 SECONDS"),
    ("SELECT TOP 2 sensor FROM speed [ROWS 10] ORDER BY kmh PERIOD 1 MINUTE", "[ROWS 10]"),
    ("SELECT count(*) FROM speed [PARTITION BY lane + 1 ROWS 10] PERIOD 1 MINUTE", "lane + 1"),
    ("SELECT count(*) FROM speed [PARTITION BY lane, tags ROWS 10] PERIOD 1 MINUTE", "tags"),
    ("SELECT count(*) FROM speed [PARTITION BY 7 ROWS 10] PERIOD 1 MINUTE", "7"),
    (f"SELECT count(*) FROM (SELECT lane FROM speed {WINDOW}) [ROWS 2] AS x PERIOD 1 MINUTE", "[ROWS 2]"),
    (f"SELECT DISTINCT TOP 2 sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "DISTINCT"),
    (f"SELECT TOP 2 DISTINCT sensor FROM speed {WINDOW} ORDER BY kmh PERIOD 1 MINUTE", "DISTINCT"),
    *((f"{COUNT} PERIOD 1 MINUTE {clause}", clause) for clause in (
        "ERROR WITHIN 1% OR 0.01",
        "ERROR WITHIN 0.5 ON `count(*)` SPLIT GRADIENT", "SAMPLE EVERY 1 SECOND",
    )),
    (f"{COUNT} EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1% AT 95%",
     "EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1% AT 95%"),
    ("SELECT count(*) FROM lanes PERIOD 1 MINUTE", "lanes"),
]


@pytest.mark.parametrize(("code", "body", "underlined"), QUERIES)
def test_a_query_is_refused(code: str, body: str, underlined: str) -> None:
    assert (code, underlined) in found(f"{DECLARED}CREATE QUERY q AS {body};")


@pytest.mark.parametrize(("code", "body", "underlined"), NOTHING_RUNS)
def test_a_mistake_is_found_where_nothing_runs_yet(code: str, body: str, underlined: str) -> None:
    codes = found(f"{DECLARED}CREATE QUERY q AS {body};")
    assert [(other, text) for other, text in codes if other != "plan.not-yet"] == [(code, underlined)]
    assert "plan.not-yet" in {other for other, _text in codes}


@pytest.mark.parametrize(("code", "program", "underlined"), PROGRAMS)
def test_a_program_is_refused(code: str, program: str, underlined: str) -> None:
    assert found(program) == [(code, underlined)]


@pytest.mark.parametrize(("body", "underlined"), NOT_YET)
def test_what_does_not_run_yet_is_said_so(body: str, underlined: str) -> None:
    text = f"{DECLARED}CREATE QUERY q AS {body};"
    assert ("plan.not-yet", underlined) in found(text)
    assert any(isinstance(error, PlanError) and "is not there yet" in error.fact for error in errors(text))


@pytest.mark.parametrize("program", [
    "CREATE STREAM k (ts TIMESTAMP EVENT TIME) FROM KAFKA 'host:9092' TOPIC 'ticks' FORMAT JSON",
    f"{DECLARED}CREATE MODEL m AS FIT kmh WITHIN 0.5 DEGREE 1 GAP 60 SECONDS BY sensor FROM speed",
    "CREATE MODEL given FROM FILES 'models/speeds' FORMAT PARQUET",
    f"{DECLARED}CREATE MODEL m AS FIT kmh WITHIN 1% BY sensor FROM speed; DROP MODEL m;"
    "CREATE QUERY q AS SELECT avg(kmh) FROM m [RANGE 1 MINUTE] PERIOD 1 MINUTE",
])
def test_declarations_that_do_not_run_yet(program: str) -> None:
    assert [code for code, _ in found(program)] == ["plan.not-yet"]


@pytest.mark.parametrize(("program", "code", "underlined"), [
    (f"{DECLARED}CREATE MODEL m AS FIT kph WITHIN 1 BY sensor FROM speed", "bind.unknown-column", "kph"),
    (f"{DECLARED}CREATE MODEL m AS FIT kmh WITHIN 1 BY sensors FROM speed", "bind.unknown-column", "sensors"),
    (f"{DECLARED}CREATE MODEL m AS FIT kmh WITHIN 0% BY sensor FROM speed", "bind.bad-bound", "0%"),
    (f"{DECLARED}CREATE MODEL speed FROM FILES 'm' FORMAT PARQUET", "bind.duplicate-name", "speed"),
    ("CREATE MODEL m FROM FILES 'm'", "bind.missing-format", "FILES 'm'"),
])
def test_names_are_checked_where_nothing_runs_yet(program: str, code: str, underlined: str) -> None:
    assert sorted(found(program))[0] == (code, underlined)
    assert {code for code, _ in found(program)} == {code, "plan.not-yet"}


def test_one_error_is_one_error() -> None:
    """What the tests above ask for is not drowned in consequences of the same mistake."""
    alone = {"bind.unknown-column", "bind.unknown-stream", "bind.not-grouped", "bind.no-probability", "bind.no-cadence"}
    for code, body, underlined in QUERIES:
        if code in alone:
            assert found(f"{DECLARED}CREATE QUERY q AS {body};") == [(code, underlined)], body


def test_all_errors_are_shown_and_consequences_are_not() -> None:
    text = (
        "CREATE STREAM broken (ts TIMESTAMP EVENT TIME, x NOTYPE) FROM FEED;\n"
        "CREATE QUERY silent AS SELECT avg(x) FROM broken [RANGE 1 MINUTE] PERIOD 1 MINUTE;\n"
        "EXPLAIN silent;\n"
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME, x INT) FROM FEED;\n"
        "CREATE QUERY two AS SELECT avg(y), max(z) FROM s [RANGE 1 MINUTE] WHERE w = 1;\n"
        "SET sharing = perhaps;\n"
    )
    assert found(text) == [
        ("bind.bad-type", "NOTYPE"),
        ("bind.unknown-column", "y"),
        ("bind.unknown-column", "z"),
        ("bind.no-cadence", "[RANGE 1 MINUTE]"),
        ("bind.unknown-column", "w"),
        ("config.bad-value", "perhaps"),
    ]


def test_the_example_of_the_language_page() -> None:
    text = (
        "CREATE STREAM rfid (ts TIMESTAMP EVENT TIME, tag STRING, strength DOUBLE) FROM FEED;\n"
        "CREATE QUERY best AS\n"
        "SELECT TOP 2 tag FROM rfid [RANGE 1 MINUTE] ORDER BY strength DESC\n"
        "PERIOD 1 MINUTE;\n"
    )
    (error,) = errors(text)
    assert error.render(text) == (
        'error[bind.no-probability]: stream "rfid" has no probability column\n'
        "   3 | SELECT TOP 2 tag FROM rfid [RANGE 1 MINUTE] ORDER BY strength DESC\n"
        "     |        ^^^^^\n"
        "detail: a top-k over possible worlds ranks rows that may not exist, so each row needs a probability\n"
        "hint: declare one in CREATE STREAM, for example: confidence DOUBLE PROBABILITY"
    )


@pytest.mark.parametrize(("body", "part"), [
    ("SELECT TOP sensor", "TOP needs k, a whole number"),
    ("SELECT TOP 2 EXCLUSIVE sensor", "TOP 2 STREAMS EXCLUSIVE"),
    ("SELECT TOP 2 BY GLOBAL(3) sensor", "GLOBAL takes no numbers"),
    ("SELECT DISTINCT TOP 2 sensor", "DISTINCT with TOP"),
    ("SELECT TOP 2 BY PT(1.5) sensor", "BY PT(0.5)"),
])
def test_a_mistake_in_top_is_told_alone(body: str, part: str) -> None:
    text = f"{DECLARED}CREATE QUERY q AS {body} FROM speed {WINDOW} ORDER BY kmh DESC PERIOD 1 MINUTE;"
    (error,) = errors(text)
    assert part in error.render()


def test_a_second_score_is_told_where_it_stands() -> None:
    text = f"{DECLARED}CREATE QUERY q AS SELECT TOP 2 lane FROM speed {WINDOW} ORDER BY kmh, lane PERIOD 1 MINUTE;"
    (error,) = errors(text)
    assert "add ORDER BY" not in error.render()
    assert "event time" in (error.detail or "")


def test_top_may_be_a_column() -> None:
    declared = "CREATE STREAM s (ts TIMESTAMP EVENT TIME, top INT, exclusive INT, p DOUBLE PROBABILITY) FROM FEED;"
    window = "FROM s [RANGE 1 MINUTE]"
    for body in (
        f"SELECT top t, count(*) {window} GROUP BY top", f"SELECT top - 1 AS t, count(*) {window} GROUP BY top",
        f"SELECT TOP 2 exclusive e {window} ORDER BY top",
    ):
        assert errors(f"{declared} CREATE QUERY q AS {body} PERIOD 1 MINUTE;") == []


def test_a_select_alone_is_told_its_name_is_missing() -> None:
    (error,) = errors(f"{COUNT} PERIOD 1 MINUTE;")
    assert "CREATE QUERY name AS SELECT" in (error.hint or "")


def test_a_misspelt_clause_is_suggested() -> None:
    (error,) = errors(f"{DECLARED}CREATE QUERY q AS {COUNT} PERIODE 1 MINUTE;")
    assert (error.code, error.hint) == ("parse.syntax", "did you mean PERIOD?")


@pytest.mark.parametrize("rounds", ["0", "-3", "1.5"])
def test_a_number_of_rounds_has_an_example(rounds: str) -> None:
    (error,) = errors(f"{DECLARED}CREATE QUERY q AS {COUNT} PERIOD 1 MINUTE ROUNDS {rounds};")
    assert (error.code, error.hint) == ("parse.syntax", "for example: ROUNDS 500")


def test_what_may_follow_a_source_is_said_and_no_clauses_of_queries() -> None:
    (error,) = errors("CREATE STREAM s (t TIMESTAMP EVENT TIME) FROM FILES 'rows' (FORMAT JSON);")
    assert error.hint == "what may follow: FORMAT JSON, CSV or PARQUET, and OPTIONS (key 'value')"
    (error,) = errors("CREATE STREAM s (t TIMESTAMP EVENT TIME) FROM FEED SLOWLY;")
    assert (error.fact, error.hint) == ('expected the end of the statement, but there is "SLOWLY"', None)


def test_names_that_look_alike_are_suggested() -> None:
    (error,) = errors(f"{DECLARED}CREATE QUERY q AS SELECT avg(khm) FROM speed [RANGE 1 MINUTE] PERIOD 1 MINUTE;")
    assert error.hint == "did you mean kmh?"


@pytest.mark.parametrize("what", ["count(*)", "kmh"])
def test_a_deadline_needs_an_instant(what: str) -> None:
    body = f"SELECT {what} FROM speed {WINDOW} DEADLINE 1 SECOND"
    assert ("bind.nothing-due", "DEADLINE 1 SECOND") in found(f"{DECLARED}CREATE QUERY q AS {body};")
