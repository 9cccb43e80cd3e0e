"""Expressions of a row that are affine in what is drawn: ``c + a x + b y`` with certain c, a and b.

Of such an expression mean and variance follow from those of its attributes, which are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64
from punctual.kernel.draw.bundle_values import Bundle
from punctual.kinds.worlds.evaluate import evaluate
from punctual.plan.world_expression import DrawnAttribute, Leaf, Operation, WorldExpression, leaves

Affine = tuple[F64, dict[int, F64]]
"""The certain part of each row, and what each attribute is multiplied with; NaN where a part is NULL."""


def is_affine(expression: WorldExpression) -> bool:
    """Whether nothing but sums of draws, and products with what is certain, stand in it."""
    if not _draws(expression) or isinstance(expression, DrawnAttribute):
        return True
    if not isinstance(expression, Operation):
        return False
    parts = expression.arguments
    match expression.name:
        case "+" | "-" | "negative" | "double":
            return all(is_affine(part) for part in parts)
        case "*":
            return sum(_draws(part) for part in parts) == 1 and all(is_affine(part) for part in parts)
        case "/":
            return not _draws(parts[1]) and is_affine(parts[0])
    return False


def affine(expression: WorldExpression, leaf: Callable[[Leaf], Bundle], rows: int) -> Affine:
    """The parts of an expression that `is_affine`; ``leaf`` knows what is certain."""
    if not _draws(expression):
        return _numbers(evaluate(expression, leaf), rows), {}
    if isinstance(expression, DrawnAttribute):
        return np.zeros(rows), {expression.number: np.ones(rows)}
    if not isinstance(expression, Operation):
        raise InternalError(f"{expression} is not affine")
    found = [affine(part, leaf, rows) for part in expression.arguments]
    match expression.name:
        case "+" | "double":
            return _added(found, [1.0] * len(found))
        case "-":
            return _added(found, [1.0, -1.0])
        case "negative":
            return _added(found, [-1.0])
        case "*":
            one, other = found if found[0][1] else found[::-1]
            return other[0] * one[0], {number: other[0] * part for number, part in one[1].items()}
        case "/":
            with np.errstate(divide="ignore", invalid="ignore"):
                by = np.where(found[1][0] == 0.0, np.nan, found[1][0])  # x / 0 is NULL
                return found[0][0] / by, {number: part / by for number, part in found[0][1].items()}
    raise InternalError(f"{expression.name} is not affine")


def _added(parts: list[Affine], signs: list[float]) -> Affine:
    total = np.zeros_like(parts[0][0])
    factors: dict[int, F64] = {}
    for (certain, own), sign in zip(parts, signs):
        total = total + sign * certain
        for number, part in own.items():
            factors[number] = factors.get(number, np.zeros_like(total)) + sign * part
    return total, factors


def _draws(expression: WorldExpression) -> bool:
    return any(isinstance(leaf, DrawnAttribute) for leaf in leaves(expression))


def _numbers(bundle: Bundle, rows: int) -> F64:
    """One number for each row, NaN where there is none."""
    values = np.broadcast_to(bundle.values, (rows, 1)).ravel().astype(np.float64)
    if bundle.known is None:
        return values
    return np.where(np.broadcast_to(bundle.known, (rows, 1)).ravel(), values, np.nan)
