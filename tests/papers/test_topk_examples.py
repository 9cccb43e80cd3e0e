"""Chen's examples of uncertain top-k, and where they are wrong: ``chen/topk.toml``."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from punctual.kernel import world
from tests.oracles.worlds import Row, worlds

PAPER = tomllib.loads((Path(__file__).parent / "chen" / "topk.toml").read_text())
KNOWN = {"where", "table", "ask", "k", "of", "threshold", "names", "values", "printed", "status", "reason"}


def rows_of(table: str) -> list[tuple[str, float, str, str | None, str]]:
    return [(name, score, prob, rule or None, key) for name, score, prob, rule, key in PAPER["tables"][table]["rows"]]


@pytest.mark.parametrize("example", PAPER["example"], ids=lambda example: example["where"])
def test_an_example(example: dict[str, Any]) -> None:
    assert set(example) <= KNOWN
    names, score, probs, rule, key = zip(*rows_of(example["table"]))
    prob, k = [float(one) for one in probs], example["k"]
    expected = [float(Fraction(value)) for value in example["values"]]
    match example["ask"]:
        case "topk_probabilities":
            found, values = list(names), world.topk_probabilities(score, prob, rule, k=k)
        case "rank_probabilities":
            of = names.index(example["of"])
            found, values = example["names"], world.rank_probabilities(score, prob, rule, k=k)[of]
        case "topk_streams":
            answer = world.topk_streams(score, prob, key, rule, k=k)
            found, values = [key[index] for index in answer.index], answer.value
        case "pt_k":
            answer = world.pt_k(score, prob, rule, k=k, threshold=example["threshold"])
            found, values = [names[index] for index in answer.index], answer.value
        case ask:
            answer = getattr(world, ask)(score, prob, rule, k=k)
            found, values = [names[index] for index in answer.index], answer.value
    assert found == example["names"]
    assert values == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("example", PAPER["example"], ids=lambda example: example["where"])
def test_the_status_is_true(example: dict[str, Any]) -> None:
    printed = example.get("printed")
    if example["status"] == "recomputed":
        assert printed is None
        return
    agree = [agrees(text, Fraction(value)) for text, value in zip(printed, example["values"], strict=True)]
    if example["status"] == "matches":
        assert all(agree)
    else:
        assert example["status"] == "differs"
        assert not all(agree)
        assert example["reason"]


def agrees(printed: str, value: Fraction) -> bool:
    if printed.startswith("at most "):
        return value <= Fraction(printed.removeprefix("at most "))
    return abs(Fraction(printed) - value) <= Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))


def test_the_worlds_of_table_2() -> None:
    """All worlds, their probabilities and their best rows are as printed, whatever computes the rest."""
    table = rows_of("table 1")
    rows = [Row(score, Fraction(prob), rule) for _name, score, prob, rule, _key in table]
    found = {
        (frozenset(table[index][0] for index in one), probability, *(best(table, one, k) for k in (2, 3)))
        for one, probability in worlds(rows)
    }
    assert found == {
        (frozenset(one.split()), Fraction(probability), frozenset(two.split()), frozenset(three.split()))
        for one, probability, two, three in PAPER["table2"]["worlds"]
    }
    assert PAPER["table2"]["status"] == "matches"


def best(table: list[tuple[str, float, str, str | None, str]], one: tuple[int, ...], k: int) -> frozenset[str]:
    return frozenset(table[index][0] for index in one[:k])
