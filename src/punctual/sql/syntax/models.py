"""Models as a program writes them: after a FROM item, and as statements."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import Span
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.written import Duration, Name, Precision


@dataclass(frozen=True, slots=True)
class Fit:
    """What may follow FIT; what was not said is None. ``horizon`` is FOR."""

    within: Precision | None = None
    degree: int | None = None
    gap: Duration | None = None
    horizon: Duration | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """A modelled attribute; ``item`` is the FROM item that qualifies it."""

    name: Name
    item: Name | None = None


@dataclass(frozen=True, slots=True)
class PolynomialModel:
    """``MODEL (x = x + v * t, y = y + w * t) FOR 60 SECONDS``."""

    attributes: tuple[Attribute, ...]
    expressions: tuple[ExpressionSyntax, ...]
    horizon: Duration
    span: Span


@dataclass(frozen=True, slots=True)
class FittedModel:
    """``MODEL x FIT WITHIN 0.5 DEGREE 1 GAP 60 SECONDS``."""

    attribute: Attribute
    fit: Fit
    span: Span

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.attribute,)


@dataclass(frozen=True, slots=True)
class SolvedModel:
    """``MODEL x BY linear_ode(x, a, b) FOR 60 SECONDS``."""

    attribute: Attribute
    solver: Name
    arguments: tuple[ExpressionSyntax, ...]
    horizon: Duration | None
    span: Span

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.attribute,)


ModelSyntax = PolynomialModel | FittedModel | SolvedModel
