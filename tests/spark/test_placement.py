"""Cells on the driver or in the store's shards: the same bytes, also after a compaction and after a restart."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from punctual.engine import engine as engines
from punctual.engine.engine import Engine
from punctual.engine.held import holders
from tests.spark.command import lines

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, k STRING, g INT, x DOUBLE, n BIGINT, d DECIMAL(20, 3))
FROM FEED;
CREATE QUERY moments AS
SELECT k, sum(x) AS s, avg(x) AS a, stddev(x) AS sd, var_pop(n) AS v, sum(d) AS sd2, count(*) AS n
FROM s [RANGE 20 SECONDS SLIDE 4 SECONDS] GROUP BY k;
CREATE QUERY extremes AS SELECT k, g, min(x) AS lo, max(d) AS hi, first(n) AS f, last(k) AS l, count_if(n > 3) AS b
FROM s [RANGE 15 SECONDS SLIDE 5 SECONDS] WHERE x > 1.5 GROUP BY k, g;
CREATE QUERY shapes AS SELECT g, approx_percentile(x, array(0.1, 0.5, 0.99)) AS p, count(DISTINCT k) AS c,
approx_count_distinct(n) AS acd FROM s [RANGE 30 SECONDS] GROUP BY g PERIOD 10 SECONDS;
CREATE QUERY whole AS
SELECT sum(x) / count(*) AS mean, count(DISTINCT n) AS c, approx_percentile(x, 0.5) AS m, max(k) AS k
FROM s [RANGE 12 SECONDS SLIDE 3 SECONDS];
CREATE QUERY ranked AS SELECT k, sum(x) AS s FROM s [RANGE 10 SECONDS] GROUP BY k HAVING count(*) > 2
ORDER BY s DESC, k LIMIT 3 PERIOD 5 SECONDS;
"""
BATCHES = 8


def batch_rows(batch: int) -> list[dict[str, Any]]:
    """Five seconds with odd values, NULLs in every column but the time, and some late rows."""
    draw = random.Random(batch)
    odd = [None, float("nan"), 1e300, -1e300, 0.1, 0.2]
    rows = []
    for _ in range(120):
        second = max(0.0, 5 * batch + 5 * draw.random() - (6 * draw.random() if draw.random() < 0.1 else 0))
        rows.append(
            {
                "t": f"2026-03-01T00:00:{second:09.6f}Z",
                "k": draw.choice(["a", "b", "c", "d", "e", "é", None]),
                "g": draw.choice([0, 1, 2, None]),
                "x": draw.choice(odd) if draw.random() < 0.1 else draw.gauss(3, 2),
                "n": draw.choice([None, 2**62, draw.randrange(50)]),
                "d": None if draw.random() < 0.1 else f"{draw.gauss(0, 1e6):.3f}",
            }
        )
    return rows


class Play:
    """The program over all batches, restarted before some of them."""

    def __init__(self, folder: Path, name: str, placement: str, restarts: tuple[int, ...] = ()) -> None:
        self.state, self.out = folder / f"{name}-state", folder / f"{name}-out"
        self.in_shards: list[bool] = []
        engine = self._open(placement)
        for batch in range(BATCHES):
            if batch in restarts:
                engine.close()
                engine = self._open(placement)
            engine.feed("s", batch_rows(batch))
            engine.tick()
            self.in_shards.append(engine._opened().core.held.holders.in_shards)
        engine.end()
        assert engine.stopped() == frozenset()
        engine.close()
        self.answers = lines(self.out)

    def _open(self, placement: str) -> Engine:
        engine = Engine(str(self.state), str(self.out), options={"placement": placement}, live=False)
        engine.sql(PROGRAM)
        engine.open()
        return engine


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    play = Play(tmp_path_factory.mktemp("driver"), "driver", "driver")
    assert not any(play.in_shards)
    assert all(len(text.splitlines()) >= 3 for text in play.answers.values())
    return play.answers


def test_cluster_gives_the_same_bytes(tmp_path: Path, expected: dict[str, str]) -> None:
    play = Play(tmp_path, "cluster", "cluster", restarts=(3,))
    assert all(play.in_shards)
    assert play.answers == expected


@pytest.mark.parametrize("placement", ["driver", "cluster"])
def test_compaction_changes_nothing(
    tmp_path: Path, expected: dict[str, str], placement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "BATCHES_PER_BASE", 3)
    play = Play(tmp_path, placement, placement, restarts=(2, 3, 7))
    assert len(list((play.state / "base").glob("*.json"))) == 1
    assert play.answers == expected


def test_a_crowded_unit_moves_to_the_shards(
    tmp_path: Path, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where cells live is looked at when batches are compacted; a unit with few cells stays on the driver."""
    monkeypatch.setattr(engines, "BATCHES_PER_BASE", 2)
    monkeypatch.setattr(holders, "MANY_CELLS", 60)
    play = Play(tmp_path, "auto", "auto", restarts=(5,))
    assert play.in_shards[0] is False
    assert True in play.in_shards
    assert play.answers == expected


def test_placement_may_change_between_runs(tmp_path: Path, expected: dict[str, str]) -> None:
    folder = tmp_path / "state"
    out = tmp_path / "out"
    for batch in range(BATCHES):
        placement = "cluster" if batch % 2 else "driver"
        with Engine(str(folder), str(out), options={"placement": placement}, live=False) as engine:
            engine.sql(PROGRAM)
            engine.open()
            engine.feed("s", batch_rows(batch))
            engine.tick()
            if batch == BATCHES - 1:
                engine.end()
    assert lines(out) == expected
