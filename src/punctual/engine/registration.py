"""Which queries of a program are new to a state, and from where the store covers the windows of each."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.engine.carry import continued, covered_from
from punctual.engine.progress import Progress, joint
from punctual.engine.standing import Standing, query_key
from punctual.engine.state import ProgramState, QueryState
from punctual.plan.query import Query
from punctual.plan.shared import Reader


def registered(standing: Standing, before: ProgramState, progress: Mapping[str, Progress]) -> ProgramState:
    """The program's state once ``standing`` runs; its number is still that of the one before.

    A query that is new here answers instants after what is complete now. One that stood before goes on, also where its
    cells are no longer its own (``sharing`` or the stream's columns were changed): then its windows are covered anew.
    """
    readers = {reader.query.name: reader for reader in standing.plan.readers}
    queries: dict[str, QueryState] = {}
    for query in standing.catalog.queries.values():
        known = before.queries.get(query.name)
        key = query_key(query)
        reader = readers.get(query.name)
        if known is not None and known.key == key:
            stays = reader is None or standing.unit_place(reader.unit) in before.forms
            since = known.covered_from if stays or reader is None else _covered(standing, reader, before, progress)
            queries[query.name] = QueryState(key, known.after, since, known.stopped)
        else:
            assert reader is not None, "only a query that stood before can have been stopped"
            through = _progress(query, progress).through
            queries[query.name] = QueryState(key, through, _covered(standing, reader, before, progress))
    units = standing.plan.units
    named = {standing.unit_key(i): unit for i, unit in enumerate(units)}
    places = {standing.unit_place(i): (standing.unit_key(i), unit) for i, unit in enumerate(units)}
    forms = continued(before.forms, places, lambda unit: joint(progress, unit.streams).greatest)
    return ProgramState(before.number, queries, {**before.units, **named}, forms)


def _covered(standing: Standing, reader: Reader, before: ProgramState, progress: Mapping[str, Progress]) -> int:
    stream = _progress(reader.query, progress)
    forms = before.forms.get(standing.unit_place(reader.unit), ())
    former = [(before.units[name], since) for name, since in forms]
    return covered_from(reader, standing.plan.units[reader.unit], former, stream.through, stream.greatest)


def _progress(query: Query, progress: Mapping[str, Progress]) -> Progress:
    return joint(progress, query.streams)
