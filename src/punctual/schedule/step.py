"""The scheduler: one event in, the next state and the commands out. Pure: no clock, no IO.

Everything that depends on time or cost is decided here: when the next batch is read, which firings are answered
together and with which setting, when silent streams are complete, when batches are compacted, when cadence plans are
made anew. Each of these is a file of its own; this one says what an event changes, and asks them in turn.

The engine's loop sends events and carries commands out, in order. A holder does one thing at a time, and so does the
reader, so at most one ``Read`` and one of ``Apply``, ``Answer`` and ``Compact`` are under way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from punctual.estimate.rows_took import RowsTook
from punctual.estimate.spent import RowsSpent
from punctual.schedule.choosing import chosen_pass, noticed
from punctual.schedule.contract import Reach
from punctual.schedule.events import (
    Answer,
    Apply,
    BatchApplied,
    BatchCommitted,
    BatchRead,
    CancelAsked,
    Command,
    Compact,
    Compacted,
    CompletionAsked,
    Drop,
    Event,
    JobletEnded,
    Journal,
    MakeRows,
    Moment,
    NothingRead,
    PassAnswered,
    Prepare,
    Prepared,
    ProgramChanged,
    ReadAsked,
    Replan,
    RowsMade,
    Say,
    Settle,
    StopAsked,
    TimerFired,
)
from punctual.schedule.firings import MAX_INSTANTS_LISTED, Firings, Release
from punctual.schedule.intake import is_exhausted, next_input, read_done, timer
from punctual.schedule.jumps import Jump, Told, jumped, remembered, shifted_groups, shifted_releases
from punctual.schedule.levels import forced, still_open, with_decisions
from punctual.schedule.passes import Pass, replay_pass
from punctual.schedule.qos.foreseen import delays
from punctual.schedule.releases import due_instants, stop_runaways
from punctual.schedule.replanning import learned, replan
from punctual.schedule.stages.endings import cancelled, ended, last_chances, still_needed
from punctual.schedule.stages.planning import with_plans
from punctual.schedule.stages.sharing import (
    MOST_AT_ONCE,
    READY_US,
    Cores,
    joblet_ended,
    running_stages,
    shared,
    stages_of,
)
from punctual.schedule.stages.stage import Stage
from punctual.schedule.stages.waiting import any_ready, next_answer
from punctual.schedule.state import State

MOST_BASES_BEHIND = 4
"""So many times the batches of a base may be there where time counts, before new ones wait until all is answered."""


def step(state: State, event: Event) -> tuple[State, list[Command]]:
    """The state after an event, and what to do now.

    >>> from punctual.schedule.state import Rules
    >>> state, commands = step(State(Rules("stepped")), ReadAsked(Moment(0, 0)))
    >>> commands
    [Read(limit=None, shares={}, why='')]
    >>> state, commands = step(state, NothingRead(Moment(5, 5)))
    >>> commands
    [Settle(finished=False)]
    """
    state, commands = _after(_steadied(state, event.at), event)
    state, more = _next(state, event.at)
    return state, commands + more


def _steadied(state: State, at: Moment) -> State:
    """The state at the time of an event: where the wall clock has jumped since the last one, so have all times."""
    last, state = state.last, replace(state, last=at)
    by = 0 if last is None else jumped(at.wall - last.wall, at.steady - last.steady)
    if not by or last is None:
        return state
    pace, passing = state.intake.pace, state.current_pass
    firings = replace(
        state.firings,
        groups=shifted_groups(state.firings.groups, by),
        releases=shifted_releases(state.firings.releases, by),
    )
    return replace(
        state,
        firings=firings,
        unapplied=shifted_releases(state.unapplied, by),
        current_pass=None if passing is None else replace(passing, groups=shifted_groups(passing.groups, by)),
        intake=replace(state.intake, pace=None if pace is None else replace(pace, began=pace.began + by)),
        delays={name: delay + by for name, delay in state.delays.items()},
        jumps=remembered(state.jumps, Jump(last.wall, by)),
    )


def _after(state: State, event: Event) -> tuple[State, list[Command]]:
    """What the event itself changes."""
    match event:
        case ProgramChanged():
            return _program_changed(state, event), []
        case ReadAsked(_, limit):
            return replace(state, orders=(*state.orders, limit)), []
        case CompletionAsked(_, through):
            return replace(state, orders=(*state.orders, through)), []
        case NothingRead() | BatchRead():
            used = event.used_us if isinstance(event, BatchRead) else 0.0
            reading = state.reading.after(event.at.steady, used)
            return replace(state, intake=read_done(state, event), reading=reading), []
        case BatchCommitted():
            return _batch_committed(state, event)
        case BatchApplied():
            return _batch_applied(state, event)
        case PassAnswered():
            return _pass_answered(state, event)
        case CancelAsked():
            return _cancelled(state, event)
        case Prepared():
            sharing = state.sharing.prepared(event.found, event.unable, event.left)
            return replace(state, holder=None, sharing=sharing), [MakeRows(event.left)] if event.left else []
        case RowsMade():
            return replace(state, sharing=state.sharing.rows_made(event.which, event.found, event.unable)), []
        case JobletEnded():
            sharing, draws = joblet_ended(
                state.sharing, event.at.steady, event.joblet, event.used_us, event.stage, event.found
            )
            return replace(state, sharing=sharing), [*draws]
        case Compacted():
            return replace(state, holder=None, since_base=len(state.unapplied), crowded=False), []
        case StopAsked():
            return replace(state, stopping=True), []
        case TimerFired():
            return state, []


def _program_changed(state: State, event: ProgramChanged) -> State:
    kept = {query: contract.meaning for query, contract in event.contracts.items()}
    gone = {query for query, contract in state.contracts.items() if kept.get(query) != contract.meaning}
    unapplied = tuple(release.without(frozenset(gone)) for release in state.unapplied)
    drawn = {which: one for which, one in state.sharing.drawn.items() if which[0] not in gone}
    seen = {query: one for query, one in state.sharing.seen.items() if query not in gone}
    making = frozenset(which for which in state.sharing.making if which[0] not in gone)
    return replace(
        state,
        sharing=replace(
            state.sharing, drawn=drawn, seen=seen, unable=state.sharing.unable - gone, making=making,
            times=state.sharing.times.only(event.contracts),
        ),
        rules=state.rules if event.options is None else state.rules.with_options(event.options),
        contracts=event.contracts,
        watermarks=event.watermarks,
        reaches={**dict.fromkeys(event.watermarks, Reach()), **state.reaches},
        rates=event.rates,
        executions={query: cost for query, cost in state.executions.items() if query not in gone},
        firings=state.firings.without(gone),
        unapplied=unapplied,
    )


def _batch_committed(state: State, event: BatchCommitted) -> tuple[State, list[Command]]:
    """What the batch releases waits until the holders have it."""
    spoke = {**state.intake.spoke, **dict.fromkeys(event.spoke, event.at.steady)}
    dues = due_instants(state.contracts.cohorts, event.reaches, state.released)
    stopped = stop_runaways(dues)
    gone = frozenset(one.query for one in stopped)
    arrivals = event.arrivals
    if arrivals is not None:
        arrivals = {name: Told(one, event.at.wall, state.jumps) for name, one in arrivals.items()}
    release = Release(event.batch, tuple(dues), arrivals).without(gone)
    state = replace(
        state,
        intake=replace(state.intake, has_batch=False, waiting_for=None, spoke=spoke),
        reaches=event.reaches,
        released={name: reach.through for name, reach in event.reaches.items()},
        next_batch=event.batch + 1,
        since_base=state.since_base + 1,
        unapplied=(*state.unapplied, release),
        delays=delays(state.delays, event.reaches, arrivals),
    )
    return state, [*stopped]


def _batch_applied(state: State, event: BatchApplied) -> tuple[State, list[Command]]:
    release, *rest = state.unapplied
    assert release.batch == event.batch, "batches are applied in order"
    firings = _as_decided(state, state.firings.released(replace(release, late=event.late)))
    state = replace(state, holder=None, unapplied=tuple(rest), firings=firings, crowded=event.crowded)
    state = state if event.executions is None else replace(state, executions=event.executions)
    state, drop = _dropped(state)
    return state, [drop]


def _pass_answered(state: State, event: PassAnswered) -> tuple[State, list[Command]]:
    current_pass = state.current_pass
    assert current_pass is not None, "a pass was answered that nobody asked for"
    firings = _as_decided(state, state.firings.answered(current_pass.groups).without(event.failed))
    state = replace(
        state,
        holder=None,
        passed=True,
        current_pass=None,
        firings=firings,
        endings=still_needed(state.endings, event.logged_before, state.contracts),
        logged_before=event.logged_before,
        measured=learned(state.measured, event.costs) if state.rules.replans else state.measured,
    )
    sharing = state.sharing.after_pass(current_pass.groups, event.took_us)
    state = replace(state, sharing=sharing.with_drawn(event.drawn))
    if state.rules.timed:
        state = _timed(state, current_pass, event)
    state, drop = _dropped(state)
    return state, [drop]


def _as_decided(state: State, firings: Firings) -> Firings:
    """Firings with as much listed as may be, with the settings that were decided, and without what has ended."""
    while True:
        firings = firings.listed()
        groups = ended(with_decisions(firings.groups, state.decisions), state.endings)
        firings = replace(firings, groups=groups)
        if not firings.releases or firings.listed_size >= MAX_INSTANTS_LISTED:
            return firings


def _cancelled(state: State, event: CancelAsked) -> tuple[State, list[Command]]:
    """No more answers of open instants: also not of those that are being answered just now."""
    new, _count = cancelled(event.query, event.instant, state.firings, state.unapplied, state.endings)
    if not new:
        return state, []
    state = replace(state, endings=(*still_needed(state.endings, state.logged_before, state.contracts), *new))
    state = replace(state, firings=_as_decided(state, state.firings))
    state, drop = _dropped(state)
    return state, [Journal(state.decisions, state.endings), drop]


def _timed(state: State, passed: Pass, event: PassAnswered) -> State:
    """What is learned of the time that a pass took, and of those that were late."""
    cores = state.rules.cores
    # What reading took of the cores meanwhile is counted as reading.
    spent, part = event.rows_spent, max(0.1, 1 - state.read_meanwhile / cores)
    rows_took = _after_ended(state.rows_took, spent, part * spent.ended_us, cores)
    rows_took = rows_took.after(spent, part * (event.rows_us - spent.ended_us), cores)
    known_us = event.rows_us + event.rounds_us + passed.said_us + rows_took.row_us * spent.answer_rows
    others_us = event.took_us - known_us
    due = [group for group in passed.groups if group.cohort.one.can_be_late]
    missed = sum(
        len(group.cohort) * int(np.count_nonzero(group.deadlines < event.at.wall))
        for group in due
        if group.released is not None
    )
    return replace(
        state,
        cost=state.cost.after(passed.work, max(0.0, others_us)),
        rows_took=rows_took,
        feedback=state.feedback.after(event.at.steady, sum(group.size for group in due), missed),
        executions=state.executions if event.executions is None else event.executions,
    )


def _after_ended(known: RowsTook, spent: RowsSpent, took_us: float, cores: float) -> RowsTook:
    """A job that was ended would have taken no less; where that is no more than was expected, it says nothing."""
    expected_us = spent.ended_expected_us
    if took_us <= known.latency_us + known.pace * expected_us / cores:
        return known
    return known.after(RowsSpent(expected_us, expected_us), took_us, cores)


def _next(state: State, at: Moment) -> tuple[State, list[Command]]:
    """What to do now: for the holders, for the reader, and when to look again."""
    commands: list[Command] = []
    if state.holder is None:
        state, commands = _holder_work(state, at)
    state, more = next_input(state, at)
    commands = [*commands, *more]
    state, draws = _shared(state, at)
    commands = [*commands, *draws]
    found = replan(state, at)
    if found is not None:
        state = replace(state, replanned=at.steady)
        commands += [Replan(found)] if found else []
    if not commands and _is_settled(state, at):
        # What waits for its next stage is answered by the next run where this one is asked to end.
        commands = [Settle(finished=state.stopping or (is_exhausted(state) and not state.firings))]
    return state, [*commands, *timer(state, at)]


def _shared(state: State, at: Moment) -> tuple[State, list[Command]]:
    """Who draws ahead now. Nobody does once it is to end, and what has begun comes back by itself."""
    busy = state.holder is not None or state.intake.under_way
    running = running_stages(state.sharing, state.firings.groups, at.wall, _being_answered(state))
    level = 1.0 if state.level is None else state.level
    cores = Cores(int(state.rules.cores), at.wall, at.steady, idle=not busy, level=level)
    sharing, draws = shared(with_plans(state, at), running if state.draws is not None else (), cores)
    return replace(state, sharing=sharing), [*draws]


def _being_answered(state: State) -> frozenset[Stage]:
    return frozenset() if state.current_pass is None else stages_of(state.current_pass.groups)


def _dropped(state: State) -> tuple[State, Drop]:
    """Without what is known of draws for instants that are not open any more."""
    open_ones = {(one.query, one.at) for one in stages_of(state.firings.groups)}
    drawn = {which: one for which, one in state.sharing.drawn.items() if which in open_ones}
    unable, making = state.sharing.unable & set(state.contracts), state.sharing.making & open_ones
    state = replace(state, sharing=replace(state.sharing, drawn=drawn, unable=unable, making=making))
    return state, Drop(state.firings.oldest(), frozenset(drawn))


def _holder_work(state: State, at: Moment) -> tuple[State, list[Command]]:
    compaction = state.since_base >= state.rules.batches_per_base or state.crowded
    # In a replay a batch is answered before the next one is applied; a base is made of what is answered. Where time
    # counts it waits for a moment in which nothing is open, as long as it can.
    patience = MOST_BASES_BEHIND if state.rules.timed else 1
    hurry = state.since_base >= patience * state.rules.batches_per_base or state.crowded
    ready = any_ready(state.firings.groups, at.wall, state.draws)  # what waits for its next stage is kept in the base
    if state.draws is not None:
        # Where there is always something to answer, nothing would be drawn ahead any more, and the holder alone would
        # draw all rounds: so one window has its turn between two passes.
        waiting = state.draws.waiting(state.firings.groups, at.wall, 1 if ready else MOST_AT_ONCE)
        if waiting and (not ready or state.passed):
            soon = next_answer(state.firings.groups, at.wall, state.draws)  # it waits for one that was begun, at most
            within = READY_US if soon is None else min(READY_US, soon - at.wall)
            return replace(state, holder="prepare", passed=False), [Prepare(waiting, at.steady + within)]
    waits = ready and (hurry or not state.rules.timed)
    if state.unapplied and not waits:
        if compaction and not ready and state.since_base > len(state.unapplied):
            return replace(state, holder="compact"), [Compact(state.unapplied[0].batch - 1)]
        return replace(state, holder="apply"), [Apply(state.unapplied[0].batch)]
    if ready:
        return _answer(state, at)
    if compaction:
        return replace(state, holder="compact"), [Compact(state.next_batch - 1)]
    return state, []


def _answer(state: State, at: Moment) -> tuple[State, list[Command]]:
    current_pass: Pass
    before: list[Command] = []
    decisions = state.decisions
    closed_before = state.firings.closed_before(state.next_batch)
    if state.rules.timed:
        state, current_pass, new = chosen_pass(state, at)
        last = last_chances(current_pass.groups, state.firings, at.wall)
        if new or last:
            decisions = (*still_open(decisions, state.firings, state.unapplied), *new)
            state = replace(state, endings=(*state.endings, *last))
            before.append(Journal(decisions, state.endings))
        state, said = noticed(state, at, current_pass, gave_way=bool(new))
        before += [] if said is None else [Say(said)]
    else:
        current_pass = replay_pass(state.firings)
    if state.rules.keep is not None:
        current_pass = forced(current_pass, state.rules.keep)
    state = replace(state, holder="answer", current_pass=current_pass, decisions=decisions)
    return state, [*before, Answer(current_pass, closed_before)]


def _is_settled(state: State, at: Moment) -> bool:
    """Whether nothing can be answered now and nothing is under way."""
    return (
        state.holder is None
        and not any_ready(state.firings.groups, at.wall, state.draws)
        and not state.unapplied
        and not state.sharing.given
        and not state.sharing.making
        and not state.intake.under_way
        and not state.intake.has_batch
        and not state.orders
    )

