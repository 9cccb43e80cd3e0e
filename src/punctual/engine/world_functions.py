"""A function of Python becomes one of the program's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from punctual.catalog import Catalog
from punctual.errors import BindError, PunctualError
from punctual.runtime.function_code import is_sparks, python_function
from punctual.sql.expressions.bind_world import FUNCTIONS
from punctual.sql.expressions.function_names import is_aggregate
from punctual.sql.syntax.expression import parse_expression
from punctual.sql.syntax.tokens import tokenize


def with_world_function(catalog: Catalog, name: str, function: Callable[..., Any], returns: str) -> Catalog:
    """The catalog with one more function.

    Raises
    ------
    BindError
        Where the name is none, or taken; where the function cannot be used.
    """
    if not _is_name(name):
        raise BindError(
            "bind.bad-function", f"a function cannot be called {name!r}",
            hint="use a word of letters, digits and _, for example: arrival",
        )
    if is_aggregate(name.lower()) or name.lower() in FUNCTIONS or is_sparks(name):
        raise BindError(
            "bind.duplicate-name", f'there is already a function "{name}" in SQL', hint=f"for example: my_{name}"
        )
    if name.lower() in catalog.functions:
        raise BindError(
            "bind.duplicate-name", f'there is already a function "{name}"',
            detail="queries may stand that use it, so it cannot be replaced", hint=f"for example: {name}2",
        )
    return catalog.with_function(python_function(name, function, returns))


def _is_name(name: object) -> bool:
    """Whether a program can call it without quotes."""
    if not isinstance(name, str) or not name.isascii() or not name.isidentifier():
        return False
    text = f"{name}(x)"
    tokens, _broken = tokenize(text)
    try:
        calls = parse_expression(text, tuple(tokens)).calls
    except PunctualError:
        return False
    return [call.name for call in calls] == [name.lower()]
