"""How functions that walk over bytes are compiled: without counting references to arrays.

The walk calls very short functions for every few bytes. Counting references to the arrays that they are given costs
more than what they do. So they make no arrays, nor slices of any; whoever calls from Python holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def bare(function: F) -> F:
    """Compile with Numba like :func:`punctual.kernel.compiled.compiled`, for functions that make no arrays."""
    return cast(F, njit(cache=True, nogil=True, _nrt=False)(function))
