"""A live engine on Spark after a stall, with late-pending sharing and without; and replanning beside a tick.

Forty bounded queries in sharing classes of their own (each has its own WHERE) whose answers need an expression, so that
every pass has a job of Catalyst's. Rows of a stall arrive at once. Every query asks for a deadline that a pass cannot
keep, so each execution is late when its turn comes: the scheduler runs them one by one, or all that is pending in one
pass. What is measured is the tick that catches up, by the wall clock, from the release to its last answer. Answers of
both are compared row by row.

Replanning: a thousand queries of one class stand, one more is planned with them (all that is done for the cadence, no
pane is touched), against the median tick of the same program.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engines import WarmBackend, warm
from benchmarks.report import Goal, Picture, Result
from punctual.clock import SECOND, iso
from punctual.engine.engine import Engine
from punctual.kinds.program import compile_program, share
from punctual.share.cadence.class_plans import class_plans

START = 1_700_000_000 * SECOND
STALLS_S = (5, 10, 20, 40)
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k INT, a INT) FROM FEED;\n"


def run(quick: bool) -> Result:
    stalls = STALLS_S[:1] if quick else STALLS_S
    queries = 8 if quick else 40
    measured: dict[tuple[int, bool], dict[str, float]] = {}
    with warm() as backend:
        stalled(backend, queries, 2, late_pending=True)  # warms the session
        for stall in stalls:
            answers = {}
            for late_pending in (False, True):
                answers[late_pending], measured[stall, late_pending] = stalled(
                    backend, queries, stall, late_pending=late_pending
                )
            assert answers[False] == answers[True], "sharing a pass changed an answer"
        planned = replanning(backend, 100 if quick else 1_000)
    rows = [
        [stall, "with" if late_pending else "without", *one.values()]
        for (stall, late_pending), one in measured.items()
    ]
    rows += [[None, f"replanning, {name}", ms / 1000, None, None, None] for name, ms in planned.items()]
    longest = stalls[-1]
    ratio = {
        what: measured[longest, True][what] / measured[longest, False][what] for what in ("caught up s", "lateness s")
    }
    return Result(
        name="overload_engine",
        title="Catching up on Spark after a stall, and replanning",
        columns=["stall s", "late-pending", "caught up s", "mean lateness s", "answers/s", "passes"],
        rows=rows,
        goals=[
            Goal(f"stall of {longest} s: time to catch up, with over without", 1.0, ratio["caught up s"]),
            Goal(f"stall of {longest} s: mean lateness, with over without", 1.0, ratio["lateness s"]),
            Goal("replanning all queries over a tick of theirs", 1.0, planned["exact or greedy"] / planned["a tick"]),
        ],
        pictures=[
            Picture(
                "seconds of stall",
                "seconds to catch up",
                {
                    name: [(float(stall), measured[stall, flag]["caught up s"]) for stall in stalls]
                    for name, flag in (("one by one", False), ("late-pending sharing", True))
                },
            )
        ],
        facts={
            **{f"{stall} s, late-pending {flag}": one for (stall, flag), one in measured.items()},
            "replanning ms": planned,
        },
    )


def stalled(
    backend: WarmBackend, queries: int, stall_s: int, *, late_pending: bool
) -> tuple[dict[tuple[str, int], Any], dict[str, float]]:
    """Answers of a program whose rows of ``stall_s`` seconds come at once, and what catching up took."""
    chance = random.Random(7)
    text = STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT sum(a) + {i} AS total, count(*) AS n "
        f"FROM s [RANGE {chance.randint(5, 60)} SECONDS] WHERE k <> {i} "
        f"FREQUENCY {chance.choice([2, 3, 4, 5, 6])} SECONDS DEADLINE 1 MILLISECOND;\n"
        for i in range(queries)
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(str(Path(folder) / "state"), backend=lambda: backend) as engine,
    ):
        engine.sql(text)
        engine.open()
        loop = engine._opened()
        loop.state = replace(loop.state, rules=replace(loop.state.rules, late_pending=late_pending))
        times = [iso(START + second * SECOND) for second in range(20 + stall_s)]
        rows = [(at, chance.randrange(60), chance.randrange(100)) for at in times]
        for begin in range(0, 20, 5):
            engine.feed("s", rows[begin : begin + 5])
            engine.tick()
        calm = sum(1 for _block in engine.records())
        engine.feed("s", rows[20:])
        began = time.perf_counter()
        engine.tick()
        took = time.perf_counter() - began
        late = [row for block in list(engine.records())[calm:] for row in block.table.to_pylist()]
        released = min(row["released"] for row in late)
        found = {
            (block.query, row["at"]): (row["rows"], row["execution"])
            for block in engine.records()
            for row in block.table.to_pylist()
        }
        caught_up = (max(row["answered"] for row in late) - released) / SECOND
        assert took >= caught_up
        return found, {
            "caught up s": caught_up,
            "lateness s": sum(row["answered"] - row["deadline"] for row in late) / len(late) / SECOND,
            "answers/s": len(late) / caught_up,
            "passes": float(len({row["answered"] for row in late})),
        }


def replanning(backend: WarmBackend, count: int) -> dict[str, float]:
    """Milliseconds to plan the cadence of so many queries of one class, and a tick of theirs."""
    chance = random.Random(5)
    text = STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT max(a) AS top FROM s "
        f"[RANGE {chance.randint(1, 1200)} SECONDS SLIDE {chance.randint(1, 600)} SECONDS];\n"
        for i in range(count)
    )
    shared = share(compile_program(text, base=".").catalog.queries.values())
    found: dict[str, float] = {}
    for name, scan in (("exact or greedy", True), ("own bounds", False)):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            class_plans(shared, "auto", scan=scan)
            times.append(time.perf_counter() - began)
        found[name] = 1000 * median(times)
    with tempfile.TemporaryDirectory() as folder:
        options = {"window_merge": "scan"}
        with Engine(str(Path(folder) / "state"), backend=lambda: backend, live=False, options=options) as engine:
            engine.sql(text)
            engine.open()
            ticks = []
            for minute in range(8):
                engine.feed("s", [(iso(START + (60 * minute + s) * SECOND), s, s * 7 % 50) for s in range(60)])
                began = time.perf_counter()
                engine.tick()
                ticks.append(time.perf_counter() - began)
            found["a tick"] = 1000 * median(ticks[3:])
    return found
