"""UNION ALL of windowed streams: their rows as those of one stream.

What all of them declare under one name and type can be named in expressions. What a row means to a ranking (its
probability, its rule, its key) each stream declares under a name of its own: expressions over united streams write
``PROBABILITY``, ``RULE`` and ``KEY``, columns that :func:`own_meanings` gives to the rows of each stream, and
``STREAM`` and ``ROW`` for where a row comes from, and as what: its values as texts, in declared order.

The same label in two streams is two rules: nobody promised that their rows exclude each other. The same key is one key.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.own_names import own_sql
from punctual.plan.relation import Column, Stream, find_column, quoted

PROBABILITY, RULE, KEY, STREAM, ROW = (
    own_sql(f"<{name}>") for name in ("probability", "rule", "key", "stream", "row")
)
MEANINGS = {PROBABILITY: "DOUBLE", RULE: "STRING", KEY: "STRING", STREAM: "STRING", ROW: "ARRAY<STRING>"}
"""The columns that united streams have besides, and their types."""


def common_columns(streams: Sequence[Stream]) -> tuple[Column, ...]:
    """The columns that all streams declare with one type, as the first one declares them."""
    first, *others = streams
    found = []
    for column in first.columns:
        same = (find_column(other.columns, column.name) for other in others)
        if all(one is not None and one.type == column.type for one in same):
            found.append(column)
    return tuple(found)


def own_meanings(stream: Stream) -> dict[str, str]:
    """What ``PROBABILITY``, ``RULE``, ``KEY``, ``STREAM`` and ``ROW`` are of a row of this stream, over its columns.

    >>> from punctual.plan.source import FeedSource
    >>> gates = Stream("gates", (Column("t", "TIMESTAMP"),), "t", 0, FeedSource(), rule="car")
    >>> own_meanings(gates)[RULE]
    "CAST(concat('gates:', CAST(`car` AS STRING)) AS STRING)"
    """
    probability = "NULL" if stream.probability is None else quoted(stream.probability)
    rule = "NULL" if stream.rule is None else f"concat('{stream.name}:', CAST({quoted(stream.rule)} AS STRING))"
    row = ", ".join(f"CAST({quoted(column.name)} AS STRING)" for column in given_columns(stream))
    meanings = {PROBABILITY: probability, RULE: rule, KEY: key_of(stream)}
    values = {**meanings, STREAM: f"'{stream.name}'", ROW: f"array({row})"}
    return {name: f"CAST({value} AS {MEANINGS[name]})" for name, value in values.items()}


def given_columns(stream: Stream) -> tuple[Column, ...]:
    """The columns that rows come with; the others are derived from these."""
    return tuple(column for column in stream.columns if column.derived is None)


def key_of(stream: Stream) -> str:
    """The stream's key as one value; several columns as JSON, which tells them apart."""
    if len(stream.keys) <= 1:
        return quoted(stream.keys[0]) if stream.keys else "NULL"
    return f"to_json(struct({', '.join(quoted(name) for name in stream.keys)}))"
