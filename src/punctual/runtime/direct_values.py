"""Which row expressions need no Spark, and what they are then: the other side of ``operators/values.py``.

An expression is read as it is written (an expression of a resumed program is nothing else): a column; a cast of one, or
of NULL; a power of one; a struct of such values; a conjunction of columns. Whatever does not read like one of these is
Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from punctual.plan.expression import Expression, Term
from punctual.runtime.operators.values import Converted, Every, Nothing, Plain, Power, Together, Value
from punctual.scan.block import arrow_type

_CONJUNCTION = {"(", ")", ") AND ("}
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_SAME_IN = {"DOUBLE": (*_WHOLE[:3], "FLOAT"), "STRING": _WHOLE, "INT": ("BOOLEAN", *_WHOLE[:2])}
"""By the type of a cast, the types of which every value has exactly one form in it, to Arrow as to Spark."""

Types = Mapping[str, str]
"""Declared types of the columns of an enriched row, by name."""


def direct_value(expression: Expression, types: Types) -> Value | None:
    """The expression without Spark; None where that cannot be.

    >>> from punctual.plan.expression import cast, column_of, compose, struct
    >>> direct_value(cast(column_of("n"), "STRING"), {"n": "INT"})
    Converted(column='n', type=DataType(string))
    >>> direct_value(struct([("s", column_of("n"))]), {"n": "INT"})
    Together(fields=(('s', Plain(column='n')),))
    >>> direct_value(compose("upper(", column_of("n"), ")"), {"n": "STRING"}) is None
    True
    """
    if expression.column is not None:
        return Plain(expression.column) if expression.column in types else None
    reading = _Reading(expression, types)
    value = reading.value()
    if value is not None and reading.ended:
        return value
    return _Reading(expression, types).power() or _conjunction(expression, types)


def _conjunction(mask: Expression, types: Types) -> Value | None:
    """A conjunction of columns: what a unit's mask is where it needs no Spark.

    >>> from punctual.plan.expression import column_of, conjunction
    >>> _conjunction(conjunction([column_of("a"), column_of("b")]), {"a": "BOOLEAN", "b": "BOOLEAN"})
    Every(columns=('a', 'b'))
    """
    texts = [part for part in mask.parts if isinstance(part, str)]
    names = tuple(part.text for part in mask.parts if isinstance(part, Term) and part.kind == "column")
    plain = set(texts) <= _CONJUNCTION and len(names) + len(texts) == len(mask.parts)
    return Every(names) if names and plain and all(types.get(name) == "BOOLEAN" for name in names) else None


class _Reading:
    """A walk over the parts of an expression; a column stands in the text as its number between marks."""

    _COLUMN = re.compile("\0(\\d+)\0")
    _CAST = re.compile("CAST\\(\\((NULL|\0\\d+\0)\\) AS ([A-Z]+(?:\\(\\d+,\\d+\\))?)\\)")
    _TIMES = re.compile(r" \* ")
    _STRUCT = re.compile("named_struct\\(")
    _FIELD = re.compile("'([a-z0-9]+)', ")

    def __init__(self, expression: Expression, types: Types) -> None:
        self._parts = expression.parts
        self._types = types
        self._text = "".join(
            part if isinstance(part, str) else f"\0{number}\0" for number, part in enumerate(expression.parts)
        )
        self._at = 0

    @property
    def ended(self) -> bool:
        return self._at == len(self._text)

    def value(self) -> Value | None:
        """The value that begins here."""
        if found := self._next(self._COLUMN):
            name = self._column(found[0])
            return None if name is None else Plain(name)
        if found := self._next(self._CAST):
            return self._cast(found[1], found[2])
        return self._struct() if self._next(self._STRUCT) else None

    def power(self) -> Value | None:
        """The whole of it, if it is a number as DOUBLE that is multiplied with itself.

        >>> from punctual.plan.expression import cast, column_of, compose
        >>> value = cast(column_of("n"), "DOUBLE")
        >>> direct_value(compose(value, " * ", value), {"n": "BIGINT"})
        Power(column='n', times=2)
        """
        first = self._next(self._CAST)
        if first is None or first[1] == "NULL" or first[2] != "DOUBLE":
            return None
        name = self._column(first[1])
        if name is None or self._types[name] not in (*_WHOLE, "FLOAT", "DOUBLE"):
            return None
        times = 1
        while self._next(self._TIMES):
            again = self._next(self._CAST)
            if again is None or again[1] == "NULL" or (self._column(again[1]), again[2]) != (name, "DOUBLE"):
                return None
            times += 1
        return Power(name, times) if self.ended else None

    def _struct(self) -> Value | None:
        fields: list[tuple[str, Value]] = []
        while found := self._next(self._FIELD):
            value = self.value()
            if value is None:
                return None
            fields.append((found[1], value))
            end = self._text[self._at : self._at + 2]
            if end.startswith(")"):
                self._at += 1
                return Together(tuple(fields))
            if end != ", ":
                return None
            self._at += 2
        return None

    def _cast(self, given: str, kind: str) -> Value | None:
        target = arrow_type(kind)
        if target is None:
            return None
        if given == "NULL":
            return Nothing(target)
        name = self._column(given)
        if name is None:
            return None
        if self._types[name] == kind:
            return Plain(name)
        return Converted(name, target) if self._types[name] in _SAME_IN.get(kind, ()) else None

    def _column(self, mark: str) -> str | None:
        part = self._parts[int(mark.strip("\0"))]
        known = isinstance(part, Term) and part.kind == "column" and part.text in self._types
        return part.text if known and isinstance(part, Term) else None

    def _next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found
