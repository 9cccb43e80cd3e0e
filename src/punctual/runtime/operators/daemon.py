"""The process from which Spark forks Python workers, with everything a tick needs loaded once before the first fork.

Spark's own daemon loads nothing, so each worker imports NumPy, Arrow and the kernels again, and again after each minute
without work, when idle workers end (some 0.6 s of CPU time each). A fork has them already. Nothing of ours runs in a
thread before a fork; the idle threads that libraries start when they are imported come back where they are needed.

Garbage is not collected while they load, because there is none and looking for it is a tenth of the time. What is
loaded then stays out of the collector's reach, in the forks too: they do not look through it, nor copy its pages.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

LOADED = (
    "pyspark.worker",
    "punctual.runtime.operators.direct",
    "punctual.runtime.operators.in_worker",
    "punctual.runtime.operators.projected",
    "punctual.runtime.operators.scan_rows",
)


def load() -> None:
    """Import what workers need."""
    gc.disable()
    for name in LOADED:
        import_module(name)
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    load()
    manager()
