-- Ten days of smog in Beijing, hour by hour at twelve stations, with values that were never reported.
-- A missing one is drawn from what was measured near it, in every world anew: docs/worlds.md.

CREATE STREAM air (
    time    TIMESTAMP EVENT TIME,
    station STRING    KEY,
    pm25    DOUBLE    ~ INTERPOLATED BY station WITHIN 6 HOURS,     -- micrograms per cubic metre
    pm10    DOUBLE    ~ EMPIRICAL BY station,
    temp    DOUBLE,
    wind    DOUBLE    ~ EMPIRICAL BY station
) FROM FILES 'data/air' FORMAT PARQUET;

-- The daily mean of each station, how sure it is, and whether it is above what the law allows.
CREATE QUERY daily AS
SELECT station, avg(pm25) AS mean, INTERVAL(avg(pm25), 95%) AS between, PROBABILITY(avg(pm25) > 75) AS above
FROM air [RANGE 1 DAY]
GROUP BY station
ORDER BY mean DESC
PERIOD 1 DAY ROUNDS 500;

-- Stations that were surely worse than the others in the last six hours.
CREATE QUERY worst AS
SELECT station, max(pm25) AS peak
FROM air [RANGE 6 HOURS]
GROUP BY station
HAVING max(pm25) > 400 AND PROBABILITY >= 0.9
PERIOD 6 HOURS ROUNDS 200;

-- How many stations were calm, and how fine dust is spread over all of them.
CREATE QUERY calm AS
SELECT count(*) FILTER (WHERE wind < 1) AS calm_hours, HISTOGRAM(avg(pm25), 5) AS spread
FROM air [RANGE 12 HOURS]
PERIOD 12 HOURS ROUNDS 200;
