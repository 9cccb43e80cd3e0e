"""Queries of one pass share what they draw, and it does not show: each says what it says when it is alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from punctual.kernel.arrays.shared import SharedWorlds, digest
from punctual.kinds import world_run
from tests.engine.test_worlds import START, answers
from tests.oracles.possible_worlds import Row

STREAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE,
                 y DOUBLE ~ NORMAL(sd, w), w DOUBLE, n INT, v INT ~ EMPIRICAL BY k, name STRING ~ EMPIRICAL BY k,
                 p DOUBLE PROBABILITY) FROM FILES 'in' FORMAT JSON;
"""
OVER = "FROM s [RANGE 10 SECONDS]"
QUERIES = [
    f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} GROUP BY k",
    f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > 55) AS p1, INTERVAL(avg(x), 90%) AS i {OVER} GROUP BY k",
    f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} GROUP BY k HAVING avg(x) > 52",
    f"SELECT k, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} GROUP BY k HAVING PROBABILITY >= 0.9",
    f"SELECT avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER}",
    f"SELECT max(k) AS g, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} WHERE k <> 'k1'",
    f"SELECT max(k) AS g, avg(x) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} WHERE k <> 'k2'",
    f"SELECT k, avg(y) AS a, PROBABILITY(avg(x) > 50) AS p1 {OVER} GROUP BY k",
    f"SELECT k, sum(x) AS a, count(*) AS c {OVER} GROUP BY k",
    f"SELECT k, sum(x) AS a {OVER} WHERE n > 3 GROUP BY k",
    f"SELECT k, sum(x) AS a {OVER} WHERE x > 40 GROUP BY k",
    f"SELECT k, sum(x) AS a {OVER} WHERE x > 45 GROUP BY k",
    f"SELECT k, sum(x) AS a {OVER} WHERE x > 40 AND y < 60 GROUP BY k",
    f"SELECT k, sum(x) FILTER (WHERE x > 40) AS a {OVER} GROUP BY k",
    f"SELECT n, sum(x) AS a {OVER} GROUP BY n",
    f"SELECT sum(x + 1) AS a, max(x + 1.0) AS m {OVER}",
    f"SELECT sum(x + n) AS a, max(x + v) AS m {OVER}",
    f"SELECT k, sum(v) AS a, HISTOGRAM(max(name), 2) AS h {OVER} GROUP BY k",
    f"SELECT k, PROBABILITY(max(name) = 'b') AS h, sum(v) AS a {OVER} GROUP BY k",
    f"SELECT k, PROBABILITY(max(name) = 'c') AS h, PROBABILITY(sum(v) > 9) AS a {OVER} GROUP BY k",
    "SELECT k, avg(x) AS a FROM s [RANGE 5 SECONDS] GROUP BY k",
]


def made_rows() -> list[Row]:
    random = np.random.default_rng(5)
    rows: list[Row] = []
    for number in range(150):
        row: dict[str, Any] = {"t": START + number * 150_000 + 1, "k": f"k{random.integers(3)}"}
        row |= {"x": round(abs(random.normal(50, 20)), 1), "sd": float(random.choice([0.0, 2.0, 30.0]))}
        row |= {"n": int(random.integers(9)), "v": None if random.random() < 0.3 else int(random.integers(5))}
        row |= {"w": row["x"], "name": None if random.random() < 0.3 else str(random.choice(["a", "b", "c"]))}
        rows.append({**row, "p": float(random.choice([0.4, 1.0]))})
    return rows


def written(folder: Path, queries: dict[str, str], **options: str) -> dict[str, str]:
    program = "".join(
        f"CREATE QUERY {name} AS {one} PERIOD 5 SECONDS ROUNDS {45 if name.startswith('few') else 70};"
        for name, one in queries.items()
    )
    answers(folder, STREAM + program, made_rows(), {"closed_forms": "off", "seed": "2", **options})
    return {name: (folder / "out" / f"{name}.jsonl").read_text() for name in queries}


def test_a_query_says_the_same_beside_others_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[SharedWorlds] = []
    monkeypatch.setattr(world_run, "SharedWorlds", lambda: made.append(SharedWorlds()) or made[-1])  # type: ignore[func-returns-value]
    named = {f"q{number}": one for number, one in enumerate(QUERIES)} | {"few0": QUERIES[0], "few2": QUERIES[2]}
    together = written(tmp_path / "together", named)
    assert sum(one.found for one in made) > 40
    made.clear()
    assert written(tmp_path / "apart", named, sharing="off") == together
    assert not made
    monkeypatch.setattr(world_run, "SharedWorlds", lambda: SharedWorlds(0))
    assert written(tmp_path / "no_room", named) == together
    for name, one in named.items():
        assert written(tmp_path / name, {name: one})[name] == together[name]


def test_what_would_be_too_much_is_made_again() -> None:
    shared, made = SharedWorlds(100), list[int]()

    def make() -> bytes:
        made.append(1)
        return bytes(60)

    for name in ("a", "a", "b", "b", None, None):
        assert shared.of(name, make, len) == bytes(60)
    assert len(made) == 5  # "a" once; there is no room for "b", and what has no name is nobody else's
    assert shared.found == 1


def test_arrays_are_told_apart_by_what_is_in_them() -> None:
    one = np.arange(6)
    different = [one, one.astype(np.int32), one.astype(np.float64), one.reshape(2, 3), one[::-1], one[:5], np.zeros(0)]
    assert len({digest(each) for each in different}) == len(different)
    assert digest(one[::2]) == digest(np.array([0, 2, 4]))
    assert digest(one, None) != digest(one)
    assert digest(np.array([True, False])) != digest(np.array([1, 0], np.uint8))
