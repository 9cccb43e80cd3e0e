"""Expressions as values: Spark SQL that knows which of its parts are columns.

An expression is made where a program is bound (``punctual.sql.expressions.pieces``), or out of other expressions by the
functions here. Nobody edits its text: to read other columns it is rendered anew, part by part
(:meth:`Expression.over`), so what stands in a string literal or in a name of the user's is never taken for a name of
ours.

*Row expressions* are over the columns of an enriched row: a stream's column by its name, a column of a joined table by
:func:`punctual.own_names.joined_column`. *Answer expressions* are over what a body computes: group keys
(:func:`key_name`), aggregates (:func:`aggregate_name`) and the instant (``INSTANT``, a timestamp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from punctual.errors import Span
from punctual.own_names import own, shown
from punctual.plan.sql_text import literal, quoted

INSTANT = own("at")


def key_name(index: int) -> str:
    """What answer expressions call a group key."""
    return own(f"k{index}")


def aggregate_name(index: int) -> str:
    """What answer expressions call an aggregate."""
    return own(f"a{index}")


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of Spark SQL that is more than text.

    The text of a ``column``, which the expression reads, and of a ``field`` of a struct is its name. A ``number``
    stands in plain arithmetic and comparisons: a column of such numbers may take its place.
    """

    kind: Literal["column", "field", "number"]
    text: str


Part = str | Term


@dataclass(frozen=True, slots=True)
class Expression:
    """Parts in order, no two texts side by side; ``span`` is its place in the program, which means nothing."""

    parts: tuple[Part, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def sql(self) -> str:
        """As Spark SQL."""
        return self.over({})

    def over(self, names: Mapping[str, str]) -> str:
        """As Spark SQL that reads columns of other names, where ``names`` has one."""
        return "".join(_rendered(part, names) for part in self.parts)

    @property
    def written(self) -> str:
        """As its author would write it, for people to read."""
        return "".join(part if isinstance(part, str) else shown(part.text) for part in self.parts)

    @property
    def names(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset(part.text for part in self.parts if isinstance(part, Term) and part.kind == "column")

    @property
    def column(self) -> str | None:
        """The column that it is, where it is just that."""
        first = self.parts[0] if len(self.parts) == 1 else None
        return first.text if isinstance(first, Term) and first.kind == "column" else None

    def at(self, span: Span | None) -> Expression:
        """The same at another place of the program."""
        return replace(self, span=span)


def _rendered(part: Part, names: Mapping[str, str]) -> str:
    if isinstance(part, str) or part.kind == "number":
        return part if isinstance(part, str) else part.text
    return quoted(names.get(part.text, part.text) if part.kind == "column" else part.text)


def compose(*parts: Part | Expression, span: Span | None = None) -> Expression:
    """An expression out of texts, columns and other expressions.

    >>> twice = compose("2 * ", column_of("x"))
    >>> compose("abs(", twice, ")").sql
    'abs(2 * `x`)'
    """
    flat: list[Part] = []
    for given in parts:
        for part in given.parts if isinstance(given, Expression) else (given,):
            before = flat[-1] if flat else None
            if isinstance(part, str) and isinstance(before, str):
                flat[-1] = before + part
            elif part != "":
                flat.append(part)
    return Expression(tuple(flat), span)


def column_of(name: str, span: Span | None = None) -> Expression:
    """A column by itself."""
    return Expression((Term("column", name),), span)


NULL = compose("NULL")


def string(value: str) -> Expression:
    """A string."""
    return compose(literal(value))


def cast(expression: Expression, data_type: str) -> Expression:
    """A cast to a type of Spark's DDL."""
    return compose("CAST((", expression, f") AS {data_type})", span=expression.span)


def truth(condition: Expression) -> Expression:
    """What is 1 where the condition holds, and 0 or NULL elsewhere."""
    return cast(condition, "INT")


def conjunction(conditions: Sequence[Expression]) -> Expression:
    """All of the conditions, of which there is at least one."""
    return _joined([compose("(", condition, ")") for condition in conditions], " AND ")


def function_call(function: str, arguments: Sequence[Expression]) -> Expression:
    """A call of a function."""
    return compose(f"{function}(", _joined(arguments, ", "), ")")


def struct(fields: Sequence[tuple[str, Expression]]) -> Expression:
    """A struct of named fields."""
    return function_call("named_struct", [one for name, value in fields for one in (string(name), value)])


def _joined(expressions: Sequence[Expression], between: str) -> Expression:
    parts: list[Part | Expression] = []
    for number, expression in enumerate(expressions):
        parts += [between, expression] if number else [expression]
    return compose(*parts)
