"""Expressions over worlds are what Spark SQL says they are, value by value.

The same texts go to Spark and through the binder and bundles. Spark sees every world as rows of its own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from punctual.kernel.draw.bundle_values import TYPES, Bundle, Kind
from punctual.kinds.worlds.evaluate import evaluate
from punctual.plan.world_expression import CertainColumn, Constant, DrawnAttribute, Leaf, WorldExpression
from punctual.sql.expressions.bind_world import world_expression
from punctual.sql.syntax.expression import Call, ExpressionSyntax, parse_expression
from punctual.sql.syntax.tokens import tokenize
from tests.kinds.test_world_evaluate import FLOATS, TEXTS, WHOLES, Value, bits, near

pytestmark = pytest.mark.spark

ROWS, ROUNDS = 30, 8
COLUMNS: dict[str, tuple[Kind, bool]] = {
    "i": ("whole", True), "j": ("whole", True), "k": ("whole", False), "x": ("number", True), "y": ("number", True),
    "z": ("number", False), "p": ("truth", True), "q": ("truth", False), "s": ("text", True), "t": ("text", False),
}  # fmt: skip
"""Of which kind each is, and whether it differs between worlds."""
SPARK_TYPES: dict[Kind, str] = {"number": "DOUBLE", "whole": "BIGINT", "truth": "BOOLEAN", "text": "STRING"}
LITERALS: dict[Kind, tuple[str, ...]] = {
    "number": ("2.5D", "1e3", "-1D", "0D", "-0.0D", "1e-3", "0.1D", "5D"), "truth": ("TRUE", "FALSE"),
    "whole": ("1L", "2L", "-3L", "0L", "9223372036854775807L", "7L", "-1L"),
    "text": ("'a'", "''", "'B'", "'é'", "'zz'"),
}  # fmt: skip
EXACT = [*TEXTS, "zz"]
CODES = {text: code for code, text in enumerate(sorted(EXACT, key=str.encode))}
BY_CODE = list(CODES)
COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
Text = tuple[str, int]
"""An expression, and how tight its loosest operator binds: OR 1, AND 2, NOT 3, IS and IN 4, = 5, + 6, * 7, - 8."""


class Worlds:
    """Values of all columns, and the leaves of expressions over them. Nothing is left to Spark."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(seed)
        some: dict[Kind, list[Value]] = {
            "number": [*FLOATS, *(round(pick.uniform(-9, 9), pick.choice((2, 20))) for _ in range(40))],
            "whole": [*WHOLES, *range(-5, 6), *range(-5, 6)], "truth": [True, False], "text": [*TEXTS],
        }  # fmt: skip
        self.values: dict[str, list[list[Value]]] = {}
        for name, (kind, drawn) in COLUMNS.items():
            missing = 0.0 if name in ("k", "y") else 0.15
            self.values[name] = [
                [None if pick.random() < missing else pick.choice(some[kind]) for _ in range(ROUNDS if drawn else 1)]
                for _ in range(ROWS)
            ]

    def rows(self) -> list[tuple[Any, ...]]:
        """Every row in every round, as Spark sees them."""
        drawn = {name: drawn for name, (_kind, drawn) in COLUMNS.items()}
        return [
            (row * ROUNDS + at, *(self.values[name][row][at if drawn[name] else 0] for name in COLUMNS))
            for row, at in product(range(ROWS), range(ROUNDS))
        ]

    def is_certain(self, part: ExpressionSyntax) -> bool:
        return False

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        raise AssertionError(part.text)

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        number = list(COLUMNS).index(part.text)
        return DrawnAttribute(number) if COLUMNS[part.text][1] else CertainColumn(number)

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        return None

    def bundle(self, leaf: Leaf) -> Bundle:
        if isinstance(leaf, Constant):
            assert isinstance(leaf.value, str)
            return Bundle(np.array([[CODES[leaf.value]]]), None, "text")
        name, (kind, _drawn) = list(COLUMNS.items())[leaf.number]
        rows = self.values[name]
        known = np.array([[value is not None for value in row] for row in rows])
        filled = [[0 if one is None else CODES[one] if isinstance(one, str) else one for one in row] for row in rows]
        return Bundle(np.array(filled, TYPES[kind]), None if known.all() else known, kind)

    def answers(self, text: str) -> list[Value]:
        """What a text is for every row in every round."""
        tokens, broken = tokenize(text)
        assert broken is None
        found = evaluate(world_expression(parse_expression(text, tokens), self), self.bundle)
        values = np.broadcast_to(found.values, (ROWS, ROUNDS)).ravel().tolist()
        known = np.broadcast_to(True if found.known is None else found.known, (ROWS, ROUNDS)).ravel().tolist()
        texts = [BY_CODE[value] for value in values] if found.kind == "text" else values
        return [value if there else None for value, there in zip(texts, known)]


@dataclass
class Texts:
    """Random expressions as a person would write them, with few brackets."""

    pick: random.Random

    def new(self, kind: Kind, depth: int) -> Text:
        pick = self.pick
        if depth <= 0:
            own = [name for name, (of, _drawn) in COLUMNS.items() if of == kind]
            text = pick.choice(LITERALS[kind]) if pick.random() < 0.2 else pick.choice(own)
            return text, 8 if text.startswith("-") else 9
        if pick.random() < 0.3 or kind == "text":
            return self.of_any_kind(kind, depth - 1)
        return {"number": self.number, "whole": self.whole, "truth": self.truth}[kind](depth - 1)

    def side(self, kind: Kind, depth: int, needed: int = 0) -> str:
        text, rank = self.new(kind, depth - (self.pick.random() < 0.3))
        return text if rank >= needed else f"({text})"

    def numeric(self, depth: int, needed: int = 0) -> str:
        return self.side(self.pick.choice(("number", "number", "whole")), depth, needed)

    def maybe_null(self, kind: Kind, depth: int, needed: int = 0) -> str:
        return "NULL" if self.pick.random() < 0.05 else self.side(kind, depth, needed)

    def of_any_kind(self, kind: Kind, depth: int) -> Text:
        pick = self.pick
        a, b, c = self.side(kind, depth), self.maybe_null(kind, depth), self.side(kind, depth)
        when, other = self.side("truth", depth), self.side("truth", depth)
        of: Kind = pick.choice(("number", "whole", "text"))
        subject, one, two = (self.side(of, depth) for _ in range(3))
        return pick.choice((
            f"CASE WHEN {when} THEN {a} WHEN {other} THEN {b} ELSE {c} END", f"CASE WHEN {when} THEN {a} END",
            f"CASE {subject} WHEN {one} THEN {a} WHEN {two} THEN {c} ELSE {b} END", f"if({when}, {a}, {b})",
            f"coalesce({b}, {a}, {c})", f"ifnull({a}, {c})", f"nvl({b}, {a})", f"nullif({a}, {b})",
            f"least({a}, {b}, {c})", f"greatest({b}, {a}, {c})",
        )), 9  # fmt: skip

    def number(self, depth: int) -> Text:
        pick, operator = self.pick, self.pick.choice("+-")
        left, right = self.side("number", depth, 6), self.numeric(depth, 7)
        if pick.random() < 0.35:
            return f"{left} {operator} {right}", 6
        if pick.random() < 0.5:
            operator = pick.choice("*/%")
            return f"{self.side('number', depth, 7)} {operator} {self.numeric(depth, 8)}", 7
        a = self.numeric(depth)
        return pick.choice((
            (f"- {self.side('number', depth, 8)}", 8),
            (f"{self.side('whole', depth, 7)} / {self.side('whole', depth, 8)}", 7),
            (f"abs({self.side('number', depth)})", 9), (f"sign({a})", 9), (f"signum({a})", 9), (f"sqrt({a})", 9),
            (f"round({self.side('number', depth)})", 9),
            (f"round({self.side('number', depth)}, {pick.randint(0, 20)})", 9),
            (f"round({self.side('number', depth)}, {pick.randint(0, 3)})", 9), (f"CAST({a} AS DOUBLE)", 9),
            (f"cast({self.side('truth', depth)} AS DOUBLE)", 9), (f"coalesce({self.side('whole', depth)}, {a}, 0D)", 9),
        ))  # fmt: skip

    def whole(self, depth: int) -> Text:
        pick = self.pick
        if pick.random() < 0.3:
            return f"{self.side('whole', depth, 6)} {pick.choice('+-')} {self.side('whole', depth, 7)}", 6
        if pick.random() < 0.4:
            operator = pick.choice(("*", "%", "DIV", "div"))
            return f"{self.side('whole', depth, 7)} {operator} {self.side('whole', depth, 8)}", 7
        a = self.numeric(depth)
        return pick.choice((
            (f"-{self.side('whole', depth, 9)}", 8), (f"+ {self.side('whole', depth, 8)}", 8), (f"floor({a})", 9),
            (f"ceil({a})", 9), (f"ceiling({a})", 9), (f"abs({self.side('whole', depth)})", 9),
            (f"round({self.side('whole', depth)}, 2)", 9), (f"CAST({a} AS BIGINT)", 9),
            (f"CAST(CAST({a} AS INT) AS BIGINT)", 9), (f"CAST({self.side('truth', depth)} AS BIGINT)", 9),
        ))  # fmt: skip

    def truth(self, depth: int) -> Text:
        pick = self.pick
        of: Kind = pick.choice(("number", "whole", "truth", "text", "number"))
        least = 6 if of != "truth" else 9
        a, b, c = self.side(of, depth, least), self.maybe_null(of, depth, least), self.side(of, depth, least)
        if of == "number" and pick.random() < 0.3:
            c = self.side("whole", depth, 6)
        negation = pick.choice(("", "NOT "))
        return pick.choice((
            (f"{self.side('truth', depth, 1)} OR {self.maybe_null('truth', depth, 2)}", 1),
            (f"{self.side('truth', depth, 2)} AND {self.maybe_null('truth', depth, 3)}", 2),
            (" AND ".join((self.side("truth", depth, 2), *(self.side("truth", depth, 3) for _ in range(2)))), 2),
            (f"{pick.choice(('NOT', '!'))} {self.side('truth', depth, 3)}", 3),
            (f"{a} {pick.choice(COMPARISONS)} {b}", 5), (f"{a} {pick.choice(COMPARISONS)} {c}", 5),
            (f"{a} {pick.choice(COMPARISONS)} {c} {pick.choice(('=', '<>', '<=>'))} {self.side('truth', depth, 6)}", 5),
            (f"{a} IS {negation}NULL", 4), (f"{a} {pick.choice(COMPARISONS)} {c} IS {negation}NULL", 4),
            (f"{self.side('truth', depth, 5)} IS {negation}{pick.choice(('TRUE', 'FALSE', 'UNKNOWN'))}", 4),
            (f"{a} IS {negation}DISTINCT FROM {b}", 4), (f"{a} {negation}BETWEEN {c} AND {b}", 4),
            (f"{a} {negation}IN ({b}, {c})", 4), (f"{a} {negation}IN ({c}, {a})", 4),
        ))  # fmt: skip


def on_spark(spark: SparkSession, worlds: Worlds, texts: Sequence[str]) -> list[list[Value]]:
    """What Spark says of every text, in one job."""
    schema = ", ".join(["n INT", *(f"{name} {SPARK_TYPES[kind]}" for name, (kind, _drawn) in COLUMNS.items())])
    frame = spark.createDataFrame(worlds.rows(), schema)
    rows = frame.selectExpr("n", *(f"{text} AS o{number}" for number, text in enumerate(texts))).collect()
    rows.sort(key=lambda row: row["n"])
    assert len(rows) == ROWS * ROUNDS
    return [[row[number + 1] for row in rows] for number in range(len(texts))]


def test_random_expressions_are_equal_to_the_last_bit(spark: SparkSession) -> None:
    worlds, make = Worlds(1), Texts(random.Random(1))
    kinds: tuple[Kind, ...] = ("number", "whole", "truth", "text", "truth")
    texts = [make.new(kinds[number % len(kinds)], 1 + number % 4)[0] for number in range(300)]
    said = on_spark(spark, worlds, texts)
    varied = 0
    for text, expected in zip(texts, said):
        found = worlds.answers(text)
        assert [bits(one) for one in found] == [bits(one) for one in expected], text
        varied += len({bits(one) for one in expected}) > 2
    assert varied > 150, "nearly nothing was compared"


FUNCTIONS = ("exp", "ln", "log", "log10", "sin", "cos", "tan", "radians", "sqrt")
PAIRS = ("pow", "power", "atan2")


def test_functions_are_within_a_last_bit(spark: SparkSession) -> None:
    worlds, arguments = Worlds(2), ("x", "y", "z", "i", "x * 10D", "z / 7D", "y + x", "k / 3D")
    texts = [f"{name}({argument})" for name, argument in product(FUNCTIONS, arguments)]
    texts += [f"{name}({one}, {other})" for name, one, other in product(PAIRS, arguments, ("y", "z", "2L", "0.5D"))]
    for text, expected in zip(texts, on_spark(spark, worlds, texts)):
        for found, said in zip(worlds.answers(text), expected):
            if not isinstance(said, float):
                assert bits(found) == bits(said), text
            else:
                assert isinstance(found, float)
                # Java's LOG10 is made of a logarithm that is itself a bit off.
                assert near(found, said, 2 if text.startswith("log10") else 1), (text, found, said)


def test_rounding(spark: SparkSession) -> None:
    """What stands halfway in its shortest decimal, near it, and where doubles have few digits left."""
    worlds = Worlds(3)
    pick = random.Random(3)
    worlds.values["x"] = [[_odd_number(pick) for _ in range(ROUNDS)] for _ in range(ROWS)]
    texts = [f"round(x, {digits})" for digits in range(21)] + ["round(x)", "round(i)", "round(i, 3)"]
    for text, expected in zip(texts, on_spark(spark, worlds, texts)):
        assert [bits(one) for one in worlds.answers(text)] == [bits(one) for one in expected], text


def _odd_number(pick: random.Random) -> float:
    half = float(f"{pick.randrange(10 ** pick.randint(1, 16))}5e-{pick.randint(1, 20)}")
    wide = pick.uniform(2.0**47, 2.0**54) / 10.0 ** pick.randint(0, 20)
    near = math.nextafter(half, pick.choice((0.0, 1e300)))
    return pick.choice((half, half, near, wide, pick.uniform(-100, 100))) * pick.choice((1, -1))
