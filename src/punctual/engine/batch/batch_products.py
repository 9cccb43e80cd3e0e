"""What the job of a batch gave back, sorted into what is stored, what is kept in memory and what is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import pyarrow as pa

from punctual.clock import iso
from punctual.errors import InternalError
from punctual.kernel.panes.lift import merge
from punctual.kernel.panes.spec import UnitSpec
from punctual.own_names import ORIGIN, ROW, TIME, WHY
from punctual.store.letters import DeadLetter
from punctual.store.products import Cells, DeadRows, Facts, Kept, LateCells, Produced, RetainedRows, outputs, to_ipc


@dataclass(slots=True)
class Reduced:
    """One batch, reduced: sections for the store, facts by stream, dead letters."""

    sections: list[Produced] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)


def gather(
    output: pa.Table, specs: Mapping[Kept, UnitSpec], batch: int, meanings: Mapping[str, str] | None = None
) -> Reduced:
    """Merge the partials of all tasks by what they are; large ones and retained rows stay in the files of the tasks.

    ``meanings`` says what the columns of streams mean whose rows are retained.
    """
    reduced = Reduced()
    inline: dict[Kept, list[pa.Table]] = {}
    for produced in outputs(output):
        match produced.product:
            case Facts() as facts:
                known = reduced.facts.get(facts.stream, Facts(facts.stream))
                reduced.facts[facts.stream] = known.plus(facts)
            case DeadRows(stream):
                reduced.letters += _letters(stream, produced.table(), batch)
            case (Cells() | LateCells()) as kept:
                if isinstance(produced.data, str):
                    reduced.sections.append(produced)
                else:
                    inline.setdefault(kept, []).append(produced.table())
            case RetainedRows() as rows:
                meant = msgspec.structs.replace(rows, meaning=(meanings or {}).get(rows.stream, ""))
                reduced.sections.append(replace(produced, product=meant))
            case other:
                raise InternalError(f"a tick does not yield {other}")
    for product, spec in specs.items():
        if product in inline:
            whole = merge(inline[product], spec)
            reduced.sections.append(Produced(product, whole.num_rows, to_ipc(whole)))
    reduced.letters.sort(key=lambda letter: (letter.stream, letter.origin or "", letter.row or ""))
    return reduced


def _letters(stream: str, table: pa.Table, batch: int) -> Sequence[DeadLetter]:
    columns = [table.column(name).to_pylist() for name in (WHY, ROW, ORIGIN, TIME)]
    return [
        letter(stream, why, batch, origin=origin, row=row, event_time=time) for why, row, origin, time in zip(*columns)
    ]


def letter(
    stream: str, reason: str, batch: int, *, origin: str | None, row: str | None = None, event_time: int | None = None
) -> DeadLetter:
    """A dead letter: what was not used, where it came from, and why."""
    shown = None if event_time is None else iso(event_time)
    return DeadLetter(stream, reason, origin, shown, batch, row)
