"""Aggregates from samples of rows (``SET keep``): recomputed from the raw rows with the public rule, and judged by the
truth over two thousand groups."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.kernel.sample import kept
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
WINDOWS, GROUPS, ROWS = 41, 50, 120
ANSWERS = WINDOWS - 1
"""The last window has no end: no row comes after it."""
SHARE = 0.4
STREAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, n DOUBLE, l DOUBLE, p DOUBLE, i INT)
FROM FILES 'in' FORMAT JSON;
"""
PROGRAM = STREAM + """
CREATE QUERY q AS SELECT k, count(*) AS rows, count(*) FILTER (WHERE n > 55) AS some, sum(n) AS n, sum(l) AS l,
sum(p) AS p, avg(n) AS mean, sum(i) AS i, sum(n) / sum(i) AS ratio, max(n) AS top, min(i) AS least
FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS QUALITY LINEAR;
CREATE QUERY whole AS SELECT count(*) AS rows, sum(n) AS n, avg(l) AS l FROM s [RANGE 10 SECONDS] WHERE i > 20
PERIOD 10 SECONDS QUALITY CONVEX;
CREATE QUERY every AS SELECT count(*) AS rows FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS QUALITY LINEAR;
CREATE QUERY rates AS SELECT count(*) / 10 - 1 AS rate, count(*) FILTER (WHERE n > 1000) / count(*) AS none
FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS QUALITY LINEAR;
CREATE QUERY few AS SELECT k, sum(n) AS n FROM s [RANGE 10 SECONDS] GROUP BY k HAVING sum(n) > 6000
ORDER BY n DESC LIMIT 3 PERIOD 10 SECONDS QUALITY LINEAR;
CREATE QUERY rare AS SELECT k, sum(CASE WHEN i < 2 THEN 1 ELSE 0 END) AS n FROM s [RANGE 10 SECONDS] GROUP BY k
PERIOD 10 SECONDS QUALITY LINEAR;
CREATE QUERY exact AS SELECT k, sum(n) AS n FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS;
"""
ESTIMATED = ("rows", "some", "n", "l", "p", "mean", "i", "ratio")


def rows_of(seed: int) -> pa.Table:
    """The raw rows: as many of each group in each window."""
    draw = np.random.default_rng(seed)
    size = WINDOWS * GROUPS * ROWS
    window = np.repeat(np.arange(WINDOWS), GROUPS * ROWS)
    at = START + window * 10 * SECOND + draw.integers(1, 10 * SECOND, size)
    return pa.table({
        "t": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
        "k": [f"g{group:02}" for group in draw.integers(0, GROUPS, size)],
        "n": draw.normal(50, 10, size),
        "l": draw.lognormal(0, 1.5, size),
        "p": draw.pareto(1.5, size) + 1,
        "i": draw.integers(0, 100, size),
    })  # fmt: skip


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, dict[str, list[dict[str, Any]]]]:
    """Raw rows, and the answers of all queries."""
    folder = tmp_path_factory.mktemp("keep")
    rows = rows_of(11)
    (folder / "in").mkdir()
    lines = [json.dumps({**row, "t": iso(int(at))}) for row, at in zip(
        rows.drop_columns(["t"]).to_pylist(), rows.column("t").cast(pa.int64()).to_pylist()
    )]  # fmt: skip
    (folder / "in" / "a.json").write_text("\n".join(lines) + "\n")
    engine = Engine(
        out=str(folder / "out"), base=str(folder), live=False, clock=ManualClock(START + 3600 * SECOND),
        options={"keep": str(SHARE), "window_merge": "rows"}, backend=lambda: InProcess(2),
    )  # fmt: skip
    with engine:
        engine.sql(PROGRAM)
        engine.run_once()
    return rows, {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "out").glob("*.jsonl")
    }


def window_of(rows: pa.Table, answer: dict[str, Any]) -> pa.Table:
    ends = [np.datetime64(answer[end].rstrip("Z"), "us").astype(np.int64) for end in ("from", "at")]
    at = rows.column("t").cast(pa.int64()).to_numpy()
    return rows.filter(pa.array((at > ends[0]) & (at <= ends[1])))


def drawn(window: pa.Table, said: dict[str, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Which rows a sample has, and what each of them stands for, from what the answer says of it."""
    below = kept(window, said["by"], said["salt"], said["share"])
    certain = np.zeros(window.num_rows, np.bool_)
    for column, threshold in said.get("certain", {}).items():
        certain |= np.abs(window.column(column).to_numpy()) >= threshold
    sampled = below & ~certain
    weight = np.where(certain, 1.0, (~certain).sum() / sampled.sum())
    return below | certain, weight


def test_every_answer_can_be_recomputed(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    rows, answers = answered
    assert len(answers["q"]) == ANSWERS
    for answer in answers["q"]:
        window = window_of(rows, answer)
        used, weight = drawn(window, answer["sample"]["s"])
        assert 0.36 < used.mean() < 0.53  # the largest of four columns come on top of the share
        keys = np.array(window.column("k").to_pylist())
        values = {name: window.column(name).to_numpy() for name in "nlpi"}
        for row in answer["rows"]:
            mine = used & (keys == row["k"])
            w = weight[mine]
            assert row["rows"] == round(w.sum())
            assert row["some"] == round(w[values["n"][mine] > 55].sum())
            for name in "nlp":
                assert row[name] == pytest.approx((w * values[name][mine]).sum(), rel=1e-12)
            assert row["i"] == round((w * values["i"][mine]).sum())
            assert row["mean"] == pytest.approx((w * values["n"][mine]).sum() / w.sum(), rel=1e-12)
            assert (row["top"], row["least"]) == (values["n"][mine].max(), values["i"][mine].min())
        assert (answer["basis"], answer["kept"], answer["quality"]) == ("sample", SHARE, SHARE)


def test_estimates_are_unbiased_and_intervals_cover(
    answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]],
) -> None:
    rows, answers = answered
    errors: dict[str, list[float]] = {name: [] for name in ESTIMATED}
    inside: dict[str, list[bool]] = {name: [] for name in ESTIMATED}
    for answer in answers["q"]:
        window = window_of(rows, answer)
        keys = np.array(window.column("k").to_pylist())
        values = {name: window.column(name).to_numpy() for name in "nlpi"}
        for place, row in enumerate(answer["rows"]):
            mine = keys == row["k"]
            n, i = values["n"][mine], values["i"][mine]
            truth = {
                "rows": mine.sum(), "some": (n > 55).sum(), "n": n.sum(), "l": values["l"][mine].sum(),
                "p": values["p"][mine].sum(), "mean": n.mean(), "i": i.sum(), "ratio": n.sum() / i.sum(),
            }  # fmt: skip
            for name, true in truth.items():
                said = answer["error"][name]
                assert said["confidence"] == 0.95
                errors[name].append(row[name] / true - 1)
                inside[name].append(said["low"][place] <= true <= said["high"][place])
            assert answer["error"]["top"]["low"][place] == row["top"] <= n.max()
            assert answer["error"]["top"]["high"][place] is None
            assert answer["error"]["least"]["high"][place] == row["least"] >= i.min()
    for name in ESTIMATED:
        wrong = np.array(errors[name])
        assert wrong.size == ANSWERS * GROUPS
        if name not in ("mean", "ratio"):  # ratios are consistent, not unbiased
            assert abs(wrong.mean()) < 3 * wrong.std() / np.sqrt(wrong.size), name
        assert abs(wrong.mean()) < 0.005, name
        assert 0.93 <= np.mean(inside[name]) <= 0.97, (name, np.mean(inside[name]))


def test_a_count_of_everything_is_known(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    rows, answers = answered
    for answer in answers["every"]:
        true = window_of(rows, answer).num_rows
        assert answer["rows"] == [{"rows": true}]
        assert answer["error"] == {"rows": {"confidence": 0.95, "low": [true], "high": [true]}}


def test_what_is_computed_of_it_is_known_too(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    """But not that there is no row of a kind, because the sample has none."""
    rows, answers = answered
    assert len(answers["rates"]) == ANSWERS
    for answer in answers["rates"]:
        rate = window_of(rows, answer).num_rows / 10 - 1
        assert answer["rows"] == [{"rate": rate, "none": 0.0}]
        said = {"confidence": 0.95, "low": [rate], "high": [rate]}
        assert answer["error"] == {"rate": said, "none": {"confidence": None}}


def test_a_sum_of_zeros_alone_has_no_interval(
    answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]],
) -> None:
    """Two rows of a group are not 0, and every third sample has neither."""
    rows, answers = answered
    inside, without = [], 0
    for answer in answers["rare"]:
        window = window_of(rows, answer)
        keys, rare = np.array(window.column("k").to_pylist()), window.column("i").to_numpy() < 2
        for place, row in enumerate(answer["rows"]):
            low, high = (answer["error"]["n"][end][place] for end in ("low", "high"))
            assert (row["n"] == 0) == (low is None) == (high is None)
            if low is None:
                without += 1
            else:
                inside.append(low <= rare[keys == row["k"]].sum() <= high)
    assert without > 500
    assert np.mean(inside) >= 0.93


def test_windows_without_groups(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    rows, answers = answered
    inside = []
    for answer in answers["whole"]:
        window = window_of(rows, answer)
        chosen = window.column("i").to_numpy() > 20
        truth = {"rows": chosen.sum(), "n": window.column("n").to_numpy()[chosen].sum()}
        inside += [answer["error"][name]["low"][0] <= true <= answer["error"][name]["high"][0]
                   for name, true in truth.items()]  # fmt: skip
        assert answer["quality"] == pytest.approx(1 - 0.6**4.185)
    assert 70 <= sum(inside) < len(inside) == 2 * ANSWERS


def test_what_acts_on_estimates_says_so(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    _rows, answers = answered
    assert all(answer["sample"]["s"]["estimated"] == ["HAVING", "LIMIT"] for answer in answers["few"])
    assert all("estimated" not in answer["sample"]["s"] for answer in answers["q"])


def test_a_query_without_quality_is_never_sampled(answered: tuple[pa.Table, dict[str, list[dict[str, Any]]]]) -> None:
    rows, answers = answered
    for answer in answers["exact"]:
        window = window_of(rows, answer)
        keys, n = np.array(window.column("k").to_pylist()), window.column("n").to_numpy()
        assert (answer["basis"], answer["kept"], answer["quality"], answer["error"]) == ("exact", 1.0, 1.0, None)
        assert "sample" not in answer
        for row in answer["rows"]:
            assert row["n"] == pytest.approx(n[keys == row["k"]].sum(), rel=1e-12)
