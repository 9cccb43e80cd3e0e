"""Possible worlds, one by one: every row's draws in plain Python, and DuckDB over the rows of each world.

It shares one thing with the engine: the uniform numbers, which follow from names (``kernel/draw/philox.py`` has its own
tests by known answers). What is made of them, and all SQL, is done again here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from punctual.kernel.draw import source, uniforms
from punctual.kernel.sample.rule import hashes_of, with_ordinals

Row = dict[str, Any]
Number = float | int | str | bool | None


@dataclass
class Stream:
    """Declared columns in order, ``t`` first: names and Arrow types; and how some of them are uncertain.

    A law takes a row, all rows of the window and a uniform number, and gives the value.
    """

    name: str
    columns: Mapping[str, pa.DataType]
    laws: Mapping[str, Callable[[Row, Sequence[Row], float], Number]] = field(default_factory=dict)
    missing: Mapping[str, Callable[[Row], bool]] = field(default_factory=dict)
    """Which rows are drawn; all of them where nothing is said."""
    probability: str | None = None
    rule: str | None = None

    def identities(self, rows: Sequence[Row]) -> np.ndarray:
        arrays = [pa.array([row["t"] for row in rows], pa.int64())]
        arrays += [pa.array([row[name] for row in rows], kind) for name, kind in list(self.columns.items())[1:]]
        return with_ordinals(hashes_of(arrays, len(rows)))


def worlds(stream: Stream, rows: Sequence[Row], rounds: int, seed: int, around: Sequence[Row] = ()) -> list[list[Row]]:
    """The rows of a window in each round; ``around`` are rows from before it that may help to find values."""
    every = [*rows, *around]
    identity = stream.identities(every)[: len(rows)]
    numbers = {
        name: uniforms(source(seed, stream.name, name), identity, range(rounds)) for name in stream.laws
    }
    exists = _existing(stream, rows, identity, rounds, seed)
    found = []
    for number in range(rounds):
        world = []
        for place, row in enumerate(rows):
            if not exists[place][number]:
                continue
            drawn = dict(row)
            for name, law in stream.laws.items():
                if name not in stream.missing or stream.missing[name](row):
                    drawn[name] = law(row, every, float(numbers[name][place, number]))
            world.append(drawn)
        found.append(world)
    return found


def _existing(
    stream: Stream, rows: Sequence[Row], identity: np.ndarray, rounds: int, seed: int
) -> list[list[bool]]:
    if stream.probability is None:
        return [[True] * rounds for _row in rows]
    own = source(seed, stream.name, "")
    found = []
    for place, row in enumerate(rows):
        name, low = identity[place : place + 1], 0.0
        label = None if stream.rule is None else row[stream.rule]
        if label is not None:
            name = hashes_of([pa.array([label], stream.columns[str(stream.rule)])], 1)
            before = [
                other[stream.probability]
                for at, other in enumerate(rows)
                if other[str(stream.rule)] == label and identity[at] < identity[place]
            ]
            low = math.fsum(before)
        numbers = uniforms(own, name, range(rounds))[0]
        found.append([low <= u < low + row[stream.probability] for u in numbers.tolist()])
    return found


def normal(mean: str, sd: str) -> Callable[[Row, Sequence[Row], float], float]:
    return lambda row, _rows, u: row[mean] + row[sd] * NormalDist().inv_cdf(u)


def uniform(low: str, high: str) -> Callable[[Row, Sequence[Row], float], float]:
    return lambda row, _rows, u: row[low] + (row[high] - row[low]) * u


def discrete(values: str, weights: str) -> Callable[[Row, Sequence[Row], float], Number]:
    def draw(row: Row, _rows: Sequence[Row], u: float) -> Number:
        total, passed = sum(row[weights]), 0.0
        for value, weight in zip(row[values], row[weights]):
            passed += weight
            if passed > u * total:
                return value  # type: ignore[no-any-return]
        raise AssertionError("the weights add up to more than that")

    return draw


def empirical(name: str, by: str) -> Callable[[Row, Sequence[Row], float], Number]:
    def draw(row: Row, rows: Sequence[Row], u: float) -> Number:
        own = sorted(one[name] for one in rows if one[by] == row[by] and one[name] is not None)
        own = own or sorted(one[name] for one in rows if one[name] is not None)
        return own[min(len(own) - 1, int(u * len(own)))] if own else None  # type: ignore[no-any-return]

    return draw


def interpolated(name: str, by: str, within_us: int) -> Callable[[Row, Sequence[Row], float], Number]:
    """The rows may be from before the window, too."""

    def draw(row: Row, rows: Sequence[Row], u: float) -> Number:
        seen = [one for one in rows if one[by] == row[by] and one[name] is not None]
        before = [one for one in seen if 0 <= row["t"] - one["t"] <= within_us]
        after = [one for one in seen if 0 < one["t"] - row["t"] <= within_us]
        earlier = max(before, key=lambda one: one["t"], default=None)
        later = min(after, key=lambda one: one["t"], default=None)
        if earlier is not None and later is not None:
            share = (later["t"] - row["t"]) / (later["t"] - earlier["t"])
            return earlier[name] if u < share else later[name]  # type: ignore[no-any-return]
        one = earlier or later
        if one is not None:
            return one[name]  # type: ignore[no-any-return]
        own = sorted(one[name] for one in rows if one[name] is not None and one.get("inside", True))
        return own[min(len(own) - 1, int(u * len(own)))] if own else None  # type: ignore[no-any-return]

    return draw


def nearest(name: str, by: Sequence[str], n: int) -> Callable[[Row, Sequence[Row], float], Number]:
    def draw(row: Row, rows: Sequence[Row], u: float) -> Number:
        seen = [one for one in rows if one[name] is not None]
        seen.sort(key=lambda one: (math.dist([one[c] for c in by], [row[c] for c in by]), one["t"]))
        chosen = seen[:n]
        return chosen[min(len(chosen) - 1, int(u * len(chosen)))][name]  # type: ignore[no-any-return]

    return draw


def over_worlds(texts: str, every: Sequence[Sequence[Row]], types: Mapping[str, pa.DataType]) -> list[list[Row]]:
    """The result rows of a text in each world, where its rows are the table ``world``."""
    connection = duckdb.connect()
    found = []
    for world in every:
        table = pa.table({name: pa.array([row[name] for row in world], kind) for name, kind in types.items()})
        connection.register("world", table)
        found.append(connection.sql(texts).to_arrow_table().to_pylist())
    return found


def expectation(results: Sequence[Sequence[Row]], keys: Sequence[str], column: str) -> dict[tuple[Any, ...], float]:
    """The mean of a column over the worlds in which its row is there and it is not NULL, by the keys of the row."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for world in results:
        for row in world:
            if row[column] is not None:
                values.setdefault(tuple(row[key] for key in keys), []).append(row[column])
    return {key: math.fsum(some) / len(some) for key, some in values.items()}


def presence(results: Sequence[Sequence[Row]], keys: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """In which part of the worlds each row is there."""
    counts: dict[tuple[Any, ...], int] = {}
    for world in results:
        for key in {tuple(row[key] for key in keys) for row in world}:
            counts[key] = counts.get(key, 0) + 1
    return {key: count / len(results) for key, count in counts.items()}
