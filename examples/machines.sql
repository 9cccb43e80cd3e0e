-- Bank machines and tomorrow's weather, with values that are missing or make no sense: the workload of Ge and others
-- (anytime queries with deadlines on multicores), on generated data (benchmarks/anytime_workload.py).
--
--   punctual run     examples/machines.sql --once --out answers
--   punctual explain examples/machines.sql
--
-- A missing status is any status of the same branch, a missing forecast one of the ten nearest, in every world anew:
-- docs/worlds.md. Several answers of one instant rest on more and more worlds.

CREATE STREAM status (
    healthtime     TIMESTAMP EVENT TIME,
    ipAddr         STRING    KEY,
    numConnections INT       ~ EMPIRICAL BY branch IF numConnections < 0,
    policyStatus   INT,
    activityFlag   INT       ~ EMPIRICAL BY branch,     -- 1 normal, 3 many invalid logins
    machine        STRING,
    branch         STRING,
    region         STRING,
    east           DOUBLE,                              -- miles
    north          DOUBLE
) FROM FILES 'data/machines/status' FORMAT PARQUET;

CREATE STREAM tomorrow (
    forecast TIMESTAMP EVENT TIME,
    place    STRING    KEY,
    region   STRING,
    lat      DOUBLE,
    lon      DOUBLE,
    rain     DOUBLE    ~ NEAREST 10 BY (lat, lon) IF rain < 0,
    wind     DOUBLE    ~ NEAREST 10 BY (lat, lon),
    cloud    DOUBLE    ~ INTERPOLATED BY place WITHIN 2 HOURS
) FROM FILES 'data/machines/tomorrow' FORMAT PARQUET;

-- Q1: cash machines within two miles that are lightly loaded and normal, with a probability of at least 0.8.
CREATE QUERY q1 AS
SELECT ipAddr, branch, numConnections AS load
FROM status [RANGE 15 MINUTES]
WHERE machine = 'atm' AND (east - 5) * (east - 5) + (north - 5) * (north - 5) <= 4
  AND numConnections < 20 AND activityFlag = 1
HAVING PROBABILITY >= 0.8
PERIOD 15 MINUTES ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS ROUNDS 100;

-- Q2: how the average load of each branch of two regions is spread over the worlds.
CREATE QUERY q2 AS
SELECT branch, HISTOGRAM(avg(numConnections), 10) AS load
FROM status [RANGE 15 MINUTES]
WHERE region IN ('R20', 'R21')
GROUP BY branch
PERIOD 15 MINUTES ANSWERS WITHIN 2 SECONDS, 6 SECONDS ROUNDS 100;

-- Q3: machines with many invalid logins, and how likely that is.
CREATE QUERY q3 AS
SELECT ipAddr, branch, region
FROM status [RANGE 15 MINUTES]
WHERE activityFlag = 3
PERIOD 15 MINUTES ROUNDS 200;

-- Q4: places that will be dry, calm and not too cloudy, and how likely that is.
CREATE QUERY q4 AS
SELECT place, lat, lon
FROM tomorrow [RANGE 1 HOUR]
WHERE rain < 0.2 AND wind < 8 AND cloud < 60
PERIOD 1 HOUR ANSWERS WITHIN 1 SECOND, 4 SECONDS ROUNDS 100;

-- Q5: between which winds the average of each region lies, with 95 %.
CREATE QUERY q5 AS
SELECT region, INTERVAL(avg(wind), 95%) AS wind
FROM tomorrow [RANGE 1 HOUR]
GROUP BY region
PERIOD 1 HOUR ROUNDS 200;
