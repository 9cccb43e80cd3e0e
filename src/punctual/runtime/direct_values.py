"""Which row expressions need no Spark, and what they are then: the other side of ``operators/values.py``."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.plan.expression import NULL, CastOf, Expression, StructOf, Term
from punctual.runtime.operators.values import Converted, Every, Nothing, Plain, Together, Value
from punctual.scan.block import arrow_type

_CONJUNCTION = {"(", ")", ") AND ("}
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_SAME_IN = {"DOUBLE": (*_WHOLE[:3], "FLOAT"), "STRING": _WHOLE, "INT": ("BOOLEAN", *_WHOLE[:2])}
"""By the type of a cast, the types of which every value has exactly one form in it, to Arrow as to Spark."""

Types = Mapping[str, str]
"""Declared types of the columns of an enriched row, by name."""


def direct_value(expression: Expression, types: Types) -> Value | None:
    """The expression without Spark; None where that cannot be.

    >>> from punctual.plan.expression import cast, column_of, compose
    >>> direct_value(cast(column_of("n"), "STRING"), {"n": "INT"})
    Converted(column='n', type=DataType(string))
    >>> direct_value(compose("upper(", column_of("n"), ")"), {"n": "STRING"}) is None
    True
    """
    if expression.column is not None:
        return Plain(expression.column) if expression.column in types else None
    match expression.form:
        case CastOf(value, kind):
            return _cast(value, kind, types)
        case StructOf(fields):
            values = [(name, direct_value(value, types)) for name, value in fields]
            known = tuple((name, value) for name, value in values if value is not None)
            return Together(known) if len(known) == len(values) else None
    return _conjunction(expression, types)


def _cast(value: Expression, kind: str, types: Types) -> Value | None:
    target = arrow_type(kind)
    if target is None:
        return None
    if value == NULL:
        return Nothing(target)
    if value.column is None or value.column not in types:
        return None
    own = types[value.column]
    if own == kind:
        return Plain(value.column)
    return Converted(value.column, target) if own in _SAME_IN.get(kind, ()) else None


def _conjunction(mask: Expression, types: Types) -> Value | None:
    """A conjunction of columns: what a unit's mask is where it needs no Spark.

    >>> from punctual.plan.expression import column_of, conjunction
    >>> _conjunction(conjunction([column_of("a"), column_of("b")]), {"a": "BOOLEAN", "b": "BOOLEAN"})
    Every(columns=('a', 'b'))
    """
    texts = {part for part in mask.parts if isinstance(part, str)}
    names = tuple(part.text for part in mask.parts if isinstance(part, Term) and part.kind == "column")
    plain = texts <= _CONJUNCTION and len(names) + sum(isinstance(p, str) for p in mask.parts) == len(mask.parts)
    return Every(names) if names and plain and all(types.get(name) == "BOOLEAN" for name in names) else None
