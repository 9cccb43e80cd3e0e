"""Uniform numbers that follow from their names: Philox4x32-10 by seed, stream, column, row and round.

Model
-----
A draw has a name: (seed, stream, column, row, round). Nothing is remembered between two draws, so any partition, order,
thread, restart or other query finds the same number under the same name. Philox (Salmon and others, "Parallel random
numbers: as easy as 1, 2, 3", SC 2011) encrypts a counter of 128 bits under a key of 64:

======= ==== ===================================================
key       64  a hash of the seed and the stream's name
counter   32  the round, halved
counter   32  a hash of the column's name
counter   64  the row's identity: a hash that no other row has
======= ==== ===================================================

A block has 128 bits, enough for two draws: rounds ``2 b`` and ``2 b + 1`` share block b.

A number is ``(k + 1/2) * 2**-52`` for the first 52 of its bits, so it is never 0 nor 1, and ``1 - u`` is a number, too.

Layout
------
A *bundle* is a matrix of rows by rounds. The rounds of a row lie beside each other: their counters differ in one word,
so they are drawn in vector instructions, 2 ns each, and an exact sum over rows adds vectors, 0.7 ns a number. In a
matrix of rounds by rows numbers are added one after the other: 4 ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.row_hashes import U64
from punctual.kernel.arrays.state import F64
from punctual.kernel.compiled import compiled

U = np.uint64
Scalar = TypeVar("Scalar", bound=np.generic)
Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
USUAL_BYTES = 16 << 20
"""No usual bundle, with what is made of it, is larger."""
ROUNDS = 2**33
"""How many rounds have a block of their own."""

_LOW, _HALF = U(0xFFFFFFFF), U(32)
_MULTIPLIERS = U(0xD2511F53), U(0xCD9E8D57)
_WEYL = U(0x9E3779B9), U(0xBB67AE85)
_ONE = U(0x3FF0000000000000)  # the bits of 1.0: with 52 others below, a number from 1 to 2
_ALMOST_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True, slots=True)
class Source:
    """Where the draws of one uncertain column of a stream come from."""

    key: np.uint64
    column: np.uint64


def source(seed: int, stream: str, column: str) -> Source:
    """The draws of a column; the column without a name draws which rows exist.

    >>> source(1, "speed", "kmh") == source(1, "speed", "kmh"), source(1, "speed", "kmh") == source(2, "speed", "kmh")
    (True, False)
    """
    name = (seed % 2**64).to_bytes(8, "little") + stream.encode()
    return Source(U(_hash(name, 8)), U(_hash(column.encode(), 4)))


def _hash(name: bytes, size: int) -> int:
    return int.from_bytes(blake2b(name, digest_size=size).digest(), "little")


def uniforms(drawn_from: Source, identity: U64, rounds: range) -> F64:
    """A number in (0, 1) for each row and round.

    >>> rows, speeds = np.array([7, 8], np.uint64), source(1, "speed", "kmh")
    >>> whole = uniforms(speeds, rows, range(0, 9))
    >>> bool((uniforms(speeds, rows[1:], range(3, 5)) == whole[1:, 3:5]).all())
    True
    """
    found = bundle(identity.size, rounds)
    fill(drawn_from.key, drawn_from.column, plain(identity, U), rounds.start, found)
    return found


def plain(array: NDArray[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """The array as kernels are compiled for: of one type, dense, and not forbidden to write to, as Arrow's are."""
    return np.require(array, kind, ["C", "W"])


def bundle(rows: int, rounds: range) -> F64:
    """Room for a number of each row and round."""
    if rounds.step != 1 or not 0 <= rounds.start <= rounds.stop <= ROUNDS:
        raise InternalError(f"rounds {rounds}")
    _tell_allocator()
    return np.empty((rows, len(rounds)))


@cache
def _tell_allocator() -> None:
    """Free one large block, which nobody writes to.

    The C library of Linux takes a block that is larger than any freed before from the system, and gives it back at
    once: each bundle would meet its pages for the first time, which costs as much as half of its draws. From one that
    is freed it learns that such blocks come again. Elsewhere nothing follows from it.
    """
    np.empty(USUAL_BYTES // 8)


@compiled
def fill(key: np.uint64, column: np.uint64, identity: U64, first: int, out: F64) -> None:
    """Uniform numbers of rows, from a round on."""
    rounds = out.shape[1]
    if rounds == 0:
        return
    odd = first & 1  # then the first round is the second half of a block
    start, pairs = U((first + odd) >> 1), U((rounds - odd) >> 1)
    k, m = key & _LOW, key >> _HALF
    for i in range(identity.size):
        c, d = identity[i] & _LOW, identity[i] >> _HALF
        if odd:
            out[i, 0] = _uniform(block((start - U(1), column, c, d), k, m), 1)
        inner = out[i, odd:]
        for pair in range(pairs):
            # Written out, and in functions of two steps: only so it becomes vector instructions.
            words = _two(start + pair, column, c, d, k, m, U(0))
            words = _two(words[0], words[1], words[2], words[3], k, m, U(2))
            words = _two(words[0], words[1], words[2], words[3], k, m, U(4))
            words = _two(words[0], words[1], words[2], words[3], k, m, U(6))
            words = _two(words[0], words[1], words[2], words[3], k, m, U(8))
            inner[U(2) * pair] = _uniform(words, 0)
            inner[U(2) * pair + U(1)] = _uniform(words, 1)
        if (rounds - odd) & 1:
            out[i, rounds - 1] = _uniform(block((start + pairs, column, c, d), k, m), 0)


@compiled
def block(counter: Words, k: np.uint64, m: np.uint64) -> Words:
    """Philox4x32-10: four words of 32 bits for a counter and a key."""
    words = counter
    for step in range(0, 10, 2):
        words = _two(words[0], words[1], words[2], words[3], k, m, U(step))
    return words


@compiled
def _two(a: U, b: U, c: U, d: U, k: U, m: U, step: U) -> Words:
    """Two of the ten steps."""
    k, m = k + step * _WEYL[0], m + step * _WEYL[1]
    x, y = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
    a, b, c, d = ((y >> _HALF) ^ b ^ k) & _LOW, y & _LOW, ((x >> _HALF) ^ d ^ m) & _LOW, x & _LOW
    k, m = k + _WEYL[0], m + _WEYL[1]
    x, y = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
    return ((y >> _HALF) ^ b ^ k) & _LOW, y & _LOW, ((x >> _HALF) ^ d ^ m) & _LOW, x & _LOW


@compiled
def _uniform(words: Words, half: int) -> float:
    """A number in (0, 1) of one half of a block."""
    bits = words[2 * half] | (words[2 * half + 1] << _HALF)
    return U((bits >> U(12)) | _ONE).view(np.float64) - _ALMOST_ONE
