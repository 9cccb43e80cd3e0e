"""Answers go nowhere: for measuring what the rest costs."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.ports.answers import AnswerBlock
from punctual.ports.sinks.sink import SinkState


class NoopSink:
    """A sink that only counts positions."""

    def __init__(self) -> None:
        self._position = 0

    @property
    def position(self) -> int:
        return self._position

    def open(self, state: SinkState | None, oldest: int = 1) -> None:
        self._position = state.position if state is not None else 0

    def claim(self, queries: Sequence[str]) -> None:
        """Nothing to make ready."""

    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        self._position = max(self._position, position)

    def checkpoint(self) -> SinkState:
        return SinkState(self._position)

    def close(self) -> None:
        """Nothing to let go of."""
