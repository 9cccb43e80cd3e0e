"""Where files of lines are cut, so that tasks share one: at multiples of a fixed size, whatever the machine.

The tasks find the lines themselves (``scan/lines.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from punctual.scan.lines import is_compressed

STRETCH_BYTES = 4 << 20
FOR_SPARK = (".deflate", ".snappy", ".lz4", ".zst")
"""Endings of compressed files that Hadoop's codecs unpack, and our scan does not."""


def stretches(path: str, size: int) -> Iterator[tuple[int, int]]:
    """From where to where each stretch of a file goes.

    >>> list(stretches("a.json", 0)), list(stretches("a.json", STRETCH_BYTES + 1))
    ([], [(0, 4194304), (4194304, 4194305)])
    """
    if is_compressed(path):
        yield 0, size
        return
    for start in range(0, size, STRETCH_BYTES):
        yield start, min(size, start + STRETCH_BYTES)


def is_packed_for_spark(path: str) -> bool:
    """Whether only Spark unpacks the file."""
    return os.path.splitext(path)[1].lower() in FOR_SPARK
