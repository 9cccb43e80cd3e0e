"""Queries over worlds with a deadline have fewer rounds where the time is too short for all, and say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.estimate.quality_curve import CONVEX, LINEAR
from punctual.kinds.worlds.simulate import GroupsInWorlds, GroupWorlds
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE) FROM FEED;"
SUM = "SELECT EXPECTED(sum(x)) AS total FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS"
ROUND_US = 5_000


class Working(ManualClock):
    """A clock by which all time is work."""

    def thread_us(self) -> float:
        return float(self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Working:
    """Every round takes five milliseconds."""
    clock = Working(START + 1_000 * SECOND)
    real = GroupsInWorlds.part

    def slowly(self: GroupsInWorlds, rounds: range) -> GroupWorlds:
        clock.at += ROUND_US * len(rounds)
        return real(self, rounds)

    monkeypatch.setattr(GroupsInWorlds, "part", slowly)
    return clock


def answers(folder: Path, clock: Working, contract: str, count: int, **options: str) -> list[dict[str, Any]]:
    """The answers of so many periods, fed one after the other."""
    said = {"closed_forms": "off", **options}
    with Engine(str(folder / "state"), str(folder / "out"), clock=clock, backend=InProcess, options=said) as engine:
        engine.sql(f"{STREAM} CREATE QUERY q AS {SUM} {contract};")
        engine.open()
        for period in range(count):
            seconds = range(10 * period + 1, 10 * period + 12)
            engine.feed("s", [(iso(START + second * SECOND), float(second % 7), 2.0) for second in seconds])
            engine.tick()
            clock.sleep(10 * SECOND)
    return [json.loads(line) for line in (folder / "out" / "q.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("quality", "curve"), [("", CONVEX), ("QUALITY LINEAR", LINEAR)])
def test_rounds_give_way_once_it_is_known_what_they_cost(
    tmp_path: Path, clock: Working, quality: str, curve: Any
) -> None:
    first, *others = answers(tmp_path, clock, f"DEADLINE 2 SECONDS ROUNDS 1000 {quality}", 5)
    assert (first["rounds"], first["on_time"], first["quality"]) == (1_000, False, 0.0), "nobody knew"
    assert len(others) == 4
    for one in others:
        assert one["on_time"]
        assert not one["reached"]
        assert 100 <= one["rounds"] <= 2 * SECOND / ROUND_US, "as many as there is time for"
        assert one["quality"] == pytest.approx(curve.quality(one["rounds"] / 1_000))
        assert one["kept"] == 1.0, "no row was left out"
        low, high = one["error"]["total"]["low"][0], one["error"]["total"]["high"][0]
        assert low < one["rows"][0]["total"] < high


def test_nothing_gives_way_where_nobody_asked_for_it_or_there_is_time(tmp_path: Path, clock: Working) -> None:
    for number, (contract, options) in enumerate((
        ("DEADLINE 9 SECONDS ROUNDS 1000", {}),
        ("ROUNDS 1000", {}),
        ("DEADLINE 2 SECONDS ROUNDS 1000", {"qos": "best-effort"}),
    )):  # fmt: skip
        folder = tmp_path / str(number)
        found = answers(folder, clock, contract, 4, **options)
        assert [(one["rounds"], one["reached"]) for one in found] == [(1_000, True)] * 4


def test_fewer_rounds_are_the_first_ones(tmp_path: Path, clock: Working) -> None:
    """What an answer of fewer rounds says is what a query says that asks for so many."""
    hurried = answers(tmp_path / "a", clock, "DEADLINE 2 SECONDS ROUNDS 1000", 3)[-1]
    asked = answers(tmp_path / "b", clock, f"ROUNDS {hurried['rounds']}", 3)[-1]
    assert (hurried["at"], hurried["rows"], hurried["error"]) == (asked["at"], asked["rows"], asked["error"])
