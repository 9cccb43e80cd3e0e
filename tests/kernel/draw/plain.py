"""Possible worlds the plain way: whole numbers, one draw after the other. Shares no code with the kernel."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

WORD = 2**32 - 1


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10 as it is published."""
    a, b, c, d = counter
    k, m = key
    for _step in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (y >> 32) ^ b ^ k, y & WORD, (x >> 32) ^ d ^ m, x & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return [a, b, c, d]


def uniform(seed: int, stream: str, column: str, row: int, turn: int) -> float:
    """The draw of a name."""
    key = hashed((seed % 2**64).to_bytes(8, "little") + stream.encode(), 8)
    words = philox([turn // 2, hashed(column.encode(), 4), row & WORD, row >> 32], [key & WORD, key >> 32])
    low, high = words[2 * (turn % 2) : 2 * (turn % 2) + 2]
    return (((high << 32 | low) >> 12) + 0.5) / 2**52


def hashed(name: bytes, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(name, digest_size=size).digest(), "little")


def distance(sample: Any, law: Callable[[Any], Any]) -> float:
    """Kolmogorov and Smirnov's distance from a continuous law, times the root of the sample's size."""
    ordered = np.sort(np.ravel(sample))
    n = ordered.size
    expected = law(ordered)
    above, below = np.arange(1, n + 1) / n - expected, expected - np.arange(n) / n
    return float(max(above.max(), below.max()) * math.sqrt(n))


SURPRISE = 1.95
"""A sample of the law is further away once in a thousand times."""


def normal_law(x: Any) -> Any:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in x])


def identities(rows: int, salt: int = 0) -> Any:
    """Identities of rows, all different, in no order."""
    return np.random.default_rng([salt, rows]).permutation(np.arange(rows, dtype=np.uint64)) * np.uint64(
        0x9E3779B97F4A7C15
    ) + np.uint64(salt)
