"""Answers over worlds against what probability theory says of them: normal sums, Poisson's binomial counts, opposites.

Windows follow each other without a gap, so each has rows of its own: their worlds are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from punctual.clock import SECOND
from tests.engine.test_worlds import START, answers, by_key, in_window
from tests.inprocess.backend import InProcess
from tests.oracles import possible_worlds as oracle

NORMAL_SQL = """
CREATE STREAM loads (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE)
FROM FILES 'in' FORMAT JSON;
"""
TAGS_SQL = """
CREATE STREAM tags (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, p DOUBLE PROBABILITY)
FROM FILES 'in' FORMAT JSON;
"""
OVER = "FROM loads [RANGE 1 SECOND]"
EACH = "PERIOD 1 SECOND"
DRAWN = {"closed_forms": "off"}


def normal_rows(windows: int, size: int = 8) -> list[oracle.Row]:
    """So many rows in each second, and one more that completes the last."""
    random = np.random.default_rng([windows, size])
    means, deviations = random.normal(50.0, 20.0, (windows, size)), random.uniform(0.5, 9.0, (windows, size))
    rows = [
        {"t": START + window * SECOND + 1 + number, "k": f"k{number % 2}", "x": float(means[window, number]),
         "sd": float(deviations[window, number])}
        for window in range(windows) for number in range(size)
    ]  # fmt: skip
    return [*rows, {"t": START + windows * SECOND, "k": "k0", "x": 50.0, "sd": 1.0}]


def law_of_sum(rows: Sequence[oracle.Row]) -> NormalDist:
    return NormalDist(math.fsum(row["x"] for row in rows), math.sqrt(math.fsum(row["sd"] ** 2 for row in rows)))


def only_row(answer: dict[str, Any]) -> dict[str, Any]:
    (row,) = answer["rows"]
    assert isinstance(row, dict)
    return row


def test_expected_sums_of_normal_values_are_exact(tmp_path: Path) -> None:
    """To the last bit: the sum of the means as fractions, rounded once."""
    rows = normal_rows(windows=50)
    program = f"{NORMAL_SQL} CREATE QUERY q AS SELECT k, EXPECTED(sum(x)) AS e {OVER} GROUP BY k {EACH};"
    found = answers(tmp_path, program, rows)["q"]
    assert len(found) == 50
    for answer in found:
        assert (answer["basis"], answer["rounds"], answer["error"]) == ("exact", 0, None)
        for (key,), row in by_key(answer, "k").items():
            mine = [Fraction(one["x"]) for one in in_window(rows, answer, 1) if one["k"] == key]
            assert row["e"] == float(sum(mine))


def test_ends_of_intervals_are_those_of_the_normal_law(tmp_path: Path) -> None:
    """Of 1,000 rounds, as the mean of 200 windows: within 0.02 deviations of 1.96, though nothing says it is normal.

    The 25th of 1,000 values is 0.085 deviations off in one window, so their mean 0.006; and its own mean is at 1.967.
    """
    rows = normal_rows(windows=200)
    program = f"{NORMAL_SQL} CREATE QUERY q AS SELECT INTERVAL(sum(x), 95%) AS i {OVER} {EACH} ROUNDS 1000;"
    found = answers(tmp_path, program, rows, DRAWN)["q"]
    assert len(found) == 200
    ends = []
    for answer in found:
        assert (answer["basis"], answer["rounds"], answer["error"]) == ("worlds", 1000, None)
        law, i = law_of_sum(in_window(rows, answer, 1)), only_row(answer)["i"]
        ends.append(((i["low"] - law.mean) / law.stdev, (i["high"] - law.mean) / law.stdev))
    low, high = np.mean(ends, axis=0)
    assert low == pytest.approx(-1.96, abs=0.02)
    assert high == pytest.approx(1.96, abs=0.02)
    assert np.std(ends, axis=0) == pytest.approx(0.085, abs=0.02)


def test_probabilities_of_normal_sums(tmp_path: Path) -> None:
    """Without worlds they are the law's; in 400 worlds as far from it as chance brings them, and no farther."""
    windows, rounds = 300, 400
    rows = normal_rows(windows)
    select = "PROBABILITY(sum(x) > 400) AS above, PROBABILITY(sum(x) <= 380) AS below"
    program = f"{NORMAL_SQL} CREATE QUERY q AS SELECT {select} {OVER} {EACH} ROUNDS {rounds};"
    exact = answers(tmp_path / "exact", program, rows)["q"]
    drawn = answers(tmp_path / "drawn", program, rows, DRAWN)["q"]
    distances = []
    for known, answer in zip(exact, drawn, strict=True):
        law = law_of_sum(in_window(rows, known, 1))
        for name, share in (("above", 1.0 - law.cdf(400)), ("below", law.cdf(380))):
            assert only_row(known)[name] == pytest.approx(share, abs=1e-12)
            if 0.02 < share < 0.98:
                error = math.sqrt(share * (1.0 - share) / rounds)
                distances.append((only_row(answer)[name] - share) / error)
    assert len(distances) > 200
    assert np.mean(distances) == pytest.approx(0.0, abs=4 / math.sqrt(len(distances)))
    assert np.var(distances) == pytest.approx(1.0, abs=6 / math.sqrt(len(distances)))


def tagged_rows(windows: int, size: int = 9) -> list[oracle.Row]:
    random = np.random.default_rng(size)
    p = random.choice([0.05, 0.3, 0.5, 0.85, 1.0], (windows, size))
    rows = [
        {"t": START + window * SECOND + 1 + number, "k": f"k{number}", "p": float(p[window, number])}
        for window in range(windows) for number in range(size)
    ]  # fmt: skip
    return [*rows, {"t": START + windows * SECOND, "k": "end", "p": 1.0}]


def law_of_count(rows: Sequence[oracle.Row]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Poisson's binomial law: the product of a polynomial for each row."""
    law = np.ones(1)
    for row in rows:
        law = np.convolve(law, [1.0 - row["p"], row["p"]])
    return law


def test_counts_have_poissons_binomial_law(tmp_path: Path) -> None:
    """Without worlds to twelve digits; by worlds every number of rows comes as often as the table says."""
    windows, rounds, numbers = 60, 500, range(11)
    rows = tagged_rows(windows)
    over = "FROM tags [RANGE 1 SECOND]"
    at_least = ", ".join(f"PROBABILITY(count(*) >= {n}) AS n{n}" for n in numbers)
    equal = ", ".join(f"PROBABILITY(count(*) = {n}) AS n{n}" for n in numbers)
    program = TAGS_SQL + (
        f"CREATE QUERY exact AS SELECT EXPECTED(count(*)) AS e, {at_least} {over} {EACH};"
        f"CREATE QUERY drawn AS SELECT {equal} {over} {EACH} ROUNDS {rounds};"
    )
    found = answers(tmp_path, program, rows)
    squares, freedom = 0.0, 0
    for exact, drawn in zip(found["exact"], found["drawn"], strict=True):
        assert (exact["basis"], drawn["basis"]) == ("exact", "worlds")
        window = in_window(rows, exact, 1)
        law = np.zeros(len(numbers) + 1)
        law[: len(window) + 1] = law_of_count(window)
        assert only_row(exact)["e"] == pytest.approx(math.fsum(row["p"] for row in window), rel=1e-12)
        tails = [only_row(exact)[f"n{n}"] for n in numbers]
        assert tails == pytest.approx([law[n:].sum() for n in numbers], abs=1e-12)
        shares = np.array([only_row(drawn)[f"n{n}"] for n in numbers])
        assert shares.sum() == pytest.approx(1.0)
        assert not shares[law[: len(numbers)] == 0.0].any()
        likely = np.flatnonzero(law[: len(numbers)] * rounds >= 5)
        squares += float((((shares - law[: len(numbers)])[likely] ** 2) * rounds / law[likely]).sum())
        freedom += likely.size - 1
    assert squares == pytest.approx(freedom, abs=5 * math.sqrt(2 * freedom))


def test_rows_that_never_exist_are_in_no_answer(tmp_path: Path) -> None:
    """Nor is anything divided by their probability."""
    rows = [row | {"p": 0.0 if row["k"] == "k3" else row["p"]} for row in tagged_rows(3)]
    program = TAGS_SQL + (
        "CREATE QUERY q AS SELECT k, EXPECTED(count(*)) AS e, PROBABILITY(count(*) >= 1) AS p"
        f" FROM tags [RANGE 1 SECOND] GROUP BY k {EACH};"
    )
    found = answers(tmp_path, program, rows)["q"]
    assert len(found) == 3
    for answer in found:
        assert answer["basis"] == "exact"
        chances = {row["k"]: row["p"] for row in in_window(rows, answer, 1) if row["p"] > 0.0}
        assert {row["k"]: row["probability"] for row in answer["rows"]} == pytest.approx(chances)
        assert {(row["e"], row["p"]) for row in answer["rows"]} == {(1.0, 1.0)}


def test_a_condition_and_its_opposite_of_two_queries_add_up_to_one(tmp_path: Path) -> None:
    """Both see the same worlds, whatever else they ask for."""
    rows = normal_rows(windows=40)
    condition = "avg(x) + max(x) > 115"
    program = NORMAL_SQL + (
        f"CREATE QUERY holds AS SELECT PROBABILITY({condition}) AS p {OVER} {EACH} ROUNDS 77;"
        f"CREATE QUERY fails AS SELECT min(x) AS m, PROBABILITY(NOT ({condition})) AS p {OVER}"
        f" WHERE x IS NOT NULL {EACH} ROUNDS 77;"
    )
    found = answers(tmp_path, program, rows)
    both = [(only_row(one)["p"], only_row(other)["p"]) for one, other in zip(found["holds"], found["fails"])]
    assert len(both) == 40
    assert sum(0.0 < one < 1.0 for one, _other in both) > 10
    for one, other in both:
        assert one + other == pytest.approx(1.0, abs=1e-15)
        assert one * 77 == pytest.approx(round(one * 77), abs=1e-9)


@pytest.mark.parametrize("condition", ["sum(x) > 200", "avg(x) <= 50", "200 > sum(x)", "NOT 50 >= avg(x)"])
def test_a_condition_with_a_law_and_its_opposite_are_both_exact(tmp_path: Path, condition: str) -> None:
    program = NORMAL_SQL + (
        f"CREATE QUERY holds AS SELECT k, PROBABILITY({condition}) AS p {OVER} GROUP BY k {EACH};"
        f"CREATE QUERY fails AS SELECT k, PROBABILITY(NOT ({condition})) AS p {OVER} GROUP BY k {EACH};"
    )
    found = answers(tmp_path, program, normal_rows(windows=20))
    assert {answer["basis"] for several in found.values() for answer in several} == {"exact"}
    for one, other in zip(found["holds"], found["fails"], strict=True):
        for held, failed in zip(one["rows"], other["rows"], strict=True):
            assert held["k"] == failed["k"]
            assert held["p"] + failed["p"] == pytest.approx(1.0, abs=1e-15)


def test_the_opposite_of_a_count_has_its_law(tmp_path: Path) -> None:
    over = "FROM tags [RANGE 1 SECOND]"
    program = TAGS_SQL + f"CREATE QUERY q AS SELECT PROBABILITY(NOT count(*) >= 3) AS p {over} {EACH};"
    rows = tagged_rows(10)
    found = answers(tmp_path, program, rows)["q"]
    assert len(found) == 10
    for answer in found:
        assert answer["basis"] == "exact"
        assert only_row(answer)["p"] == pytest.approx(law_of_count(in_window(rows, answer, 1))[:3].sum(), abs=1e-12)


ANY = (
    "SELECT k, avg(x) AS a, max(x) AS m, PROBABILITY(sum(x) > 200) AS p, INTERVAL(min(x), 90%) AS i,"
    f" HISTOGRAM(sum(x), 4) AS h {OVER} WHERE x > 20 GROUP BY k {EACH} ROUNDS 50"
)


def written(folder: Path, options: dict[str, str], tasks: int = 2) -> bytes:
    """The bytes of the answers of a run."""
    answers(folder, f"{NORMAL_SQL} CREATE QUERY q AS {ANY};", normal_rows(windows=6), options, lambda: InProcess(tasks))
    return (folder / "out" / "q.jsonl").read_bytes()


def test_one_seed_has_one_text_and_every_seed_another(tmp_path: Path) -> None:
    one = written(tmp_path / "one", {"seed": "1"})
    assert b'"rounds":50' in one
    assert written(tmp_path / "again", {"seed": "1"}) == one
    assert written(tmp_path / "tasks", {"seed": "1"}, tasks=5) == one
    texts = {seed: written(tmp_path / seed, {"seed": seed}) for seed in ("0", "2", "1000001")}
    texts["1"] = one
    assert len(set(texts.values())) == len(texts)
    assert written(tmp_path / "default", {}) == texts["0"]


RULED_SQL = """
CREATE STREAM tags (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, p DOUBLE PROBABILITY, tag STRING RULE)
FROM FILES 'in' FORMAT JSON;
"""


def test_no_world_has_rows_of_a_rule_that_is_broken(tmp_path: Path) -> None:
    """Rule r adds up to 1.3 in the first window: by laws, by draws and by Spark its rows are nowhere.

    In the second window only one of its rows is left; a rule of just 1, in parts that are rounded, is not broken.
    """
    given = [("a", 0.7, "r"), ("b", 0.6, "r"), *[("a", 0.1, "s")] * 10, ("b", 0.25, None), ("b", 1.0, "q")]
    first = [
        {"t": START + (number + 1) * 1000, "k": key, "p": p, "tag": tag} for number, (key, p, tag) in enumerate(given)
    ]
    rows = [*first, {"t": START + SECOND + 1000, "k": "a", "p": 0.6, "tag": "r"}, {**first[0], "t": START + 2 * SECOND}]
    rows[-1]["tag"] = None
    over = "FROM tags [RANGE 1 SECOND] GROUP BY k PERIOD 1 SECOND ROUNDS 400;"
    program = RULED_SQL + f"""
        CREATE QUERY law AS SELECT k, count(*) AS stored, EXPECTED(count(*)) AS there {over}
        CREATE QUERY spark AS SELECT k, EXPECTED(count(*)) AS there, EXPECTED(count(DISTINCT tag)) AS tags {over}
    """
    exact = answers(tmp_path / "exact", program, rows)
    drawn = answers(tmp_path / "drawn", program, rows, DRAWN)
    for found in (exact["law"], drawn["law"], exact["spark"]):
        whole, part = found
        assert (whole["rejected"], part.get("rejected")) == (2, None)
        assert [row["k"] for row in whole["rows"]] == ["a", "b"]
        assert [row["there"] for row in whole["rows"]] == pytest.approx([1.0, 1.25], abs=0.1)
        assert part["rows"][0]["there"] == pytest.approx((0.6 + 0.7) / (1 - 0.4 * 0.3), abs=0.15)
    assert [row["stored"] for row in exact["law"][0]["rows"]] == [11, 3], "plain aggregates are over what was read"
    assert (exact["law"][0]["basis"], drawn["law"][0]["basis"]) == ("exact", "worlds")
    assert [row["there"] for row in exact["law"][0]["rows"]] == pytest.approx([1.0, 1.25], abs=1e-12)
