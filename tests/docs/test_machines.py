"""``examples/machines.sql``: Q1 to Q5 against probabilities that follow from the files alone, row by row."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks import anytime_workload as workload

from punctual.cli.main import main
from punctual.clock import SECOND, ManualClock, instant_us
from punctual.engine.engine import Engine
from punctual.kinds.program import compile_program
from tests.inprocess.backend import InProcess

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
QUARTER, HOUR = 15 * 60 * SECOND, 3600 * SECOND
Row = dict[str, Any]
Law = tuple[list[float], bool]
"""The values that one may be, all as likely, and whether it was observed."""


def rows_of(name: str, time: str) -> list[Row]:
    table = pq.read_table(EXAMPLES / "data" / "machines" / name)
    return table.append_column("us", table[time].cast(pa.int64())).to_pylist()


def in_window(rows: list[Row], answer: Row, range_us: int) -> list[Row]:
    at = instant_us(answer["at"])
    return [row for row in rows if at - range_us < row["us"] <= at]


def chance(law: list[float], holds: Callable[[float], bool]) -> float:
    return sum(map(holds, law)) / len(law)


def is_near(found: float, p: float, rounds: int) -> bool:
    """Within five standard errors; what is sure is exact."""
    return abs(found - p) <= 5 * math.sqrt(p * (1 - p) / rounds) + 1e-12


def observed(row: Row, column: str) -> float | None:
    value = row[column]
    return None if value is None or (column in ("numConnections", "rain") and value < 0) else value


def of_branch(row: Row, window: list[Row], column: str) -> list[float]:
    """What a status may be: itself, or any that was observed in the branch."""
    own = observed(row, column)
    return [own] if own is not None else known(column, (one for one in window if one["branch"] == row["branch"]))


def known(column: str, rows: Iterable[Row]) -> list[float]:
    return [value for one in rows if (value := observed(one, column)) is not None]


def of_neighbours(row: Row, window: list[Row], column: str) -> list[float]:
    """What a forecast may be: itself, or one of the ten nearest."""
    own = observed(row, column)
    if own is not None:
        return [own]
    near = sorted((one for one in window if observed(one, column) is not None),
                  key=lambda one: math.hypot(one["lat"] - row["lat"], one["lon"] - row["lon"]))  # fmt: skip
    return known(column, near[:10])


def of_the_hours_before(row: Row, rows: list[Row], window: list[Row]) -> list[float]:
    """Nothing later is known at the instant: the newest value of the place within two hours, or any of the window."""
    if row["cloud"] is not None:
        return [row["cloud"]]
    before = [one for one in rows if one["place"] == row["place"] and row["us"] - 2 * HOUR <= one["us"] < row["us"]]
    past = known("cloud", sorted(before, key=lambda one: -int(one["us"])))
    return past[:1] or known("cloud", window)


def check_q1(answers: list[Row], status: list[Row]) -> None:
    assert [(one["number"], one["rounds"]) for one in answers] == [(n, 100 * (n + 1)) for n in range(3)] * 8
    seen = 0
    for answer in answers:
        window = in_window(status, answer, QUARTER)
        said = {row["ipAddr"]: row for row in answer["rows"]}
        for row in window:
            loads, flags = of_branch(row, window, "numConnections"), of_branch(row, window, "activityFlag")
            p = chance(loads, lambda load: load < 20) * chance(flags, lambda flag: flag == 1)
            near = (row["east"] - 5) ** 2 + (row["north"] - 5) ** 2 <= 4
            error = 5 * math.sqrt(p * (1 - p) / answer["rounds"])
            if row["machine"] != "atm" or not near or p < 0.8 - error:
                assert row["ipAddr"] not in said
            elif p >= 0.8 + error:
                assert is_near(said[row["ipAddr"]]["probability"], p, answer["rounds"])
                seen += 1
                if len(loads) == 1:
                    assert said[row["ipAddr"]]["load"] == loads[0]
    assert seen > 50


def check_q2(answers: list[Row], status: list[Row]) -> None:
    assert [(one["number"], one["rounds"]) for one in answers] == [(n, 100 * (n + 1)) for n in range(2)] * 8
    for answer in answers:
        window = in_window(status, answer, QUARTER)
        assert {row["branch"] for row in answer["rows"]} == {f"{r}-{n}" for r in ("R20", "R21") for n in range(4)}
        for row in answer["rows"]:
            laws = [of_branch(one, window, "numConnections") for one in window if one["branch"] == row["branch"]]
            mean = math.fsum(math.fsum(law) / len(law) for law in laws) / len(laws)
            spread = math.sqrt(math.fsum(float(np.var(law)) for law in laws)) / len(laws)
            middle = math.fsum((one["low"] + one["high"]) / 2 * one["probability"] for one in row["load"])
            wide = row["load"][0]["high"] - row["load"][0]["low"]
            assert math.fsum(one["probability"] for one in row["load"]) == pytest.approx(1.0)
            assert middle == pytest.approx(mean, abs=wide + 5 * spread / math.sqrt(answer["rounds"]) + 1e-9)


def check_q3(answers: list[Row], status: list[Row]) -> None:
    drawn = 0
    for answer in answers:
        window = in_window(status, answer, QUARTER)
        said = {row["ipAddr"]: row["probability"] for row in answer["rows"]}
        for row in window:
            law = of_branch(row, window, "activityFlag")
            p = chance(law, lambda flag: flag == 3)
            assert is_near(said.get(row["ipAddr"], 0.0), p, answer["rounds"])
            drawn += len(law) > 1 and p > 0
    assert drawn > 0


def check_q4(answers: list[Row], tomorrow: list[Row]) -> None:
    assert [(one["number"], one["rounds"]) for one in answers] == [(n, 100 * (n + 1)) for n in range(2)] * 5
    between = 0
    for answer in answers:
        window = in_window(tomorrow, answer, HOUR)
        said = {row["place"]: row["probability"] for row in answer["rows"]}
        for row in window:
            p = chance(of_neighbours(row, window, "rain"), lambda rain: rain < 0.2)
            p *= chance(of_neighbours(row, window, "wind"), lambda wind: wind < 8)
            p *= chance(of_the_hours_before(row, tomorrow, window), lambda cloud: cloud < 60)
            assert is_near(said.get(row["place"], 0.0), p, answer["rounds"])
            between += 0 < p < 1
    assert between > 50


def check_q5(answers: list[Row], tomorrow: list[Row]) -> None:
    """Against worlds of our own."""
    random, worlds = np.random.default_rng(0), 4_000
    for answer in answers:
        window = in_window(tomorrow, answer, HOUR)
        assert [row["region"] for row in answer["rows"]] == list(workload.REGIONS)
        for row in answer["rows"]:
            own = [one for one in window if one["region"] == row["region"]]
            drawn = sum(random.choice(of_neighbours(one, window, "wind"), worlds) for one in own) / len(own)
            for end, share in (("low", 0.025), ("high", 0.975)):
                assert row["wind"][end] == pytest.approx(np.quantile(drawn, share), abs=0.8 * drawn.std() + 1e-9)


def check(answers: dict[str, list[Row]]) -> None:
    status, tomorrow = rows_of("status", "healthtime"), rows_of("tomorrow", "forecast")
    assert {name: len(some) for name, some in answers.items()} == {"q1": 24, "q2": 16, "q3": 8, "q4": 10, "q5": 5}
    assert all(answer["basis"] == "worlds" for some in answers.values() for answer in some)
    check_q1(answers["q1"], status)
    check_q2(answers["q2"], status)
    check_q3(answers["q3"], status)
    check_q4(answers["q4"], tomorrow)
    check_q5(answers["q5"], tomorrow)


def read(out: Path) -> dict[str, list[Row]]:
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in out.glob("*.jsonl")}


def test_machines_in_process(tmp_path: Path) -> None:
    engine = Engine(out=str(tmp_path / "out"), base=str(EXAMPLES), live=False, clock=ManualClock(workload.START),
                    backend=lambda: InProcess(2))  # fmt: skip
    with engine:
        engine.sql((EXAMPLES / "machines.sql").read_text())
        engine.run_once()
    check(read(tmp_path / "out"))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_machines(tmp_path: Path) -> None:
    assert main(["run", str(EXAMPLES / "machines.sql"), "--once", "--out", str(tmp_path)]) == 0
    check(read(tmp_path))


def test_the_data_are_what_the_generator_makes(tmp_path: Path) -> None:
    workload.write(tmp_path)
    for name in ("status", "tomorrow"):
        assert pq.read_table(tmp_path / name).equals(pq.read_table(EXAMPLES / "data" / "machines" / name))


def test_the_queries_of_the_example_are_those_of_the_workload() -> None:
    example = compile_program((EXAMPLES / "machines.sql").read_text(), base=str(EXAMPLES)).catalog
    streams = workload.STREAMS.format(folder="data/machines")
    selects = {name: select.format(east=5, north=5) for name, select in workload.SELECTS.items()}
    ours = "".join(f"CREATE QUERY {name} AS {select} PERIOD 15 MINUTES;" for name, select in selects.items())
    made = compile_program(streams + ours, base=str(EXAMPLES)).catalog
    assert made.streams == example.streams
    for name in selects:
        assert made.queries[name].outputs == example.queries[name].outputs
        assert made.queries[name].range_us == example.queries[name].range_us


def test_what_is_asked_comes_at_random_and_compiles() -> None:
    asked = workload.asked(seed=1, rate=5.0, seconds=60.0)
    assert len(asked) == pytest.approx(300, abs=5 * math.sqrt(300))
    assert {one.kind for one in asked} == set(workload.SELECTS)
    assert {len(one.deadlines_s) for one in asked} == {1, 2, 3}
    assert all(1.0 <= one.deadlines_s[-1] <= 6.0 and 0.0 <= one.at_s <= 60.0 for one in asked)
    assert asked == workload.asked(seed=1, rate=5.0, seconds=60.0)
    program = workload.STREAMS.format(folder="data/machines") + "".join(one.statement for one in asked[:30])
    assert len(compile_program(program, base=str(EXAMPLES)).catalog.queries) == 30
