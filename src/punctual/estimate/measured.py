"""What answers cost beside merges, measured on a running engine.

Model
-----
Of every pass it is known how many merges the plan expected of a unit, how many answers were given, how long its kernel
took and how long finishing took. The kernel's time is merges and answers together, so it is split by least squares over
passes, ``kernel = merge * merges + answer * answers``, whose weight halves every :data:`HALF_LIFE` passes; where merges
and answers always come in the same proportion nothing tells them apart, and the kernel's time is put to the merges.
What comes out is what an answer costs in merges, the one number that a cadence plan depends on besides panes.

It is used rounded to a power of two, and changes only when the measured value leaves the neighbourhood of the one in
use: plans change when costs really did, not with every tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log2

HALF_LIFE = 50
_KEEP = 0.5 ** (1 / HALF_LIFE)
FEWEST_PASSES = 20
"""Fewer passes say nothing."""
LEAST = Fraction(1, 64)
"""An answer that costs less than this part of a merge costs nothing."""
ALIKE = 0.01
"""Merges and answers whose squared correlation (about zero) is nearer to one than this are not told apart."""
LEAST_PART = 1e-3
NEIGHBOURHOOD = 1.5
"""In powers of two: so far may the measured value be from the one in use."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Weighted sums over the passes of one unit: of merges, answers, microseconds, and of their products."""

    passes: int = 0
    merges: float = 0.0
    answers: float = 0.0
    kernel_us: float = 0.0
    finish_us: float = 0.0
    merges_merges: float = 0.0
    merges_answers: float = 0.0
    answers_answers: float = 0.0
    merges_kernel: float = 0.0
    answers_kernel: float = 0.0

    def after(self, merges: float, kernel_us: float, answers: float, finish_us: float) -> Measured:
        """The same with one more pass."""
        return Measured(
            self.passes + 1,
            _KEEP * self.merges + merges,
            _KEEP * self.answers + answers,
            _KEEP * self.kernel_us + kernel_us,
            _KEEP * self.finish_us + finish_us,
            _KEEP * self.merges_merges + merges * merges,
            _KEEP * self.merges_answers + merges * answers,
            _KEEP * self.answers_answers + answers * answers,
            _KEEP * self.merges_kernel + merges * kernel_us,
            _KEEP * self.answers_kernel + answers * kernel_us,
        )

    def split(self) -> tuple[float, float]:
        """Microseconds of the kernel a merge, and an answer.

        >>> measured = Measured()
        >>> for merges, answers in [(100, 10), (400, 5), (50, 30)] * 10:
        ...     measured = measured.after(merges, 0.5 * merges + 20 * answers, answers, 0)
        >>> [round(part, 6) for part in measured.split()]
        [0.5, 20.0]
        """
        together = self.merges_answers
        spread = self.merges_merges * self.answers_answers - together * together
        if spread <= ALIKE * self.merges_merges * self.answers_answers:
            return self.kernel_us / self.merges, 0.0
        merge = (self.merges_kernel * self.answers_answers - self.answers_kernel * together) / spread
        answer = (self.answers_kernel * self.merges_merges - self.merges_kernel * together) / spread
        if answer <= 0.0:
            return self.kernel_us / self.merges, 0.0
        # Noise may leave nothing for the merges: they never cost less than a part of the whole.
        return max(merge, LEAST_PART * self.kernel_us / self.merges), answer

    def answer_in_merges(self, in_use: Fraction) -> Fraction:
        """What an answer costs in merges, for plans: the value in use unless it is wrong by more than a little.

        >>> measured = Measured()
        >>> for _ in range(30):
        ...     measured = measured.after(merges=1000, kernel_us=5000, answers=10, finish_us=200)
        >>> measured.answer_in_merges(Fraction(0)), measured.answer_in_merges(Fraction(2))
        (Fraction(4, 1), Fraction(2, 1))
        """
        if self.passes < FEWEST_PASSES or not (self.merges > 0 and self.kernel_us > 0 and self.answers > 0):
            return in_use
        merge, answer = self.split()
        found = (answer + self.finish_us / self.answers) / merge
        if found < LEAST:
            return in_use if in_use <= 2 * LEAST else Fraction(0)
        power = log2(found)
        if in_use and abs(power - log2(in_use)) <= NEIGHBOURHOOD:
            return in_use
        nearest = round(power)
        return Fraction(2**nearest) if nearest >= 0 else Fraction(1, 2**-nearest)
