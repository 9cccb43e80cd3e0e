"""Functions of Python over worlds, called in tasks: on the driver they would hold the interpreter's lock.

A function that fails says so in a product. An error of the task would be tried again by Spark, and come back as text.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from punctual.kernel.draw.function_calls import RETURNED, FunctionCall, WrongResultError, called, texts_by_code
from punctual.runtime.operators.order import Order
from punctual.store.products import FunctionFault, FunctionValues, Produced, output, to_ipc


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function as bytes, what it returns, and whether it is told which rows are present."""

    code: bytes
    returns: str
    takes_present: bool


@dataclass(frozen=True, slots=True, eq=False)
class CallFunctions:
    """The operator: calls, each with the number of its function, in; `FunctionValues`, or a `FunctionFault`, out.

    ``texts`` are the strings that the codes of arguments stand for. Calls are dealt out to ``tasks`` tasks in turn, and
    a task ends with its first fault: so the first of all is among those that come out.
    """

    functions: tuple[FunctionCode, ...]
    calls: tuple[tuple[int, FunctionCall], ...]
    texts: pa.Array
    tasks: int = 1

    @property
    def most_tasks(self) -> int:
        """How many tasks can share the work."""
        return len(self.calls)

    def run(self, _order: Order | None, task: int) -> Iterator[pa.RecordBatch]:
        """What the functions give for the calls of a task."""
        texts = texts_by_code(self.texts)
        loaded: dict[int, Callable[..., Any]] = {}
        found: dict[int, list[tuple[int, pa.Array]]] = {}
        for place in range(task, len(self.calls), self.tasks):
            number, call = self.calls[place]
            code = self.functions[number]
            try:
                if number not in loaded:
                    loaded[number] = pickle.loads(code.code)
                values = called(loaded[number], call, texts, code.returns, takes_present=code.takes_present)
            except WrongResultError as wrong:
                yield output(Produced(FunctionFault(place, str(wrong))))
                return
            except (Exception, SystemExit) as problem:
                yield output(Produced(FunctionFault(place, _said(problem, loaded.get(number)))))
                return
            found.setdefault(number, []).append((place, values))
        for number, several in found.items():
            yield output(_product(number, several, RETURNED[self.functions[number].returns]))


def _product(number: int, several: list[tuple[int, pa.Array]], data_type: pa.DataType) -> Produced:
    """Calls by their numbers, and the values of each."""
    lengths = [0]
    for _place, values in several:
        lengths.append(lengths[-1] + len(values))
    flat = pa.concat_arrays([values for _place, values in several]).cast(data_type)
    listed = pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), flat)
    table = pa.table({"call": pa.array([place for place, _values in several], pa.int64()), "values": listed})
    return Produced(FunctionValues(number), len(several), to_ipc(table))


def _said(problem: BaseException, function: Callable[..., Any] | None) -> str:
    """What a function raised, and on which of its own lines."""
    said = "".join(traceback.format_exception_only(problem)).strip().splitlines()[-1]
    frames = traceback.extract_tb(problem.__traceback__)
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    own = [frame for frame in frames if frame.filename == file]
    if not own:
        return said
    return f"{said} ({os.path.basename(own[-1].filename)}, line {own[-1].lineno}, in {own[-1].name})"
