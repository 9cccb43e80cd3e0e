"""Compiled kernels are loaded while something else is waited for, and not when the first answer is due."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from punctual.kinds.registry import kind_of
from punctual.plan.query import Query


def load_kernels(queries: Iterable[Query]) -> None:
    """Have what the kinds of these queries need in memory soon; nobody waits for it."""
    for kind in {id(kind): kind for kind in map(kind_of, queries)}.values():
        threading.Thread(target=kind.load_kernels, name="punctual-kernels", daemon=True).start()
