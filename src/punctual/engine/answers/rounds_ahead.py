"""Rounds that are drawn before their answers are due: made ready and answered by the holder, drawn by joblets.

A joblet is a few rounds on a thread of its own. Kernels let go of the interpreter while they draw, so threads draw at
the same time; none of them touches anything but the drawing that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from punctual.clock import Clock, Micros
from punctual.engine.answers.read_here import is_read_here, read_here
from punctual.engine.answers.round_model import RoundModel
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.estimate.spent import FiringSpent
from punctual.kinds.drawing import Drawing
from punctual.kinds.job_group import JobGroup
from punctual.kinds.registry import kind_of
from punctual.kinds.world_run import WorldRun
from punctual.plan.shared import RowReader
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.sharing import Draw, Drawn

Which = tuple[str, Micros]
LEAST_ROUNDS = 8
"""So many rounds say what one costs."""


@dataclass(frozen=True, slots=True, eq=False)
class ToDraw:
    """Jobs of one query each that are to be made ready; the holder's thread has the ``rows``."""

    jobs: Sequence[JobGroup]
    rows: Callable[[], RetainedFiles]
    run: WorldRun


@dataclass(slots=True, eq=False)
class _Kept:
    """A drawing, what was drawn so far in core time, and how much of that an answer has accounted for.

    ``least`` is how many rounds an answer had before a restart.
    """

    drawing: Drawing
    least: int
    ready_us: float
    used_us: float = 0.0
    accounted_us: float = 0.0

    @property
    def round_us(self) -> float:
        return self.used_us / max(1, self.drawing.rounds)


class RoundsAhead:
    """All drawings of open instants. ``before`` are the rounds of answers that were given before a restart, ``asked``
    says what is asked of firings."""

    def __init__(
        self,
        clock: Clock,
        model: RoundModel,
        before: Mapping[Which, int],
        asked: Callable[[Sequence[FiringGroup]], ToDraw],
    ) -> None:
        self._clock = clock
        self._model = model
        self._before = before
        self._asked = asked
        self._kept: dict[Which, _Kept] = {}

    def prepare(self, groups: Sequence[FiringGroup]) -> Callable[[], tuple[dict[Which, Drawn], frozenset[str]]]:
        """Make firings ready, on the holder's thread: how far each is, and the queries that cannot be drawn ahead."""
        asked = self._asked(groups)
        return lambda: self._prepare(asked.jobs, asked.rows(), asked.run)

    def _prepare(
        self, jobs: Sequence[JobGroup], rows: RetainedFiles, run: WorldRun
    ) -> tuple[dict[Which, Drawn], frozenset[str]]:
        found: dict[Which, Drawn] = {}
        unable: set[str] = set()
        for job in jobs:
            (one,) = job.asked.asked
            query, reader = one.reader.query, one.reader
            assert isinstance(reader, RowReader)
            if not is_read_here(reader, job.due.instants, rows):
                unable.add(query.name)
                continue
            for at in job.due.instants.tolist():
                if (query.name, at) in self._kept:
                    continue
                began = self._clock.thread_us()
                alone = job.only(job.due.instants == at)
                drawing = kind_of(query).drawing(query, read_here(alone, reader, rows), at, run)
                ready = self._clock.thread_us()
                drawing.begin(LEAST_ROUNDS)
                least = self._before.get((query.name, at), 0)
                kept = _Kept(drawing, least, ready - began, self._clock.thread_us() - ready)
                self._kept[query.name, at] = kept
                found[query.name, at] = _drawn(kept)
        return found, frozenset(unable)

    def draw(self, command: Draw) -> Callable[[], tuple[float, Drawn | None]]:
        """The rounds of a joblet, for a thread of its own: core time, and how far the drawing is then."""
        kept = self._kept.get((command.stage.query, command.stage.at))

        def drawn() -> tuple[float, Drawn | None]:
            if kept is None:
                return 0.0, None
            began, left = self._clock.thread_us(), command.rounds
            try:
                while left > 0 and self._clock.monotonic() < command.until and (some := kept.drawing.draw(left)):
                    left -= some
            except Exception:  # the pass that answers it meets the same problem, and says whose it is
                return self._clock.thread_us() - began, None
            used = self._clock.thread_us() - began
            kept.used_us += used
            return used, _drawn(kept)

        return drawn

    def of(self, query: str, instants: Iterable[Micros]) -> dict[Micros, Drawing]:
        """What was drawn for some instants of a query."""
        known = ((at, self._kept.get((query, at))) for at in instants)
        return {at: one.drawing for at, one in known if one is not None}

    def take_spent(self, query: str, instants: Iterable[Micros]) -> list[FiringSpent]:
        """Core time of draws that no answer has accounted for; the model learns what rounds cost."""
        found = []
        for at in instants:
            one = self._kept.get((query, at))
            if one is not None:
                found.append(FiringSpent(query, at, 0, one.used_us - one.accounted_us))
                one.accounted_us = one.used_us
                new = one.drawing.own or one.drawing.needed
                self._model.learn(query, one.ready_us, one.used_us, one.drawing.rounds, new)
        return found

    def only(self, needed: frozenset[Which]) -> None:
        """Forget what nobody needs any more."""
        self._kept = {which: one for which, one in self._kept.items() if which in needed}

    def known(self) -> dict[Which, Drawn]:
        """How far all of them are."""
        return {which: _drawn(one) for which, one in self._kept.items()}


def _drawn(kept: _Kept) -> Drawn:
    one = kept.drawing
    return Drawn(one.rounds, kept.round_us, one.own, one.needed, kept.least, one.full)
