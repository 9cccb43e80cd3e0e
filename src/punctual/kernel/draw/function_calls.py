"""A function of Python over a bundle of worlds: what it is called with, and what has to come back.

Model
-----
A *call* has the rows of one group in some worlds. Of each argument the function gets an array of rows by worlds, and of
a literal its value; it gives one value for each world. In a world in which no row is there the value is NULL.

A row may be there in some worlds only. A function that takes ``present`` is told which; any other is called for the
worlds that have the same rows, with just these rows, so that it never sees one that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw.bundle_values import Bundle

Literal = bool | int | float | str | None
Array = NDArray[Any]
RETURNED: dict[str, pa.DataType] = {
    "DOUBLE": pa.float64(), "BIGINT": pa.int64(), "STRING": pa.string(), "BOOLEAN": pa.bool_(),
}  # fmt: skip
"""What a function may return, by the name of its type in SQL."""


class WrongResultError(Exception):
    """A function returned what is no value for each world."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCall:
    """What a function is called with: the rows of a group in so many worlds.

    Arguments are bundles of these rows, in which no value is NULL where it counts, or literals. ``present`` says which
    rows are there in each world, None: all in all of them; like bundles it may have one world that stands for all.
    """

    arguments: tuple[Bundle | Literal, ...]
    rows: int
    worlds: int
    present: Bools | None = None

    @property
    def bytes(self) -> int:
        """About how much of it there is."""
        parts = [one.values.nbytes for one in self.arguments if isinstance(one, Bundle)]
        return sum(parts) + (0 if self.present is None else self.present.nbytes)


def texts_by_code(texts: pa.Array) -> Array:
    """The strings that the codes of bundles stand for, as a function gets them; one more for codes of NULL."""
    found = np.empty(len(texts) + 1, object)
    found[:] = [*texts.to_pylist(), ""]
    return found


def called(
    function: Callable[..., Any], call: FunctionCall, texts: Array, returns: str, *, takes_present: bool
) -> pa.Array:
    """What a function gives for each world of a call, as the Arrow type of ``returns``.

    Raises
    ------
    WrongResultError
        Where it gave something else; and whatever the function raises.

    >>> call = FunctionCall((Bundle(np.array([[1.0, 5.0], [3.0, 4.0]]), None, "number"), 2), 2, 2)
    >>> texts = texts_by_code(pa.array([], pa.string()))
    >>> called(lambda x, times: times * x.max(axis=0), call, texts, "DOUBLE", takes_present=False).to_pylist()
    [6.0, 10.0]
    """
    arguments = [_given(one, call, texts) for one in call.arguments]
    if call.present is None:
        named = {"present": _read_only(np.ones((call.rows, call.worlds), np.bool_))} if takes_present else {}
        return _checked(function(*arguments, **named), call.worlds, returns)
    present = np.broadcast_to(call.present, (call.rows, call.worlds))
    places: list[I64] = []
    found: list[pa.Array] = []
    for worlds, rows in _parts(present, takes_present=takes_present):
        some = [_read_only(one[np.ix_(rows, worlds)]) if isinstance(one, np.ndarray) else one for one in arguments]
        named = {"present": _read_only(present[:, worlds])} if takes_present else {}
        found.append(_checked(function(*some, **named), worlds.size, returns))
        places.append(worlds)
    return _in_place(places, found, call.worlds, RETURNED[returns])


def _parts(present: Bools, *, takes_present: bool) -> Iterator[tuple[I64, I64]]:
    """Worlds that are called for together, and the rows that they are called with; worlds without rows are left out."""
    if takes_present:
        worlds = np.flatnonzero(present.any(axis=0))
        if worlds.size:
            yield worlds, np.arange(present.shape[0])
        return
    alike: dict[bytes, list[int]] = {}
    for world, rows in enumerate(np.ascontiguousarray(present.T)):
        alike.setdefault(rows.tobytes(), []).append(world)
    for several in alike.values():
        rows = np.flatnonzero(present[:, several[0]])
        if rows.size:
            yield np.array(several), rows


def _in_place(places: Sequence[I64], found: Sequence[pa.Array], worlds: int, data_type: pa.DataType) -> pa.Array:
    """The values of some worlds as those of all; NULL where there is none."""
    if not found:
        return pa.nulls(worlds, data_type)
    every = np.full(worlds, -1)
    every[np.concatenate(places)] = np.arange(sum(map(len, found)))
    return pa.concat_arrays(found).take(pa.array(every, mask=every < 0))


def _given(argument: Bundle | Literal, call: FunctionCall, texts: Array) -> Any:
    """An argument as the function gets it."""
    if not isinstance(argument, Bundle):
        return argument
    values = texts[argument.values] if argument.kind == "text" else argument.values
    return _read_only(np.broadcast_to(values, (call.rows, call.worlds)))


def _read_only(array: Array) -> Array:
    """Others may read the same array."""
    found = array.view()
    found.flags.writeable = False
    return found


def _checked(result: Any, worlds: int, returns: str) -> pa.Array:
    """The result of a call as one value for each world."""
    wanted = f"one {returns} for each of {worlds} worlds is wanted"
    try:
        shape = np.shape(result)
    except ValueError:  # lists of unequal length
        raise WrongResultError(f"it returned a {type(result).__name__} of unequal parts, where {wanted}") from None
    if shape != (worlds,):
        raise WrongResultError(f"it returned {_described(result, shape)}, where {wanted}")
    values = result if isinstance(result, list | tuple | np.ndarray) else np.asarray(result)
    data_type = RETURNED[returns]
    try:
        found = pa.array(values)
        if _fits(found.type, data_type):
            return found.cast(data_type, safe=returns != "DOUBLE")  # a large whole number becomes the nearest double
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        pass
    raise WrongResultError(f"it returned {_described(result, shape)}{_odd(values)}, where {wanted}")


def _described(result: Any, shape: tuple[int, ...]) -> str:
    kind = type(result).__name__
    if not shape:
        return f"a single {kind}"
    kind = f"{result.dtype} array" if isinstance(result, np.ndarray) else kind
    return f"a {kind} of shape {'x'.join(map(str, shape))}" if len(shape) > 1 else f"a {kind} of {shape[0]} values"


def _odd(values: Sequence[Any] | Array) -> str:
    """The kinds of values that do not say themselves what they are."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return ""
    return f" of {', '.join(sorted({type(one).__name__ for one in values}))}"


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a type are of the wanted kind; nothing is read from text, and no truth is a number."""
    if pa.types.is_null(given):
        return True
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(given) or pa.types.is_large_string(given))
    if pa.types.is_boolean(wanted):
        return bool(pa.types.is_boolean(given))
    return bool(pa.types.is_integer(given) or pa.types.is_floating(given))
