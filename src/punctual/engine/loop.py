"""The loop of a running program: events in, commands out, and it never waits for a job.

The scheduler (:func:`punctual.schedule.step.step`) decides; the loop carries out. Spark jobs and kernels run on threads
of their own (:mod:`punctual.engine.crew`), and what they found comes back as events. The loop alone commits, journals
and delivers, so that there is one order of all that is durable. Calls of users (a new query, a stop) come through the
same inbox, and are answered between two events.

A JVM that died is noticed within a second, also when nothing happens: nothing is lost, for what was committed is in the
state.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from punctual.clock import SECOND, Clock, Micros
from punctual.engine.answers.answering import AnsweredPass
from punctual.engine.batch.committed import Committed
from punctual.engine.batch.failing_clause import reason_to_stop
from punctual.engine.batch.ingest import BatchResult
from punctual.engine.contract_warnings import ContractWarnings
from punctual.engine.core import Core
from punctual.engine.crew import Call, Crew, Done
from punctual.engine.held.held_batches import Applied
from punctual.engine.program.programs import Change
from punctual.engine.program.running_program import RunningProgram
from punctual.engine.shedding import Shedding, ShedRecord
from punctual.errors import PunctualError, RunError, jvm_died
from punctual.estimate.spent import RowsSpent
from punctual.kernel.sample.marks import SHARES
from punctual.schedule.choosing import warnings
from punctual.schedule.events import (
    Answer,
    Apply,
    BatchApplied,
    BatchCommitted,
    BatchRead,
    CancelAsked,
    Command,
    Commit,
    Compact,
    Compacted,
    Complete,
    CompletionAsked,
    Drop,
    Event,
    JobletEnded,
    Journal,
    Look,
    MakeRows,
    Moment,
    NothingRead,
    PassAnswered,
    Prepare,
    Prepared,
    ProgramChanged,
    Read,
    ReadAsked,
    Replan,
    RowsMade,
    Say,
    Settle,
    StopAsked,
    StopQuery,
    TimerFired,
    WakeAt,
)
from punctual.schedule.stages.endings import cancelled
from punctual.schedule.stages.open_instants import open_instants
from punctual.schedule.stages.sharing import Draw, EndDraws
from punctual.schedule.state import Mode, State
from punctual.schedule.step import step

ALIVE_US: Micros = SECOND // 5
"""How often a waiting loop looks whether the JVM still lives."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What was done: the last batch, rows that were accepted, answers that were given.

    ``lag_us`` is how long the oldest rows of the batch waited to be read; ``load`` is the part of the cores that was
    used since the batch before, and ``level`` the quality that was decided last for queries that may give way.
    """

    batch: int
    rows: int
    answers: int
    lag_us: Micros = 0
    load: float | None = None
    level: float | None = None


class _Left(Exception):
    """The loop was left where it stood."""


class Loop:
    """Runs a core. ``progress`` is told of every committed batch; ``watch`` looks after what feeds the program."""

    def __init__(
        self, core: Core, clock: Clock, state: State, progress: Callable[[BatchReport], None], watch: Callable[[], None]
    ) -> None:
        self.core = core
        self.state = state
        self.progress = progress
        self._clock = clock
        self._watch = watch
        self._crew = Crew(max(1, int(core.backend.cores)))
        self._shedding = Shedding()
        self._warnings = ContractWarnings(core.store.warnings, core.report)
        self._why_shed = ""
        self._events: deque[Event] = deque()
        self._result: BatchResult | None = None
        self._pending: Change | None = None
        self._wake: Micros | None = None
        self._settled = self._finished = False
        self._under_way = 0
        self._driven = False
        self.began = threading.Event()
        """Whether it was ever run."""
        self._batch, self._rows, self._answers = -1, 0, 0
        self.lag_us: Micros = 0
        self.load: float | None = None

    # -- who runs it -----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Do all that is open, and nothing more."""
        self._guarded(lambda: self._drive(TimerFired(self._now()), "stepped"))

    def read(self, limit: int | None) -> BatchReport | None:
        """One batch, if there is anything to read, and its answers."""
        return self._stepped(ReadAsked(self._now(), limit))

    def complete(self, through: Mapping[str, Micros]) -> BatchReport | None:
        """Streams are complete through these instants without new rows."""
        return self._stepped(CompletionAsked(self._now(), through))

    def _stepped(self, event: Event) -> BatchReport | None:
        before, self._rows, self._answers = self._batch, 0, 0
        self._guarded(lambda: self._drive(event, "stepped"))
        return BatchReport(self._batch, self._rows, self._answers) if self._batch != before else None

    def run(self, mode: Mode) -> None:
        """To the end of the input, or until it is stopped."""
        self._guarded(lambda: self._drive(TimerFired(self._now()), mode))

    def call(self, what: Callable[[], Any]) -> Any:
        """Have something done by the loop, from another thread; what it gives, or raises."""
        one = Call(what)
        self._crew.inbox.put(one)
        while not one.done.wait(0.1):
            if not self._driven:
                raise RunError("run.ended", "the engine has ended", hint="see what wait() raises, then open it again")
        if one.problem is not None:
            raise one.problem
        return one.result

    def ask_to_stop(self) -> None:
        """End after what it is at; also from a signal's handler."""
        self._crew.inbox.put(StopAsked(self._now()))

    def leave(self) -> None:
        """End now, from another thread: what is under way is not waited for, and is done again by the next run."""
        self._crew.inbox.put(_Left())

    def close(self) -> None:
        """Let the threads go."""
        self.core.ahead.leave()
        self.core.ingest.leave()
        self._crew.leave()
        for one in self._waiting_calls():
            one.problem = RunError("run.not-open", "the engine was closed")
            one.done.set()

    def _waiting_calls(self) -> list[Call]:
        found = []
        while not self._crew.inbox.empty():
            one = self._crew.inbox.get()
            if isinstance(one, Call):
                found.append(one)
        return found

    # -- events ----------------------------------------------------------------------------------------

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except _Left:
            return
        except Exception as problem:
            if isinstance(problem, PunctualError) or self.core.backend.alive():
                raise
            # Who stops a whole process group stops the JVM too.
            if not self.state.stopping:
                raise jvm_died() from problem

    def _drive(self, event: Event, mode: Mode) -> None:
        self.state = replace(self.state, rules=replace(self.state.rules, mode=mode))
        self._settled = self._finished = False
        self._driven = True
        self.began.set()
        try:
            self._send(event)
            while self._under_way or not (self._finished or (mode == "stepped" and self._settled)):
                self._take(self._receive())
        finally:
            self._driven = False

    def _receive(self) -> Any:
        """The next message, or None when the timer fires first."""
        while True:
            now = self._clock.monotonic()
            left = None if self._wake is None else self._wake - now
            if left is not None and left <= 0:
                return None
            within = ALIVE_US if left is None else min(left, ALIVE_US)
            found = self._clock.receive(self._crew.inbox, within, expected=self._under_way > 0)
            if found is not None:
                return found
            # A job says itself that its JVM died; where none runs somebody has to look.
            if not self._under_way and not self.state.stopping and not self.core.backend.alive():
                raise jvm_died()

    def _take(self, message: Any) -> None:
        match message:
            case None:
                self._wake = None
                self._watch()
                self._send(TimerFired(self._now()))
            case Done(then, result, problem):
                self._under_way -= 1
                if problem is not None:
                    raise problem
                then(result)
            case Call():
                message.run()
            case _Left():
                raise message
            case event:
                self._send(event)

    def _send(self, event: Event) -> None:
        """One event, what it asks for, and the events that follow from that."""
        self._events.append(event)
        if len(self._events) > 1:
            return  # whoever is at the first one comes to this one
        while self._events:
            self.state, commands = step(self.state, self._events[0])
            for command in commands:
                self._carry_out(command)
            self._events.popleft()

    def _now(self) -> Moment:
        return Moment(self._clock.now(), self._clock.monotonic())

    # -- commands --------------------------------------------------------------------------------------

    def _carry_out(self, command: Command) -> None:
        match command:
            case Read(limit, shares, why):
                snapshot, self._why_shed = self.core.snapshot(), why
                self._do(self._crew.reader, lambda: self.core.ingest.read(snapshot, limit, shares), self._batch_read)
            case Look():
                self._do(self._crew.scout, self.core.ingest.look, lambda _seen: None)
            case Commit(pace):
                self._commit(pace)
            case Complete(through, ended):
                self._committed(self.core.complete(through, ended=ended))
            case Apply(batch):
                self._do(self._crew.holder, self.core.apply(batch), self._applied)
            case Journal(decisions, endings):
                self.core.journal.decide(decisions, endings)
            case Say(notice):
                self.core.report(notice.text)
                self.core.ledger.shed(ShedRecord(None, notice.level, None, notice.why))
            case Answer():
                self._answer(command)
            case Prepare(firings, until):
                work, keep = self.core.ahead.prepare(firings, until), self.core.ahead.keep
                self._do(self._crew.holder, work, lambda made: self._send(Prepared(self._now(), *keep(made))))
            case MakeRows(which):
                making, made = self.core.ahead.make(which)
                self._do(self._crew.maker, making, lambda found: self._send(RowsMade(self._now(), which, *made(found))))
            case Draw(joblet, stage):
                self._do(
                    self._crew.jobs if self.core.ahead.is_by_jobs(stage) else self._crew.joblets,
                    self.core.ahead.draw(command),
                    lambda found: self._send(JobletEnded(self._now(), joblet, stage, *found)),
                )
            case EndDraws(joblets):
                self.core.ahead.end(joblets)
            case StopQuery(query, fact, hint):
                self._stop([(query, reason_to_stop(query, fact, hint))])
            case Drop(open_from, drawn):
                self.core.ahead.only(drawn)
                self._do(self._crew.holder, self.core.drop(open_from), lambda _nothing: None)
            case Compact(batch):
                self._do(self._crew.holder, self.core.export(batch), lambda found: self._exported(batch, found))
            case Replan(rates):
                self._retimed(self.core.programs.retime(rates, self.core.progress))
            case WakeAt(steady):
                self._wake = steady
            case Settle(finished):
                self._settled, self._finished = True, finished

    def _do(self, worker: Any, what: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._under_way += 1
        worker.do(what, then)

    def _batch_read(self, result: BatchResult | None) -> None:
        if result is None:
            self._send(NothingRead(self._now()))
            self._activate()
            return
        self._result = result
        facts = result.reduced.facts.values()
        least = min((one.least for one in facts if one.least is not None), default=None)
        greatest = max((one.greatest for one in facts if one.greatest is not None), default=None)
        spent = result.spent
        self._send(BatchRead(self._now(), least, greatest, spent.used_us, spent.parts))

    def _commit(self, pace: Any) -> None:
        result, self._result = self._result, None
        assert result is not None, "a batch is read before it is committed"
        if result.failed:
            self.core.programs.stop(result.failed)
        if result.running is not self.core.programs.running:
            self._install(self.core.programs.current(), result.running)
        found = self.core.commit(result, pace, asks=self.state.asks)
        self._shed(result)
        self._committed(found)

    def _shed(self, result: BatchResult) -> None:
        """Say where shedding of streams begins, changes and ends, and why."""
        shares = {name: parts / SHARES for name, parts in result.shares.items()}
        may = result.running.shedding
        whole = {name: one.why_not for name, one in may.items() if one.why_not is not None}
        for shed in self._shedding.of_batch(result.planned, shares, self._why_shed, whole):
            self.core.report(shed.text)
            self.core.ledger.shed(shed)

    def _committed(self, found: Committed | None) -> None:
        if found is None:
            self._send(TimerFired(self._now()))
            return
        self._batch, self._rows = found.batch, self._rows + found.rows
        self.lag_us = found.lag_us
        level = self.state.level
        self.load = self.core.ledger.tick(found.spent, found.lag_us, level).load
        self.progress(BatchReport(found.batch, found.rows, self._answers, found.lag_us, self.load, level))
        if found.asked:
            self._program_changed()
        self._send(BatchCommitted(self._now(), found.batch, found.reaches, found.spoke, found.arrivals))
        self.core.delivery.checkpoint()
        self.core.ledger.keep_up()
        self._activate()

    def _applied(self, applied: Applied) -> None:
        self._send(
            BatchApplied(self._now(), applied.batch, applied.late, applied.crowded, applied.executions)
        )

    def _answer(self, command: Answer) -> None:
        groups, began = command.current_pass.groups, self._clock.monotonic()
        newest = max(group.batch for group in groups)

        def answered(found: AnsweredPass) -> None:
            delivering = self._clock.monotonic()
            count, unwritten = self.core.deliver(found, command.closed_before, newest, self.state.endings)
            self._answers += count
            self.core.delivery.checkpoint()
            delivered_us = self._clock.monotonic() - delivering
            self.core.ledger.keep_up()
            failed = found.failed + unwritten
            took = self._clock.monotonic() - began
            if failed:
                self._stop(failed)
            gone = frozenset(name for name, _why in failed)
            rows_spent = found.rows_spent + RowsSpent(finish_us=found.from_rows * delivered_us)
            rows = found.rows_us, rows_spent, found.executions, self.core.delivery.closed_before
            rounds = self.core.ahead.kept(found.drawn, found.made), found.rounds_us
            self._send(PassAnswered(self._now(), took, gone, found.costs, *rows, *rounds))
            if self.state.rules.timed and self.state.executions:
                self._warnings.found(warnings(self.state))

        hurries = self.state.draws is not None
        self._do(self._crew.holder, self.core.answer(groups, hurries=hurries), answered)

    def _exported(self, batch: int, sections: Any) -> None:
        work = self.core.rebase(batch, sections, open_instants(self.state.firings))
        if work is None:
            self._send(Compacted(self._now()))
        else:
            self._do(self._crew.holder, work, lambda _nothing: self._send(Compacted(self._now())))

    # -- the program -----------------------------------------------------------------------------------

    def change(self, change: Change) -> None:
        """Another program; on the loop's thread. It runs from the next batch on."""
        planned = self.core.accept(change)
        feeds = {**self._pending.feeds, **change.feeds} if self._pending is not None else change.feeds
        self._pending = replace(change, feeds=feeds)
        self._activate(planned)

    def cancel(self, query: str, at: Micros | None) -> int:
        """No more answers of a query's open instants, or of one of them; on the loop's thread. How many these are."""
        state = self.state
        _endings, count = cancelled(query, at, state.firings, state.unapplied, state.endings)
        if count:
            self._send(CancelAsked(self._now(), query, at))
        return count

    def _stop(self, failed: Any) -> None:
        """Queries that cannot go on: no more firings of theirs, and other units from the next batch on."""
        self.core.programs.stop(failed)
        self._pending = self._pending or self.core.programs.current()
        self._program_changed()
        self._activate()

    def _retimed(self, running: RunningProgram | None) -> None:
        if running is not None:
            self._program_changed()
            return
        self._pending = self._pending or self.core.programs.current()
        self._activate()

    def _activate(self, planned: RunningProgram | None = None) -> None:
        """Let a program that was accepted run, unless a batch is being read for the one before."""
        intake = self.state.intake
        if self._pending is None or intake.under_way or intake.has_batch or self._result is not None:
            return
        change, self._pending = self._pending, None
        self._install(change, planned or self.core.programs.plan(change, self.core.progress))

    def _install(self, change: Change, running: RunningProgram) -> None:
        self._do(self._crew.holder, self.core.install(change, running), lambda _nothing: None)
        self._program_changed()

    def _program_changed(self) -> None:
        programs = self.core.programs
        rates, options = programs.rates, programs.options
        self._send(ProgramChanged(self._now(), programs.contracts, programs.watermarks, rates, options))
        self.core.ahead.only(frozenset(self.state.sharing.drawn))
        self.core.ahead.of_queries(programs.contracts)
