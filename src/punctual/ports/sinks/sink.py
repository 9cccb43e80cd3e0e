"""What the engine asks of a place that answers go to.

Model
-----
The answer log is the durable truth; a sink is a copy of it in another form, at most a little behind. Each record of the
log has a *position*. A sink writes records in order without making each durable, and now and then makes a
*checkpoint*: everything through some position is durable, and the state that it returns says how to get back
to exactly that. At start, ``open`` with that state undoes what was written after it, and the engine writes again
what the log holds after ``position``. So each answer is there once, however often the process died. Outputs that were
changed since (``changed_outputs.py``) are written anew where the log still holds all of their answers, else refused.

The order of calls::

    sink.open(saved state or None, first position in the log)
    sink.claim(names of queries)            # also whenever queries are added
    save(sink.checkpoint())                 # before the first write of a claimed query: now its files are ours
    for position, blocks in the log after sink.position: sink.write(position, blocks)
    save(sink.checkpoint()); ...
    sink.close()

A file that stands where a query is to write and was not claimed by this state is somebody else's:
``sink.foreign-file``, unless it is empty or the state is not kept. Such a run replaces what others of its kind have
written, and leaves alone what belongs to a state that is kept (``owners.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from punctual.errors import StateError
from punctual.ports.answers import AnswerBlock


@dataclass(frozen=True, slots=True)
class Written:
    """What a sink has written for a query: how many bytes, and the CRC32 of all of them, end to end.

    They are the answers in records of the log after position ``after`` and through ``through``.
    """

    length: int
    crc: int
    after: int
    through: int


@dataclass(frozen=True, slots=True)
class SinkState:
    """How far a sink has got: all records through ``position`` are written and durable.

    A sink of files also says in which folder they are, and what it has written for every query that it has claimed.
    """

    position: int
    folder: str = ""
    written: Mapping[str, Written] = field(default_factory=dict)


class Sink(Protocol):
    """A place that answers go to."""

    @property
    def position(self) -> int:
        """Position of the last record that was written; 0 before the first."""
        ...

    def open(self, state: SinkState | None, oldest: int = 1) -> None:
        """Go back to a checkpoint, or begin. The log holds records from position ``oldest`` on."""
        ...

    def claim(self, queries: Sequence[str]) -> None:
        """Make ready for queries; those that are claimed already are passed over."""
        ...

    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        """Write the blocks of one record; a record at or below ``position`` is there already and passed over."""
        ...

    def checkpoint(self) -> SinkState:
        """Make all that was written durable; the state to save."""
        ...

    def close(self) -> None:
        """Let go of files, without a checkpoint."""
        ...


def foreign_file(path: str) -> StateError:
    """The error for an output that somebody else wrote."""
    return StateError(
        "sink.foreign-file",
        f'output "{path}" exists and does not belong to this state',
        detail="answers are appended only to what this state has written, so that each is there once",
        hint="move it away, name another folder after --out, or go on with the --state that wrote it",
    )
