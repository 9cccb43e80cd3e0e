-- Seven sliding windows that run together: the running example of Golab, Bijay and Ozsu ("Multi-query optimization of
-- sliding window aggregates by schedule synchronization") on half an hour of real trades.
--
--   punctual explain examples/cadence.sql --schedule     when they run, what each method would cost
--   punctual explain examples/cadence.sql --sharing      who rides on whom
--   punctual run     examples/cadence.sql --once --out answers
--
-- SLIDE is a bound: answers are never further apart. All seven keep the same thing (the highest price by symbol) of the
-- same rows, so they are one sharing class, and an execution of a long window answers the shorter ones on its way.

CREATE STREAM trades (
    time     TIMESTAMP EVENT TIME WATERMARK 1 SECOND,
    symbol   STRING    KEY,
    price    DOUBLE,
    size     INT,
    exchange STRING
) FROM FILES 'data/trades' FORMAT PARQUET;

-- Windows are merged by walks over their panes. Without this they are folded, running sooner saves nothing, and every
-- query answers at the multiples of its own bound: compare --set window_merge=auto.
SET window_merge = scan;

-- Left to itself the plan is the exact one. Try --set cadence=hybrid, conservative, aggressive, greedy, none.
SET cadence = auto;

-- Every two minutes: panes are a minute long, so ten minutes take nine merges.
CREATE QUERY q1 AS SELECT symbol, max(price) AS high FROM trades [RANGE 10 MINUTES SLIDE 2 MINUTES] GROUP BY symbol;
CREATE QUERY q2 AS SELECT symbol, max(price) AS high FROM trades [RANGE 5 MINUTES SLIDE 2 MINUTES] GROUP BY symbol;
CREATE QUERY q3 AS SELECT symbol, max(price) AS high FROM trades [RANGE 6 MINUTES SLIDE 2 MINUTES] GROUP BY symbol;

-- Every three minutes. These may differ in what they make of the highest price, and in which rows of it they want.
CREATE QUERY q4 AS
SELECT symbol, max(price) AS high FROM trades [RANGE 15 MINUTES SLIDE 3 MINUTES] GROUP BY symbol ORDER BY high DESC LIMIT 1;
CREATE QUERY q5 AS SELECT symbol, max(price) AS high FROM trades [RANGE 12 MINUTES] GROUP BY symbol FREQUENCY 3 MINUTES;

-- Every five minutes. Everybody rides on q7: one execution in five minutes answers all seven.
CREATE QUERY q6 AS SELECT symbol, max(price) AS high FROM trades [RANGE 20 MINUTES SLIDE 5 MINUTES] GROUP BY symbol;
CREATE QUERY q7 AS SELECT symbol, max(price) AS high FROM trades [RANGE 30 MINUTES SLIDE 5 MINUTES] GROUP BY symbol;
