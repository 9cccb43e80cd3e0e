"""Running the job of a batch; when it fails, finding who spoiled it and running it without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from punctual.clock import Micros
from punctual.engine.batch.batch_products import Reduced, gather, letter
from punctual.engine.batch.failing_clause import explain_stop, first_failing, row_pieces
from punctual.engine.batch.isolate import Culprits, find, reason
from punctual.engine.batch.progress import Progress
from punctual.engine.batch.state_faults import state_fault
from punctual.engine.program.running_program import RunningProgram
from punctual.errors import RunError
from punctual.kernel.sample.marks import SHARES
from punctual.kinds.registry import needs_of
from punctual.plan.query import Query
from punctual.plan.shared import Needs, RowNeeds
from punctual.ports.feeds.feed import Feed
from punctual.ports.feeds.slices import Slice
from punctual.runtime.backend import Backend, SliceWork, Tick
from punctual.store.products import OUTPUT
from punctual.store.store import Store

PATIENCE = 1
"""How often a job that failed is tried again when each of its parts succeeds by itself: a worker may have died."""


@dataclass(frozen=True, slots=True)
class Slices:
    """What one batch reads: a slice of each stream (None: nothing is left of it), and which event times may count.

    ``paced`` says that parts are released by their event times; ``shares`` has the streams of which only a share of the
    rows is read, in ten-thousandths.
    """

    batch: int
    slices: Mapping[str, Slice | None]
    earliest: Micros
    horizon: Micros
    paced: bool = False
    shares: Mapping[str, int] = field(default_factory=dict)

    def without(self, files: Sequence[tuple[str, str, str]]) -> Slices:
        """The same without those files (stream, path, reason)."""
        kept = {
            name: planned and planned.without([path for stream, path, _why in files if stream == name])
            for name, planned in self.slices.items()
        }
        return replace(self, slices=kept)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """The rooms that a batch's job needs."""

    backend: Backend
    store: Store
    feeds: Mapping[str, Feed]
    tables: Mapping[str, Any]
    progress: Mapping[str, Progress]
    replan: Callable[[frozenset[str]], RunningProgram]
    """The running program with only these queries left out."""
    alone: Callable[[Query, Needs | RowNeeds], RunningProgram]
    """A program of this query only, of which as much is read as these needs say."""

    def reduce(self, running: RunningProgram, work: Slices) -> tuple[Reduced, Culprits]:
        """The batch, reduced, and whom it was run without."""
        files: tuple[tuple[str, str, str], ...] = ()
        queries: tuple[tuple[str, str], ...] = ()
        patience = PATIENCE
        while True:
            try:
                output = self._run(running, work)
                break
            except Exception as problem:
                if not self.backend.alive():
                    raise
                _raise_fault(problem)
                found = self._culprits(running, work)
                if not found and not patience:
                    raise _unexplained(problem) from problem
                patience -= not found
                files += found.files
                queries += found.queries
                work = work.without(found.files)
                running = self.replan(frozenset(name for name, _why in queries))
        reduced = gather(output, running.kept(), work.batch, running.retained_meanings())
        reduced.letters += [
            letter(stream, f"unreadable file: {why}", work.batch, origin=path) for stream, path, why in files
        ]
        return reduced, Culprits(files, queries)

    def _run(self, running: RunningProgram, work: Slices) -> pa.Table:
        parts = tuple(
            SliceWork(
                stream=name,
                feed=self.feeds[name],
                slice=planned,
                branches=running.branches[name],
                late=running.late.get(name),
                complete_through=self.progress[name].through,
                earliest=work.earliest,
                horizon=work.horizon,
                tops=self.feeds[name].arrivals(planned).differ or (work.paced and len(planned.parts) > 1),
                share=work.shares.get(name, SHARES),
            )
            for name, planned in work.slices.items()
            if planned is not None
        )
        if not parts:
            return OUTPUT.empty_table()
        return self.backend.tick(
            Tick(parts, self.tables, self.store.identity.shards, self.store.incoming(work.batch))
        )

    def _culprits(self, running: RunningProgram, work: Slices) -> Culprits:
        bare = _without_units(running)
        files: list[tuple[str, str, str]] = []
        for name, planned in work.slices.items():
            if planned is not None:
                fails = _FilesFail(self, bare, work, name)
                damage = self.feeds[name].damage
                files += [(name, path, damage(path) or why) for path, why in find(planned.parts, fails)]
        if files:
            return Culprits(files=tuple(files))
        everyone = frozenset(query.name for query in running.plan.queries)

        def queries_fail(some: Sequence[str]) -> Exception | None:
            return self.fails(self.replan(everyone - frozenset(some)), work)

        found = find(sorted(everyone), queries_fail)
        return Culprits(queries=tuple((name, self._explained(running, work, name, why)) for name, why in found))

    def _explained(self, running: RunningProgram, work: Slices, name: str, why: str) -> str:
        query = running.catalog.queries[name.lower()]
        pieces = row_pieces(needs_of(query))
        clause = first_failing(pieces, lambda piece: self.fails(self.alone(query, piece), work))
        return explain_stop(query, clause, why)

    def fails(self, running: RunningProgram, work: Slices) -> Exception | None:
        """What goes wrong when this is tried, if anything does."""
        try:
            self._run(running, work)
        except Exception as problem:
            if not self.backend.alive():
                raise
            _raise_fault(problem)
            return problem
        return None


@dataclass(frozen=True, slots=True)
class _FilesFail:
    """Whether some of a stream's files cannot be read, tried without any query."""

    job: BatchJob
    bare: RunningProgram
    work: Slices
    stream: str

    def __call__(self, paths: Sequence[str]) -> Exception | None:
        whole = self.work.slices[self.stream]
        some = whole and whole.only(paths)
        return self.job.fails(self.bare, replace(self.work, slices={self.stream: some}))


def _without_units(running: RunningProgram) -> RunningProgram:
    first = {
        name: tuple(
            replace(
                branch, units=(), projections=(), joins=(), direct=None if branch.direct is None else (), retain=None
            )
            for branch in several[:1]
        )
        for name, several in running.branches.items()
    }
    return replace(running, branches=first)


def _raise_fault(problem: Exception) -> None:
    fault = state_fault(problem)
    if fault is not None:
        raise fault from problem


def _unexplained(problem: Exception) -> RunError:
    return RunError(
        "run.tick-failed",
        "the job of a batch failed, though each of its parts succeeds by itself",
        detail=reason(problem),
        hint="start again to resume; if it fails again the machine may be short of memory",
    )
