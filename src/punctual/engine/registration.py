"""Which queries of a program are new to a state, and from where the store covers the windows of each."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.engine.program_state import ProgramState, QueryState
from punctual.engine.progress import Progress, joint
from punctual.engine.running_program import RunningProgram, query_key
from punctual.engine.unit_history import continued, covered_from
from punctual.plan.query import Query
from punctual.plan.shared import Reader


def registered(running: RunningProgram, before: ProgramState, progress: Mapping[str, Progress]) -> ProgramState:
    """The program's state once ``running`` runs; its number is still that of the one before.

    A query that is new here answers instants after what is complete now. One that stood before goes on, also where its
    cells are no longer its own (``sharing`` or the stream's columns were changed): then its windows are covered anew.
    """
    readers = {reader.query.name: reader for reader in running.plan.readers}
    queries: dict[str, QueryState] = {}
    for query in running.catalog.queries.values():
        known = before.queries.get(query.name)
        key = query_key(query)
        reader = readers.get(query.name)
        if known is not None and known.key == key:
            stays = reader is None or running.unit_identity(reader.unit) in before.versions
            since = known.covered_from if stays or reader is None else _covered(running, reader, before, progress)
            queries[query.name] = QueryState(key, known.after, since, known.stopped)
        else:
            assert reader is not None, "only a query that stood before can have been stopped"
            through = _progress(query, progress).through
            queries[query.name] = QueryState(key, through, _covered(running, reader, before, progress))
    units = running.plan.units
    named = {running.unit_key(i): unit for i, unit in enumerate(units)}
    places = {running.unit_identity(i): (running.unit_key(i), unit) for i, unit in enumerate(units)}
    versions = continued(before.versions, places, lambda unit: joint(progress, unit.streams).greatest)
    return ProgramState(before.number, queries, {**before.units, **named}, versions)


def _covered(running: RunningProgram, reader: Reader, before: ProgramState, progress: Mapping[str, Progress]) -> int:
    stream = _progress(reader.query, progress)
    versions = before.versions.get(running.unit_identity(reader.unit), ())
    former = [(before.units[name], since) for name, since in versions]
    return covered_from(reader, running.plan.units[reader.unit], former, stream.through, stream.greatest)


def _progress(query: Query, progress: Mapping[str, Progress]) -> Progress:
    return joint(progress, query.streams)
