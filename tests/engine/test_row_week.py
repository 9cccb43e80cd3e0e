"""A week of row queries in simulated time: files, bytes and what the driver remembers stay flat, answers stay right.

Answers are compared with plain Python over all rows at sampled instants. Syncing to the disk is switched off, and a
segment of the answer log is a few kilobytes, so that the week fills many.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from punctual.clock import ManualClock, Micros, iso
from punctual.engine.engine import Engine
from punctual.store.records import RecordLog
from tests.inprocess.backend import InProcess

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
DAYS = 7
START = 19_000 * DAY_US
PROGRAM = """
SET keep_answers = '1 day';
CREATE STREAM trades (t TIMESTAMP EVENT TIME WATERMARK 20 MINUTES, sym STRING, price INT, note STRING) FROM FEED;
CREATE STREAM quotes (t TIMESTAMP EVENT TIME WATERMARK 20 MINUTES, sym STRING, bid INT) FROM FEED;
CREATE QUERY above AS
SELECT a.sym, count(*) AS n, sum(a.price - b.bid) AS gain
FROM trades [RANGE 1 HOUR] AS a JOIN quotes [RANGE 3 HOURS] AS b ON a.sym = b.sym AND a.price > b.bid
GROUP BY a.sym PERIOD 1 HOUR;
CREATE QUERY silent AS
SELECT sym FROM quotes [RANGE 2 HOURS] EXCEPT SELECT sym FROM trades [RANGE 1 HOUR] PERIOD 2 HOURS;
CREATE QUERY best AS
SELECT sym, price FROM (
    SELECT sym, price, row_number() OVER (PARTITION BY sym ORDER BY price DESC) AS place FROM trades [RANGE 6 HOURS]
) AS ranked WHERE place = 1 PERIOD 6 HOURS;
CREATE QUERY beside AS SELECT sym, max(price) AS most FROM trades [RANGE 2 HOURS] GROUP BY sym PERIOD 1 HOUR;
"""
Row = tuple[Micros, str, int]


@dataclass(frozen=True, slots=True)
class Size:
    """What the program holds after a tick."""

    files: int
    bytes: int
    retained: int
    entries: int


def size_of(engine: Engine, state: Path) -> Size:
    found = [(name, os.path.getsize(os.path.join(at, name))) for at, _, names in os.walk(state) for name in names]
    held = engine._opened().core.held.holders.rows._held
    rows = sum(name.endswith(".arrow") for name, _size in found)
    return Size(len(found), sum(size for _name, size in found), rows, sum(map(len, held.values())))


class Brute:
    """All rows of the week, in memory, and what each query says over them."""

    def __init__(self) -> None:
        self.trades: list[Row] = []
        self.quotes: list[Row] = []

    def answer(self, query: str, at: Micros) -> list[tuple[Any, ...]]:
        def inside(rows: list[Row], hours: int) -> list[Row]:
            return [row for row in rows if at - hours * HOUR_US < row[0] <= at]

        match query:
            case "above":
                pairs = [
                    (sym, price - bid)
                    for _t, sym, price in inside(self.trades, 1)
                    for _u, other, bid in inside(self.quotes, 3)
                    if sym == other and price > bid
                ]
                count = Counter(sym for sym, _gain in pairs)
                return sorted((sym, count[sym], sum(gain for one, gain in pairs if one == sym)) for sym in count)
            case "silent":
                seen = {sym for _t, sym, _price in inside(self.trades, 1)}
                return sorted({(sym,) for _t, sym, _bid in inside(self.quotes, 2)} - {(sym,) for sym in seen})
            case _:
                best: dict[str, int] = {}
                for _t, sym, price in inside(self.trades, 6 if query == "best" else 2):
                    best[sym] = max(best.get(sym, price), price)
                return sorted(best.items())


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(os, "fdatasync", lambda handle: None)
    defaults = RecordLog.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "segment_bytes", 16 * 1024)


def rows_of(rng: Random, now: Micros, step_us: Micros, count: int) -> list[Row]:
    return [
        (now - rng.randrange(step_us), rng.choice("ABCDEFGH"), rng.randrange(1_000))
        for _row in range(rng.randrange(count + 1))
    ]


@pytest.mark.parametrize("ticks", [700, pytest.param(4_000, marks=pytest.mark.long)])
def test_a_week_is_flat(tmp_path: Path, light: None, ticks: int) -> None:
    rng, clock, brute = Random(ticks), ManualClock(START), Brute()
    state, step_us = tmp_path / "state", DAYS * DAY_US // ticks
    sizes: list[Size] = []
    answers: list[tuple[str, Micros, list[tuple[Any, ...]]]] = []
    with Engine(str(state), clock=clock, backend=InProcess, live=False) as engine:
        engine.sql(PROGRAM)
        engine.listen(lambda blocks: answers.extend(one for block in blocks for one in _answers(block)))
        engine.open()
        for tick in range(ticks):
            clock.sleep(step_us)
            trades = rows_of(rng, clock.now(), step_us, 4)
            quotes = rows_of(rng, clock.now(), step_us, 6)
            brute.trades += trades
            brute.quotes += quotes
            engine.feed("trades", [(iso(at), sym, price, "x" * 20) for at, sym, price in trades])
            engine.feed("quotes", [(iso(at), sym, bid) for at, sym, bid in quotes])
            engine.tick()
            if tick % 5 == 0:
                sizes.append(size_of(engine, state))
    _flat(sizes)
    for query, every in (("above", 1), ("silent", 2), ("best", 6), ("beside", 1)):
        found = [(at, rows) for name, at, rows in answers if name == query]
        instants = [at for at, _rows in found]
        assert {later - earlier for earlier, later in pairwise(instants)} == {every * HOUR_US}
        assert abs(len(found) - DAYS * 24 // every) <= 2
        for at, rows in rng.sample(found, 12) + found[-2:]:
            assert rows == brute.answer(query, at), (query, datetime.fromtimestamp(at // 1_000_000, UTC))


def _flat(sizes: list[Size]) -> None:
    """The last three days hold no more than the three before; the first has only begun."""
    day = len(sizes) // DAYS
    before, after = sizes[day : 4 * day], sizes[4 * day :]
    for what in ("files", "bytes", "retained", "entries"):
        first, second = (max(getattr(size, what) for size in some) for some in (before, after))
        assert 0 < second <= first * 1.1 + 2, f"{what} went from {first} to {second}"


def _answers(block: Any) -> list[tuple[str, Micros, list[tuple[Any, ...]]]]:
    fields = zip(block.table.column("at").to_pylist(), block.table.column("rows").to_pylist(), strict=True)
    return [(block.query, at, [tuple(row.values()) for row in rows]) for at, rows in fields]
