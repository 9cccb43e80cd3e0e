"""Scans that use less where time is short: the share against the cost that it leaves, and the samples that it gives."""

from __future__ import annotations

from math import inf

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.arrays.row_hashes import row_hashes
from punctual.kernel.sample import kept
from punctual.kernel.sample.budget import ROOM, ScanBudget, cut_share, fitting_part
from punctual.kernel.sample.draw import Draw, drawn
from punctual.kernel.sample.marks import strata
from punctual.own_names import IDENTITY

ROWS = 20_000


def cost(budget: ScanBudget, rows: int, part: float) -> float:
    """What is left to do when this part of the rows goes on."""
    return budget.fixed_us + part * (rows * budget.row_us + budget.other_us) + part * part * rows * budget.pair_us


@pytest.mark.parametrize("seed", range(200))
def test_the_largest_part_that_fits(seed: int) -> None:
    """Against bisection; nothing of the formula is known there."""
    chance = np.random.default_rng(seed)
    budget = ScanBudget(int(chance.integers(-500, 3_000)), *(chance.random(4) * [300, 2, 500, chance.choice([0, 2])]))
    rows, now = int(chance.integers(0, 1_000)), int(chance.integers(0, 1_000))
    low, high = 0.0, 1.0
    for _step in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(budget, rows, middle) <= budget.by - now else (low, middle)
    found = fitting_part(budget, rows, now)
    assert found == pytest.approx(high if high == 1.0 else low, abs=1e-9)


def table(count: int = ROWS) -> pa.Table:
    chance = np.random.default_rng(count)
    rows = pa.table({"k": pa.array(chance.integers(0, 500, count)), "x": chance.normal(10.0, 3.0, count)})
    hashes = row_hashes(rows.columns, count).view(np.int64)
    return rows.append_column(IDENTITY, pa.array(hashes))


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("left", [inf, 0.9, 0.5, 0.1, 0.0, -1.0])
def test_a_window_of_so_many_rows(share: float, left: float) -> None:
    """A row costs 2 us: with ``left`` of the time that all wanted rows take, no more is handed on than fits."""
    rows, row_us, least = table(), 2.0, 0.05
    by = 10**12 if left == inf else int(1_000 + left * ROWS * share * row_us)
    found, marks, report = drawn(rows, Draw(share, "s", budget=ScanBudget(by, row_us=row_us, least=least)), now=1_000)
    if left == inf:
        assert found.sum() == pytest.approx(share * ROWS, rel=0.03)
        assert report is not None
        assert (report.share, report.part, report.at) == (share, 1.0, 1_000)
        return
    assert report is not None
    expected = max(least, ROOM * share * left)
    assert report.share == pytest.approx(expected, rel=0.02)
    assert report.part == pytest.approx(report.share / share)
    if expected > least:
        assert found.sum() * row_us <= by - 1_000
    assert found.sum() == report.kept
    assert found.tolist() == kept(rows.select(["k", "x"]), "row", "s", report.share).tolist()
    assert strata(marks).weight == pytest.approx(ROWS / found.sum())


def test_rows_that_are_certain_take_their_time() -> None:
    """The largest 5 % are handed on whatever the share: they count before the others do."""
    rows, by = table(), int(0.3 * ROWS)
    _found, _marks, report = drawn(rows, Draw(1.0, "s", certain=("x",), budget=ScanBudget(by, row_us=1.0)), now=0)
    assert report is not None
    assert 0.9 * by < report.kept <= by


def test_two_prefixes_by_key_join_to_the_smaller_one() -> None:
    """Both sides of a join were to keep 60 %; one had less time than the other."""
    sides = table(3_000), table(4_000)
    budgets = ScanBudget(700, row_us=1.0), ScanBudget(10_000, row_us=1.0)
    found = [
        drawn(rows, Draw(0.6, "at", ("k",), number=number, budget=budget), now=0)
        for number, (rows, budget) in enumerate(zip(sides, budgets))
    ]
    shares = [report.share for _kept, _marks, report in found if report is not None]
    assert shares[0] < shares[1] == 0.6
    keys = [set(rows.column("k").filter(pa.array(of)).to_pylist()) for rows, (of, _m, _r) in zip(sides, found)]
    both = pa.table({"k": pa.array(sorted(set(sides[0].column("k").to_pylist()) & keys[1] | keys[0]))})
    smaller = set(both.filter(pa.array(kept(both, ["k"], "at", shares[0]))).column("k").to_pylist())
    assert keys[0] & keys[1] == smaller & keys[1]
    assert keys[0] <= set(sides[0].column("k").to_pylist())


def test_a_share_is_no_less_than_the_least_and_no_more_than_was_decided() -> None:
    budget = ScanBudget(0, row_us=1.0, least=0.3)
    assert cut_share(0.8, budget, 100, now=50) == 0.3
    assert cut_share(0.2, budget, 100, now=50) == 0.2
    assert cut_share(0.8, ScanBudget(0, row_us=1.0), 100, now=50) == 0.0001
