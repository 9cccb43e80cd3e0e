"""Kernels over uncertain rows mean the same interpreted as compiled."""

from __future__ import annotations

from typing import Any

import pytest

from punctual.kernel import world
from tests.kernel.test_compiled import kernels
from tests.kernel.world.drawing import many_rows


def outcome(score: Any, prob: Any, rule: Any) -> list[Any]:
    answers = (
        world.pk_topk(score, prob, rule, k=5),
        world.u_kranks(score, prob, rule, k=5),
        world.u_topk(score, prob, rule, k=5),
        world.expected_ranks(score, prob, rule, k=5),
        world.prf(score, prob, rule, k=5, weights=[1, -2, 3]),
        world.prfe(score, prob, rule, k=5, alpha=0.7),
        world.topk_streams(score, prob, rule, rule, k=5),
    )
    kept = world.candidates(score, prob, rule, k=5, eps=0.01)
    return [kept.tolist(), *((answer.index.tolist(), answer.value.tolist()) for answer in answers)]


@pytest.mark.parametrize("mass", [(0.1, 0.4), (0.5, 1.0)], ids=["light", "heavy"])
def test_interpreted_kernels_mean_the_same(mass: tuple[float, float], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many_rows(1, 50, 3, mass)
    compiled = outcome(*rows)
    for module, name, kernel in list(kernels()):
        monkeypatch.setattr(module, name, kernel.py_func)
    for (found, expected) in zip(outcome(*rows), compiled, strict=True):
        if isinstance(found, tuple):
            assert found[0] == expected[0]
            assert found[1] == pytest.approx(expected[1], rel=1e-13)
        else:
            assert found == expected
