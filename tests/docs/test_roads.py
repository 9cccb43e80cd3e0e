"""``examples/roads.py``: arrival times and routes in every world, against Dijkstra's algorithm in plain Python."""

from __future__ import annotations

import heapq
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess
from tests.oracles import possible_worlds as oracle

ROUNDS = 200
HOUR_US = 3600 * SECOND
COLUMNS = {
    "t": pa.int64(), "road": pa.string(), "origin": pa.string(), "target": pa.string(), "slot": pa.int64(),
    "vehicles": pa.int32(), "seconds": pa.float64(),
}  # fmt: skip


def example() -> ModuleType:
    """The module as a script has it: nobody can import it, so its functions travel whole."""
    path = Path(__file__).parent.parent.parent / "examples" / "roads.py"
    spec = importlib.util.spec_from_file_location("roads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fastest(world: Sequence[oracle.Row], home: str, work: str) -> tuple[float, str]:
    """Minutes and places of the fastest way by the last report of each road."""
    last: dict[tuple[str, str], tuple[int, float]] = {}
    for row in world:
        road = row["origin"], row["target"]
        last[road] = max(last.get(road, (-1, 0.0)), (row["slot"], row["seconds"]))
    waiting = [(0.0, home, home)]
    done: dict[str, tuple[float, str]] = {}
    while waiting:
        time, place, way = heapq.heappop(waiting)
        if place in done:
            continue
        done[place] = time, way
        for (origin, target), (_slot, seconds) in last.items():
            if origin == place and target not in done:
                heapq.heappush(waiting, (time + seconds, target, f"{way} > {target}"))
    return done[work][0] / 60, done[work][1]


def window_of(reports: pd.DataFrame, at: Any) -> list[oracle.Row]:
    found = []
    for row in reports.to_dict("records"):
        us = int(row["time"].timestamp() * SECOND)
        if int(at.timestamp() * SECOND) - HOUR_US < us <= int(at.timestamp() * SECOND):
            found.append({"t": us, **{name: row[name] for name in list(COLUMNS)[1:]}})
    return found


def test_arrivals_and_routes_are_those_of_every_world() -> None:
    roads = example()
    reports = roads.generated(size=3, hours=2)
    home, work = roads.farthest(reports)
    clock = ManualClock(int(roads.BEGIN.timestamp()) * SECOND + 9 * HOUR_US)
    with Engine(live=False, clock=clock, backend=lambda: InProcess(2)) as engine:
        answers = roads.ask(engine, reports, home, work)
    assert len(answers) == 3
    several = 0
    for answer in answers.itertuples():
        window = window_of(reports, answer.at)
        stream = oracle.Stream(
            "reports", COLUMNS, {"seconds": oracle.empirical("seconds", "road")},
            {"seconds": lambda row: row["seconds"] is None},
        )  # fmt: skip
        identity = stream.identities(window)  # draws are named by the row as it came
        stream.identities = lambda _rows, identity=identity: identity  # type: ignore[method-assign,misc]
        seen = [{**row, "seconds": row["seconds"] if row["vehicles"] else None} for row in window]
        found = [fastest(world, home, work) for world in oracle.worlds(stream, seen, ROUNDS, seed=0)]
        times, routes = sorted(minutes for minutes, _route in found), [route for _minutes, route in found]
        assert answer.minutes == pytest.approx(math.fsum(times) / ROUNDS, rel=1e-9)
        outside = math.floor(0.05 * (ROUNDS + 1))
        assert answer.between["low"] == pytest.approx(times[outside - 1], rel=1e-9)
        assert answer.between["high"] == pytest.approx(times[-outside], rel=1e-9)
        ranked = sorted((-routes.count(route), route) for route in set(routes))[:3]
        likely = [(one["value"], one["probability"]) for one in answer.routes]
        assert likely == [(route, -count / ROUNDS) for count, route in ranked]
        several += len(ranked) > 1
    assert several > 0, "nothing is uncertain about the route"


def test_a_city_without_a_way_has_no_arrival() -> None:
    roads = example()
    reports = roads.generated(size=2, hours=1)
    arrays = [reports[[name]].to_numpy() for name in ("origin", "target", "slot", "seconds")]
    assert roads.arrival(*arrays, "A1", "Z9").mask.tolist() == [True]
    assert roads.route(*arrays, "A1", "Z9") == [None]
    one_way = [array[(reports["target"] != "A1").to_numpy()] for array in arrays]
    assert roads.arrival(*one_way, "B2", "A1").mask.tolist() == [True]
    assert roads.route(*one_way, "B2", "A1") == [None]
    assert roads.streets("a > b > c", {"a": "Main", "b": "Main"}) == "Main > c"
