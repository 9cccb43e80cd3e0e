"""How many cores there are for a program: those of its master, known without Spark where that is this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from punctual.runtime import session
from punctual.runtime.spark import SparkBackend


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores, and no Spark unless somebody asks for it."""
    monkeypatch.setattr(session, "cores", lambda: 8)
    monkeypatch.setattr(session, "running_master", lambda: None)

    def start(master: str, *_arguments: Any) -> Any:
        assert master.startswith(("spark:", "local-cluster")), "nobody needs Spark to know its own machine"
        return SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=24, master=master))

    monkeypatch.setattr(session, "start", start)


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        (None, 8),  # twice as many slots as cores
        ("local", 1),
        ("local[1]", 1),
        ("local[5]", 5),
        ("local[ 5 , 3 ]", 5),
        ("local[64]", 8),
        ("local[*]", 8),
        ("local[*, 4]", 8),
        ("spark://there:7077", 24),
        ("local-cluster[3,8,1024]", 24),
    ],
)
def test_cores_are_those_of_the_master(master: str | None, cores: int) -> None:
    assert SparkBackend(master, at_once=False).cores == cores


def test_a_shared_context_has_its_own_master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "running_master", lambda: "local[2]")
    assert SparkBackend(at_once=False).cores == 2
