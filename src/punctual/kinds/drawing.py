"""Rounds of a window that are drawn before anybody answers: what the engine knows of them."""

from __future__ import annotations

from typing import Protocol

from punctual.runtime.backend import JobLimit


class Drawing(Protocol):
    """The worlds of a query at one instant. Several threads may draw at once; an answer rests on the first rounds."""

    @property
    def rounds(self) -> int:
        """How many rounds there are: the longest beginning without a gap."""
        ...

    @property
    def own(self) -> int:
        """How many rounds each answer of the instant is to add; 0 where so many are needed as the data ask for."""
        ...

    @property
    def needed(self) -> int:
        """How many rounds are needed in all, by what was seen of the data; 0 where each answer adds its own."""
        ...

    @property
    def full(self) -> bool:
        """Whether more rounds would be too many to say quickly what they are."""
        ...

    @property
    def begun(self) -> bool:
        """Whether somebody is at all rounds that there may be."""
        ...

    def begin(self, rounds: int) -> None:
        """Draw so many rounds at least that one knows what is needed, and what a round costs."""
        ...

    def finish(self, number: int) -> None:
        """Draw what the answer of this number is to rest on, however long that takes."""
        ...

    def draw(self, rounds: int, limit: JobLimit | None = None) -> int:
        """Draw up to so many more rounds, for a few milliseconds; how many were drawn, 0: there may be no more.

        ``limit`` is of jobs of the data plane, which draw all of them: one that it ends has drawn nothing, and raises
        ``OverdueError``.
        """
        ...
