"""The paper's worked examples of anytime queries: ``ge/anytime.toml``. What is printed are extensions, its beta."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from punctual.schedule.epoch import AnytimeQuery, allocate, allocate_by_graph

EXAMPLES = tomllib.loads((Path(__file__).parent / "ge" / "anytime.toml").read_text())["example"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["where"])
def test_an_example(example: dict[str, Any]) -> None:
    queries = [AnytimeQuery(*query) for query in example["queries"]]
    assert allocate(queries, example["cores"]) == pytest.approx(example["allocated"])
    for filtering in (True, False):
        assert allocate_by_graph(queries, example["cores"], filtering) == pytest.approx(example["allocated"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["where"])
def test_the_status_is_true(example: dict[str, Any]) -> None:
    assert example["status"] == "matches"
    needed = [essential for _start, _deadline, essential in example["queries"]]
    extended = [time / essential - 1 for time, essential in zip(example["allocated"], needed)]
    assert extended == pytest.approx(example["printed"])
