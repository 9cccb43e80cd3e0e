"""Answers on their way out: first into the log, which is the durable truth, then to the sinks and to whoever listens.

A record of the log is what one pass answered. Its head says below which batch everything is answered and which is the
newest batch that it answers, so that after a crash open firings are found again, and the wall clock, so that old
answers can be forgotten once delivered. Queries that are answered in order go on from their last answer: before a
record that holds one is forgotten, that answer is saved.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Clock, Micros
from punctual.engine.answers.last_answers import LastAnswers
from punctual.ports.answers import AnswerBlock, Answers, decode, encode, queries_in
from punctual.ports.sinks.sink import Sink
from punctual.schedule.due import BEGINNING
from punctual.schedule.firings import Answered, Logged
from punctual.store.store import Store

HEAD = struct.Struct("<qqq")
CHECKPOINT_US = 5_000_000
"""How often sinks are made durable; what they have beyond that is written again from the log after a crash."""

I64 = NDArray[np.int64]
Listener = Callable[[list[AnswerBlock]], None]


class _Age(NamedTuple):
    """A record of the log: when it was written, and the newest batch that it answers."""

    position: int
    wall: Micros
    newest: int


class Delivery:
    """The answer log of a state and the sinks that follow it."""

    def __init__(self, store: Store, clock: Clock, keep_us: Micros) -> None:
        self.keep_us = keep_us
        self.sinks: dict[str, Sink] = {}
        self.listeners: list[Listener] = []
        self._store = store
        self._clock = clock
        self._ages: deque[_Age] = deque()
        self.closed_before = 0
        """All batches below this one are answered, as the log says."""
        self.rounds: dict[tuple[str, Micros], int] = {}
        """After a start, the rounds that the last answer of an instant rests on, of those that may be open."""
        self._checkpointed = clock.monotonic()
        self._open = False
        self._saved: dict[str, int] = {}
        self.last = LastAnswers()

    def open(self, queries: Sequence[str], in_order: frozenset[str] = frozenset()) -> tuple[int, Answered]:
        """Cut the sinks to their checkpoints and bring them up to the log.

        Returns the batch below which everything is answered, and what is answered of it and of later ones.
        ``in_order`` are the queries whose next answers depend on their last ones.
        """
        newest: dict[str, int] = {}
        for position, payload in self._store.answers.read(0):
            self.closed_before, newest_batch, wall = HEAD.unpack_from(payload)
            self._ages.append(_Age(position, wall, newest_batch))
            if in_order:
                newest.update(dict.fromkeys(in_order & queries_in(payload[HEAD.size :]), position))
        self.last.only(in_order)
        self._load_last(newest)
        for name, sink in self.sinks.items():
            sink.open(self._store.outputs.sink(name), self._store.answers.first)
        self._open = True
        self.claim(queries, in_order)
        for sink in self.sinks.values():
            for position, payload in self._store.answers.read(sink.position):
                sink.write(position, decode(payload[HEAD.size :]).visible())
        return self.closed_before, self._answered()

    def _load_last(self, newest: Mapping[str, int]) -> None:
        """The last answers: as saved, or as in each query's newest record."""
        saved = self._store.outputs.displayed()
        if saved is not None:
            self.last.keep(0, decode(saved))
            self._saved = dict.fromkeys(self.last.before(1), 0)
        for at in sorted(set(newest.values())):
            position, payload = next(self._store.answers.read(at - 1))
            blocks = decode(payload[HEAD.size :])
            self.last.keep(position, [block for block in blocks if newest.get(block.query) == position])

    def _answered(self) -> Answered:
        """What records say of batches that may still be open."""
        found: dict[str, dict[int, list[Logged]]] = {}
        first = next((age.position for age in self._ages if age.newest >= self.closed_before), None)
        now = self._clock.now()
        for _position, payload in self._store.answers.read(first - 1) if first is not None else ():
            for block in decode(payload[HEAD.size :]):
                numbers, at = block.table["number"].to_numpy(), block.table["at"].to_numpy()
                released = np.minimum(block.table["released"].fill_null(BEGINNING).to_numpy(), now)
                mine = found.setdefault(block.query, {})
                if "rounds" in block.table.column_names:
                    rounds = block.table["rounds"].to_pylist()
                    self.rounds |= {(block.query, when): count for when, count in zip(at.tolist(), rounds)}
                for number in np.unique(numbers).tolist():
                    chosen = numbers == number
                    mine.setdefault(number, []).append(Logged(at[chosen], released[chosen]))
        return {
            query: {number: Logged(*map(np.concatenate, zip(*several))) for number, several in numbers.items()}
            for query, numbers in found.items()
        }

    def claim(self, queries: Sequence[str], in_order: frozenset[str]) -> None:
        """Sinks make ready for these queries before the first answer of any of them; others are forgotten."""
        if self._open:
            for name, sink in self.sinks.items():
                sink.claim(queries)
                self._store.outputs.save_sink(name, sink.checkpoint())
        self.last.only(in_order)

    def deliver(self, closed_before: int, newest: int, answers: Answers) -> int:
        """Log what a pass answered, then hand it on; how many answers it has.

        All batches below ``closed_before`` are answered; ``newest`` is the newest batch of the pass.
        """
        wall = self._clock.now()
        position = self._store.answers.append(HEAD.pack(closed_before, newest, wall) + encode(answers))
        self.closed_before = closed_before
        self._ages.append(_Age(position, wall, newest))
        self.last.keep(position, answers)
        answers = answers.visible()
        for sink in self.sinks.values():
            sink.write(position, answers)
        for listener in self.listeners:
            listener(list(answers))
        return answers.size

    def records(self) -> Iterator[AnswerBlock]:
        """Every answer that the log still holds, oldest first."""
        for _position, payload in self._store.answers.read(0):
            yield from decode(payload[HEAD.size :]).visible()

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
        while self._ages and self._may_go(self._ages[0], oldest, delivered):
            self._ages.popleft()
        before = self._ages[0].position if self._ages else self._store.answers.position
        self._save_displayed(self._store.answers.kept_from(before))
        self._store.answers.trim(before)

    def _may_go(self, age: _Age, oldest: Micros, delivered: int) -> bool:
        """Whether a record may be forgotten: it is old, delivered, and of batches that are known to be answered."""
        return age.wall < oldest and age.position <= delivered and age.newest < self.closed_before

    def _save_displayed(self, kept_from: int) -> None:
        """Save what is on display by records before this one, which are about to be forgotten."""
        lost = self.last.before(kept_from)
        positions = {name: last.position for name, last in lost.items()}
        if lost and positions != self._saved:
            self._store.outputs.save_displayed(encode([last.block for last in lost.values()]))
            self._saved = positions

    def close(self) -> None:
        """Make everything durable and let go."""
        self.checkpoint(now=True)
        for sink in self.sinks.values():
            sink.close()
