"""Kernels are compiled the one way, and mean the same interpreted."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterator
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import punctual.kernel
from punctual.kernel.arrays.rangefold import best
from punctual.kernel.synopses.synopsis import make
from tests.kernel.synopses import content, lift


def modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(punctual.kernel.__path__, "punctual.kernel."):
        yield importlib.import_module(info.name)


def kernels() -> Iterator[tuple[ModuleType, str, Any]]:
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher):
                yield module, name, value


def test_every_kernel_is_cached_and_releases_the_lock() -> None:
    found = list(kernels())
    assert found
    for module, name, kernel in found:
        assert kernel.targetoptions.get("nogil"), f"{module.__name__}.{name} holds the interpreter's lock"
        assert not isinstance(kernel._cache, NullCache), f"{module.__name__}.{name} is compiled at every start"


DOUBLES = [0.1, -2.5, 1e300, -1e300, 5e-324, None, math.inf, 7.0, -0.1, 1e9]
DECIMALS = [Decimal("1.25"), Decimal("-7.50"), None, Decimal("99999.99"), Decimal("0.01")]
WORK: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...], pa.Array]] = [
    ("sum", (), "sum", (), pa.array(DOUBLES)),
    ("sum", (), "avg", (), pa.array(DECIMALS)),
    ("sum", (), "sum", (), pa.array([2**62, 2**62, -5, None, 17])),
    ("moments", (), "var_samp", (), pa.array(DOUBLES[:6])),
    ("minimum", (), "min", (), pa.array(DOUBLES)),
    ("last", (), "last", (), pa.array(DOUBLES)),
    ("values", (3,), "approx_percentile", (0.5,), pa.array(DOUBLES)),
    ("distinct", (4,), "approx_count_distinct", (), pa.array(DOUBLES)),
    ("distinct", (4,), "approx_count_distinct", (), pa.array(["a", "bc", "a longer text", ""])),
]


@pytest.mark.parametrize("work", WORK, ids=lambda work: f"{work[0]}-{work[2]}-{work[4].type}")
def test_interpreted_kernels_mean_the_same(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, parameters, function, call, values = work
    rows = len(values)
    cell = np.arange(rows) % 8
    starts, ends = np.array([0, 1, 3, *[0] * 40]), np.array([8, 3, 3, *[8] * 40])  # long enough for the tree

    def outcome() -> str:
        synopsis = make(kind, parameters)
        merged = synopsis.combine(lift(synopsis, values, cell, 8), starts, ends)
        value, error = synopsis.finish(function, call, merged, None)
        return content(merged) + repr((value.to_pylist(), error and error.to_pylist()))

    compiled = outcome()
    for module, name, kernel in list(kernels()):
        monkeypatch.setattr(module, name, kernel.py_func)
    with np.errstate(over="ignore"):  # hashes are meant to wrap around
        assert outcome() == compiled


def test_the_tree_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(9)
    keys, valid = numbers.integers(0, 50, 40), numbers.random(40) < 0.7
    starts, ends = (np.array(side) for side in zip(*((i, j) for i in range(40) for j in range(i, 41))))
    compiled = best(keys, valid, starts, ends)
    for module, name, kernel in list(kernels()):
        monkeypatch.setattr(module, name, kernel.py_func)
    assert best(keys, valid, starts, ends).tolist() == compiled.tolist()
