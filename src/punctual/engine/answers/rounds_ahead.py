"""Rounds that are drawn before their answers are due: made ready and answered by the holder, drawn by joblets.

The holder reads windows itself; where Spark has to make their rows, another thread waits for that.

A joblet is a few rounds on a thread of its own. Kernels let go of the interpreter while they draw, so threads draw at
the same time; none of them touches anything but the drawing that it was given. Where Spark answers a query, a joblet is
a job of many rounds, since each costs some time besides: a thread waits for it, and it is ended once nobody wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from punctual.clock import SECOND, Clock, Micros, SystemClock
from punctual.engine.answers.read_here import is_read_here, is_small, read_here
from punctual.engine.answers.round_model import RoundModel
from punctual.engine.answers.row_rounds import RowRounds, WorkBounds, made_by_spark
from punctual.engine.held.holders import Holders
from punctual.estimate.round_costs import JobCost, round_us_after
from punctual.estimate.spent import FiringSpent
from punctual.kernel.panes.panes import Answered
from punctual.kinds.drawing import Drawing
from punctual.kinds.job_group import JobGroup
from punctual.kinds.registry import kind_of
from punctual.kinds.world_run import RowsOfRounds, WorldRun
from punctual.plan.query import Query
from punctual.plan.shared import RowReader
from punctual.runtime.backend import Backend, JobLimit, OverdueError
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.sharing import Draw
from punctual.schedule.stages.stage import Stage

Which = tuple[str, Micros]
LEAST_ROUNDS = 8
"""So many rounds are drawn to make a window ready."""
MORE_ROUNDS, QUICK_US = 64, 10_000.0
"""Where nothing is known of a query, and those took no longer than that, so many more say what one costs."""
LONGEST_MAKING_US: Micros = 3600 * SECOND
"""So long Spark may make rows; after that the pass that answers the query tries it."""


@dataclass(frozen=True, slots=True, eq=False)
class ToDraw:
    """Jobs of one query each that are to be made ready; the holder's thread has what is ``held``."""

    jobs: Sequence[JobGroup]
    held: Callable[[], Holders]
    run: WorldRun
    backend: Backend
    bounds: WorkBounds


@dataclass(slots=True, eq=False)
class _Kept:
    """A drawing, the core time of its rounds so far, and how much of that an answer has accounted for.

    ``least`` is how many rounds an answer had before a restart. The first rounds were drawn when it was made ready, for
    ``first_us``; all others joblets have ``drawn`` since.
    """

    drawing: Drawing
    least: int
    ready_us: float
    first_us: float = 0.0
    expected_us: float = 0.0
    """What a round was thought to cost before any joblet."""
    by_jobs: bool = False
    made_us: float = 0.0
    """What Spark used to make its rows."""
    drawn: int = 0
    drawn_us: float = 0.0
    accounted_us: float = 0.0
    changing: Lock = field(default_factory=Lock)

    @property
    def used_us(self) -> float:
        return self.made_us + self.first_us + self.drawn_us

    @property
    def round_us(self) -> float:
        return round_us_after(self.expected_us, self.drawn, self.drawn_us)

    def add(self, rounds: int, used_us: float) -> None:
        """A joblet has drawn so many, beside others."""
        with self.changing:
            self.drawn += rounds
            self.drawn_us += used_us


@dataclass(frozen=True, slots=True, eq=False)
class MadeReady:
    """Drawings of instants that had none, the queries that cannot be drawn ahead, and jobs of one instant that are
    left, since Spark has to make their rows."""

    drawings: Mapping[Which, _Kept]
    unable: frozenset[str]
    left: Sequence[JobGroup] = ()
    asked: ToDraw | None = None


class RoundsAhead:
    """All drawings of open instants. ``before`` are the rounds of answers that were given before a restart, ``asked``
    says what is asked of firings, ``take_used`` what jobs of the calling thread used."""

    def __init__(
        self,
        clock: Clock,
        model: RoundModel,
        before: Mapping[Which, int],
        asked: Callable[[Sequence[FiringGroup]], ToDraw],
        take_used: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._model = model
        self._before = before
        self._asked = asked
        self._take_used = take_used
        self._kept: Mapping[Which, _Kept] = {}
        """Another one with every change, all of which are the loop's; the holder reads it meanwhile."""
        self._jobs: dict[str, JobCost] = {}
        """What jobs of queries cost."""
        self._limits: dict[int, JobLimit] = {}
        """Of joblets under way."""
        self._left: dict[Which, tuple[JobGroup, ToDraw]] = {}
        """Instants whose rows Spark has to make."""
        self._making = JobLimit(0)
        """Of the job that does so last."""
        self._made_now: dict[Which, _Kept] = {}
        """Drawings that were made while their first answer was: the holder's, until the pass is through."""

    def prepare(self, groups: Sequence[FiringGroup], until: Micros) -> Callable[[], MadeReady]:
        """Make firings ready, on the holder's thread: one at least, and none after that time."""
        asked = self._asked(groups)
        return lambda: self._prepare(asked, until)

    def keep(self, made: MadeReady) -> tuple[dict[Which, Drawn], frozenset[str], frozenset[Which]]:
        """Keep what was made ready: how far each is, the queries that cannot be drawn ahead, and what Spark is to make.

        Not before the loop hears of it: until then it would not know that it needs them (`only`).
        """
        self._kept = {**self._kept, **made.drawings}
        left = {_which(job): (job, made.asked) for job in made.left if made.asked is not None}
        self._left = {**self._left, **left}
        found = {which: self._drawn(which, one) for which, one in made.drawings.items()}
        return found, made.unable, frozenset(left)

    def make(
        self, which: frozenset[Which]
    ) -> tuple[Callable[[], MadeReady], Callable[[MadeReady], tuple[dict[Which, Drawn], frozenset[str]]]]:
        """Have Spark make the rows of these instants, on a thread of its own; then keep what is ready, as in `keep`."""
        jobs = [self._left[one] for one in sorted(which)]
        limit = self._making = JobLimit(SystemClock().monotonic() + LONGEST_MAKING_US)

        def keep(made: MadeReady) -> tuple[dict[Which, Drawn], frozenset[str]]:
            self._left = {one: left for one, left in self._left.items() if one not in which}
            found, unable, _left = self.keep(made)
            return found, unable

        return lambda: self._made([job for job, _asked in jobs], jobs[0][1], limit), keep

    def _prepare(self, asked: ToDraw, until: Micros) -> MadeReady:
        held, found, unable = asked.held(), dict[Which, _Kept](), set[str]()
        left: list[JobGroup] = []
        for job in asked.jobs:
            (one,) = job.asked.asked
            query, reader = one.reader.query, one.reader
            assert isinstance(reader, RowReader)
            if kind_of(query).drawn_by_jobs(query):
                rounds = RowRounds(asked.held, asked.backend, asked.bounds, job)
                found |= self._by_jobs(query, job.due.instants.tolist(), rounds)
            elif is_read_here(reader, job.due.instants, held.rows):
                for alone in self._new(job):
                    if found and self._clock.monotonic() >= until:
                        return MadeReady(found, frozenset(unable), left, asked)
                    began = self._clock.thread_us()
                    found |= self._ready(alone, read_here(alone, reader, held.rows), asked.run, began)
            elif is_small(reader, job.due.instants, held.rows):
                left += self._new(job)
            else:
                unable.add(query.name)
        return MadeReady(found, frozenset(unable), left, asked)

    def _new(self, job: JobGroup) -> list[JobGroup]:
        """A job at each of its instants for which nothing is drawn yet, and whose rows nobody makes."""
        every = [job.only(job.due.instants == at) for at in job.due.instants.tolist()]
        return [one for one in every if _which(one) not in self._kept and _which(one) not in self._left]

    def _ready(self, job: JobGroup, rows: Answered, run: WorldRun, began: float) -> dict[Which, _Kept]:
        """The drawing of a job of one instant, on which this thread has been since ``began``."""
        (one,) = job.asked.asked
        query, at = one.reader.query, int(job.due.instants[0])
        drawing = kind_of(query).drawing(query, rows, at, run)
        ready_us = self._clock.thread_us() - began
        least = self._before.get((query.name, at), 0)
        return {(query.name, at): _Kept(drawing, least, ready_us, *self._first(query.name, drawing))}

    def _made(self, jobs: Sequence[JobGroup], asked: ToDraw, limit: JobLimit) -> MadeReady:
        """The drawings of jobs of one instant whose rows Spark makes, and the queries for which it cannot."""
        self._take_used()
        made = made_by_spark(jobs, asked.held, asked.backend, asked.bounds, limit)
        each_us, found, unable = self._take_used() / len(jobs), dict[Which, _Kept](), set[str]()
        for job, rows in zip(jobs, made):
            if rows is None:
                unable.update(job.asked.queries.tolist())
                continue
            ready = self._ready(job, rows, asked.run, self._clock.thread_us())
            for kept in ready.values():
                kept.made_us = each_us
            found |= ready
        return MadeReady(found, frozenset(unable))

    def _first(self, query: str, drawing: Drawing) -> tuple[float, float]:
        """Draw the first few rounds: what they took, and what a round is thought to cost."""
        began, known = self._clock.thread_us(), self._model.costs.get(query)
        drawing.begin(LEAST_ROUNDS)
        took = self._clock.thread_us() - began
        if known is not None and known.round_us > 0.0:
            return took, known.round_us
        wanted = min(MORE_ROUNDS, drawing.own // 2)
        if took < QUICK_US and wanted and (more := drawing.draw(wanted)):
            every = self._clock.thread_us() - began
            return every, (every - took) / more
        return took, took / max(1, drawing.rounds)

    def _by_jobs(self, query: Query, instants: Iterable[Micros], asked: RowsOfRounds) -> dict[Which, _Kept]:
        """Instants for which nothing is drawn yet: the holder's thread runs no job for that."""
        found: dict[Which, _Kept] = {}
        for which in ((query.name, at) for at in instants):
            if which not in self._kept:
                drawing, least = kind_of(query).drawing_by_jobs(query, which[1], asked), self._before.get(which, 0)
                found[which] = _Kept(drawing, least, 0.0, by_jobs=True)
        return found

    def draw(self, command: Draw) -> Callable[[], tuple[float, Drawn | None]]:
        """The rounds of a joblet, for a thread of its own: core time, and how far the drawing is then."""
        which = command.stage.query, command.stage.at
        kept = self._kept.get(which)
        if kept is None:
            return lambda: (0.0, None)
        # Limits are of the machine's clock, whatever this run's is.
        limit = JobLimit(SystemClock().monotonic() + command.until - self._clock.monotonic())
        self._limits[command.joblet] = limit
        draws = self._drawn_by_job if kept.by_jobs else self._drawn_here
        return lambda: draws(command, which, kept, limit)

    def _drawn_here(self, command: Draw, which: Which, kept: _Kept, limit: JobLimit) -> tuple[float, Drawn | None]:
        """The rounds of a joblet by the calling thread, as many as there is time for."""
        began, left = self._clock.thread_us(), command.rounds
        try:
            while left > 0 and not limit.ended and self._clock.monotonic() < command.until:
                if not (some := kept.drawing.draw(left)):
                    break
                left -= some
        except Exception:  # the pass that answers it meets the same problem, and says whose it is
            return self._clock.thread_us() - began, None
        finally:
            self._limits.pop(command.joblet, None)
        used = self._clock.thread_us() - began
        kept.add(command.rounds - left, used)
        return used, self._drawn(which, kept)

    def _drawn_by_job(self, command: Draw, which: Which, kept: _Kept, limit: JobLimit) -> tuple[float, Drawn | None]:
        """The rounds of a joblet that is a job: how long it took, for which it had a core, and how far the drawing is.

        What was ended has drawn nothing.
        """
        began, failed, some = self._clock.monotonic(), False, 0
        if not limit.ended and began < command.until:
            try:
                some = kept.drawing.draw(command.rounds, limit)
            except OverdueError:
                pass
            except Exception:  # the pass that answers it meets the same problem, and says whose it is
                failed = True
        took = float(self._clock.monotonic() - began)
        self._limits.pop(command.joblet, None)
        kept.add(some, self._take_used())
        if some and not limit.planned:
            self._jobs[which[0]] = self._jobs.get(which[0], JobCost()).after(some, took)
        return took, None if failed else self._drawn(which, kept)

    def is_by_jobs(self, stage: Stage) -> bool:
        """Whether jobs draw for it, so that a thread only waits for them."""
        kept = self._kept.get((stage.query, stage.at))
        return kept is not None and kept.by_jobs

    def end(self, joblets: Iterable[int]) -> None:
        """Nobody wants any more what these draw, or others need their cores."""
        for limit in [self._limits.get(joblet) for joblet in joblets]:
            if limit is not None:
                limit.end()

    def leave(self) -> None:
        """Nothing more will be asked: all that is under way is ended."""
        self.end(list(self._limits))
        self._making.end()

    def make_now(self, job: JobGroup, rows: Answered, run: WorldRun) -> dict[Micros, Drawing]:
        """Drawings of instants that nobody made ready before they were to be answered, if further answers come.

        They have what their answer asks for; the next ones go on from there.
        """
        (one,) = job.asked.asked
        query, found = one.reader.query, dict[Micros, Drawing]()
        if job.number + 1 >= len(query.due_us) or not kind_of(query).draws_ahead(query):
            return found
        share = 1.0 if job.setting is None else job.setting
        for place, at in enumerate(job.due.instants.tolist()):
            if (query.name, at) not in self._made_now:
                alone, began = job.only(job.due.instants == at), self._clock.thread_us()
                self._made_now |= self._ready(alone, rows.part(place, place + 1), run, began)
            kept = self._made_now[query.name, at]
            found[at] = kept.drawing
            new, began = kept.drawing.own or kept.drawing.needed, self._clock.thread_us()
            wanted = new * job.number + max(1, round(share * new))
            before = kept.drawing.rounds
            while (left := wanted - kept.drawing.rounds) > 0 and kept.drawing.draw(left):
                pass
            kept.add(kept.drawing.rounds - before, self._clock.thread_us() - began)
            self._model.spend(kept.used_us + kept.ready_us)
        return found

    def take_made(self) -> MadeReady | None:
        """What was made while it was answered; None where nothing was."""
        made, self._made_now = self._made_now, {}
        return MadeReady(made, frozenset()) if made else None

    def kept(self, drawn: Mapping[Which, Drawn], made: MadeReady | None) -> Mapping[Which, Drawn]:
        """How far draws are after a pass; what was made in it is kept."""
        return drawn if made is None else {**drawn, **self.keep(made)[0]}

    def of(self, query: str, instants: Iterable[Micros]) -> dict[Micros, Drawing]:
        """What was drawn for some instants of a query."""
        known = ((at, self._kept.get((query, at))) for at in instants)
        return {at: one.drawing for at, one in known if one is not None}

    def take_spent(self, query: str, instants: Iterable[Micros]) -> list[FiringSpent]:
        """Core time of draws that no answer has accounted for; the model learns what rounds cost."""
        found = []
        for at in instants:
            one = self._kept.get((query, at)) or self._made_now.get((query, at))
            if one is not None:
                found.append(FiringSpent(query, at, 0, one.used_us - one.accounted_us))
                one.accounted_us = one.used_us
                new = one.drawing.own or one.drawing.needed
                drawn = (one.drawn_us, one.drawn) if one.drawn else (one.first_us, one.drawing.rounds)
                self._model.learn(query, one.made_us + one.ready_us, *drawn, new)
        return found

    def only(self, needed: frozenset[Which]) -> None:
        """Forget what nobody needs any more."""
        self._kept = {which: one for which, one in self._kept.items() if which in needed}

    def of_queries(self, queries: Collection[str]) -> None:
        """Forget what jobs of all other queries cost."""
        for query in list(self._jobs):  # threads that wait for jobs add to it meanwhile
            if query not in queries:
                self._jobs.pop(query, None)

    def known(self, jobs: Iterable[JobGroup]) -> dict[Which, Drawn]:
        """How far those of some jobs are."""
        every = ((job.asked.queries.tolist(), job.due.instants.tolist()) for job in jobs)
        wanted = ((query, at) for queries, instants in every for query in queries for at in instants)
        return {which: self._drawn(which, one) for which in wanted if (one := self._kept.get(which)) is not None}

    def _drawn(self, which: Which, kept: _Kept) -> Drawn:
        one = kept.drawing
        if not kept.by_jobs:
            return Drawn(one.rounds, kept.round_us, one.own, one.needed, kept.least, one.full)
        cost = self._jobs.get(which[0], JobCost())
        return Drawn(
            one.rounds, cost.round_us, one.own, one.needed, kept.least, one.full, cost.at_once, cost.begin_us, one.begun
        )


def _which(job: JobGroup) -> Which:
    """The instant of a job of one query and one instant."""
    (one,) = job.asked.asked
    return one.reader.query.name, int(job.due.instants[0])
