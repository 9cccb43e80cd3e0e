"""How far a state has come, read from outside: no lock is taken and nothing is touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from punctual.clock import SECOND, iso
from punctual.engine.batch.progress import BatchRecord, added_letters, committed
from punctual.engine.journal import Journal
from punctual.engine.program.cadences import Cadences
from punctual.engine.program.program_state import ProgramState
from punctual.errors import ConfigError
from punctual.ports.storage import PosixFiles, absolute_folder
from punctual.schedule.due import BEGINNING
from punctual.store.store import Store


def read_status(directory: str) -> dict[str, Any]:
    """Streams with their counters, queries with what became of them, and the size of the state."""
    store = _open(directory)
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
        "streams": streams,
        "tables": {} if record is None else record.tables,
        "queries": {
            name: {
                "status": "running" if query.stopped is None else "stopped",
                "reason": query.stopped,
                "answers_after": None if query.after == BEGINNING else iso(query.after),
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
