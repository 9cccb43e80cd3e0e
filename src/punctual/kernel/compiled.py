"""How kernels are compiled: ahead of use into a cache, and without the interpreter's lock.

A busy thread that holds the lock makes every call to Spark thirty times slower; a kernel never does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile with Numba, cached on disk, releasing the interpreter's lock. ``.py_func`` is the plain function."""
    return cast(F, njit(cache=True, nogil=True)(function))
