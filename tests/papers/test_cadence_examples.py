"""The papers' worked examples of cadence plans, and where they are wrong: ``<paper>/cadence.toml``."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from punctual.share.cadence import Group, plan

EXAMPLES = [
    pytest.param(example, id=f"{path.parent.name}: {example['where']}: {example.get('method', 'plan')}")
    for path in sorted(Path(__file__).parent.glob("*/cadence.toml"))
    for example in tomllib.loads(path.read_text())["example"]
]
KNOWN = {"where", "groups", "method", "plan", "rate", "lower_bound", "until", "total", "executions"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example(example: dict[str, Any]) -> None:
    assert set(example) <= KNOWN | {"printed", "status", "reason"}
    groups = [Group(bound, cost) for bound, cost in example["groups"]]
    if "plan" in example:
        assert rate_of(groups, example["plan"]) == Fraction(example["rate"])
        return
    cadence = plan(groups, example["method"])
    if "rate" in example:
        assert cadence.cost_per_unit == Fraction(example["rate"])
    if "lower_bound" in example:
        assert cadence.lower_bound == Fraction(example["lower_bound"])
    if "executions" in example:
        assert [list(execution) for execution in cadence.executions] == example["executions"]
    if "until" in example:
        within = takewhile(lambda execution: execution.time <= example["until"], cadence.executions)
        assert sum(groups[execution.group].cost for execution in within) == Fraction(example["total"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_status_is_true(example: dict[str, Any]) -> None:
    """A printed number that matches is ours rounded to its digits; one that differs is not, and says why."""
    expected = Fraction(example.get("rate") or example.get("total") or example["lower_bound"])
    printed = example.get("printed")
    if example["status"] == "matches":
        assert printed is None or agrees(printed, expected)
    elif example["status"] == "differs":
        assert not agrees(printed, expected)
        assert example["reason"]
    else:
        assert example["status"] == "recomputed"
        assert printed is None


def agrees(printed: str, value: Fraction) -> bool:
    digits = len(printed.partition(".")[2])
    return abs(Fraction(printed) - value) <= Fraction(1, 2 * 10**digits)


def rate_of(groups: list[Group], executions: list[list[int]]) -> Fraction:
    """Cost per unit of a plan that is given, after checking that it keeps every bound."""
    cycle = executions[-1][0]
    for group in groups:
        times = [time for time, runs in executions if groups[runs].cost >= group.cost]
        assert max(b - a for a, b in zip([times[-1] - cycle, *times], times)) <= group.bound
    return sum((groups[runs].cost for _time, runs in executions), Fraction(0)) / cycle
