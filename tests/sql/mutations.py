"""Programs with every form of the language, and ways to spoil them: the same ones for the same seed."""

from __future__ import annotations

import random

from punctual.sql.syntax.tokens import tokenize

STATEMENTS = """
CREATE STREAM s1 (ts TIMESTAMP EVENT TIME WATERMARK 5 SECONDS, k STRING KEY, a INT, b DOUBLE AS (a * 2 + 1),
  p DOUBLE PROBABILITY, r STRING RULE, tags ARRAY<STRUCT<x: INT, `y z`: MAP<STRING, DECIMAL(4,2)>>>)
  FROM FILES 'data/s1' FORMAT CSV OPTIONS (header 'false', sep ';');
CREATE STREAM s2 (ts TIMESTAMP EVENT TIME, value BIGINT, x DOUBLE AS (value % 30)) FROM RATE 10 PER SECOND LIMIT 9 ROWS;
CREATE STREAM s3 (ts TIMESTAMP EVENT TIME, v INT) FROM KAFKA 'host:9092' TOPIC 'ticks' FORMAT JSON;
CREATE STREAM s4 (ts TIMESTAMP EVENT TIME, a DOUBLE ~ NORMAL(a, sd), sd DOUBLE, b DOUBLE ~ UNIFORM(sd, sd),
  c INT ~ DISCRETE(d, e), d ARRAY<INT>, e ARRAY<DOUBLE>) FROM FEED;
CREATE STREAM s5 (ts TIMESTAMP EVENT TIME, a INT ~ EMPIRICAL BY k IF a < 0 OR a > 9, k STRING,
  b DOUBLE ~ INTERPOLATED BY k WITHIN 30 MINUTES, c DOUBLE ~ NEAREST 10 BY (x, y), x INT, y INT)
  FROM FEED;
CREATE TABLE t1 (id INT, name STRING) FROM FILES 't1.csv';
CREATE MODEL m1 AS FIT kmh WITHIN 1% OR 0.5 DEGREE 1 GAP 60 SECONDS BY sensor, lane FROM speed;
CREATE MODEL m2 FROM FILES 'models/speeds' FORMAT PARQUET;
DROP MODEL m1;
CREATE QUERY q1 AS SELECT lane % 2 AS odd, avg(kmh) FILTER (WHERE sensor LIKE 'x%' AND lane IN (1, 2)) AS `m`,
  approx_percentile(kmh, array(0.5, 0.9), 100), CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END AS size
  FROM speed [RANGE 20 MINUTES SLIDE 2 MINUTES] AS s LEFT JOIN lanes ON s.lane = lanes.id, cities
  WHERE cities.city = s.sensor AND kmh BETWEEN 1 AND 2.5 GROUP BY lane % 2 HAVING max(tags[0]) > 'a'
  ORDER BY 2 DESC NULLS LAST, odd LIMIT 5 DEADLINE 5 SECONDS;
CREATE QUERY q2 AS SELECT TOP 3 BY PT(0.3) sensor, upper(sensor) FROM speed [RANGE 1 HOUR] ORDER BY kmh DESC
  PERIOD 1 MINUTE STABLE 5%;
CREATE QUERY q3 AS SELECT TOP 3 STREAMS EXCLUSIVE sensor FROM speed [PARTITION BY sensor, lane ROWS 5] ORDER BY kmh
  QUALITY (100% => 1, 50% => 0.9) PERIOD 1 MINUTE;
CREATE QUERY q4 AS SELECT kmh AS v, s.lane FROM speed MODEL (kmh = kmh + lane * t, s.x = big * t * t) FOR 60 SECONDS AS
  s, lanes WHERE s.x > 3 AND lane = id ERROR WITHIN 1% OR 0.01 ON v, 0.5 ON lane SPLIT EQUAL SAMPLE EVERY 1 SECOND;
CREATE QUERY q5 AS SELECT *, s.* FROM speed [NOW] MODEL kmh FIT WITHIN 0.5 DEGREE 5 GAP 1 SECOND FOR 5 SECONDS AS s
  PERIOD 1 SECOND ERROR WITHIN 1% SPLIT GRADIENT;
CREATE QUERY q6 AS SELECT kmh FROM speed MODEL kmh BY linear_ode(kmh, lane / 2, -1) FOR 1 MINUTE PERIOD 1 SECOND;
CREATE QUERY q7 AS SELECT interval(kmh, 95%), expected(kmh), histogram(kmh, 20), probability(kmh > 3) FROM speed
  [ROWS 9] ANSWERS WITHIN 1 SECOND, 5 SECONDS ROUNDS 50 CONFIDENCE 95% WITHIN 0.5;
CREATE QUERY q8 AS SELECT avg(kmh) FROM speed [SIZE 30 ADVANCE 10] EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1% AT 95%;
CREATE QUERY q9 AS SELECT count(*) FROM (SELECT lane AS l FROM speed [NOW] WHERE kmh > 3 LIMIT 2) [RANGE 1 MINUTE] AS x
  JOIN (SELECT tag FROM rfid [NOW]) y ON x.l = y.tag FREQUENCY 1 SECOND UNION ALL SELECT 1 FROM rfid [NOW];
CREATE QUERY q10 AS SELECT a.lane FROM speed [RANGE 1 HOUR SLIDE 1 MINUTE] a JOIN rfid [NOW] b ON a.sensor = b.tag
  QUALITY (1 => (a 100%, b 100%), 0.7 => (a 60%, b 30%)) DEADLINE 3 SECONDS;
CREATE QUERY q11 AS SELECT both.ts, count(*) AS n FROM (speed [NOW] UNION ALL rfid [NOW]) AS both GROUP BY both.ts
  HAVING PROBABILITY >= 0.8 PERIOD 1 DAY;
CREATE QUERY q12 AS SELECT count(*), max(size(transform(tags, t -> upper(t)))) AS n FROM lanes AS l JOIN speed [NOW]
  AS c ON l.id = c.lane LEFT JOIN cities ON l.city = cities.city RIGHT JOIN cities AS d ON d.city = l.city
  PERIOD 1 HOUR;
CREATE QUERY q13 AS SELECT DISTINCT sum(count(*)) OVER (ORDER BY lane), first(kmh) IGNORE NULLS, cast(lane AS string),
  INTERVAL 3 DAYS, now() FROM speed [NOW] GROUP BY lane, 1 ORDER BY lane ASC NULLS FIRST PERIOD 1 HOUR;
EXPLAIN q1; EXPLAIN SHARING; EXPLAIN SCHEDULE; DROP QUERY q1; SET tick = 500 ms; SET qos = 'best-effort';
"""
WORDS = [
    "(", ")", "[", "]", ",", ";", ".", "*", "%", "-", "~", "=>", "->", "::", "=", "==", "<", ">", "+", "/", "||",
    "SELECT", "FROM", "AS", "CASE", "WHEN", "END", "INTERVAL", "OVER", "FILTER", "DISTINCT", "IN", "NOT", "AND", "OR",
    "BETWEEN", "LIKE", "UNION", "ALL", "JOIN", "LEFT", "ON", "WITHIN", "MODEL", "FIT", "BY", "FOR", "TOP", "STREAMS",
    "PERIOD", "QUALITY", "ERROR", "EVERY", "AT", "ROWS", "RANGE", "SLIDE", "NOW", "IF", "NULL", "NULLS", "IGNORE",
    "GROUP", "CAST", "struct", "array", "map", "lane", "kmh", "t", "speed", "lanes", "count(*)", "max(kmh)", "`q`",
    "'s'", "'it''s'", "SECONDS", "MINUTES", "5", "1e999", "5L", "5D", "0x1F", "1.5.2", "²", "é", "?", "@", "$", "{{",
    "{%", "/*", "--", "'", "`", "\\", "\x00",
]
NUMBERS = [
    "0", "-1", "0.5", "100", "101", "2147483648", "9223372036854775808", "99999999999999999999", "1e999", "1e-999",
    "0.1e-9",
]


def mutant(rng: random.Random) -> str:
    """One to three statements, spoilt in a few places."""
    pieces = [piece for _ in range(rng.randint(1, 3)) for piece in (*rng.choice(_SOURCES), ";")]
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.6:
            _exchange(pieces, rng)
        else:
            _spoil(pieces, rng)
    return " ".join(pieces)


def _exchange(pieces: list[str], rng: random.Random) -> None:
    """One token for another of its kind: much of what comes out can be parsed, and is wrong in some other way."""
    at = rng.randrange(len(pieces))
    kind = _kind(pieces[at])
    pieces[at] = rng.choice(NUMBERS if kind == "number" and rng.random() < 0.5 else _BY_KIND.get(kind, WORDS))


def _spoil(pieces: list[str], rng: random.Random) -> None:
    at = rng.randrange(len(pieces) + 1)
    end = min(at + rng.randint(1, 5), len(pieces))
    way = rng.randrange(6)
    if way == 0:
        del pieces[at:end]
    elif way == 1:
        pieces[at:at] = [rng.choice(WORDS)]
    elif way == 2:
        pieces[at : at + 1] = [rng.choice(WORDS)]
    elif way == 3:
        pieces[at:at] = pieces[at:end] * rng.choice((1, 2, 40))
    elif way == 4:
        other = rng.choice(_SOURCES)
        first = rng.randrange(len(other))
        pieces[at:end] = other[first : first + rng.randint(1, 12)]
    else:
        pieces[at:end] = reversed(pieces[at:end])


def _kind(piece: str) -> str:
    tokens, _broken = tokenize(piece)
    return tokens[0].kind if tokens else ""


_SOURCES = [[token.text for token in tokenize(part)[0]] for part in STATEMENTS.split(";\n") if part.strip()]
_BY_KIND: dict[str, list[str]] = {}
for _piece in sorted({piece for source in _SOURCES for piece in source}):
    _BY_KIND.setdefault(_kind(_piece), []).append(_piece)
