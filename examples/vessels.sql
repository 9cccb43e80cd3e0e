-- Half an hour of ship positions in the Solent: who comes close to whom, who escorts whom, who falls silent.
-- Joins of a stream with itself are answered from rows, by Spark SQL: docs/row_queries.md.

CREATE STREAM positions (
    time   TIMESTAMP EVENT TIME WATERMARK 1 SECOND,
    mmsi   INT       KEY,
    lat    DOUBLE,
    lon    DOUBLE,
    sog    DOUBLE,                                                -- speed over ground in knots
    north  DOUBLE AS (111195 * lat),                              -- metres
    east   DOUBLE AS (111195 * cos(radians(50.8)) * lon),
    moment BIGINT AS (unix_seconds(time) DIV 10)                  -- positions of the same ten seconds are compared
) FROM FILES 'data/vessels' FORMAT PARQUET;

CREATE TABLE flags (mid INT, flag STRING) FROM FILES 'data/flags.csv' FORMAT CSV;

-- Pairs under way that came within a hundred metres of each other in the last two minutes.
CREATE QUERY close AS
SELECT a.mmsi AS vessel, f.flag, b.mmsi AS other, g.flag AS other_flag,
       round(min(hypot(a.east - b.east, a.north - b.north))) AS metres, max(a.sog) AS knots, max(b.sog) AS other_knots
FROM positions [RANGE 2 MINUTES] AS a
JOIN positions [RANGE 2 MINUTES] AS b ON a.moment = b.moment AND a.mmsi < b.mmsi
LEFT JOIN flags AS f ON f.mid = a.mmsi DIV 1000000
LEFT JOIN flags AS g ON g.mid = b.mmsi DIV 1000000
WHERE a.sog > 3 AND b.sog > 3
GROUP BY a.mmsi, f.flag, b.mmsi, g.flag
HAVING min(hypot(a.east - b.east, a.north - b.north)) < 100
ORDER BY metres
PERIOD 2 MINUTES;

-- Pairs that kept within 250 metres: the subquery is answered every two minutes, its window has the last three answers.
CREATE QUERY escorts AS
SELECT vessel, other, round(min(metres)) AS nearest, round(max(metres)) AS farthest, round(avg(knots), 1) AS knots
FROM (
    SELECT a.mmsi AS vessel, b.mmsi AS other, min(hypot(a.east - b.east, a.north - b.north)) AS metres,
           avg(a.sog) AS knots
    FROM positions [RANGE 2 MINUTES] AS a
    JOIN positions [RANGE 2 MINUTES] AS b ON a.moment = b.moment AND a.mmsi < b.mmsi
    WHERE a.sog > 3 AND b.sog > 3
    GROUP BY a.mmsi, b.mmsi
) [RANGE 6 MINUTES] AS pairs
GROUP BY vessel, other
HAVING count(*) = 3 AND max(metres) < 250
ORDER BY farthest
PERIOD 2 MINUTES;

-- Under way when last heard in the last ten minutes, and not heard for three: who stopped sending?
CREATE QUERY silent AS
SELECT a.mmsi AS vessel, max(a.time) AS last_heard, max_by(a.sog, a.time) AS knots
FROM positions [RANGE 10 MINUTES] AS a LEFT ANTI JOIN positions [RANGE 3 MINUTES] AS b ON a.mmsi = b.mmsi
GROUP BY a.mmsi
HAVING max_by(a.sog, a.time) > 3
ORDER BY last_heard
PERIOD 5 MINUTES;
