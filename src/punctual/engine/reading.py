"""Running the job of a batch; when it fails, finding who spoiled it and running it without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from punctual.clock import Micros
from punctual.engine.intake import Intake
from punctual.engine.isolate import Culprits, find, reason
from punctual.engine.places import explain_stop, first_failing, row_pieces
from punctual.engine.progress import Progress
from punctual.engine.reduced import Reduced, gather, letter
from punctual.engine.standing import Standing
from punctual.errors import RunError
from punctual.kernel.panes.spec import UnitSpec
from punctual.plan.query import WindowQuery
from punctual.runtime.backend import Backend, SliceWork, Tick
from punctual.runtime.operators.reduce import OUTPUT
from punctual.store.store import Store

PATIENCE = 1
"""How often a job that failed is tried again when each of its parts succeeds by itself: a worker may have died."""


@dataclass(frozen=True, slots=True)
class Slices:
    """What one batch reads: a slice for each stream (None: nothing is left of it), and how far ahead a row may be."""

    batch: int
    slices: Mapping[str, Any]
    horizon: Micros

    def without(self, intakes: Mapping[str, Intake], files: Sequence[tuple[str, str, str]]) -> Slices:
        """The same without those files (stream, path, reason)."""
        kept = {
            name: intakes[name].without(planned, [path for stream, path, _why in files if stream == name])
            for name, planned in self.slices.items()
        }
        return replace(self, slices=kept)


@dataclass(frozen=True, slots=True)
class Reading:
    """The rooms that a batch's job needs."""

    backend: Backend
    store: Store
    intakes: Mapping[str, Intake]
    tables: Mapping[str, Any]
    progress: Mapping[str, Progress]
    replan: Callable[[frozenset[str]], Standing]
    """The standing program with only these queries left out."""
    alone: Callable[[WindowQuery], Standing]
    """A program of this query only."""

    def reduce(self, standing: Standing, work: Slices) -> tuple[Reduced, Culprits]:
        """The batch, reduced, and whom it was run without."""
        files: tuple[tuple[str, str, str], ...] = ()
        queries: tuple[tuple[str, str], ...] = ()
        patience = PATIENCE
        while True:
            try:
                output = self._run(standing, work)
                break
            except Exception as problem:
                if not self.backend.alive():
                    raise
                found = self._culprits(standing, work)
                if not found and not patience:
                    raise _unexplained(problem) from problem
                patience -= not found
                files += found.files
                queries += found.queries
                work = work.without(self.intakes, found.files)
                standing = self.replan(frozenset(name for name, _why in queries))
        reduced = gather(output, standing.unit_key, _spec_of(standing), work.batch)
        reduced.letters += [
            letter(stream, f"unreadable file: {why}", work.batch, origin=path) for stream, path, why in files
        ]
        return reduced, Culprits(files, queries)

    def _run(self, standing: Standing, work: Slices) -> pa.Table:
        parts = tuple(
            SliceWork(
                stream=name,
                feed=self.intakes[name],
                slice=planned,
                branches=standing.branches[name],
                late=standing.late.get(name),
                complete_through=self.progress[name].through,
                horizon=work.horizon,
            )
            for name, planned in work.slices.items()
            if planned is not None
        )
        if not parts:
            return OUTPUT.empty_table()
        return self.backend.tick(
            Tick(parts, self.tables, self.store.identity.shards, self.store.incoming(work.batch))
        )

    def _culprits(self, standing: Standing, work: Slices) -> Culprits:
        bare = _without_units(standing)
        files: list[tuple[str, str, str]] = []
        for name, planned in work.slices.items():
            if planned is not None:
                fails = _FilesFail(self, bare, work, name)
                intake = self.intakes[name]
                found_files = find(intake.paths(planned), fails)
                files += [(name, path, intake.damage(path) or why) for path, why in found_files]
        if files:
            return Culprits(files=tuple(files))
        everyone = frozenset(reader.query.name for reader in standing.plan.readers)

        def queries_fail(some: Sequence[str]) -> Exception | None:
            return self.fails(self.replan(everyone - frozenset(some)), work)

        found = find(sorted(everyone), queries_fail)
        return Culprits(queries=tuple((name, self._explained(standing, work, name, why)) for name, why in found))

    def _explained(self, standing: Standing, work: Slices, name: str, why: str) -> str:
        query = standing.catalog.queries[name.lower()]
        place = first_failing(row_pieces(query), lambda piece: self.fails(self.alone(piece), work))
        return explain_stop(query, place, why)

    def fails(self, standing: Standing, work: Slices) -> Exception | None:
        """What goes wrong when this is tried, if anything does."""
        try:
            self._run(standing, work)
        except Exception as problem:
            if not self.backend.alive():
                raise
            return problem
        return None


@dataclass(frozen=True, slots=True)
class _FilesFail:
    """Whether some of a stream's files cannot be read, tried without any query."""

    reading: Reading
    bare: Standing
    work: Slices
    stream: str

    def __call__(self, paths: Sequence[str]) -> Exception | None:
        some = self.reading.intakes[self.stream].only(self.work.slices[self.stream], paths)
        return self.reading.fails(self.bare, replace(self.work, slices={self.stream: some}))


def _without_units(standing: Standing) -> Standing:
    first = {
        name: tuple(replace(branch, units=(), projections=(), joins=()) for branch in several[:1])
        for name, several in standing.branches.items()
    }
    return replace(standing, branches=first)


def _spec_of(standing: Standing) -> Callable[[int, str], UnitSpec]:
    return lambda unit, stream: standing.specs[unit] if unit >= 0 else standing.late[stream]


def _unexplained(problem: Exception) -> RunError:
    return RunError(
        "run.tick-failed",
        "the job of a batch failed, though each of its parts succeeds by itself",
        detail=reason(problem),
        hint="start again to resume; if it fails again the machine may be short of memory",
    )
