"""Functions of Python as Spark ships them: bytes that a worker makes the function of again."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args

from pyspark import cloudpickle
from pyspark.sql import functions

from punctual.errors import BindError
from punctual.plan.worlds import PythonFunction, Returns

PRESENT = "present"
"""The argument by which a function is told which rows are there in each world."""
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ALSO_SPARKS = frozenset((
    "approx_top_k_estimate", "bigint", "binary", "boolean", "cardinality", "cast", "char", "char_length",
    "character_length", "chr", "collations", "date", "decimal", "double", "exists", "extract", "filter", "float",
    "from_avro", "from_protobuf", "if", "in", "int", "len", "localtime", "luhn_check", "map", "mod", "named_struct",
    "now", "nvl", "position", "python_worker_logs", "random", "range", "schema_of_avro", "smallint", "space",
    "sql_keywords", "std",
    "string", "substr", "time", "timestamp", "tinyint", "to_avro", "to_protobuf", "try_cast", "typeof", "uuid",
    "variant_explode", "variant_explode_outer", "when",
))
"""Functions of Spark SQL that are called in another way from Python, or not at all."""


def is_sparks(name: str) -> bool:
    """Whether a name is that of a function of Spark SQL.

    >>> is_sparks("STDDEV"), is_sparks("arrival")
    (True, False)
    """
    return name.lower() in ALSO_SPARKS or name.lower() in {known.lower() for known in functions.__all__}


def python_function(name: str, function: Callable[..., Any], returns: str) -> PythonFunction:
    """The function, ready to travel.

    Raises
    ------
    BindError
        Where it is no function, returns nothing that is known, or cannot travel.
    """
    kind = next((one for one in get_args(Returns) if isinstance(returns, str) and one == returns.strip().upper()), None)
    if kind is None:
        raise BindError(
            "bind.bad-type", f"a function over worlds cannot return {returns!r}",
            hint=f"it returns one of {', '.join(get_args(Returns))}",
        )
    if not callable(function):
        raise BindError("bind.bad-function", f'what is registered as "{name}" is a {type(function).__name__}',
                        hint="give a function of Python")
    try:
        code = cloudpickle.dumps(function)
    except Exception as problem:
        raise BindError(
            "bind.bad-function", f'the function "{name}" cannot be sent to tasks: {problem}',
            detail="it runs in other processes, so all that it uses has to be picklable",
            hint="open files, connections and locks inside of the function",
        ) from None
    fewest, most, takes_present = _arguments(name, function)
    return PythonFunction(name, kind, code, takes_present, fewest, most)


def _arguments(name: str, function: Callable[..., Any]) -> tuple[int, int | None, bool]:
    """How many arguments a function takes at least and at most, besides ``present``, and whether it takes that."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # some functions of C do not say
        return 1, None, False
    takes_present = any(one.name == PRESENT for one in parameters)
    others = [one for one in parameters if one.name != PRESENT]
    needed = [one.name for one in others if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if needed:
        raise BindError(
            "bind.bad-function", f'the function "{name}" needs an argument "{needed[0]}" by name',
            detail="a query gives arguments by their places; only present is given by name",
        )
    places = [one for one in others if one.kind in POSITIONAL]
    fewest = max(1, sum(one.default is one.empty for one in places))
    most = None if any(one.kind is one.VAR_POSITIONAL for one in others) else len(places)
    if most == 0:
        raise BindError(
            "bind.bad-function", f'the function "{name}" takes no arguments',
            hint="it takes an array of rows by worlds for each argument of its call",
        )
    return fewest, most, takes_present
