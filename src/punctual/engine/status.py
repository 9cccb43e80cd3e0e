"""How far a state has come, read from outside: no lock is taken and nothing is touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from punctual.clock import SECOND, Micros, iso
from punctual.engine.batch.progress import BatchRecord, added_letters, committed
from punctual.engine.contract_warnings import SavedWarnings
from punctual.engine.journal import Journal
from punctual.engine.ledger_figures import figures, newest_records
from punctual.engine.program.cadences import Cadences
from punctual.engine.program.program_state import ProgramState
from punctual.errors import ConfigError, StateError
from punctual.estimate.known_costs import KnownCosts
from punctual.ports.storage import PosixFiles, absolute_folder
from punctual.schedule.due import BEGINNING
from punctual.store.store import Store


def read_status(directory: str, unsealed: pa.Table | None = None) -> dict[str, Any]:
    """Streams with their counters, queries with what became of them and what they use, and the size of the state.

    ``unsealed`` are records of the ledger that only a running engine has.
    """
    store = _open(directory)
    of_program, of_query = figures(newest_records(store.ledger, unsealed))
    manifests = store.manifests()
    newest = manifests[-1] if manifests else store.base()
    record = None if newest is None else newest.read(BatchRecord)
    program = store.program.read(ProgramState) or ProgramState()
    streams = {}
    added = added_letters(store)
    for name, progress in committed(store).items():
        streams[name] = {
            "accepted": progress.accepted,
            "late_rows": progress.late,
            "shed_rows": progress.shed,
            "dead_letters": progress.dead + added.get(name, 0),
            "lag_seconds": None if record is None or name not in record.lag_us else record.lag_us[name] / SECOND,
            "complete_through": None if progress.through == BEGINNING else iso(progress.through),
            "first": None if progress.least is None else iso(progress.least),
            "last": None if progress.greatest is None else iso(progress.greatest),
        }
    return {
        "state": directory,
        "batches": 0 if newest is None else newest.batch + 1,
        "last_commit": None if record is None else iso(record.wall),
        **of_program,
        "warnings": list((store.warnings.read(SavedWarnings) or SavedWarnings()).texts),
        "streams": streams,
        "tables": {} if record is None else record.tables,
        "queries": {
            name: {
                "status": "running" if query.stopped is None else "stopped",
                "reason": query.stopped,
                "answers_after": None if query.after == BEGINNING else iso(query.after),
                "core_time": of_query.get(name),
            }
            for name, query in program.queries.items()
        },
        "cadence": [
            {
                "class": plan.identity,
                "method": plan.method,
                "why": plan.why,
                "since": None if plan.handed_by is None else iso(plan.since),
                "queries": len(plan.slots),
                "runs": len(plan.runs),
            }
            for several in Cadences(Journal(store.journal)).plans.values()
            for plan in several
        ],
        "answer_records": store.answers.position,
        "bytes": _bytes(directory),
    }


def read_costs(directory: str | None) -> KnownCosts | None:
    """What a state has learned of costs; None where there is no state, or none that has learned anything."""
    if directory is None:
        return None
    try:
        return _open(directory).costs.read(KnownCosts)
    except (StateError, OSError):  # who runs it will say what is wrong with it
        return None


def read_dead(directory: str, stream: str | None) -> Iterator[dict[str, Any]]:
    """Dead letters (of one stream), oldest first."""
    store = _open(directory)
    if stream is None:
        return map(msgspec.to_builtins, store.letters.read())
    known = committed(store)
    if known and stream.lower() not in known:  # before the first batch nothing is known, and nothing is dead
        raise ConfigError(
            "config.unknown-stream",
            f'state "{directory}" has no stream "{stream}"',
            hint=f"its streams: {', '.join(known)}",
        )
    return map(msgspec.to_builtins, store.letters.read(stream.lower()))


def read_ledger(directory: str, query: str | None, since: Micros | None) -> Iterator[pa.Table]:
    """Records of the ledger (the answers of one query alone; those that were recorded at an instant or later), oldest
    first."""
    store = _open(directory)
    files = store.ledger.names()
    if not files:
        raise StateError(
            "state.no-ledger",
            f'state "{directory}" has no ledger',
            detail="it is written while a program runs, every minute, and when the run ends; what is old goes",
            hint="run the program again, or wait a minute while it runs; SET keep_answers says how long it is kept",
        )
    known = store.program.read(ProgramState) or ProgramState()
    names = {name.lower() for name in known.queries}
    if query is not None and query.lower() not in names and not _has(store, files, query):
        raise ConfigError(
            "config.unknown-query",
            f'state "{directory}" has no query "{query}"',
            hint=f"its queries: {', '.join(known.queries)}",
        )
    found = store.ledger.read(files if since is None else store.ledger.since(since))
    return (_chosen(records, query, since) for records in found)


def _has(store: Store, files: list[str], query: str) -> bool:
    """Whether some record is of a query: one that was dropped, say."""
    return any(_chosen(records, query, None).num_rows for records in store.ledger.read(files))


def _chosen(records: pa.Table, query: str | None, since: Micros | None) -> pa.Table:
    if query is not None:
        records = records.filter(pc.equal(pc.utf8_lower(records.column("query")), query.lower()))
    if since is not None:
        start = pa.scalar(since, records.schema.field("recorded").type)
        records = records.filter(pc.greater_equal(records.column("recorded"), start))
    return records


def _open(directory: str) -> Store:
    return Store.open(absolute_folder(directory), PosixFiles(), readonly=True)


def _bytes(directory: str) -> int:
    total = 0
    for folder, _folders, names in os.walk(directory):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(folder, name))
            except OSError:
                continue
    return total
