"""What the engine asks of a place that answers go to.

Model
-----
The answer log is the durable truth; a sink is a copy of it in another form, at most a little behind. Each record of the
log has a *position*. A sink writes records in order without making each durable, and now and then makes a
*checkpoint*: everything through some position is durable, and the state that it returns says how to get back
to exactly that. At start, ``open`` with that state undoes what was written after it, and the engine writes again
what the log holds after ``position``. So each answer is there once, however often the process died.

The order of calls::

    sink.open(saved state or None)
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

from collections.abc import Sequence
from typing import Any, Protocol

from punctual.errors import StateError
from punctual.ports.answers import AnswerBlock

SinkState = dict[str, Any]
"""JSON values: how far a sink has got; what the keys mean is the sink's."""


class Sink(Protocol):
    """A place that answers go to."""

    @property
    def position(self) -> int:
        """Position of the last record that was written; 0 before the first."""
        ...

    def open(self, state: SinkState | None) -> None:
        """Go back to a checkpoint, or begin."""
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
