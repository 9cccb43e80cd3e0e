"""Constants become columns only where that cannot change the meaning."""

from __future__ import annotations

import pyarrow as pa
import pytest

from punctual.runtime.backend import Question
from punctual.runtime.parameters import parametrised

INTS = {"a0": pa.array([1, 2, 3])}
DOUBLES = {"a0": pa.array([1.0, 2.0]), "a1": pa.array([0.5, 0.25])}


def ask(text: str, columns: dict[str, pa.Array]) -> Question:
    return parametrised(Question((text,), (pa.bool_(),), columns))


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("`a0` > 5", INTS, "`a0` > `p0`"),
        ("`a0` > 5 AND NOT `a0` < 3", INTS, "`a0` > `p0` AND NOT `a0` < `p1`"),
        ("(`a0` * 2)", DOUBLES, "(`a0` * `p0`)"),
        ("`a0` > 2.5", DOUBLES, "`a0` > `p0`"),
        ("`a0` > 1e3", DOUBLES, "`a0` > `p0`"),
    ],
)
def test_plain_expressions(text: str, columns: dict[str, pa.Array], expected: str) -> None:
    assert ask(text, columns).expressions == (expected,)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("round(`a0`, 2)", DOUBLES),
        ("`a0` > 2.5", INTS),  # Spark compares as decimals
        ("`a0` > 3000000000", INTS),  # a BIGINT literal
        ("`a0` > 0.1 + 0.2", DOUBLES),  # decimal arithmetic of constants
        ("`k0` = 'x5'", {"k0": pa.array(["x5"])}),
        ("`a0` > 5", {"a0": pa.array([None], pa.decimal128(10, 2))}),
        ("CASE WHEN `a0` > 5 THEN 1 END", INTS),
    ],
)
def test_what_stays_as_it_is(text: str, columns: dict[str, pa.Array]) -> None:
    assert ask(text, columns).expressions == (text,)


def test_values_and_types_of_the_columns() -> None:
    asked = ask("`a0` > 5 AND `a1` < 0.25", DOUBLES)
    assert asked.columns["p0"].to_pylist() == [5, 5]
    assert asked.columns["p0"].type == pa.int32()
    assert asked.columns["p1"].to_pylist() == [0.25, 0.25]
