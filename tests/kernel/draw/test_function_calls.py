"""Functions over bundles of worlds: what they see, and what may come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from punctual.kernel.draw.bundle_values import Bundle
from punctual.kernel.draw.function_calls import FunctionCall, WrongResultError, called, texts_by_code

X = np.arange(12.0).reshape(3, 4)
NOBODY = texts_by_code(pa.array([], pa.string()))


def returned(result: Any, returns: str) -> list[Any]:
    call = FunctionCall((Bundle(X, None, "number"),), 3, 4)
    found = called(lambda x: result, call, NOBODY, returns, takes_present=False)
    assert len(found) == 4
    return found.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("result", "returns", "expected"), [
    ([1, 2.5, None, 4], "DOUBLE", [1.0, 2.5, None, 4.0]),
    (np.array([1, 2, 3, 2**60 + 1]), "DOUBLE", [1.0, 2.0, 3.0, float(2**60)]),
    (np.array([1.0, np.inf, -np.inf, 0.5], np.float32), "DOUBLE", [1.0, np.inf, -np.inf, 0.5]),
    (np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [True, False, False, True]), "DOUBLE", [None, 2.0, 3.0, None]),
    (pd.Series([1, 2, 3, 4]), "BIGINT", [1, 2, 3, 4]),
    (np.array([1.0, -2.0, 3.0, 4.0]), "BIGINT", [1, -2, 3, 4]),
    ([None] * 4, "BIGINT", [None] * 4),
    (np.array([True, False, True, True]), "BOOLEAN", [True, False, True, True]),
    (np.array(["a", "b", "c", "a b"]), "STRING", ["a", "b", "c", "a b"]),
    (["a", None, "", "ü"], "STRING", ["a", None, "", "ü"]),
])  # fmt: skip
def test_values_that_fit(result: Any, returns: str, expected: list[Any]) -> None:
    assert returned(result, returns) == expected


@pytest.mark.parametrize(("result", "returns", "came"), [
    (3.0, "DOUBLE", "a single float"),
    (None, "DOUBLE", "a single NoneType"),
    (np.zeros(3), "DOUBLE", "a float64 array of 3 values"),
    (np.zeros((3, 4)), "DOUBLE", "a float64 array of shape 3x4"),
    ([[1], [2, 3], [4], [5]], "DOUBLE", "a list of unequal parts"),
    (["1", "2", "3", "4"], "DOUBLE", "a list of 4 values of str"),
    (np.array([True] * 4), "DOUBLE", "a bool array of 4 values"),
    (np.array([1.5, 2.0, 3.0, 4.0]), "BIGINT", "a float64 array of 4 values"),
    ([1.5, 2, 3, 4], "BIGINT", "a list of 4 values of float, int"),
    (np.array([1.0, np.nan, 3.0, 4.0]), "BIGINT", "a float64 array of 4 values"),
    (np.array([2**63] * 4, np.uint64), "BIGINT", "a uint64 array of 4 values"),
    (np.array([1, 0, 1, 0]), "BOOLEAN", "a int64 array of 4 values"),
    ([1, "a", "b", "c"], "STRING", "a list of 4 values of int, str"),
    (np.array([1j] * 4), "DOUBLE", "a complex128 array of 4 values"),
])  # fmt: skip
def test_values_that_do_not_fit(result: Any, returns: str, came: str) -> None:
    with pytest.raises(WrongResultError) as raised:
        returned(result, returns)
    assert str(raised.value) == f"it returned {came}, where one {returns} for each of 4 worlds is wanted"


def test_arguments_are_rows_by_worlds_and_literals_are_themselves() -> None:
    seen: list[Any] = []

    def look(*arguments: Any) -> Any:
        seen.extend(arguments)
        return np.zeros(4)

    texts = texts_by_code(pa.array(["a", "b"]))
    certain = Bundle(np.array([[1], [0], [1]]), None, "text")
    whole = Bundle(np.array([[7]]), None, "whole")
    call = FunctionCall((Bundle(X, None, "number"), certain, whole, "A", 2, None), 3, 4)
    called(look, call, texts, "DOUBLE", takes_present=False)
    assert (seen[0] == X).all()
    assert seen[1].tolist() == [["b"] * 4, ["a"] * 4, ["b"] * 4]
    assert seen[2].tolist() == [[7] * 4] * 3
    assert seen[3:] == ["A", 2, None]
    for array in seen[:3]:
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = array[0, 0]


PRESENT = np.array([[True, True, False, True], [False, True, False, False], [True, False, False, True]])
SUMS = [8.0, 6.0, None, 14.0]
"""Those of the rows that are there."""


def ignorant(x: Any) -> Any:
    return x.sum(axis=0)


def knowing(x: Any, present: Any) -> Any:
    assert x.shape == present.shape
    return (x * present).sum(axis=0)


@pytest.mark.parametrize(("function", "takes_present"), [(ignorant, False), (knowing, True)])
def test_rows_that_are_not_there_are_never_seen(function: Callable[..., Any], takes_present: bool) -> None:
    call = FunctionCall((Bundle(X, None, "number"),), 3, 4, PRESENT)
    assert called(function, call, NOBODY, "DOUBLE", takes_present=takes_present).to_pylist() == SUMS
    nobody = FunctionCall((Bundle(X, None, "number"),), 3, 4, np.zeros((3, 1), np.bool_))
    assert called(function, nobody, NOBODY, "DOUBLE", takes_present=takes_present).to_pylist() == [None] * 4
    everybody = FunctionCall((Bundle(X, None, "number"),), 3, 4)
    found = called(function, everybody, NOBODY, "DOUBLE", takes_present=takes_present).to_pylist()
    assert found == [12.0, 15.0, 18.0, 21.0]


def test_worlds_with_the_same_rows_are_one_call() -> None:
    shapes: list[tuple[int, ...]] = []

    def look(x: Any) -> Any:
        shapes.append(x.shape)
        return x[0]

    call = FunctionCall((Bundle(X, None, "number"),), 3, 4, PRESENT)
    assert called(look, call, NOBODY, "DOUBLE", takes_present=False).to_pylist() == [0.0, 1.0, None, 3.0]
    assert shapes == [(2, 2), (2, 1)]
