"""Functions of Python over worlds, called by jobs of the data plane: what goes wrong stops the query that asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from punctual.clock import Micros, SystemClock, span_text
from punctual.engine.batch.isolate import reason
from punctual.engine.batch.state_faults import state_fault
from punctual.errors import InternalError
from punctual.kernel.draw.function_calls import FunctionCall
from punctual.kinds.clause import Clause
from punctual.kinds.world_run import WorldsStopError
from punctual.plan.worlds import Called, PythonFunction
from punctual.runtime.backend import Backend, OverdueError
from punctual.runtime.operators.functions.call_functions import CallFunctions, FunctionCode
from punctual.store.products import FunctionFault, FunctionValues, outputs

DIED = "Python worker exited unexpectedly"
"""How Spark says that a worker ended in the middle of its task."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionJobs:
    """Calls the functions of a program. A job that takes longer than ``limit_us`` is ended."""

    backend: Backend
    functions: Mapping[str, PythonFunction]
    limit_us: Micros

    def results(self, query: str, calls: Sequence[tuple[Called, FunctionCall]], texts: pa.Array) -> list[pa.Array]:
        """What the functions give for each of these calls (`kinds.world_run.Functions`)."""
        names = list(dict.fromkeys(called.function for called, _call in calls))
        codes = [self.functions[name.lower()] for name in names]
        operator = CallFunctions(
            tuple(FunctionCode(one.code, one.returns, one.takes_present) for one in codes),
            tuple((names.index(called.function), call) for called, call in calls),
            texts,
        )
        everybody = Clause(" and ".join(names), calls[0][0].span)
        try:
            found = self.backend.run_tasks(operator, SystemClock().monotonic() + self.limit_us)
        except OverdueError:
            fact = f"{everybody.name} was still at work after {span_text(self.limit_us)} (SET max_function_time)"
            raise WorldsStopError(query, everybody, fact) from None
        except Exception as problem:
            fault = state_fault(problem)
            if not self.backend.alive() or fault is not None:
                raise fault or problem from problem
            fact = f"a worker that called {everybody.name} died" if DIED in str(problem) else reason(problem)
            raise WorldsStopError(query, everybody, fact) from problem
        return _values(query, calls, found)


def _values(query: str, calls: Sequence[tuple[Called, FunctionCall]], found: pa.Table) -> list[pa.Array]:
    """What came out of a job, call by call; the first fault counts."""
    values: dict[int, pa.Array] = {}
    faults: dict[int, str] = {}
    for produced in outputs(found):
        if isinstance(produced.product, FunctionFault):
            faults[produced.product.call] = produced.product.fact
        elif isinstance(produced.product, FunctionValues):
            table = produced.table()
            listed = table.column("values").combine_chunks()
            values |= {call: listed[place].values for place, call in enumerate(table.column("call").to_pylist())}
    if faults:
        first = min(faults)
        called = calls[first][0]
        raise WorldsStopError(query, Clause(called.function, called.span), f"{called.function}: {faults[first]}")
    if len(values) != len(calls):
        raise InternalError(f"{len(calls)} calls gave {len(values)} results")
    return [values[place] for place in range(len(calls))]
