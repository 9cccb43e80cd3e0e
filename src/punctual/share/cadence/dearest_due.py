"""What running only the dearest due block costs per unit, exactly, for cycles of any length.

Model
-----
A block is due at the multiples of its bound. When several are due only the dearest runs. So its rate is the sum over
blocks of cost times the share of instants that are multiples of its bound and of no dearer block's: inclusion and
exclusion over least common multiples, although the cycle itself (the lcm of all bounds) may be astronomically long.

Design
------
A random instant is divisible by ``b`` with probability ``1/b``; given that, it is divisible by ``a`` exactly when what
is left of it is divisible by ``a / gcd(a, b)``. So all that is needed is the share of instants divisible by *none* of a
set (:meth:`Multiples.avoided`). A plain sum has ``2^n`` terms. Here

* members that are multiples of others go;
* parts of the set without common factor are independent, and their shares multiply;
* in a connected part, one common factor ``q`` is decided: how often it divides the instant is ``0, 1, 2, ...`` with
  known probabilities, and each case leaves a smaller set without ``q``;
* sets that come back are remembered.

The factors are a *coprime base* of the bounds, found by greatest common divisors alone: no number is factorised. Round
durations share few factors (2, 3, 5), and their sets fall apart at once. Hundreds of bounds of microseconds hang
together in more sets than can be looked at. Then what runs would cost if none were due together is given, an upper
bound, and it is said that it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd
from typing import NamedTuple

from punctual.share.cadence.effort import Effort, OutOfSteps
from punctual.share.cadence.rates import rate_of


class Rate(NamedTuple):
    """A cost per unit; where it is not ``exact`` the true one is not above it."""

    cost: Fraction
    exact: bool


def rate_of_dearest_due(blocks: Sequence[tuple[int, Fraction]], multiples: Multiples | None = None) -> Rate:
    """Cost per unit of running, whenever blocks (bound, cost) are due, the dearest of them.

    >>> rate_of_dearest_due([(2, Fraction(9)), (3, Fraction(14))])
    Rate(cost=Fraction(23, 3), exact=True)
    """
    try:
        multiples = multiples or Multiples(bound for bound, _cost in blocks)
        rate = Fraction(0)
        dearer: list[int] = []
        for bound, cost in sorted(blocks, key=lambda block: -block[1]):
            rate += cost / bound * multiples.avoided(other // gcd(other, bound) for other in dearer)
            dearer.append(bound)
    except OutOfSteps:
        return Rate(rate_of((cost, bound) for bound, cost in blocks), exact=False)
    return Rate(rate, exact=True)


class Multiples:
    """Shares of the integers that avoid being multiples; for numbers made of the given ones' factors.

    What is asked of one instance together takes at most ``effort``, then it is ``OutOfSteps``.
    """

    def __init__(self, numbers: Iterable[int], effort: Effort | None = None) -> None:
        self._effort = effort or Effort()
        self._numbers = tuple(numbers)
        self._base: tuple[int, ...] = ()
        self._known: dict[tuple[int, ...], Fraction] = {}

    def avoided(self, numbers: Iterable[int]) -> Fraction:
        """The share of integers that are multiples of none of the numbers.

        >>> Multiples([4, 6]).avoided([4, 6])
        Fraction(2, 3)
        """
        share = Fraction(1)
        distinct = sorted(set(numbers))
        kept = _without_multiples(distinct)
        self._effort.spend(1 + len(distinct) * len(kept) // 8)
        for part in _connected(kept):
            share *= 1 - Fraction(1, part[0]) if len(part) == 1 else self._avoided_together(part)
        return share

    def _avoided_together(self, part: tuple[int, ...]) -> Fraction:
        if part not in self._known:
            self._base = self._base or coprime_base(self._numbers, self._effort)
            factor = max(self._base, key=lambda q: sum(number % q == 0 for number in part))
            powers = {number: _power(number, factor) for number in part}
            self._effort.spend(len(self._base) * len(part) // 8)
            most = max(powers.values())
            share = Fraction(0)
            for exactly in range(most + 1):
                chance = Fraction(1, factor**exactly) - (Fraction(1, factor ** (exactly + 1)) if exactly < most else 0)
                alive = (number // factor**power for number, power in powers.items() if power <= exactly)
                share += chance * self.avoided(alive)
            self._known[part] = share
        return self._known[part]


def coprime_base(numbers: Iterable[int], effort: Effort) -> tuple[int, ...]:
    """Numbers above 1, pairwise without common factor, of whose powers each given number is a product.

    >>> coprime_base([12, 18, 35], Effort())
    (2, 3, 35)
    """
    base: set[int] = set()
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        if number == 1 or number in base:
            continue
        effort.spend(1 + len(base) // 8)
        for other in base:
            common = gcd(number, other)
            if common > 1:
                base.remove(other)
                waiting += [common, number // common, other // common]
                break
        else:
            base.add(number)
    return tuple(sorted(base))


def _without_multiples(ascending: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for number in ascending:
        if all(number % other for other in kept):
            kept.append(number)
    return kept


def _connected(numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """The parts within which numbers hang together by common factors."""
    parts: list[tuple[int, list[int]]] = []  # product, members
    for number in numbers:
        product, members = number, [number]
        unrelated = []
        for other, others in parts:
            if gcd(number, other) == 1:
                unrelated.append((other, others))
            else:
                product, members = product * other, [*members, *others]
        parts = [*unrelated, (product, members)]
    return [tuple(sorted(members)) for _product, members in parts]


def _power(number: int, factor: int) -> int:
    power = 0
    while number % factor == 0:
        number //= factor
        power += 1
    return power
