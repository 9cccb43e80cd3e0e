-- Trades that come three times as fast for half a minute: what gives way, and what does not.
--
--   python examples/burst.py      feeds the trades, prints what happens, draws quality and deadlines through the burst
--
-- QUALITY says how good an answer is that rests on a share of its window. Only queries that have it give way, all to
-- the same quality, and only as far as the deadlines need it.

CREATE STREAM trades (
    time     TIMESTAMP EVENT TIME WATERMARK 100 MILLISECONDS,
    symbol   STRING    KEY,
    price    DOUBLE,
    size     INT,
    exchange STRING
) FROM FEED;

-- Windows are read again, row by row, for every answer. From panes these queries would cost next to nothing, and
-- nothing would have to give way: compare SET window_merge = auto.
SET window_merge = rows;

-- An average hardly changes when rows are left out: half of them are worth 0.94.
CREATE QUERY prices AS
SELECT symbol, avg(price) AS price, max(price) AS high
FROM trades [RANGE 20 SECONDS]
GROUP BY symbol
PERIOD 5 SECONDS DEADLINE 4 SECONDS QUALITY CONVEX;

-- Of a sum every row is worth the same.
CREATE QUERY volume AS
SELECT symbol, sum(price * size) AS dollars, count(*) AS trades
FROM trades [RANGE 20 SECONDS]
GROUP BY symbol
PERIOD 5 SECONDS DEADLINE 4 SECONDS QUALITY LINEAR;

-- A curve of its own: half of the rows will do, less than a tenth never.
CREATE QUERY venues AS
SELECT symbol, exchange, count(*) AS trades, sum(price * size) / sum(size) AS vwap
FROM trades [RANGE 20 SECONDS]
GROUP BY symbol, exchange
PERIOD 5 SECONDS DEADLINE 4 SECONDS QUALITY (100% => 1, 50% => 0.9, 10% => 0.4);

-- Somebody has to know every block trade: without QUALITY an answer is exact, whatever happens.
CREATE QUERY blocks AS
SELECT symbol, count(*) AS trades, max(size) AS largest
FROM trades [RANGE 5 SECONDS]
WHERE size >= 5000
GROUP BY symbol
PERIOD 5 SECONDS DEADLINE 4 SECONDS;
