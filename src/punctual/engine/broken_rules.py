"""Rows whose rule breaks within a window: left out of its answer, counted in it, and here written to the dead letters.

Whether the rows of a rule add up to more than 1 is known only when a window is answered, and it may be so in many
windows and to many queries; a row is written once. What was written is known from the dead letters themselves, also
after a crash: they are durable before the answer that counts them.

A rule that was broken at the instant before has only its new rows to report; others are looked up among those written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros, iso
from punctual.engine.passes import Asked
from punctual.engine.reduced import letter
from punctual.kernel.window.panes import Answered
from punctual.kernel.world.labels import numbered
from punctual.kernel.world.rows import SLACK
from punctual.plan.relation import Stream
from punctual.plan.united import common_columns
from punctual.runtime.store.store import Store
from punctual.schedule.due import BEGINNING

REASON = "adds up to more than 1 within a window"
I64 = NDArray[np.int64]


class BrokenRules:
    """What was reported, and what is to be written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], str] | None = None
        self._new: list[dict[str, Any]] = []
        self._seen: dict[str, Micros] = {}
        """By query, the last instant whose broken rules were reported."""

    @property
    def _written(self) -> dict[tuple[str, str], str]:
        """Event times of the rows that were written, by stream and row; looked up when the first rule breaks."""
        if self._known is None:
            self._known = {
                (one["stream"], one["row"]): one["event_time"] or ""
                for one in self._store.dead_letters()
                if one["reason"].endswith(REASON)
            }
        return self._known

    def see(self, asked: Asked, answered: Answered, streams: Mapping[str, Stream]) -> None:
        """Take note of the rows that an answer leaves out."""
        query, instants = asked.reader.query, asked.due.instants
        if query.top is None or not instants.size:
            return
        before = self._seen.get(query.name, BEGINNING)
        if before <= asked.after:  # of a query that had its name and other windows
            before = BEGINNING
        self._seen[query.name] = int(instants[-1])
        if not len(answered.instant) or not (lists := answered.values[0].field("broken")).flatten():
            return
        rows, window = lists.flatten(), np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
        former = np.concatenate([[before], instants[:-1]])[answered.instant][window]
        known = [streams[name.lower()] for name in query.streams]
        written = self._written
        for text, stream, reason, time in _texts(known, rows.filter(pa.array(_fresh(rows, window, former)))):
            if (stream, text) not in written:
                written[stream, text] = iso(time)
                self._new.append(letter(stream, reason, 0, origin=None, row=text, event_time=time))

    def write(self, batch: int) -> dict[str, int]:
        """Make what is new durable, as letters of this batch; how many each stream has."""
        letters, self._new = self._new, []
        counts: dict[str, int] = {}
        for one in letters:
            one["batch"] = batch
            counts[one["stream"]] = counts.get(one["stream"], 0) + 1
        if letters:
            self._store.add_dead_letters(batch, b"".join(orjson.dumps(one) + b"\n" for one in letters))
        return counts

    def forget(self, before: Micros) -> None:
        """Rows at or before this instant are in no window to come."""
        if before == BEGINNING or not self._known:
            return
        oldest = iso(before - SECOND)  # texts with and without a fraction compare by whole seconds
        self._known = {row: time for row, time in self._known.items() if time > oldest}


def _fresh(rows: pa.StructArray, window: I64, former: I64) -> NDArray[np.bool_]:
    """Rows that a window at the instant ``former`` cannot have reported: they are new, or their rule broke since."""
    old = rows.field("t").to_numpy() <= former
    rule = window * (len(rows) + 1) + numbered(rows.field("r"))
    _rules, which = np.unique(rule, return_inverse=True)
    mass = np.bincount(which, np.where(old, rows.field("p").to_numpy(), 0.0))
    fresh: NDArray[np.bool_] = ~old | (mass <= 1 + SLACK)[which]
    return fresh


def _texts(streams: Sequence[Stream], rows: pa.StructArray) -> list[tuple[str, str, str, Micros]]:
    """For each row itself as JSON, its stream, the reason and its event time; of united streams what they share."""
    first = streams[0]
    ties = [column for column in common_columns(streams) if column.name != first.event_time]
    named = {stream.name: stream for stream in streams}
    found = []
    for row in rows.to_pylist():
        stream, label = named[row.get("u", first.name)], row["r"].removeprefix(f"{row.get('u')}:")
        declared = {f: row[f"tie{i}"] for i, f in enumerate(c.name for c in ties) if _given(stream, f)}
        if _given(stream, stream.event_time):
            declared = {stream.event_time: iso(row["t"]), **declared}
        text = orjson.dumps(declared, default=str).decode()
        found.append((text, stream.name.lower(), f'rule "{label}" {REASON}', row["t"]))
    return found


def _given(stream: Stream, name: str) -> bool:
    """Whether rows come with this column; others are derived from them."""
    column = stream.column(name)
    return column is not None and column.derived is None
