"""Plain arithmetic over columns of numbers, computed here and not by Catalyst.

Replicates of estimates are no answers: they say how far an answer may be off. Of what only adds, subtracts, multiplies
and divides they are computed here, as doubles. Catalyst would want them in the types of the columns, and a whole number
that is rounded is off by more than a ratio of two sums may differ without a thirtieth of the sample. It would also have
33 times as many rows to evaluate.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from punctual.kernel.arrays.state import F64
from punctual.plan.expression import Expression

_PLAIN = re.compile(r"[-+*/().\d\s]*")
_NUMBER = re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?")
_OTHERWISE = re.compile(r"\*\*|//|--|/\*")
"""What other languages than SQL, or its comments, have of the same signs."""
_LONGEST = 2_000
_NODES = (
    ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UAdd, ast.USub,
)  # fmt: skip


def is_arithmetic(expression: Expression) -> bool:
    """Whether an expression is made of columns, numbers, the four operations and brackets.

    >>> from punctual.plan.expression import column_of, compose
    >>> is_arithmetic(compose("(", column_of("a"), " - 1) / ", column_of("b")))
    True
    >>> is_arithmetic(compose("round(", column_of("a"), ")"))
    False
    """
    return _tree(expression) is not None


def computed(expression: Expression, columns: Mapping[str, F64]) -> F64:
    """The value of arithmetic; what is divided by zero is no finite number.

    >>> from punctual.plan.expression import column_of, compose
    >>> ratio = compose("100 * ", column_of("a"), " / ", column_of("b"))
    >>> computed(ratio, {"a": np.array([1.0, 3.0]), "b": np.array([4.0, 2.0])}).tolist()
    [25.0, 150.0]
    """
    tree = _tree(expression)
    assert tree is not None, "only arithmetic is computed here"
    named = {_name(number): columns[name] for number, name in enumerate(sorted(expression.names))}
    with np.errstate(all="ignore"):
        return _value(tree, named)


@lru_cache(maxsize=1024)
def _tree(expression: Expression) -> ast.expr | None:
    names = {name: _name(number) for number, name in enumerate(sorted(expression.names))}
    texts = []
    for part in expression.parts:
        if isinstance(part, str):
            if not _PLAIN.fullmatch(part):
                return None
            texts.append(part)
        elif part.kind == "number" and _NUMBER.fullmatch(part.text):
            texts.append(part.text)
        elif part.kind == "column":
            texts.append(f" {names[part.text]} ")
        else:
            return None
    text = " ".join("".join(texts).split())
    if _OTHERWISE.search(text) or len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        return None
    return tree if all(isinstance(node, _NODES) for node in ast.walk(tree)) else None


def _name(number: int) -> str:
    return f"c{number}"


def _value(tree: ast.expr, columns: Mapping[str, F64]) -> F64:
    match tree:
        case ast.BinOp(left, operation, right):
            one, other = _value(left, columns), _value(right, columns)
            match operation:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
            return one / other
        case ast.UnaryOp(sign, operand):
            value = _value(operand, columns)
            return -value if isinstance(sign, ast.USub) else value
        case ast.Name(name):
            return columns[name]
        case _:
            assert isinstance(tree, ast.Constant)
            return np.asarray(tree.value, np.float64)
