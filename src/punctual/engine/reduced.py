"""What the job of a batch gave back, sorted into what is stored, what is kept in memory and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from punctual.clock import iso
from punctual.kernel.panes.lift import merge
from punctual.kernel.panes.spec import UnitSpec
from punctual.runtime.operators.reduce import DEAD, FACTS, LATE, Facts, from_ipc, to_ipc

Bytes: TypeAlias = bytes | pa.Buffer | str


@dataclass(slots=True)
class Reduced:
    """One batch, reduced: sections for the store, facts by stream, dead letters as JSON lines."""

    sections: list[tuple[str, Bytes, int]] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)
    letters: list[dict[str, Any]] = field(default_factory=list)

    def dead_lines(self) -> bytes | None:
        if not self.letters:
            return None
        return b"".join(orjson.dumps(letter) + b"\n" for letter in self.letters)


def gather(
    output: pa.Table, key_of: Callable[[int], str], spec_of: Callable[[int, str], UnitSpec], batch: int
) -> Reduced:
    """Merge the partials of all tasks by unit; large ones stay in the files that the tasks wrote."""
    reduced = Reduced()
    inline: dict[tuple[int, str], list[pa.Table]] = {}
    for row in output.to_pylist():
        stream, unit = row["stream"], row["unit"]
        if unit == FACTS:
            reduced.facts.setdefault(stream, Facts()).add(Facts.from_json(row["payload"]))
        elif unit == DEAD:
            table = _table(row)
            reduced.letters += _letters(stream, table, batch)
        elif row["path"] is not None:
            reduced.sections.append((_key(unit, stream, key_of), row["path"], row["cells"]))
        else:
            inline.setdefault((unit, stream if unit == LATE else ""), []).append(from_ipc(row["payload"]))
    for (unit, stream), tables in sorted(inline.items()):
        whole = merge(tables, spec_of(unit, stream))
        reduced.sections.append((_key(unit, stream, key_of), to_ipc(whole), whole.num_rows))
    reduced.letters.sort(key=lambda letter: (letter["stream"], letter["origin"] or "", letter["row"] or ""))
    return reduced


def late_key(stream: str) -> str:
    """Under which name the state keeps a stream's late cells."""
    return f"late:{stream.lower()}"


def _key(unit: int, stream: str, key_of: Callable[[int], str]) -> str:
    return late_key(stream) if unit == LATE else key_of(unit)


def _table(row: dict[str, Any]) -> pa.Table:
    if row["path"] is None:
        return from_ipc(row["payload"])
    with pa.memory_map(row["path"]) as file:
        return pa.ipc.open_stream(file).read_all()


def _letters(stream: str, table: pa.Table, batch: int) -> Sequence[dict[str, Any]]:
    columns = [table.column(name).to_pylist() for name in ("_why", "_row", "_origin", "_t")]
    return [
        letter(stream, why, batch, origin=origin, row=row, event_time=time) for why, row, origin, time in zip(*columns)
    ]


def letter(
    stream: str, reason: str, batch: int, *, origin: str | None, row: str | None = None, event_time: int | None = None
) -> dict[str, Any]:
    """A dead letter: what was not used, where it came from, and why."""
    shown = None
    if event_time is not None and abs(event_time) < 2**57:
        shown = iso(event_time)
    return {"stream": stream, "reason": reason, "origin": origin, "event_time": shown, "batch": batch, "row": row}
