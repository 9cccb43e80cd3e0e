"""Answers on their way out: first into the log, which is the durable truth, then to the sinks and to whoever listens.

A record of the log is what one pass answered. Its head names the batch that released it and the number of the pass,
so that after a crash it is known what was answered already, and the wall clock, so that old answers can be forgotten
once delivered. Rankings with STABLE go on from their last answer: before a record that holds one is forgotten, that
answer is saved.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Clock, Micros
from punctual.engine.displayed import Displayed
from punctual.ports.answers import AnswerBlock, decode, encode, queries_in, visible
from punctual.ports.sinks.sink import Sink
from punctual.store.store import Store

HEAD = struct.Struct("<qqq")
CHECKPOINT_US = 5_000_000
"""How often sinks are made durable; what they have beyond that is written again from the log after a crash."""

Delivered = Mapping[str, NDArray[np.int64]]
"""Instants by query."""
Listener = Callable[[list[AnswerBlock]], None]


class Delivery:
    """The answer log of a state and the sinks that follow it."""

    def __init__(self, store: Store, clock: Clock, keep_us: Micros) -> None:
        self.keep_us = keep_us
        self.sinks: dict[str, Sink] = {}
        self.listeners: list[Listener] = []
        self._store = store
        self._clock = clock
        self._ages: deque[tuple[int, Micros]] = deque()
        self._checkpointed = clock.monotonic()
        self._open = False
        self._saved: dict[str, int] = {}
        self.displayed = Displayed()

    def open(self, queries: Sequence[str], stable: frozenset[str] = frozenset()) -> tuple[int, Delivered]:
        """Cut the sinks to their checkpoints and bring them up to the log; which batch was answered last, and what.

        ``stable`` are the queries whose last answers the next ones depend on.
        """
        last, before = -1, 0
        newest: dict[str, int] = {}
        for position, payload in self._store.answers.read(0):
            batch, _number, wall = HEAD.unpack_from(payload)
            if batch != last:
                last, before = batch, position - 1
            self._ages.append((position, wall))
            if stable:
                newest.update(dict.fromkeys(stable & queries_in(payload[HEAD.size :]), position))
        self._load_displayed(stable, newest)
        for name, sink in self.sinks.items():
            sink.open(self._store.outputs.sink(name), self._store.answers.first)
        self._open = True
        self.claim(queries)
        for sink in self.sinks.values():
            for position, payload in self._store.answers.read(sink.position):
                sink.write(position, visible(decode(payload[HEAD.size :])))
        return last, self._delivered(before)

    def _load_displayed(self, stable: frozenset[str], newest: Mapping[str, int]) -> None:
        """What is on display: as saved, or as in each query's newest record."""
        saved = self._store.outputs.displayed()
        if saved is not None and stable:
            self.displayed.keep(0, [block for block in decode(saved) if block.query in stable])
            self._saved = dict.fromkeys(self.displayed.before(1), 0)
        for at in sorted(set(newest.values())):
            position, payload = next(self._store.answers.read(at - 1))
            blocks = decode(payload[HEAD.size :])
            self.displayed.keep(position, [block for block in blocks if newest.get(block.query) == position])

    def _delivered(self, after: int) -> Delivered:
        """The instants that records after this position answer."""
        found: dict[str, list[NDArray[np.int64]]] = {}
        for _position, payload in self._store.answers.read(after):
            for block in decode(payload[HEAD.size :]):
                found.setdefault(block.query, []).append(block.table["at"].to_numpy())
        return {query: np.concatenate(several) for query, several in found.items()}

    def claim(self, queries: Sequence[str]) -> None:
        """Sinks make ready for these queries before the first answer of any of them; others are forgotten."""
        if self._open:
            for name, sink in self.sinks.items():
                sink.claim(queries)
                self._store.outputs.save_sink(name, sink.checkpoint())
        self.displayed.only(queries)

    def deliver(self, batch: int, number: int, blocks: list[AnswerBlock]) -> int:
        """Log what a pass answered, the batch's first or a later one, then hand it on; how many answers it has."""
        wall = self._clock.now()
        position = self._store.answers.append(HEAD.pack(batch, number, wall) + bytes(encode(blocks)))
        self._ages.append((position, wall))
        self.displayed.keep(position, blocks)
        blocks = visible(blocks)
        for sink in self.sinks.values():
            sink.write(position, blocks)
        for listener in self.listeners:
            listener(blocks)
        return sum(int(block.table.num_rows) for block in blocks)

    def records(self) -> Iterator[AnswerBlock]:
        """Every answer that the log still holds, oldest first."""
        for _position, payload in self._store.answers.read(0):
            yield from visible(decode(payload[HEAD.size :]))

    def checkpoint(self, *, now: bool = False) -> None:
        """Now and then: sinks remember how far they are, and answers that are old and delivered are forgotten."""
        clock = self._clock.monotonic()
        if not self._open or not (now or clock - self._checkpointed >= CHECKPOINT_US):
            return
        self._checkpointed = clock
        delivered = self._store.answers.position
        for name, sink in self.sinks.items():
            state = sink.checkpoint()
            self._store.outputs.save_sink(name, state)
            delivered = min(delivered, state.position)
        oldest = self._clock.now() - self.keep_us
        while self._ages and self._ages[0][1] < oldest and self._ages[0][0] <= delivered:
            self._ages.popleft()
        before = self._ages[0][0] if self._ages else self._store.answers.position
        self._save_displayed(self._store.answers.kept_from(before))
        self._store.answers.trim(before)

    def _save_displayed(self, kept_from: int) -> None:
        """Save what is on display by records before this one, which are about to be forgotten."""
        lost = self.displayed.before(kept_from)
        positions = {name: last.position for name, last in lost.items()}
        if lost and positions != self._saved:
            self._store.outputs.save_displayed(encode([last.block for last in lost.values()]))
            self._saved = positions

    def close(self) -> None:
        """Make everything durable and let go."""
        self.checkpoint(now=True)
        for sink in self.sinks.values():
            sink.close()
