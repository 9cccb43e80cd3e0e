-- Which icebergs are the northernmost, when nobody can be sure where they are: a month of the Antarctic iceberg tracks.
--
--   punctual run     examples/icebergs.sql --once --out answers
--   punctual explain examples/icebergs.sql
--
-- Several sensors report one iceberg on one day, at different places, and many positions were interpolated between
-- observations. So a reading is right with a probability, and the readings of one iceberg on one day exclude each other.

CREATE STREAM sightings (
    date    TIMESTAMP EVENT TIME,
    iceberg STRING    KEY,
    sensor  STRING,
    lat     DOUBLE,
    lon     DOUBLE,
    flag    INT,                                                            -- 1 observed, 0 interpolated
    sure    DOUBLE    PROBABILITY AS (CASE flag WHEN 1 THEN 0.45 ELSE 0.25 END),   -- two sensors never exceed 1
    one     STRING    RULE        AS (concat(iceberg, ' ', CAST(date AS DATE)))
) FROM FILES 'data/icebergs' FORMAT PARQUET;

-- The five readings that are most often among the five northernmost of the day.
CREATE QUERY northernmost AS
SELECT TOP 5 iceberg, sensor, lat, lon FROM sightings [RANGE 1 DAY] ORDER BY lat DESC PERIOD 1 DAY;

-- Everything that is among them with a probability of a third, whatever that leaves.
CREATE QUERY likely AS
SELECT TOP 5 BY PT(0.33) iceberg, lat FROM sightings [RANGE 1 DAY] ORDER BY lat DESC PERIOD 1 DAY;

-- Icebergs in place of readings: how many of its readings are expected among the three northernmost of the week.
CREATE QUERY weekly AS
SELECT TOP 3 STREAMS iceberg, lat FROM sightings [RANGE 7 DAYS] ORDER BY lat DESC PERIOD 7 DAYS;
