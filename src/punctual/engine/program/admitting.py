"""Queries that are new to a program: refused where what is known of their costs says that they can never be on time."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from punctual.clock import Micros
from punctual.engine.answers.draws import is_sampled
from punctual.engine.program.running_program import RunningProgram, query_key
from punctual.errors import PlanError
from punctual.estimate.added_work import added_work
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.quality_curve import curve_of
from punctual.estimate.row_costs import RowFiring, meaning_of
from punctual.plan.query import Bound, Once
from punctual.plan.shared import Reader, RowReader
from punctual.schedule.contract import Contract
from punctual.schedule.due import FOREVER, Timetable
from punctual.schedule.qos.admission import hopeless, short_deadline
from punctual.schedule.qos.prices import Prices


def refuse_hopeless(
    running: RunningProgram, stood: Collection[str], costs: KnownCosts, cores: float
) -> None:
    """Raise what cannot hold. ``stood`` are the keys of queries that ran before: of those the status says it."""
    for reader in running.plan.row_readers:
        query = reader.query
        cost = _known_cost(running, reader, costs)
        if cost is None or query_key(query) in stood:
            continue
        found = hopeless(asked_contract(reader), cost, cores, Prices(cores=cores).latency_us(rows=True))
        if found is not None:
            error = PlanError(
                "plan.hopeless",
                found.fact,
                span=query.span,
                detail="it ran before on this state, so what it costs is known",
                hint=found.hint,
            )
            error.query = query.name
            raise error


def short_deadlines(running: RunningProgram, stood: Collection[str], tick_us: Micros) -> Iterator[str]:
    """Warnings of queries that are new and have deadlines that cannot be promised."""
    readers: list[Reader | RowReader] = [*running.plan.readers, *running.plan.row_readers]
    for reader in readers:
        warning = None if query_key(reader.query) in stood else short_deadline(asked_contract(reader), tick_us)
        if warning is not None:
            yield warning


def asked_contract(reader: Reader | RowReader) -> Contract:
    """What a query asks for, whenever it would be answered."""
    query = reader.query
    once = isinstance(query.cadence, Once)
    return Contract(
        query.name,
        tuple(name.lower() for name in query.streams),
        query.range_us,
        Timetable.once(None) if once else Timetable.multiples(query.cadence.us),
        FOREVER if once else query.cadence.us,
        deadline_us=query.deadline_us,
        fixed=not isinstance(query.cadence, Bound),
        curve=None if query.quality is None else curve_of(query.quality),
        sheds=isinstance(reader, RowReader) and is_sampled(reader),
        stages=query.stages,
    )


def _known_cost(running: RunningProgram, reader: RowReader, costs: KnownCosts) -> ExecutionCost | None:
    """What an execution costs; None where that, or how fast its streams are, was never measured."""
    added = added_work(reader, running.catalog.streams, costs)
    if not added.seen or not all(added.rates.values()):
        return None
    firing = RowFiring(reader.query.name, meaning_of(reader.statement), added.windows)
    found = costs.rows.executions([firing])
    return None if found is None else found[0]
