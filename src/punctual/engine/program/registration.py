"""Which queries of a program are new to a state, and from where the store covers the windows of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from punctual.engine.batch.progress import Progress, joint
from punctual.engine.program.program_state import ProgramState, QueryState
from punctual.engine.program.row_history import retained_now, rows_covered_from
from punctual.engine.program.running_program import RunningProgram, query_key
from punctual.engine.program.unit_history import continued, covered_from
from punctual.plan.query import Query
from punctual.plan.shared import Reader


def registered(
    running: RunningProgram, before: ProgramState, progress: Mapping[str, Progress], kept: Collection[str]
) -> ProgramState:
    """The program's state once ``running`` runs; its number is still that of the one before.

    ``kept`` are the names of units that the store holds cells of.

    A query that is new here answers instants after what is complete now. One that stood before goes on, also where its
    cells are no longer its own (``sharing`` or the stream's columns were changed), or where it is answered from rows
    and was not until now, or the other way round: then its windows are covered anew.
    """

    def covered(name: str) -> int:
        if name in row_readers:
            return rows_covered_from(running, row_readers[name], before.retained, progress)
        return _covered(running, readers[name], before, progress)

    readers = {reader.query.name: reader for reader in running.plan.readers}
    row_readers = {reader.query.name: reader for reader in running.plan.row_readers}
    from_rows = running.lifted.keys()
    units = running.plan.units
    identities = [running.unit_identity(index) for index in range(len(units))]
    queries: dict[str, QueryState] = {}
    for query in running.catalog.queries.values():
        known = before.queries.get(query.name)
        key = query_key(query)
        reader = readers.get(query.name)
        if known is not None and known.key == key:
            runs = reader is not None or query.name in row_readers
            other_cells = reader is not None and identities[reader.unit] not in before.versions
            if other_cells or (runs and known.from_rows != (query.name in from_rows)):
                known = replace(known, covered_from=covered(query.name), from_rows=query.name in from_rows)
            queries[query.name] = known
        else:
            # Only a query that stood before can have been stopped: this one has a reader.
            through = _progress(query, progress).through
            queries[query.name] = QueryState(key, through, covered(query.name), from_rows=query.name in from_rows)
    named = {running.unit_key(index): unit for index, unit in enumerate(units)}
    now = {identity: (running.unit_key(index), units[index]) for index, identity in enumerate(identities)}
    versions = continued(before.versions, now, lambda unit: joint(progress, unit.streams).greatest)
    # Units that no cells are kept of, and that nobody can read any more, are forgotten.
    wanted = {name for several in versions.values() for name, _since in several} | set(kept)
    older = {name: unit for name, unit in before.units.items() if name in wanted}
    retained = retained_now(running, before.retained, progress)
    return ProgramState(before.number, queries, {**older, **named}, versions, retained)


def _covered(running: RunningProgram, reader: Reader, before: ProgramState, progress: Mapping[str, Progress]) -> int:
    stream = _progress(reader.query, progress)
    versions = before.versions.get(running.unit_identity(reader.unit), ())
    former = [(before.units[name], since) for name, since in versions]
    return covered_from(reader, running.plan.units[reader.unit], former, stream.through, stream.greatest)


def _progress(query: Query, progress: Mapping[str, Progress]) -> Progress:
    return joint(progress, query.streams)
