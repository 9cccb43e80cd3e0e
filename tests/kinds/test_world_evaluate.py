"""Expressions over bundles against a second reckoning: one value after the other, in plain Python.

The oracle knows no arrays: NULL is None, whole numbers are Python's, wrapped by hand, decimals are `decimal`'s.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from itertools import product

import numpy as np
import pytest

from punctual.errors import BindError, InternalError, Span
from punctual.kernel.draw.bundle_values import TYPES, Bundle, Kind, constant, rounded
from punctual.kinds.worlds.evaluate import APPLIED, FITS, evaluate, kind_of
from punctual.plan.world_expression import (
    OPERATIONS,
    CertainColumn,
    Constant,
    DrawnAttribute,
    Leaf,
    Operation,
    WorldExpression,
)

Value = int | float | str | bool | None
ROWS, ROUNDS = 7, 5
TEXTS = ["", "B", "a", "ab", "z", "é", "\uffff", "𝄞"]
"""In the order of their UTF-8 bytes, which is not that of UTF-16."""
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 0.1, 2.675, 1e-300, 5e-324, 1e15, 4503599627370495.5, 2.0**53, 2.0**63,
    -(2.0**63), 1e19, 1e300, math.inf, -math.inf, math.nan, 3.7, -3.7, 100.0, 2.0**31, -(2.0**31) - 1.5,
]  # fmt: skip
WHOLES = [0, 1, -1, 2, -2, 3, 7, -7, 10, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]


# The oracle


def wrapped(number: int, bits: int = 64) -> int:
    return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def order(value: Value) -> tuple[bool, float | bytes | int]:
    """What values of one kind are compared by: NaN is the greatest."""
    if isinstance(value, str):
        return (False, value.encode())
    assert value is not None
    return (True, 0) if value != value else (False, value)


def kind_of_value(value: Value) -> Kind:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "whole" if isinstance(value, int) else "number"


def truncated(number: float, low: int, high: int) -> int:
    if number != number:
        return 0
    return low if number < low else high if number > high else int(number)


def quotient(a: float, b: float) -> float:
    """Of numbers, b not zero: Python refuses where it overflows."""
    try:
        return a / b
    except OverflowError:
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def rest(a: float, b: float) -> float:
    return math.nan if math.isinf(a) or a != a or b != b else math.fmod(a, b)


def power(a: float, b: float) -> float:
    if b != b or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # 0 to a negative number, or a negative number to a fraction
        odd = b == int(b) and b % 2 == 1 if math.isfinite(b) else False
        return math.nan if a != 0 else math.copysign(math.inf, a) if odd else math.inf


def of_number(found: Callable[[float], float], number: float) -> float:
    try:
        return found(number)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def half_up(number: float, digits: int) -> float:
    if not math.isfinite(number):
        return number
    decimal = Decimal(repr(number))
    if -decimal.as_tuple().exponent <= digits:  # type: ignore[operator]
        return number + 0.0
    return float(decimal.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)) + 0.0


def strict(name: str, values: list[Value], kinds: list[Kind]) -> Value:
    """Operations that are NULL where an argument is."""
    if any(value is None for value in values):
        return None
    if name in ("=", "<>", "<", "<=", ">", ">="):
        a, b = order(as_kind(values[0], common(kinds))), order(as_kind(values[1], common(kinds)))
        return {
            "=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,  # type: ignore[operator]
        }[name]  # fmt: skip
    if name == "not":
        return not values[0]
    if name in ("double", "whole", "int"):
        value = values[0]
        assert isinstance(value, bool | int | float)
        if name == "double":
            return float(value)
        bits = 32 if name == "int" else 64
        if isinstance(value, float):
            return truncated(value, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return wrapped(int(value), bits)
    numbers = [value for value in values if isinstance(value, int | float)]
    if all(isinstance(number, int) for number in numbers) and name in ("+", "-", "*", "%", "div", "negative", "abs"):
        return of_wholes(name, [int(number) for number in numbers])
    if isinstance(numbers[0], int) and name in ("floor", "ceil", "round"):
        return numbers[0]
    return of_floats(name, [float(number) for number in numbers])


def of_wholes(name: str, numbers: list[int]) -> int | None:
    a, b = numbers[0], numbers[-1]
    if name in ("%", "div") and b == 0:
        return None
    size = abs(a) // abs(b) if b else 0
    toward_zero = size if (a < 0) == (b < 0) else -size
    return wrapped({
        "+": a + b, "-": a - b, "*": a * b, "negative": -a, "abs": abs(a), "div": toward_zero, "%": a - toward_zero * b,
    }[name])  # fmt: skip


def of_floats(name: str, numbers: list[float]) -> Value:
    a, b = numbers[0], numbers[-1]
    if name in ("/", "%") and b == 0:
        return None
    if name in ("ln", "log10") and a <= 0:
        return None
    if name in ("floor", "ceil"):
        whole = float(getattr(math, name)(a)) if math.isfinite(a) else a
        return truncated(whole, -(2**63), 2**63 - 1)
    if name == "round":
        return half_up(a, int(b) if len(numbers) == 2 else 0)
    two: dict[str, Callable[[], float]] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: quotient(a, b),
        "%": lambda: rest(a, b), "pow": lambda: power(a, b), "atan2": lambda: math.atan2(a + 0.0, b + 0.0),
        "negative": lambda: -a, "abs": lambda: abs(a), "sign": lambda: a if a == 0 or a != a else math.copysign(1.0, a),
    }  # fmt: skip
    if name in two:
        return two[name]()
    return of_number(math.log if name == "ln" else getattr(math, name), a)


def common(kinds: list[Kind]) -> Kind:
    return "number" if "number" in kinds or not kinds else kinds[0]


def said_kind(expression: WorldExpression) -> Kind | None:
    """Of which kind an expression is; None: it is NULL, and of any."""
    if isinstance(expression, Constant):
        return None if expression.value is None else kind_of_value(expression.value)
    if not isinstance(expression, Operation):
        return KINDS[expression]
    kinds = [said_kind(argument) for argument in expression.arguments]
    name = expression.name
    if name in ("/", "sign", "sqrt", "double"):
        return "number"
    if name in ("floor", "ceil", "whole", "int", "div"):
        return "whole"
    if name == "round":
        return kinds[0] or "number"
    if name == "nullif":
        return kinds[0]
    if name == "case":
        kinds = [kind for at, kind in enumerate(kinds) if at % 2 or at == len(kinds) - 1]
    elif name not in ("+", "-", "*", "%", "negative", "abs", "coalesce", "least", "greatest"):
        return "truth"
    known = [kind for kind in kinds if kind is not None]
    if known or name in ("+", "-", "*", "%", "negative", "abs"):
        return common(known)
    return None


def as_kind(value: Value, kind: Kind) -> Value:
    return float(value) if kind == "number" and isinstance(value, int) else value


def reckoned(expression: WorldExpression, leaf: Callable[[Leaf], Value]) -> Value:
    """What an expression is for one row in one round."""
    if not isinstance(expression, Operation):
        return expression.value if isinstance(expression, Constant) else leaf(expression)
    name = expression.name
    parts = [reckoned(argument, leaf) for argument in expression.arguments]
    kinds = [kind for argument in expression.arguments if (kind := said_kind(argument)) is not None]
    values = [as_kind(one, common(kinds)) for one in parts] if kinds else parts
    if name in ("and", "or"):
        decisive = name == "or"
        return decisive if decisive in parts else None if None in parts else not decisive
    if name == "is null":
        return parts[0] is None
    if name == "<=>":
        known = parts[0] is not None and parts[1] is not None
        return order(values[0]) == order(values[1]) if known else parts[0] is parts[1]
    if name == "in":
        equal = [strict("=", [values[0], item], [common(kinds)] * 2) for item in values[1:]]
        return True if True in equal else None if None in equal else False
    if name == "case":
        otherwise = parts[-1] if len(parts) % 2 else None
        found = next((parts[at + 1] for at in range(0, len(parts) - 1, 2) if parts[at] is True), otherwise)
        return as_kind(found, said_kind(expression) or "truth")
    if name == "coalesce":
        return next((value for value in values if value is not None), None)
    if name == "nullif":
        return None if strict("=", parts, kinds) is True else parts[0]
    if name in ("least", "greatest"):
        there = [value for value in values if value is not None]
        return (min if name == "least" else max)(there, key=order) if there else None  # type: ignore[arg-type]
    return strict(name, parts, kinds)


# Random trees of a kind

LEAVES: dict[Kind, tuple[Leaf, ...]] = {
    "number": (CertainColumn(0), DrawnAttribute(0), DrawnAttribute(1)),
    "whole": (CertainColumn(1), DrawnAttribute(2), DrawnAttribute(3)),
    "truth": (CertainColumn(2), DrawnAttribute(4)),
    "text": (CertainColumn(3), DrawnAttribute(5)),
}
KINDS: dict[Leaf, Kind] = {leaf: kind for kind, leaves in LEAVES.items() for leaf in leaves}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
TRANSCENDENTAL = ("exp", "ln", "log10", "pow", "sin", "cos", "tan", "atan2", "radians")
"""What NumPy and the C library may tell apart by a last bit; these stand at the top of a tree only."""


class Trees:
    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def tree(self, kind: Kind, depth: int) -> WorldExpression:
        pick = self.pick
        if depth == 0 or pick.random() < 0.1:
            return self.leaf(kind)
        name = pick.choice(("case", "coalesce", "nullif", "least", "greatest", "case", *self.own(kind)))
        found = Operation(name, tuple(self.arguments(name, kind, depth - 1)))
        # What is made of NULL alone is a number.
        return found if said_kind(found) in (kind, None) else pick.choice(LEAVES[kind])

    def own(self, kind: Kind) -> tuple[str, ...]:
        """Operations that give a kind and no other."""
        if kind == "number":
            return ("+", "-", "*", "/", "%", "negative", "abs", "sign", "round", "sqrt", "double") * 2
        if kind == "whole":
            return ("+", "-", "*", "%", "div", "negative", "abs", "floor", "ceil", "round", "whole", "int") * 2
        return (*COMPARISONS, "and", "or", "not", "is null", "in") if kind == "truth" else ()

    def leaf(self, kind: Kind) -> Leaf:
        pick = self.pick
        if pick.random() < 0.7:
            return pick.choice(LEAVES[kind])
        constants: dict[Kind, list[Value]] = {
            "number": [*FLOATS], "whole": [*WHOLES], "truth": [True, False], "text": [*TEXTS],
        }  # fmt: skip
        return Constant(None if pick.random() < 0.2 else pick.choice(constants[kind]))

    def numeric(self, kind: Kind, depth: int) -> WorldExpression:
        """Of a kind, or of whole numbers where numbers are wanted."""
        return self.tree("whole" if kind == "number" and self.pick.random() < 0.2 else kind, depth)

    def arguments(self, name: str, kind: Kind, depth: int) -> list[WorldExpression]:
        pick = self.pick
        if name in COMPARISONS or name == "in":
            of: Kind = pick.choice(("number", "whole", "truth", "text", "number"))  # type: ignore[assignment]
            return [self.numeric(of, depth) for _ in range(pick.randint(2, 4) if name == "in" else 2)]
        if name in ("and", "or"):
            return [self.tree("truth", depth) for _ in range(pick.randint(2, 3))]
        if name == "case":
            parts = [self.tree("truth" if at % 2 == 0 else kind, depth) for at in range(pick.choice((2, 4)))]
            return parts + [self.tree(kind, depth) for _ in range(pick.randint(0, 1))]
        if name in ("coalesce", "least", "greatest"):
            return [self.tree(kind, depth), *(self.numeric(kind, depth) for _ in range(pick.randint(1, 2)))]
        if name == "is null":
            return [self.tree(pick.choice(("number", "whole", "truth", "text")), depth)]  # type: ignore[arg-type]
        if name in ("floor", "ceil", "whole", "int", "double", "sqrt", "sign"):
            return [self.tree(pick.choice(("number", "number", "whole")), depth)]  # type: ignore[arg-type]
        if name == "round":
            return [self.tree(kind, depth), *([Constant(pick.randint(0, 20))] if pick.random() < 0.7 else [])]
        if name == "nullif":
            return [self.tree(kind, depth), self.numeric(kind, depth)]
        if name in ("not", "negative", "abs"):
            return [self.tree(kind, depth)]
        other = self.numeric(kind, depth)
        return [self.tree(kind, depth), other] if pick.random() < 0.5 else [other, self.tree(kind, depth)]


class Rows:
    """Random values of every leaf, as bundles and one by one."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(seed)
        some: dict[Kind, list[Value]] = {
            "number": [*FLOATS, *(pick.uniform(-10, 10) for _ in range(10))],
            "whole": [*WHOLES, *range(-5, 6)],
            "truth": [True, False],
            "text": [*TEXTS],
        }
        self.values: dict[Leaf, list[list[Value]]] = {}
        for leaf, kind in KINDS.items():
            missing = pick.choice((0.0, 0.3))
            rounds = 1 if isinstance(leaf, CertainColumn) else ROUNDS
            self.values[leaf] = [
                [None if pick.random() < missing else pick.choice(some[kind]) for _ in range(rounds)]
                for _ in range(ROWS)
            ]
        self.asked: list[Leaf] = []

    def bundle(self, leaf: Leaf) -> Bundle:
        self.asked.append(leaf)
        if isinstance(leaf, Constant):
            assert isinstance(leaf.value, str)
            return Bundle(np.array([[TEXTS.index(leaf.value)]]), None, "text")
        rows, kind = self.values[leaf], KINDS[leaf]
        known = np.array([[value is not None for value in row] for row in rows])
        codes = {text: code for code, text in enumerate(TEXTS)}
        filled = [[99 if one is None else codes[one] if isinstance(one, str) else one for one in row] for row in rows]
        return Bundle(np.array(filled, TYPES[kind]), None if known.all() else known, kind)

    def at(self, row: int, round_: int) -> Callable[[Leaf], Value]:
        return lambda leaf: self.values[leaf][row][round_ if isinstance(leaf, DrawnAttribute) else 0]


def kind_of_leaf(leaf: Leaf) -> Kind:
    return KINDS[leaf]


def found_at(bundle: Bundle, row: int, round_: int) -> Value:
    values = np.broadcast_to(bundle.values, (ROWS, ROUNDS))
    known = np.broadcast_to(True if bundle.known is None else bundle.known, (ROWS, ROUNDS))
    value: Value = values[row, round_].item() if known[row, round_] else None
    return TEXTS[value] if bundle.kind == "text" and isinstance(value, int) else value


def bits(value: Value) -> object:
    """Equal for equal values only: 0.0 is not -0.0, 1 is not 1.0, and any NaN is NaN."""
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("d", value)
    return type(value), value


def shape_said(expression: WorldExpression) -> int:
    return ROUNDS if any(isinstance(leaf, DrawnAttribute) for leaf in all_leaves(expression)) else 1


def all_leaves(expression: WorldExpression) -> list[Leaf]:
    if isinstance(expression, Operation):
        return [leaf for argument in expression.arguments for leaf in all_leaves(argument)]
    return [expression]


@pytest.mark.parametrize("seed", range(400))
def test_random_trees(seed: int) -> None:
    trees, rows = Trees(seed), Rows(seed)
    for kind in LEAVES:
        expression = trees.tree(kind, trees.pick.randint(1, 4))
        found = evaluate(expression, rows.bundle)
        assert found.kind == kind_of(expression, kind_of_leaf) == (said_kind(expression) or "number")
        assert found.values.dtype == TYPES[found.kind]
        assert found.values.shape[1] <= shape_said(expression)
        if found.known is not None:
            np.broadcast_to(found.known, found.values.shape)
        for row, round_ in product(range(ROWS), range(ROUNDS)):
            expected = reckoned(expression, rows.at(row, round_))
            assert bits(found_at(found, row, round_)) == bits(expected), (expression, row, round_)


@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_functions_are_within_a_last_bit(name: str) -> None:
    pick = random.Random(name)
    numbers = [*FLOATS, *(pick.uniform(-20, 20) for _ in range(200)), *(pick.uniform(-700, 700) for _ in range(50))]
    pairs = list(product(FLOATS, FLOATS)) if name in ("pow", "atan2") else []
    pairs += list(zip(numbers, reversed(numbers)))
    sides = [np.array([[pair[side]] for pair in pairs]) for side in (0, 1)]
    arguments = (CertainColumn(0), CertainColumn(1))[: 2 if name in ("pow", "atan2") else 1]
    found = evaluate(Operation(name, arguments), lambda leaf: Bundle(sides[getattr(leaf, "number", 0)], None, "number"))
    known = np.broadcast_to(True if found.known is None else found.known, found.values.shape)
    for at, pair in enumerate(pairs):
        expected = of_floats(name, list(pair[: len(arguments)]))
        assert known[at, 0] == (expected is not None), pair
        if isinstance(expected, float):
            assert near(found.values[at, 0], expected), (pair, found.values[at, 0], expected)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 0.0, 1.0, 2.0, -1.0, 3.0, math.nan, math.inf])
def test_powers_by_a_constant(exponent: float) -> None:
    """NumPy has ways of its own for some of them."""
    drawn = Bundle(np.array([FLOATS]), None, "number")
    found = evaluate(Operation("pow", (DrawnAttribute(0), Constant(exponent))), lambda leaf: drawn)
    for number, value in zip(FLOATS, found.values[0].tolist()):
        assert near(value, power(number, exponent)), number


def near(found: float, expected: float, bits_off: int = 1) -> bool:
    if expected != expected or math.isinf(expected) or expected == 0:
        return bits(float(found)) == bits(expected)
    return bool(abs(found - expected) <= bits_off * math.ulp(expected))


# Rounding


def rounded_numbers(pick: random.Random) -> list[float]:
    """Numbers of few digits, of all digits, halves and their neighbours, of every size."""
    numbers = [*FLOATS, 0.49999999999999994, 1.005, 2.5e-7, 0.285, 1.115, 300000000.1234567, 9007199254740993.0]
    for _ in range(3000):
        digits, places = pick.randint(1, 17), pick.randint(-3, 20)
        numbers.append(float(f"{pick.randrange(10**digits)}e-{places}" if places >= 0 else pick.randrange(10**digits)))
        numbers.append(float(f"{pick.randrange(10 ** pick.randint(1, 16))}5e-{pick.randint(1, 20)}"))
        numbers.append(pick.random() * 10.0 ** pick.randint(-20, 20))
        numbers.append(math.ldexp(pick.randrange(2**53), pick.randint(-110, 5)))
    near_halves = [math.nextafter(number, to) for number in numbers for to in (-math.inf, math.inf)]
    return [pick.choice((number, -number)) for number in numbers + near_halves]


@pytest.mark.parametrize("digits", range(21))
def test_rounding_is_that_of_the_shortest_decimal(digits: int) -> None:
    numbers = rounded_numbers(random.Random(digits))
    found = rounded(Bundle(np.array([numbers]), None, "number"), constant(digits)).values[0]
    wrong = [
        (number, float(value), half_up(number, digits))
        for number, value in zip(numbers, found)
        if bits(float(value)) != bits(half_up(number, digits))
    ]
    assert wrong == []


def test_rounding_where_a_double_has_no_more_digits() -> None:
    """Between 2^48 and 2^53 units the shortest decimal has a digit or two to lose."""
    pick = random.Random(5)
    for digits in range(21):
        unit = 10.0**digits
        numbers = [pick.uniform(2.0**47, 2.0**54) / unit for _ in range(5000)]
        numbers += [(pick.randrange(2**46, 2**53) + 0.5) / unit for _ in range(5000)]
        found = rounded(Bundle(np.array([numbers]), None, "number"), constant(digits)).values[0]
        assert [bits(float(one)) for one in found] == [bits(half_up(one, digits)) for one in numbers]


# What is said once


def number(*values: float) -> Bundle:
    return Bundle(np.array([values]), None, "number")


def test_what_is_certain_is_not_multiplied_out() -> None:
    rows = Rows(1)
    certain = Operation("*", (CertainColumn(0), Operation("+", (CertainColumn(1), Constant(1)))))
    assert evaluate(certain, rows.bundle).values.shape == (ROWS, 1)
    assert evaluate(Operation("+", (certain, DrawnAttribute(0))), rows.bundle).values.shape == (ROWS, ROUNDS)


@pytest.mark.parametrize("expression", [
    Operation("coalesce", (Constant(1), DrawnAttribute(0))), Operation("is null", (CertainColumn(0),)),
    CertainColumn(0), Operation("least", (Constant(None), CertainColumn(0))),
])  # fmt: skip
@pytest.mark.parametrize("height", [0, 1, 3])
def test_there_are_as_many_rows_as_leaves_have(expression: WorldExpression, height: int) -> None:
    found = evaluate(expression, lambda leaf: Bundle(np.ones((height, 1)), None, "number"))
    assert found.values.shape == (height, 1)


def test_of_equal_values_the_first_is_the_least_and_the_greatest() -> None:
    for name, zeros in product(("least", "greatest"), ((0.0, -0.0), (-0.0, 0.0))):
        found = evaluate(Operation(name, tuple(Constant(zero) for zero in zeros)), Rows(1).bundle)
        assert bits(found.values[0, 0].item()) == bits(zeros[0])


def test_whole_numbers_are_compared_with_numbers_as_numbers() -> None:
    wide = (Constant(2**53 + 1), Constant(2.0**53))
    assert evaluate(Operation("=", wide), Rows(1).bundle).values.all()
    null = evaluate(Operation("nullif", wide), Rows(1).bundle)
    assert (null.kind, null.known is not None and null.known.any()) == ("whole", False)


def test_constants_alone_are_one_row() -> None:
    def nobody(leaf: Leaf) -> Bundle:
        raise AssertionError(leaf)

    found = evaluate(Operation("+", (Constant(1), Constant(2.5))), nobody)
    assert (found.values.tolist(), found.known, found.kind) == ([[3.5]], None, "number")
    null = evaluate(Constant(None), nobody)
    assert (null.kind, null.known is not None and null.known.any()) == ("number", False)
    assert kind_of(Constant(None), kind_of_leaf) == "number"


def test_a_part_that_stands_in_several_places_is_evaluated_once() -> None:
    rows = Rows(1)
    part: WorldExpression = Operation("+", (DrawnAttribute(0), DrawnAttribute(1)))
    for _ in range(60):  # as a tree, this has 2^60 parts
        part = Operation("least", (part, part))
    assert evaluate(part, rows.bundle).values.shape == (ROWS, ROUNDS)
    assert sorted(rows.asked, key=repr) == [DrawnAttribute(0), DrawnAttribute(1)]
    assert kind_of(part, kind_of_leaf) == "number"


def test_equal_constants_of_different_kinds_are_told_apart() -> None:
    rows = Rows(1)
    both = Operation("case", (DrawnAttribute(4), Operation("/", (Constant(1), Constant(2))), Constant(True)))
    with pytest.raises(BindError):
        evaluate(both, rows.bundle)
    sums = Operation("+", (Operation("+", (Constant(1), Constant(1))), Operation("+", (Constant(1.0), Constant(1)))))
    assert evaluate(sums, rows.bundle).kind == "number"


def test_a_long_sum_is_no_deep_one() -> None:
    long: WorldExpression = DrawnAttribute(0)
    for _ in range(5000):
        long = Operation("+", (long, Constant(0)))
    assert evaluate(long, lambda leaf: number(1.0, 2.0)).values.tolist() == [[1.0, 2.0]]
    assert kind_of(long, kind_of_leaf) == "number"


ONE_TYPE = "of one type, and these are"


@pytest.mark.parametrize(("expression", "fact", "whose"), [
    (("+", "number", "text"), "+ does not take STRING", "whole"),
    (("and", "truth", "whole"), "a condition is BOOLEAN, and this is BIGINT", "whole"),
    (("not", "text"), "a condition is BOOLEAN, and this is STRING", "whole"),
    (("=", "text", "number"), f"what is compared is {ONE_TYPE} DOUBLE and STRING", "whole"),
    (("in", "whole", "number", "truth"), f"what is compared is {ONE_TYPE} BIGINT and BOOLEAN and DOUBLE", "whole"),
    (("case", "number", "whole"), "a condition is BOOLEAN, and this is DOUBLE", "whole"),
    (("case", "truth", "whole", "text"), f"the values of CASE are {ONE_TYPE} BIGINT and STRING", "whole"),
    (("coalesce", "truth", "text"), f"what coalesce takes is {ONE_TYPE} BOOLEAN and STRING", "whole"),
    (("nullif", "whole", "truth"), f"what is compared is {ONE_TYPE} BIGINT and BOOLEAN", "whole"),
    (("div", "whole", "number"), "DIV does not take DOUBLE", "whole"),
    (("sqrt", "truth"), "sqrt does not take BOOLEAN", "whole"),
    (("negative", "text"), "- does not take STRING", "whole"),
    (("double", "text"), "CAST does not take STRING", "whole"),
    (("round", "truth"), "round does not take BOOLEAN", "whole"),
    (("floor", "text"), "floor does not take STRING", "whole"),
    (("*", "number", ("=", "number", "whole")), "* does not take BOOLEAN", "part"),
    (("and", "truth", ("+", "number", "whole")), "a condition is BOOLEAN, and this is DOUBLE", "part"),
])  # fmt: skip
def test_types_that_do_not_fit(expression: tuple[object, ...], fact: str, whose: str) -> None:
    def made(what: object, span: Span) -> WorldExpression:
        if isinstance(what, str):
            return LEAVES[what][0]  # type: ignore[index]
        assert isinstance(what, tuple)
        return Operation(what[0], tuple(made(one, Span(3, 5)) for one in what[1:]), span)

    with pytest.raises(BindError) as raised:
        kind_of(made(expression, Span(1, 9)), kind_of_leaf)
    assert (raised.value.code, raised.value.fact) == ("bind.type-mismatch", fact)
    assert raised.value.span == (Span(1, 9) if whose == "whole" else Span(3, 5))


def test_every_operation_is_there() -> None:
    assert set(APPLIED) == set(FITS) == OPERATIONS
    with pytest.raises(InternalError):
        kind_of(Operation("round", (CertainColumn(0), DrawnAttribute(2))), kind_of_leaf)
