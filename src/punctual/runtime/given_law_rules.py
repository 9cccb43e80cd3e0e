"""Distributions that rows give, for both ways: as the direct way has them, and as conditions in SQL.

Both give the same reasons for the same rows: ``tests/spark/test_given_laws.py`` holds them against each other.
"""

from __future__ import annotations

from punctual.plan.relation import Stream
from punctual.plan.sql_text import literal, quoted
from punctual.runtime.operators.verdict import GivenLaw

_FINITE = "abs({0}) < CAST('Infinity' AS DOUBLE)"
"""Also false of NaN, which is larger than everything in Spark."""


def given_laws(stream: Stream) -> tuple[GivenLaw, ...]:
    """The laws of a stream's columns, in declared order."""
    return tuple(GivenLaw(name, law.kind, law.parameters) for name, law in stream.given_laws)


def broken_laws(stream: Stream) -> str:
    """Branches of a CASE: the reason of a row with a parameter that is missing, or that is none."""
    kinds = {column.name: column.type for column in stream.columns}
    text = ""
    for law in given_laws(stream):
        missing, bad = map(literal, law.reasons)
        one, other = map(quoted, law.parameters)
        element = kinds[law.parameters[0]].removeprefix("ARRAY<").removesuffix(">")
        right = _lists(one, other, element) if law.kind == "DISCRETE" else _numbers(law.kind, one, other)
        text += f" WHEN {one} IS NULL OR {other} IS NULL THEN {missing} WHEN NOT ({right}) THEN {bad}"
    return text


def _numbers(kind: str, one: str, other: str) -> str:
    one, other = (f"CAST({name} AS DOUBLE)" for name in (one, other))
    right = f"{other} >= 0" if kind == "NORMAL" else f"{one} <= {other}"
    return f"{_FINITE.format(one)} AND {_FINITE.format(other)} AND {right}"


def _lists(values: str, weights: str, element: str) -> str:
    value = "v IS NOT NULL" + (f" AND {_FINITE.format('v')}" if element in ("FLOAT", "DOUBLE") else "")
    weight = f"w IS NOT NULL AND {_FINITE.format('CAST(w AS DOUBLE)')} AND w >= 0"
    return (
        f"size({values}) = size({weights}) AND forall({values}, v -> {value})"
        f" AND forall({weights}, w -> {weight}) AND exists({weights}, w -> w > 0)"
    )
