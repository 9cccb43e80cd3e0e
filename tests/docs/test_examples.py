"""The programs under examples/ compile without a JVM, run to their end on Spark, and answer what their data says."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from punctual.cli.main import main
from punctual.clock import SECOND, instant_us, iso
from punctual.explain.look import look_at
from tests.oracles import worlds

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.sql"))
MINUTE = 60 * SECOND
WINDOWS = {"q1": (10, 2), "q2": (5, 2), "q3": (6, 2), "q4": (15, 3), "q5": (12, 3), "q6": (20, 5), "q7": (30, 5)}
"""Range and bound in minutes of the queries of ``cadence.sql``, as the paper has them."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_example_can_be_planned(program: Path) -> None:
    look = look_at(program.read_text(), str(EXAMPLES), {}, types=False)
    assert look.catalog.queries
    assert look.sharing()
    assert look.schedule()


def test_the_seven_queries_are_the_published_ones() -> None:
    (only,) = look_at((EXAMPLES / "cadence.sql").read_text(), str(EXAMPLES), {}, types=False).timing.plans
    found = {m.query: (m.range_us // MINUTE, m.bound // MINUTE) for m in only.sharing.members}
    assert found == WINDOWS
    assert sorted(only.levels) == [4, 5, 9, 11, 14, 19, 29]
    assert only.method == "exact"


def run(program: str, out: Path) -> dict[str, list[dict[str, Any]]]:
    assert main(["run", str(EXAMPLES / program), "--once", "--out", str(out)]) == 0
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in out.glob("*.jsonl")}


@pytest.fixture(scope="module")
def trades() -> pa.Table:
    """The rows, with their time in microseconds."""
    table = pa.concat_tables(pq.read_table(path) for path in sorted((EXAMPLES / "data" / "trades").glob("*.parquet")))
    return table.append_column("us", table["time"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()))


def inside(trades: pa.Table, since: int, at: int) -> pa.Table:
    return trades.filter(pc.and_(pc.greater(trades["us"], since), pc.less_equal(trades["us"], at)))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_cadence(tmp_path: Path, trades: pa.Table) -> None:
    """Every answer is right for its own instant, and the instants are those of the cheapest plan: 2, 4, 5 of 5."""
    answers = run("cadence.sql", tmp_path)
    assert set(answers) == set(WINDOWS)
    first, last = pc.min(trades["us"]).as_py(), pc.max(trades["us"]).as_py()
    for name, (range_min, bound) in WINDOWS.items():
        due = {2: {2, 4, 5}, 3: {2, 5}, 5: {5}}[bound]
        minutes = range(-(-first // MINUTE), last // MINUTE + 1)
        instants = [minute for minute in minutes if (minute % 5 or 5) in due]
        assert [answer["at"] for answer in answers[name]] == [iso(minute * MINUTE) for minute in instants]
        assert all(later - earlier <= bound for earlier, later in pairwise(instants))
        for answer, minute in zip(answers[name], instants):
            rows = inside(trades, (minute - range_min) * MINUTE, minute * MINUTE)
            highest = rows.group_by("symbol").aggregate([("price", "max")]).sort_by("symbol").to_pylist()
            expected = [{"symbol": row["symbol"], "high": row["price_max"]} for row in highest]
            if name == "q4":
                expected = sorted(expected, key=lambda row: -row["high"])[:1]
            assert answer["rows"] == expected
            label = {2: "180s", 4: "120s", 5: "300s"}[minute % 5 or 5]
            assert answer["execution"].startswith(f"trades/{label}#")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_trades(tmp_path: Path, trades: pa.Table) -> None:
    answers = run("trades.sql", tmp_path)
    assert set(answers) == {"vwap", "ranges", "blocks", "sizes"}
    assert all(answers.values())
    first, last = pc.min(trades["us"]).as_py(), pc.max(trades["us"]).as_py()
    minutes = range(-(-first // MINUTE), last // MINUTE + 1)
    assert [answer["at"] for answer in answers["vwap"]] == [iso(minute * MINUTE) for minute in minutes]
    for answer, minute in zip(answers["vwap"], minutes):
        rows = inside(trades, (minute - 5) * MINUTE, minute * MINUTE)
        counts = rows.group_by("symbol").aggregate([("price", "count")]).sort_by("symbol").to_pylist()
        found = [(row["symbol"], row["trades"]) for row in answer["rows"]]
        assert found == [(row["symbol"], row["price_count"]) for row in counts]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_icebergs(tmp_path: Path) -> None:
    """Every day's ranking against the definition, row by row."""
    found = run("icebergs.sql", tmp_path)
    files = sorted((EXAMPLES / "data" / "icebergs").glob("*.parquet"))
    readings = [row for path in files for row in pq.read_table(path).to_pylist()]
    assert len(found["northernmost"]) == 31
    for answer in found["northernmost"]:
        assert answer["rejected"] == 0
        day = [row for row in readings if row["date"].isoformat().startswith(answer["at"][:10])]
        day.sort(key=lambda row: (-row["lat"], row["iceberg"], row["sensor"], row["lon"]))
        sure = [Fraction(45, 100) if row["flag"] else Fraction(25, 100) for row in day]
        rows = [worlds.Row(len(day) - i, p, row["iceberg"]) for i, (row, p) in enumerate(zip(day, sure))]
        probabilities = [sum(ranks, Fraction(0)) for ranks in worlds.rank_distribution(rows, 5)]
        expected = sorted(probabilities, reverse=True)[:5]
        assert [row["probability"] for row in answer["rows"]] == pytest.approx([float(p) for p in expected], abs=1e-12)
        best = max(range(len(day)), key=lambda i: (probabilities[i], -i))
        assert (answer["rows"][0]["iceberg"], answer["rows"][0]["lat"]) == (day[best]["iceberg"], day[best]["lat"])
    assert all(row["rank"] == i for answer in found["weekly"] for i, row in enumerate(answer["rows"], 1))


def pairs_of(positions: list[dict[str, Any]], since: int, at: int) -> dict[tuple[int, int], dict[str, float]]:
    """By pair of vessels under way: how near they came, in metres, and how fast they were."""
    under_way = [one for one in positions if since < one["us"] <= at and one["sog"] > 3]
    found: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for one, other in product(under_way, under_way):
        if one["mmsi"] < other["mmsi"] and one["us"] // (10 * SECOND) == other["us"] // (10 * SECOND):
            metres = 111195 * math.hypot((one["lon"] - other["lon"]) * math.cos(math.radians(50.8)),
                                         one["lat"] - other["lat"])
            found.setdefault((one["mmsi"], other["mmsi"]), []).append((metres, one["sog"], other["sog"]))
    return {
        pair: {
            "metres": min(metres for metres, _one, _other in several),
            "knots": max(one for _metres, one, _other in several),
            "other_knots": max(other for _metres, _one, other in several),
        }
        for pair, several in found.items()
    }


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_vessels(tmp_path: Path) -> None:
    """Every answer against the positions of the files, pair by pair."""
    answers = run("vessels.sql", tmp_path)
    files = sorted((EXAMPLES / "data" / "vessels").glob("*.parquet"))
    table = pa.concat_tables(pq.read_table(path) for path in files)
    table = table.append_column("us", table["time"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
    positions = table.to_pylist()
    first, last = positions[0]["us"], positions[-1]["us"]
    minutes = range(-(-first // (2 * MINUTE)) * 2, last // MINUTE + 1, 2)
    pairs = {minute: pairs_of(positions, (minute - 2) * MINUTE, minute * MINUTE) for minute in minutes}
    for name in ("close", "escorts"):
        assert [answer["at"] for answer in answers[name]] == [iso(minute * MINUTE) for minute in minutes]
    for answer, minute in zip(answers["close"], minutes):
        near = {pair: one for pair, one in pairs[minute].items() if one["metres"] < 100}
        assert {(row["vessel"], row["other"]) for row in answer["rows"]} == set(near)
        for row in answer["rows"]:
            expected = near[row["vessel"], row["other"]]
            assert row["metres"] == pytest.approx(expected["metres"], abs=0.51)
            assert (row["knots"], row["other_knots"]) == (expected["knots"], expected["other_knots"])
        assert [row["metres"] for row in answer["rows"]] == sorted(row["metres"] for row in answer["rows"])
    together = 0
    for answer, minute in zip(answers["escorts"], minutes):
        three = [pairs.get(minute - back, {}) for back in (0, 2, 4)]
        kept = {pair for pair in three[0] if all(pair in one and one[pair]["metres"] < 250 for one in three)}
        assert {(row["vessel"], row["other"]) for row in answer["rows"]} == kept
        for row in answer["rows"]:
            metres = [one[row["vessel"], row["other"]]["metres"] for one in three]
            assert (row["nearest"], row["farthest"]) == pytest.approx((min(metres), max(metres)), abs=0.51)
        together += len(kept)
    assert together > 10
    for answer in answers["silent"]:
        at = instant_us(answer["at"])
        heard: dict[int, dict[str, Any]] = {}
        for one in positions:
            if at - 10 * MINUTE < one["us"] <= at:
                heard[one["mmsi"]] = one
        expected = {mmsi for mmsi, one in heard.items() if one["us"] <= at - 3 * MINUTE and one["sog"] > 3}
        assert {row["vessel"] for row in answer["rows"]} == expected
    assert any(answer["rows"] for answer in answers["silent"])


@pytest.mark.spark
def test_missing_air_is_what_lies_between(tmp_path: Path) -> None:
    """The expectation of an interpolated value is on the line between its neighbours."""
    found = run("air.sql", tmp_path / "out")
    table = pq.read_table(EXAMPLES / "data" / "air").to_pydict()
    hours: dict[str, dict[int, float | None]] = {}
    for time, station, value in zip(table["time"], table["station"], table["pm25"]):
        hours.setdefault(station, {})[round(time.timestamp() / 3600)] = value
    drawn = 0
    for answer in found["daily"]:
        last = instant_us(answer["at"]) // (60 * MINUTE)
        error = answer["error"] or {}
        for number, row in enumerate(answer["rows"]):
            own = {hour: value for hour, value in hours[row["station"]].items() if last - 30 < hour <= last}
            day = [hour for hour in own if hour > last - 24]
            values = [_on_the_line(own, hour) for hour in day]
            if None in values:
                continue  # nothing near it was measured: any value of the window stands for it
            mean = math.fsum(value for value in values if value is not None) / len(values)
            if all(own[hour] is not None for hour in day):
                assert row["mean"] == pytest.approx(mean, rel=1e-12)
                assert row["between"]["low"] == row["between"]["high"] == row["mean"]
            else:
                drawn += 1
                half = (error["mean"]["high"][number] - error["mean"]["low"][number]) / 2
                assert row["mean"] == pytest.approx(mean, abs=2.5 * half + 1e-9)
    assert drawn > 20
    assert {answer["rounds"] for answer in found["daily"]} <= {0, 500}


def _on_the_line(hours: dict[int, float | None], hour: int) -> float | None:
    """The value at an hour, or that of the line between its neighbours within six hours."""
    if hours[hour] is not None:
        return hours[hour]
    near = [other for other in hours if abs(other - hour) <= 6 and hours[other] is not None]
    before, after = max((o for o in near if o < hour), default=None), min((o for o in near if o > hour), default=None)
    if before is None or after is None:
        one = before if after is None else after
        return None if one is None else hours[one]
    share = (after - hour) / (after - before)
    low, high = hours[before], hours[after]
    assert low is not None
    assert high is not None
    return share * low + (1 - share) * high
