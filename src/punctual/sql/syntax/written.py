"""The smallest values that a program writes, each with its span: names, durations, shares, precisions."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.errors import Span


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier without its quotes."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time above zero."""

    us: Micros
    span: Span


@dataclass(frozen=True, slots=True)
class Share:
    """A number in percent as a fraction: ``95%`` is 0.95."""

    value: float
    span: Span


@dataclass(frozen=True, slots=True)
class Precision:
    """How far a value may be off: ``1%`` of it (``relative``), ``0.5`` (``absolute``), or ``1% OR 0.01``.

    With both, the absolute number is the floor: the larger of the two counts.
    """

    relative: float | None
    absolute: float | None
    span: Span
