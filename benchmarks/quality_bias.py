"""What samples say of a day of real trades, against what is so: the bias of estimates, and how often intervals hold.

Every minute by symbol: count, dollars, average price and volume-weighted price, with ``SET keep`` from 10 to 50 %, once
with rows shed before they are parsed (panes) and once with samples of the windows' rows. Windows tumble, so their
samples are independent and the mean error has a plain standard error. What is so is computed by DuckDB. Answers have
the same bytes on Spark, and nothing is timed here, so the data plane is that of the tests, in this process.

The data is not part of the project: ``PUNCTUAL_DATA`` names a folder with ``us_equity_ticks_2013/trades.parquet``.
Without it the half hour of ``examples/data`` is taken.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from tests.inprocess.backend import InProcess

from benchmarks.report import Goal, Picture, Result
from punctual.clock import instant_us
from punctual.engine.engine import Engine

PLACE = "us_equity_ticks_2013/trades.parquet"
DAY = "2013-10-07"
COLUMNS = ("trades", "dollars", "price", "vwap")
KEEPS = (10, 20, 30, 50)
WAYS = {"at ingest": "auto", "of the window": "rows"}
LEAST_ROWS = 30
"""Windows with fewer sampled rows are left out: below that nobody promises that intervals hold."""
ENOUGH = 200
"""Of fewer intervals nobody can tell which part holds."""

Groups = dict[tuple[int, str], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of one column over all groups, and how many of their intervals hold."""

    relative: NDArray[np.float64]
    intervals: int
    held: int

    @property
    def mean(self) -> float:
        return float(self.relative.mean())

    @property
    def standard_error(self) -> float:
        return float(self.relative.std(ddof=1) / np.sqrt(self.relative.size))

    @property
    def coverage(self) -> float | None:
        return self.held / self.intervals if self.intervals else None


def run(quick: bool) -> Result:
    keeps = KEEPS[1:3] if quick else KEEPS
    with tempfile.TemporaryDirectory() as scratch:
        folder = _trades(Path(scratch), quick=quick)
        truth = _truth(folder)
        found = {
            (way, keep): errors(_sampled(folder, merge, keep), truth, keep)
            for way, merge in WAYS.items()
            for keep in keeps
        }
    return _result(found, len(truth))


def _trades(scratch: Path, *, quick: bool) -> Path:
    """The trades of a day as one file, or the half hour that the project has."""
    given = Path(os.environ.get("PUNCTUAL_DATA", ".")) / PLACE
    if quick or "PUNCTUAL_DATA" not in os.environ or not given.exists():
        return Path(__file__).parents[1] / "examples" / "data" / "trades"
    folder = scratch / "trades"
    folder.mkdir()
    duckdb.sql(f"COPY (FROM '{given}' WHERE time::DATE = '{DAY}' ORDER BY time) TO '{folder / 'day.parquet'}'")
    return folder


def program(folder: Path) -> str:
    return f"""
        CREATE STREAM trades (
            time TIMESTAMP EVENT TIME WATERMARK 1 SECOND, symbol STRING KEY, price DOUBLE, size INT,
            dollars DOUBLE AS (price * size)
        ) FROM FILES '{folder}' FORMAT PARQUET;
        CREATE QUERY minutes AS
        SELECT symbol, count(*) AS trades, sum(dollars) AS dollars, avg(price) AS price,
               sum(dollars) / sum(size) AS vwap
        FROM trades [RANGE 1 MINUTE] GROUP BY symbol PERIOD 1 MINUTE QUALITY LINEAR;
    """


def _truth(folder: Path) -> Groups:
    """By instant and symbol; windows are open at their begin and closed at their end. The last minute is not over."""
    found = duckdb.sql(f"""
        WITH rows AS (FROM '{folder}/*.parquet' SELECT *, epoch_us(time) AS us)
        SELECT 60000000 * ((us + 59999999) // 60000000) AS minute, symbol, count(*), sum(price * size),
               avg(price), sum(price * size) / sum(size)
        FROM rows GROUP BY minute, symbol HAVING minute <= (SELECT max(us) FROM rows)
    """).fetchall()
    return {(at, symbol): tuple(map(float, rest)) for at, symbol, *rest in found}


def _sampled(folder: Path, merge: str, keep: int) -> list[dict[str, Any]]:
    """Every answer of a replay."""
    options = {"keep": f"{keep}%", "window_merge": merge}
    with tempfile.TemporaryDirectory() as out:
        with Engine(out=out, live=False, options=options, backend=InProcess) as engine:
            engine.sql(program(folder))
            engine.run_once()
        return [json.loads(line) for line in (Path(out) / "minutes.jsonl").read_text().splitlines()]


def errors(answers: list[dict[str, Any]], truth: Groups, keep: int) -> dict[str, Errors]:
    """By column, over the groups of which enough rows are expected in a sample.

    Which groups count is decided by what is so, not by what was sampled: that would be a bias of its own.
    """
    said = {(instant_us(answer["at"]), row["symbol"]): (answer, place)
            for answer in answers for place, row in enumerate(answer["rows"])}  # fmt: skip
    groups = [group for group, (rows, *_rest) in truth.items() if rows * keep / 100 >= LEAST_ROWS]
    found = {}
    for number, column in enumerate(COLUMNS):
        relative, intervals, held = [], 0, 0
        for group in groups:
            exact = truth[group][number]
            answer, place = said.get(group, (None, 0))
            if answer is None:  # a sample without a row of the group says that there are none
                if column in ("trades", "dollars"):
                    relative.append(-1.0)
                continue
            relative.append(answer["rows"][place][column] / exact - 1.0)
            low, high = _interval(answer, column, place)
            if low is not None and high is not None:
                intervals += 1
                held += low <= exact <= high
        found[column] = Errors(np.array(relative), intervals, held)
    return found


def _interval(answer: Mapping[str, Any], column: str, place: int) -> tuple[float | None, float | None]:
    known = (answer["error"] or {}).get(column, {})
    if known.get("confidence") is None:
        return None, None
    return known["low"][place], known["high"][place]


def _result(found: Mapping[tuple[str, int], dict[str, Errors]], groups: int) -> Result:
    rows = [
        [way, keep, column, one.relative.size, one.mean, one.standard_error, one.mean / one.standard_error,
         float(np.abs(one.relative).mean()), one.intervals / one.relative.size, one.coverage]
        for (way, keep), columns in found.items()
        for column, one in columns.items()
    ]  # fmt: skip
    every = [one for columns in found.values() for one in columns.values()]
    held = [one.coverage for one in every if one.coverage is not None and one.intervals >= ENOUGH]
    return Result(
        name="quality_bias",
        title=f"Samples of a day of trades, by minute and symbol ({groups:,} groups): relative errors",
        columns=["sampled", "%", "of", "groups", "error", "s.e.", "ratio", "|error|", "bounded", "hold"],
        rows=rows,
        goals=[
            Goal("mean error over its standard error, largest", 3.0,
                 max(abs(one.mean / one.standard_error) for one in every)),
            *([Goal("part of the 95 % intervals that hold, least", 0.93, min(held), at_least=True)] if held else []),
        ],
        pictures=[
            Picture("rows kept, %", f"mean |relative error| of {column}", {
                way: [(float(keep), float(np.abs(columns[column].relative).mean()))
                      for (who, keep), columns in found.items() if who == way]
                for way in WAYS
            }, logarithmic=False)
            for column in ("trades", "dollars")
        ],
        notes=[f"groups of which at least {LEAST_ROWS} rows are expected in the sample"],
        facts={f"{way} {keep} {column}": {"mean": one.mean, "standard_error": one.standard_error,
                                          "intervals": one.intervals, "held": one.held,
                                          "relative": [round(float(x), 6) for x in one.relative]}
               for (way, keep), columns in found.items() for column, one in columns.items()},
    )  # fmt: skip
