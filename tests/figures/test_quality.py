"""What the figures of quality rest on: the workload of Table 2, the optimum, and how answers are judged."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from benchmarks import quality_world
from benchmarks.quality_measured import Measured, Plan, result
from benchmarks.quality_optimum import Costs, Growth, costs, level, optimum, saturation, share, still_part
from benchmarks.quality_point import Judged, Point, judged
from benchmarks.quality_workload import arrivals, burst, due, program, queries, swinging, write_relations
from benchmarks.quality_world import Script, Seen
from benchmarks.report import RESULTS

from punctual.clock import SECOND, iso
from punctual.estimate.quality_curve import CURVES
from punctual.kinds.program import compile_program

BEGIN = 1_700_000_000 * SECOND
NONE = Growth(0.0, 0.0)
EVEN = Costs(dict.fromkeys(("join", "stats", "types"), Growth(0.0, 1e-4)), NONE, Growth(0.0, 1e-3), NONE)
"""Costs that grow with the rows and with nothing else, as the paper has them."""


def test_the_program_is_that_of_table_2(tmp_path: Path) -> None:
    write_relations(tmp_path)
    catalog = compile_program(program(tmp_path, 8), base=str(tmp_path)).catalog
    assert len(catalog.streams) == len(catalog.tables) == 8
    assert len(catalog.queries) == 24
    curves = Counter(query.quality.curve for query in catalog.queries.values() if query.quality is not None)
    assert curves == {"CONVEX": 10, "LINEAR": 10, "CONCAVE": 4}
    assert {query.deadline_us for query in catalog.queries.values()} == {8 * SECOND}


def test_rows_meet_as_many_as_by_table_2(tmp_path: Path) -> None:
    """A fifth of those in a relation, and 0.4 of another stream: there in 4,000 rows, here in 240,000."""
    write_relations(tmp_path)
    chance = np.random.default_rng(3)
    a = arrivals(chance, 240_000, BEGIN, BEGIN + SECOND)
    b = arrivals(chance, 240_000, BEGIN, BEGIN + SECOND)  # noqa: F841
    listed = duckdb.read_csv(str(tmp_path / "r0.csv"))
    assert listed.shape == (30_000, 1)
    [(pairs,)] = duckdb.sql("SELECT count(*) FROM a JOIN b USING (id, type) WHERE a.value <> b.value").fetchall()
    [(rows,)] = duckdb.sql("SELECT count(*) FROM a JOIN listed USING (id)").fetchall()
    assert pairs / a.num_rows == pytest.approx(0.4, rel=0.05)
    assert rows / a.num_rows == pytest.approx(0.2, rel=0.05)


def test_rows_of_a_step_are_within_it_and_one_completes_it() -> None:
    times = arrivals(np.random.default_rng(0), 500, BEGIN, BEGIN + SECOND)["ts"].cast("int64").to_numpy()
    assert (times[:-1] > BEGIN + 1).all()
    assert (times[:-1] <= BEGIN + SECOND).all()
    assert times[-1] == BEGIN + SECOND + 1
    counts = [arrivals(np.random.default_rng(n), 500, BEGIN, BEGIN + SECOND).num_rows - 1 for n in range(300)]
    assert np.mean(counts) == pytest.approx(500, rel=0.02)
    assert np.var(counts) == pytest.approx(500, rel=0.3)  # Poisson: the variance is the mean


def test_loads_are_as_described() -> None:
    swing = swinging(100, 140, 4)
    assert [swing(second) for second in (0, 1.9, 2, 3.9, 4)] == [140, 140, 100, 100, 140]
    assert [burst(10, 3, 5, 2)(second) for second in (4.9, 5, 6.9, 7)] == [10, 30, 30, 10]


@pytest.mark.parametrize("curve", CURVES)
def test_curves_of_the_optimum_are_those_of_the_engine(curve: str) -> None:
    """Each computes them by itself: the engine has rounded powers."""
    for quality in (0.05, 0.3, 0.7, 0.9, 1.0):
        assert share(curve, quality) == pytest.approx(CURVES[curve].share(quality), abs=1e-3)


def test_the_optimum_at_a_load_of_150_percent_is_the_published_one() -> None:
    """Equal quality, cost linear in the rows, the same for each query: 0.846 (0.804 with 5 % of overhead)."""
    wanted = queries(1)
    rate = saturation(EVEN, 1)
    assert rate == pytest.approx(1_000)
    assert level(EVEN, wanted, EVEN.all_due, 1, 1.5 * rate) == pytest.approx(0.846, abs=0.002)
    assert level(EVEN, wanted, Growth(0.0, 1e-3 / 0.95), 1, 1.5 * rate) == pytest.approx(0.804, abs=0.005)
    assert level(EVEN, wanted, EVEN.all_due, 1, 0.99 * rate) == 1.0


def test_costs_grow_with_the_rows_and_their_square() -> None:
    assert Growth(1.0, 0.1, 0.01).at(10) == pytest.approx(1.0 + 1.0 + 1.0)


def test_the_optimum_is_the_highest_level_of_a_fine_grid() -> None:
    answers = {"join": Growth(0.2, 3e-4, 1e-8), "stats": Growth(0.1, 1e-4), "types": Growth(0.05, 5e-5)}
    took = Growth(1.5, 2e-3, 1e-7)
    known = Costs(answers, Growth(0.2, 1e-4), took, Growth(0.5, 1e-4))
    wanted, rate = queries(8), 1.4 * saturation(known, 8)
    whole = sum(answers[one.kind].rows(rate) for one in wanted)
    fits = [
        worth
        for worth in np.linspace(0, 1, 10_001)
        if 1.5
        + took.rows(rate)
        / whole
        * sum(answers[one.kind].rows(rate) * CURVES[one.curve].share(float(worth)) for one in wanted)
        <= 8
    ]
    found = level(known, wanted, took, 8, rate)
    assert found == pytest.approx(max(fits), abs=0.002)
    best = optimum(known, 8, rate)
    assert best.quality == pytest.approx((24 * found + 8 * 1.0) / 32)  # the counts between fit whole
    assert best.deviation == pytest.approx((1.0 - found) * (24 * 8) ** 0.5 / 32)  # of two values, 24 and 8 times


def test_nothing_fits_where_fixed_costs_take_all_the_time() -> None:
    assert level(EVEN, queries(1), Growth(10.0, 1e-4), 1, 100) == 0.0


def test_costs_are_lines_through_the_newer_half_of_two_runs() -> None:
    def fired(query: str, at: int, used: float, slack: float) -> dict[str, Any]:
        return {"record": "firing", "query": query, "at": at, "used_ms": used, "slack_seconds": slack}

    def ledger(reading: float, answer: float, slack: float) -> list[dict[str, Any]]:
        warm = [fired("join3", at, 9_000.0, -5.0) for at in (0, 8, 16)]
        later = [fired("join1", at, answer, slack) for at in (24, 32, 40)]
        others = [fired("types1", at, answer, slack + 1.0) for at in (4, 20, 24, 28, 32, 36, 40)]
        return [*warm, *later, *others, *[{"record": "tick", "query": None, "used_ms": reading}] * 4]

    runs = [(100.0, 2.0, ledger(50.0, 110.0, 2.5)), (300.0, 2.0, ledger(90.0, 130.0, 2.1))]
    found = costs(runs, 4)
    assert found.answers["join"] == Growth(pytest.approx(0.1), pytest.approx(0.0001))
    assert found.reading == Growth(pytest.approx(0.015), pytest.approx(0.0001))
    assert found.all_due == Growth(pytest.approx(1.3), pytest.approx(0.002))
    assert found.often_due == Growth(pytest.approx(0.3), pytest.approx(0.002))


def test_what_does_not_fall_with_the_share_is_found_and_counts() -> None:
    """A second of 3.4 is fixed; of the 2.4 that rows take 0.6 are left whatever is used of them."""
    known = replace(EVEN, all_due=Growth(1.0, 0.0024))
    runs = []
    for used in (0.5, 0.1):
        took = 1.0 + 0.6 + used * 1.8
        rows = [
            {"record": "firing", "query": "join1", "at": at, "used_ms": 9.0, "slack_seconds": 4 - took}
            for at in (8, 16, 24, 32)
        ]
        rows[0]["slack_seconds"] = -3.0  # the older half does not count
        runs.append((used, rows))
    still = still_part(known, 4, 1_000, runs)
    assert still == pytest.approx(0.25)
    wanted, rate = queries(4), 1.5 * saturation(known, 4)
    falls = level(replace(known, still=still), wanted, known.all_due, 4, rate)
    kept = sum(share(one.curve, falls) for one in wanted) / 24
    assert 1.0 + known.all_due.rows(rate) * (0.25 + 0.75 * kept) == pytest.approx(4.0)
    assert falls < level(known, wanted, known.all_due, 4, rate)


def answer(query: str, at: int, quality: float = 0.9, *, on_time: bool = True) -> dict[str, Any]:
    return {"query": query, "at": iso(at), "quality": quality, "kept": 0.5, "on_time": on_time}


def test_what_is_late_or_never_came_is_worth_nothing() -> None:
    wanted = [one for one in queries(8) if one.name == "types0"]
    instants = [at for _query, at in due(wanted, BEGIN, BEGIN + 32 * SECOND)]
    assert instants == [BEGIN + (8 * n) * SECOND for n in range(1, 5)]
    seen = Seen(
        [
            (instants[0] + 3 * SECOND, answer("types0", instants[0])),
            (instants[1] + 9 * SECOND, answer("types0", instants[1])),  # seen later than the engine says
            (instants[2] + 9 * SECOND, answer("types0", instants[2], on_time=False)),
        ],
        {at: at for at in instants},
        rows=0,
    )
    found = judged(wanted, seen, BEGIN, BEGIN + 32 * SECOND)
    assert [one.quality for one in found] == [0.9, 0.9, 0.0, 0.0]
    assert [one.on_time for one in found] == [True, True, False, False]
    assert [one.seen_on_time for one in found] == [True, False, False, False]
    assert [one.seconds for one in found] == [3.0, 9.0, 9.0, None]


def test_the_world_writes_whole_files_and_notes_answers(tmp_path: Path) -> None:
    write_relations(tmp_path / "streams")
    out = tmp_path / "out"
    out.mkdir()
    begin = quality_world._now() // SECOND * SECOND
    line = json.dumps({**answer("q", begin + SECOND), "rows": [1, 2], "error": None})
    (out / "q.jsonl").write_text(line + '\n{"begun')
    script = Script(str(tmp_path / "streams"), str(out), 8, begin, SECOND // 4, (100.0,) * 4, 1, begin, begin + SECOND,
                    wanted=1, until=begin + 60 * SECOND)  # fmt: skip
    found = quality_world.seen(quality_world.start(script))
    assert [one for _when, one in found.answers] == [answer("q", begin + SECOND)]
    assert sorted(found.written) == [begin + number * SECOND // 4 for number in range(1, 5)]
    assert all(when >= at for at, when in found.written.items())
    files = list((tmp_path / "streams").glob("s*/*"))
    assert len(files) == 8 * 4
    assert all(path.suffix == ".parquet" and not path.name.startswith(".") for path in files)


def point(*qualities: float) -> Point:
    answers = tuple(
        Judged(f"types{n % 2}", "types", BEGIN + n * SECOND, worth, worth, worth > 0, worth > 0, 1.0)
        for n, worth in enumerate(qualities)
    )
    return Point(answers, BEGIN, ((0.0, 10.0),), 80, 2.0, 1.0, 0.5, ())


def test_a_result_has_a_row_for_each_point_and_says_what_was_missed() -> None:
    measured = Measured(EVEN, 2.0, 1_000.0)
    measured.loads = {("best-effort", 100): point(1, 0, 1, 0), ("dynamic-sampling", 100): point(1, 1, 0.8, 0.8)}
    measured.swings = {("feedback", 2): point(0.5, 0.5), ("dynamic-sampling", 2): point(0.6, 0.6)}
    measured.burst = point(1, 0.5)
    found = result(Plan(loads=(100,), swings=(2,)), measured)
    assert [row[0] for row in found.rows][:2] == ["best-effort", "dynamic-sampling"]
    assert len(found.rows) == 5
    assert found.rows[0][2:7] == [0.5, pytest.approx(1.0), 0.5, pytest.approx(0.0), 0.5]
    misses = [goal for goal in found.goals if goal.what.startswith("misses")]
    assert [goal.met for goal in misses] == [True]
    assert len(found.pictures) == 5


def test_points_of_a_result_are_read_as_they_were_written() -> None:
    facts = json.loads((RESULTS / "quality.json").read_text())["facts"]
    points = [*facts["loads"].values(), *facts["swings"].values(), *facts["panes"].values(), facts["burst"]]
    assert len(points) > 20
    for written in points:
        assert Point.of(written, facts["plan"]["factor"], 2.0).facts() == written
