"""Panes of uncertain rows, merged in any way and cut to candidates, rank as all their rows do (every world counted)."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.synopses.ranked_rows import WorldRows
from tests.oracles import worlds

TYPE = pa.struct([("s", pa.int64()), ("p", pa.float64()), ("r", pa.string()), ("x0", pa.int64())])
Item = dict[str, Any]


def drawn(chance: random.Random, count: int, *, rules: bool) -> list[Item]:
    """Rows with dyadic probabilities, so that every sum is exact; x0 tells them apart."""
    left = dict.fromkeys("abc", 16)
    rows: list[Item] = []
    for number in range(count):
        label = chance.choice([None, *"abc"]) if rules else None
        sixteenths = chance.randint(0, 16) if label is None else chance.randint(0, min(6, left[label]))
        if label is not None:
            left[label] -= sixteenths
        rows.append({"s": chance.randint(0, 6), "p": sixteenths / 16, "r": label, "x0": number})
    return rows


def lifted(synopsis: WorldRows, rows: list[Item], times: list[int], cell: list[int], cells: int) -> dict[str, pa.Array]:
    return synopsis.lift(np.array(cell), cells, pa.array(rows, TYPE), np.array(times), ())


def answered(synopsis: WorldRows, state: dict[str, pa.Array], parameters: tuple[Any, ...]) -> tuple[list[Item], int]:
    semantics, k, ascending, margin, *numbers = parameters
    full = (semantics, k, ascending, margin, tuple(numbers), ("x0",), "")
    found, errors = synopsis.finish("top", full, state, None)
    assert errors is None
    found.validate(full=True)
    (one,) = found.to_pylist()
    return one["rows"], one["rejected"]


def in_order(rows: list[Item], times: list[int], *, ascending: bool) -> tuple[list[worlds.Row], list[int]]:
    """The rows as the oracle wants them, ranked by score, time, and the rest."""
    sign = 1 if ascending else -1
    order = sorted(range(len(rows)), key=lambda i: (sign * rows[i]["s"], times[i], rows[i]["x0"]))
    ranked = [worlds.Row(len(rows) - place, Fraction(rows[i]["p"]), rows[i]["r"]) for place, i in enumerate(order)]
    return ranked, order


@pytest.mark.parametrize("ascending", [0, 1])
@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_any_panes_rank_as_all_rows(seed: int, rules: bool, ascending: int) -> None:
    chance = random.Random(seed)
    rows = drawn(chance, 11, rules=rules)
    times = [chance.randint(0, 3) for _ in rows]
    ranked, order = in_order(rows, times, ascending=bool(ascending))
    for k in (1, 2):
        expected = worlds.topk_probabilities(ranked, k)
        synopsis = WorldRows(k, ascending)
        cells = chance.randint(1, 4)
        state = lifted(synopsis, rows, times, [chance.randrange(cells) for _ in rows], cells)
        middle = chance.randint(0, cells)
        halves = synopsis.combine(state, np.array([0, middle]), np.array([middle, cells]))
        whole = synopsis.combine(halves, np.array([0]), np.array([2]))
        found, rejected = answered(synopsis, whole, ("PK", k, ascending, 0.0))
        assert rejected == 0
        best = worlds.best_by(ranked, expected, k)
        assert [row["x0"] for row in found] == [rows[order[place]]["x0"] for place in best]
        assert [row["rank"] for row in found] == list(range(1, len(found) + 1))
        assert np.allclose([row["value"] for row in found], [float(expected[place]) for place in best], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_other_semantics(seed: int) -> None:
    chance = random.Random(100 + seed)
    rows = drawn(chance, 7, rules=True)
    times = [0] * len(rows)
    ranked, order = in_order(rows, times, ascending=False)
    synopsis = WorldRows(0, 0)
    state = lifted(synopsis, rows, times, [0] * len(rows), 1)

    def ids(places: list[int]) -> list[int]:
        return [rows[order[place]]["x0"] for place in places]

    found, _ = answered(synopsis, state, ("U_KRANKS", 3, 0, 0.0))
    expected = worlds.u_kranks(ranked, 3)
    assert [row["x0"] for row in found] == ids([place for place, _p in expected])
    found, _ = answered(synopsis, state, ("PT", 2, 0, 0.0, 0.25))
    probabilities = worlds.topk_probabilities(ranked, 2)
    assert {row["x0"] for row in found} == set(ids([i for i, p in enumerate(probabilities) if p >= Fraction(1, 4)]))
    found, _ = answered(synopsis, state, ("EXPECTED_RANK", 7, 0, 0.0))
    means = worlds.expected_ranks(ranked)
    assert np.allclose([row["value"] for row in found], sorted(float(mean) for mean in means.values()), atol=1e-12)
    found, _ = answered(synopsis, state, ("U_TOPK", 2, 0, 0.0))
    likeliest, chance_of_it = worlds.u_topk(ranked, 2)
    assert [row["x0"] for row in found] == ids(list(likeliest))
    assert all(abs(row["value"] - float(chance_of_it)) < 1e-12 for row in found)


def test_rules_that_break_are_left_out_and_counted() -> None:
    rows = [{"s": s, "p": p, "r": r, "x0": s} for s, p, r in ((5, 0.9, "a"), (4, 0.9, "a"), (3, 0.5, None))]
    synopsis = WorldRows(1, 0)
    state = lifted(synopsis, rows, [0, 0, 0], [0, 1, 0], 2)
    whole = synopsis.combine(state, np.array([0]), np.array([2]))
    found, rejected = answered(synopsis, whole, ("PK", 1, 0, 0.0))
    assert ([row["x0"] for row in found], rejected) == ([3], 2)
    alone, rejected = answered(synopsis, synopsis.combine(state, np.array([0]), np.array([1])), ("PK", 1, 0, 0.0))
    assert ([row["x0"] for row in alone], rejected) == ([5], 0)  # in that pane the rule holds


def test_a_row_that_breaks_its_rule_later_has_pushed_nobody_out() -> None:
    """The best row is certain in its pane; with the next pane its rule breaks, and those below it are the answer."""
    rows = [{"s": s, "p": p, "r": r, "x0": s} for s, p, r in [(9, 1.0, "a"), *((i, 0.5, None) for i in range(8))]]
    rows.append({"s": 3, "p": 0.5, "r": "a", "x0": 100})
    synopsis = WorldRows(1, 0)
    state = lifted(synopsis, rows, [0] * 10, [0] * 9 + [1], 2)
    whole = synopsis.combine(state, np.array([0]), np.array([2]))
    found, rejected = answered(synopsis, whole, ("PK", 1, 0, 0.0))
    assert ([row["x0"] for row in found], rejected) == ([7], 2)
    alone, rejected = answered(synopsis, synopsis.combine(state, np.array([0]), np.array([1])), ("PK", 1, 0, 0.0))
    assert ([row["x0"] for row in alone], rejected) == ([9], 0)


def test_a_long_pane_keeps_candidates_only_and_ranks_alike() -> None:
    chance = random.Random(3)
    rows = [{"s": chance.randrange(10**6), "p": chance.random(), "r": None, "x0": i} for i in range(5_000)]
    times = [0] * len(rows)
    few, all_rows = WorldRows(5, 0), WorldRows(0, 0)
    cut = lifted(few, rows, times, [0] * len(rows), 1)
    whole = lifted(all_rows, rows, times, [0] * len(rows), 1)
    assert len(cut["rows"].flatten()) < 200
    for k in (1, 5):
        for semantics in ("PK", "U_KRANKS"):
            assert answered(few, cut, (semantics, k, 0, 0.0)) == answered(all_rows, whole, (semantics, k, 0, 0.0))


def test_rows_without_a_score_have_no_rank() -> None:
    rows = [{"s": None, "p": 1.0, "r": None, "x0": 0}, {"s": 2, "p": 0.5, "r": None, "x0": 1}]
    synopsis = WorldRows(3, 0)
    found, _ = answered(synopsis, lifted(synopsis, rows, [0, 0], [0, 0], 1), ("PK", 3, 0, 0.0))
    assert [(row["x0"], row["value"], row["rank"]) for row in found] == [(1, 0.5, 1)]


def spread(seed: int, breaking: int) -> tuple[list[Item], list[int]]:
    """Rows of two panes, most of them with rules of three that span both; so many rules break, but in no pane alone."""
    chance = random.Random(seed)
    rows: list[Item] = []
    cell: list[int] = []
    for rule in range(300):
        heavy = rule < breaking
        for member in range(3):
            p = 0.6 if heavy else chance.randint(1, 5) / 16
            rows.append({"s": chance.randint(0, 200), "p": p, "r": f"g{rule}", "x0": len(rows)})
            cell.append(member % 2 if not heavy else min(member, 1))
        if heavy:
            rows[-1]["p"] = 0.3  # the two of the second pane go together
    for _ in range(20):
        rows.append({"s": chance.randint(0, 200), "p": chance.random(), "r": None, "x0": len(rows)})
        cell.append(chance.randrange(2))
    return rows, cell


@pytest.mark.parametrize("breaking", [0, 1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_with_rules_push_others_out_and_rules_are_judged_by_all_rows(seed: int, breaking: int) -> None:
    rows, cell = spread(seed, breaking)
    every, few = WorldRows(0, 0), WorldRows(3, 0)
    whole = {}
    for synopsis in (every, few):
        state = lifted(synopsis, rows, list(range(len(rows))), cell, 2)
        whole[synopsis] = synopsis.combine(state, np.array([0]), np.array([2]))
    assert len(whole[every]["rows"].flatten()) == len(rows)
    assert len(whole[few]["rows"].flatten()) < 300
    assert len(whole[few]["rows"].flatten()) + whole[few]["dropped"][0].as_py() == len(rows)
    for wanted in (("PK", 3, 0, 0.0), ("PK", 1, 0, 0.0), ("PT", 3, 0, 0.0, 0.01), ("U_KRANKS", 3, 0, 0.0)):
        expected, rejected = answered(every, whole[every], wanted)
        found, counted = answered(few, whole[few], wanted)
        assert (counted, rejected) == (3 * breaking, 3 * breaking)
        assert [row["x0"] for row in found] == [row["x0"] for row in expected]
        assert np.allclose([row["value"] for row in found], [row["value"] for row in expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("breaking", "short"), [(3, False), (40, True)])
def test_an_answer_says_when_too_many_rules_break(breaking: int, short: bool) -> None:
    rows, cell = spread(1, breaking)
    for synopsis, expected in ((WorldRows(3, 0), short), (WorldRows(0, 0), False)):
        state = lifted(synopsis, rows, list(range(len(rows))), cell, 2)
        whole = synopsis.combine(state, np.array([0]), np.array([2]))
        found, _errors = synopsis.finish("top", ("PK", 3, 0, 0.0, (), ("x0",), ""), whole, None)
        assert found.field("short").to_pylist() == [expected]
