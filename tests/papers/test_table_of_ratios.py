"""Chen's Table 9, and what it is said to show: ``chen/table9.toml``."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from math import log2
from pathlib import Path
from random import Random

import pytest

from punctual.share.cadence import Group, plan

TABLE = tomllib.loads((Path(__file__).parent / "chen" / "table9.toml").read_text())
DRAWS = 150


def rounded(value: float, printed: str) -> bool:
    return f"{value:.{len(printed.partition('.')[2])}f}" == printed


@pytest.mark.parametrize("row", TABLE["row"], ids=lambda row: str(row["x"]))
def test_a_row(row: dict[str, str | int]) -> None:
    assert abs(Fraction(row["first"]) / Fraction(row["second"]) - Fraction(row["ratio"])) < Fraction(1, 10_000)
    assert (row["status"] == "matches") == rounded(log2(int(row["x"])), str(row["log2"]))
    assert row["status"] == "matches" or row["reason"]


def ratios(draws: int) -> list[Fraction]:
    """NS over DP of random queries."""
    random, claim = Random(9), TABLE["claim"]
    found = []
    for _ in range(draws):
        groups = [
            Group(random.randint(*claim["bounds"]), random.randint(*claim["costs"])) for _ in range(claim["queries"])
        ]
        found.append(plan(groups, "none").cost_per_unit / plan(groups, "exact").cost_per_unit)
    return found


def test_the_heads_are_swapped() -> None:
    assert TABLE["heads"]["status"] == "differs"
    assert all(Fraction(row["first"]) > Fraction(row["second"]) for row in TABLE["row"])
    assert min(ratios(DRAWS)) >= 1, "not sharing is never cheaper"


def test_single_draws_need_not_reach_the_logarithm() -> None:
    claim = TABLE["claim"]
    assert claim["status"] == "differs"
    reached = sum(ratio > log2(claim["queries"]) for ratio in ratios(DRAWS))
    assert 0 < reached < DRAWS / 2, "most stay below, and some do not"
