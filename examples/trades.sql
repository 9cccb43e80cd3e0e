-- Half an hour of real trades: what a desk might watch, all of it from one read of the data.

CREATE STREAM trades (
    time     TIMESTAMP EVENT TIME WATERMARK 1 SECOND,
    symbol   STRING    KEY,
    price    DOUBLE,
    size     INT,
    exchange STRING,
    dollars  DOUBLE AS (price * size)
) FROM FILES 'data/trades' FORMAT PARQUET;

CREATE TABLE symbols (symbol STRING, company STRING, sector STRING) FROM FILES 'data/symbols.csv' FORMAT CSV;

-- Volume-weighted average price over five minutes, every minute.
CREATE QUERY vwap AS
SELECT symbol, sum(dollars) / sum(size) AS vwap, count(*) AS trades
FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE]
GROUP BY symbol;

-- The widest price ranges of the last two minutes.
CREATE QUERY ranges AS
SELECT symbol, min(price) AS low, max(price) AS high, 100 * (max(price) - min(price)) / min(price) AS percent
FROM trades [RANGE 2 MINUTES SLIDE 30 SECONDS]
GROUP BY symbol
HAVING count(*) > 50
ORDER BY percent DESC
LIMIT 2;

-- Block trades, by sector of the company.
CREATE QUERY blocks AS
SELECT s.sector, count(*) AS blocks, sum(t.dollars) AS dollars
FROM trades [RANGE 10 MINUTES] AS t, symbols AS s
WHERE t.symbol = s.symbol AND t.size >= 5000
GROUP BY s.sector
PERIOD 5 MINUTES;

-- How trade sizes are distributed, and how many exchanges took part.
CREATE QUERY sizes AS
SELECT approx_percentile(size, array(0.5, 0.9, 0.99)) AS sizes, stddev(price) FILTER (WHERE symbol = 'IBM') AS ibm_stddev,
       count(DISTINCT exchange) AS exchanges
FROM trades [RANGE 10 MINUTES SLIDE 5 MINUTES];
