"""Intervals of what is computed over a stream that was shed at ingest: recomputed from raw lines with the public rule,
and the same whatever else is answered with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, instant_us, iso
from punctual.engine.engine import Engine
from punctual.kernel.sample import places
from punctual.kernel.sample.quantiles import student_t
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
PROGRAM = """
CREATE STREAM trades (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, sym STRING, size INT, dollars DOUBLE)
FROM FILES 'in' FORMAT JSON;
CREATE QUERY prices AS
SELECT sym, sum(size) AS size, sum(dollars) / sum(size) AS price, 100 * sum(dollars) / count(*) - 7 AS each,
round(sum(dollars) / sum(size), 9) AS rounded, max(size) - min(size) AS apart, sum(dollars) / max(size) AS largest,
count(*) FILTER (WHERE size < 0) / count(*) AS none, count(*) FILTER (WHERE size > 0) / count(*) AS every
FROM trades [RANGE 2 SECONDS] GROUP BY sym PERIOD 2 SECONDS QUALITY LINEAR;
"""


def lines_of(seconds: range) -> list[str]:
    """Two hundred trades a second: prices that hardly change, sizes that differ."""
    random = np.random.default_rng(seconds.start)
    lines = []
    for second in seconds:
        for number in range(200):
            size = int(np.ceil(random.lognormal(2.0, 1.0)))
            price = 50 + 0.01 * int(random.integers(0, 3))
            at = iso(START + second * SECOND + (number + 1) * 4_000)
            lines.append(json.dumps({"t": at, "sym": "AB"[number % 2], "size": size, "dollars": price * size}))
    return lines


def run(folder: Path, steps: list[tuple[str, list[str]]]) -> dict[int, dict[str, Any]]:
    """Answers by second, of files that are read one after the other, each under an option ``keep``."""
    (folder / "in").mkdir(parents=True)
    found = {}
    for number, (keep, lines) in enumerate(steps):
        (folder / "in" / f"{number:02}.json").write_text("\n".join(lines) + "\n")
        engine = Engine(
            state=str(folder / "state"), base=str(folder), options={"keep": keep}, live=False,
            clock=ManualClock(START + 3600 * SECOND), backend=lambda: InProcess(2),
        )  # fmt: skip
        with engine:
            engine.sql(PROGRAM)
            engine.open()
            while engine.tick(limit=1) is not None:
                pass
            for block in engine.records():
                for answer in block.table.to_pylist():
                    found[(answer["at"] - START) // SECOND] = answer
    return found


def kept(lines: list[str], share: float) -> list[tuple[int, dict[str, Any], float]]:
    """The rows that were read: event time, row, and place within the share."""
    place = places(pa.table({"line": lines}), ["line"], "trades")
    rows = [(json.loads(line), at) for line, at in zip(lines, place.tolist()) if at < share]
    return [(instant_us(row["t"]), row, at / share) for row, at in rows]


def interval(x: np.ndarray, y: np.ndarray, within: np.ndarray, share: float) -> tuple[float, float]:
    """Of the ratio of two sums."""
    group, out = (32 * within).astype(int), np.sqrt(1 - share)
    parts = []
    for g in range(32):
        weight = np.where(group == g, 1 - out, 1 + out / 31)
        parts.append((weight * x).sum() / (weight * y).sum())
    whole = x.sum() / y.sum()
    freedom = np.unique(group).size - 1
    for values in (x, y):
        apart = values - values.mean()
        if apart.any():
            skewness = (apart**3).sum() ** 2 / (apart**2).sum() ** 3
            freedom = min(freedom, max(2, int(x.size / (1 + 2 * x.size * skewness))))
    half = student_t(np.array([freedom]))[0] * np.sqrt(((np.array(parts) - whole) ** 2).sum() * 31 / 32)
    return whole - half, whole + half


def test_intervals_follow_from_the_lines(tmp_path: Path) -> None:
    """Sums of sizes are whole numbers in answers; what is computed of them is of what was not rounded."""
    lines = lines_of(range(12))
    answers = run(tmp_path, [("30%", lines)])
    rows = kept(lines, 0.3)
    assert sorted(answers) == [2, 4, 6, 8, 10]
    for answer in answers.values():
        error = json.loads(answer["error"])
        assert [error[name]["confidence"] for name in ("price", "each", "rounded")] == [0.95] * 3
        for place, row in enumerate(answer["rows"]):
            mine = [(one["dollars"], one["size"], within) for at, one, within in rows
                    if answer["from"] < at <= answer["at"] and one["sym"] == row["sym"]]  # fmt: skip
            dollars, size, within = np.array(mine).T
            assert row["size"] == round(size.sum() / 0.3)
            assert row["price"] == pytest.approx(dollars.sum() / size.sum(), rel=1e-12)
            assert row["each"] == pytest.approx(100 * dollars.mean() - 7, rel=1e-12)
            low, high = interval(dollars, size, within, 0.3)
            value = row["price"]
            assert error["price"]["low"][place] == pytest.approx(min(low, value), rel=1e-12)
            assert error["price"]["high"][place] == pytest.approx(max(high, value), rel=1e-12)
            low, high = interval(dollars, np.ones(size.size), within, 0.3)
            assert error["each"]["low"][place] == pytest.approx(100 * low - 7, rel=1e-9)
            assert error["each"]["high"][place] == pytest.approx(100 * high - 7, rel=1e-9)


def test_what_a_sample_cannot_tell_has_no_interval(tmp_path: Path) -> None:
    """A least or greatest value is one side of the truth, so what is computed of it has no interval. Nor has a part of
    the rows of which the sample has none, or nothing else."""
    answers = run(tmp_path, [("30%", lines_of(range(5)))])
    assert sorted(answers) == [2, 4]
    for answer in answers.values():
        error = json.loads(answer["error"])
        assert [error[name] for name in ("apart", "largest", "none", "every")] == [{"confidence": None}] * 4
        assert all((row["none"], row["every"]) == (0.0, 1.0) for row in answer["rows"])


def test_an_interval_does_not_depend_on_what_is_answered_with_it(tmp_path: Path) -> None:
    """A window of one share is answered alone, or in a pass with windows of another one."""
    first, then = lines_of(range(9)), lines_of(range(9, 16))
    together = run(tmp_path / "together", [("20%", first), ("60%", then)])
    in_steps = [("60%", then[at : at + 100]) for at in range(0, len(then), 100)]
    apart = run(tmp_path / "apart", [("20%", first), *in_steps])
    assert sorted(together) == sorted(apart) == [2, 4, 6, 8, 10, 12, 14]
    for second, answer in together.items():
        assert (answer["rows"], answer["error"]) == (apart[second]["rows"], apart[second]["error"])
    (low, high), (less, more) = ([json.loads(together[second]["error"])["price"][end][0] for end in ("low", "high")]
                                 for second in (8, 14))  # fmt: skip
    assert more - less < high - low
