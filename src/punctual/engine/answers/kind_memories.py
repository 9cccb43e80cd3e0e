"""What kinds remember of answers while a program runs, and the dead letters that they find in them."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import Micros
from punctual.engine.batch.batch_products import letter
from punctual.kinds import registry
from punctual.kinds.job_group import AnsweredJobs
from punctual.plan.relation import Stream
from punctual.store.store import Store


class KindMemories:
    """One memory for each kind that remembers anything, over one state."""

    def __init__(self, store: Store) -> None:
        self._store = store
        found = ((kind, kind.memory(store.letters.read)) for kind in registry.KINDS)
        self._memories = {kind: memory for kind, memory in found if memory is not None}

    def see(self, answered: AnsweredJobs, streams: Mapping[str, Stream]) -> None:
        """Take note of what the cells gave for jobs that were answered as one."""
        memory = self._memories.get(answered.groups[0].asked.asked[0].kind)
        if memory is not None:
            for one in answered.each():
                memory.see(one.joined(), one.answered, streams)

    def write(self, batch: int) -> dict[str, int]:
        """Make new dead letters durable, as letters of this batch; how many each stream has."""
        letters = [one for memory in self._memories.values() for one in memory.letters()]
        counts: dict[str, int] = {}
        for one in letters:
            counts[one.stream] = counts.get(one.stream, 0) + 1
        if letters:
            self._store.letters.add(batch, [
                letter(one.stream, one.reason, batch, origin=None, row=one.row, event_time=one.event_time)
                for one in letters
            ])  # fmt: skip
        return counts

    def forget(self, before: Micros) -> None:
        """Rows at or before this instant are in no window to come."""
        for memory in self._memories.values():
            memory.forget(before)
