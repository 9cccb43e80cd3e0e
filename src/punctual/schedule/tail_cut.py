"""How much of a ranking's tail is cut when time is short.

A top-k is never answered from a sample of rows: rivals that are lost make every other row look better. What may give
way is the tail: a walk down the ranking ends once fewer than k better rows exist with a probability of at most eps, and
no Pr_k moves by more than eps. A looser eps ends it sooner. It is the least of :data:`LADDER` with which the pass is
expected to meet its deadline, and the loosest where none is.
"""

from __future__ import annotations

from collections.abc import Callable

from punctual.clock import Micros

LADDER = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2)
"""By how much a probability may move, from hardly to visibly."""


def tail_cut(left_us: Micros, expected_us: float, share: Callable[[float], float]) -> float | None:
    """The cut of a pass that has ``left_us`` until its first deadline; None where there is no need to.

    ``expected_us`` is what the pass takes without one, ``share(eps)`` which part of that is left with one.

    >>> tail_cut(1_000, 900, lambda eps: 0.5) is None
    True
    >>> tail_cut(1_000, 1_200, lambda eps: 0.9 if eps < 1e-4 else 0.7)
    0.0001
    >>> tail_cut(-5, 1_200, lambda eps: 0.7)
    0.01
    """
    if expected_us <= left_us:
        return None
    return next((eps for eps in LADDER if expected_us * share(eps) <= left_us), LADDER[-1])
