"""The process from which Spark forks Python workers, with everything a tick needs loaded once before the first fork.

Spark's own daemon loads nothing, so each worker imports NumPy, Arrow and the kernels again, and again after each minute
without work, when idle workers end (some 0.6 s of CPU time each). A fork has them already. Nothing of ours runs in a
thread before a fork; the idle threads that libraries start when they are imported come back where they are needed.
"""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import punctual.runtime.operators.direct
import punctual.runtime.operators.in_worker
import punctual.runtime.operators.projected
import punctual.runtime.operators.scan_rows  # noqa: F401

if __name__ == "__main__":
    manager()
