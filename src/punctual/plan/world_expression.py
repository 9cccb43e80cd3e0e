"""Expressions that have a value in every world: what a query reckons with uncertain attributes, as values.

They are made where a program is bound (``sql/expressions/bind_world.py``) and evaluated over bundles, matrices of rows
by rounds (``kinds/worlds/evaluate.py``). What is the same in all worlds is not taken apart: it is Spark's, and stands
here as a column of the rows.

*Row expressions* are over certain columns and draws of a row; *world expressions* are over keys and aggregates of a
group in a world; *answer expressions* are over keys and summaries, what all worlds together say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from punctual.errors import Span


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A literal: a whole number, a number (of ``1.5`` and ``1e3`` alike), a string, a truth, or NULL.

    >>> Constant(1) == Constant(1), Constant(1) == Constant(1.0), Constant(1) == Constant(True)
    (True, False, False)
    """

    value: int | float | str | bool | None

    def __eq__(self, other: object) -> bool:
        """Python takes 1, 1.0 and True for equal; to Spark they are of three types."""
        return isinstance(other, Constant) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class CertainColumn:
    """A column of the rows that is the same in all worlds, by number; above rows, a key of the group."""

    number: int


@dataclass(frozen=True, slots=True)
class DrawnAttribute:
    """What an uncertain attribute is in a world, by its number among those of the query."""

    number: int


@dataclass(frozen=True, slots=True)
class WorldAggregate:
    """An aggregate of the query, by number: what it is in a world."""

    number: int


@dataclass(frozen=True, slots=True)
class WorldSummary:
    """What all worlds together say, by number: the result of EXPECTED, PROBABILITY and the others."""

    number: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or function over expressions.

    ``name`` is one of ``OPERATIONS``. ``case`` has conditions and values in turn, and a value at the end where there is
    ELSE. ``span`` is its place in the program, which means nothing.
    """

    name: str
    arguments: tuple[WorldExpression, ...]
    span: Span | None = field(default=None, compare=False)


Leaf = Constant | CertainColumn | DrawnAttribute | WorldAggregate | WorldSummary
WorldExpression = Leaf | Operation


@dataclass(frozen=True, slots=True)
class OfColumns:
    """An expression of certain columns alone, which are its `CertainColumn`s by their numbers among ``columns``."""

    expression: WorldExpression
    columns: tuple[str, ...]

OPERATIONS = frozenset((
    "+", "-", "*", "/", "%", "div", "negative",
    "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "is null", "in",
    "case", "coalesce", "nullif",
    "abs", "sign", "floor", "ceil", "round", "sqrt", "exp", "ln", "log10", "pow", "least", "greatest",
    "sin", "cos", "tan", "atan2", "radians", "double", "whole", "int",
))  # fmt: skip
"""``in`` compares the first argument with each of the others; ``is null`` has one argument. BETWEEN, IF, ``<expr> IS
NOT NULL`` and the like are made of these. ``and`` and ``or`` have two arguments or more. ``double``, ``whole`` and
``int`` are CAST AS DOUBLE, BIGINT and INT."""


def renumbered(expression: WorldExpression, numbers: Sequence[int]) -> WorldExpression:
    """The same where certain columns have other numbers.

    >>> renumbered(Operation("<", (CertainColumn(0), Constant(3))), [7]).arguments[0]
    CertainColumn(number=7)
    """
    if isinstance(expression, Operation):
        arguments = tuple(renumbered(argument, numbers) for argument in expression.arguments)
        return Operation(expression.name, arguments, expression.span)
    return CertainColumn(numbers[expression.number]) if isinstance(expression, CertainColumn) else expression


def leaves(expression: WorldExpression) -> Iterator[Leaf]:
    """Everything that an expression reads."""
    if isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from leaves(argument)
    else:
        yield expression
