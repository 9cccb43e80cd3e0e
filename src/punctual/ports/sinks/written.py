"""What a sink of files has written, query by query, and through which record of the log.

All outputs have the records through one position, except those that are *behind*: they were changed by somebody else,
and get their records again from the log while the others pass over them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from punctual.errors import InternalError
from punctual.ports.answers import AnswerBlock
from punctual.ports.sinks.sink import SinkState, Written
from punctual.ports.storage import Bytes


class WrittenOutputs:
    """The outputs of the claimed queries."""

    def __init__(self) -> None:
        self.oldest = 1
        """Position of the first record that the log holds."""
        self._outputs: dict[str, Written] = {}
        self._position = 0
        self._behind: set[str] = set()

    @property
    def position(self) -> int:
        """Every output has the records through this one."""
        return min([self._position, *(self._outputs[query].through for query in self._behind)])

    def __contains__(self, query: str) -> bool:
        return query in self._outputs

    def __getitem__(self, query: str) -> Written:
        return self._outputs[query]

    def resume(self, state: SinkState, outputs: Mapping[str, Written]) -> None:
        """Go on from a checkpoint with these outputs; those that begin anew are behind."""
        self._outputs = dict(outputs)
        self._position = max([state.position, *(written.through for written in state.written.values())])
        self._behind = {query for query, written in outputs.items() if written.through < self._position}

    def claim(self, query: str) -> None:
        """An output that begins with the next record."""
        after = max(self._position, self.oldest - 1)
        self._outputs[query] = Written(0, 0, after, after)

    def lacking(self, position: int, blocks: Sequence[AnswerBlock]) -> Sequence[AnswerBlock]:
        """The blocks of a record that outputs do not have yet."""
        for block in blocks:
            if block.query not in self._outputs:
                raise InternalError(f'query "{block.query}" writes answers before it was claimed')
        if position > self._position:
            return blocks
        return [b for b in blocks if b.query in self._behind and self._outputs[b.query].through < position]

    def add(self, query: str, data: Bytes) -> None:
        """More bytes stand at the end of an output."""
        so_far = self._outputs[query]
        length = so_far.length + memoryview(data).nbytes
        self._outputs[query] = replace(so_far, length=length, crc=zlib.crc32(data, so_far.crc))

    def restore(self, former: Mapping[str, Written]) -> None:
        """Outputs are again what they were."""
        self._outputs |= former

    def passed(self, position: int) -> None:
        """All outputs have what this record has for them."""
        for query in self._behind:
            written = self._outputs[query]
            self._outputs[query] = replace(written, through=max(written.through, position))
        if position >= self._position:
            self._position = position
            self._behind.clear()

    def state(self, folder: str) -> SinkState:
        """All of it, to be saved."""
        written = {
            query: one if query in self._behind else replace(one, through=max(one.through, self._position))
            for query, one in self._outputs.items()
        }
        return SinkState(self.position, folder, written)
