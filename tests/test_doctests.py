"""Every example in a docstring is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import punctual

MODULES = sorted(m.name for m in pkgutil.walk_packages(punctual.__path__, "punctual.") if not m.name.endswith("daemon"))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    count = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert count >= 40
