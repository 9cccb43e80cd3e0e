"""UNION ALL of windowed streams: their rows as those of one stream.

What all of them declare under one name and type, and uncertain in the same way, can be named in expressions. What a
row means to a ranking (its probability, its rule, its key) each stream declares under a name of its own: expressions
over united streams write ``PROBABILITY``, ``RULE`` and ``KEY``, columns that :func:`own_meanings` gives to the rows of
each stream, and ``STREAM`` and ``ROW`` for where a row comes from, and as what: its values as texts, in declared order.

The same label in two streams is two rules: nobody promised that their rows exclude each other. The same key is one key.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.own_names import own
from punctual.plan.expression import NULL, Expression, cast, column_of, function_call, string
from punctual.plan.relation import Column, Stream, find_column

PROBABILITY, RULE, KEY, STREAM, ROW = (
    own(f"<{name}>") for name in ("probability", "rule", "key", "stream", "row")
)
MEANINGS = {PROBABILITY: "DOUBLE", RULE: "STRING", KEY: "STRING", STREAM: "STRING", ROW: "ARRAY<STRING>"}
"""The columns that united streams have besides, and their types."""


def common_columns(streams: Sequence[Stream]) -> tuple[Column, ...]:
    """The columns that all streams declare with one type and one distribution, as the first one declares them."""
    first, *others = streams
    found = []
    for column in first.columns:
        same = (find_column(other.columns, column.name) for other in others)
        if all(one is not None and (one.type, one.uncertain) == (column.type, column.uncertain) for one in same):
            found.append(column)
    return tuple(found)


def own_meanings(stream: Stream) -> dict[str, Expression]:
    """What ``PROBABILITY``, ``RULE``, ``KEY``, ``STREAM`` and ``ROW`` are of a row of this stream, over its columns.

    >>> from punctual.plan.source import FeedSource
    >>> gates = Stream("gates", (Column("t", "TIMESTAMP"),), "t", 0, FeedSource(), rule="car")
    >>> own_meanings(gates)[RULE].sql
    "CAST((concat('gates:', CAST((`car`) AS STRING))) AS STRING)"
    """
    rule = NULL
    if stream.rule is not None:
        rule = function_call("concat", (string(f"{stream.name}:"), cast(column_of(stream.rule), "STRING")))
    values = {
        PROBABILITY: column_or_null(stream.probability),
        RULE: rule,
        KEY: key_of(stream),
        STREAM: string(stream.name),
        ROW: function_call("array", [cast(column_of(given.name), "STRING") for given in given_columns(stream)]),
    }
    return {name: cast(value, MEANINGS[name]) for name, value in values.items()}


def column_or_null(name: str | None) -> Expression:
    """What a stream may declare or not."""
    return NULL if name is None else column_of(name)


def given_columns(stream: Stream) -> tuple[Column, ...]:
    """The columns that rows come with; the others are derived from these."""
    return tuple(column for column in stream.columns if column.derived is None)


def key_of(stream: Stream) -> Expression:
    """The stream's key as one value; several columns as JSON, which tells them apart."""
    if len(stream.keys) <= 1:
        return column_of(stream.keys[0]) if stream.keys else NULL
    return function_call("to_json", [function_call("struct", [column_of(name) for name in stream.keys])])
