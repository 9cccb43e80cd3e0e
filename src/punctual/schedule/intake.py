"""What comes in next: batches that are read, silent streams that are complete, the end of the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from punctual.clock import Micros
from punctual.schedule.contract import Reach
from punctual.schedule.events import (
    BatchRead,
    Command,
    Commit,
    Complete,
    Look,
    Moment,
    NothingRead,
    Pace,
    Read,
    WakeAt,
)
from punctual.schedule.qos.ingest_share import KEPT, IngestShare
from punctual.schedule.releases import due_instants, one_step, stop_runaways
from punctual.schedule.stages.once import asked_now
from punctual.schedule.stages.waiting import any_ready, next_begin
from punctual.schedule.state import Intake, State

MAX_OPEN_BATCHES = 2
"""The next batch is read while the last one is answered, and no further ahead."""
MAX_UNAPPLIED = 8
"""The same where time counts: what is open by its deadline keeps nobody from reading what may be due before it."""
MAX_PACED_FILES = 1 << 20


def read_done(state: State, event: NothingRead | BatchRead) -> Intake:
    """After a job: its batch is committed at once, or when its time has come in a replay by event time."""
    rules = state.rules
    intake = replace(state.intake, under_way=False, shedding=_shedding(state, event))
    if isinstance(event, NothingRead):
        return replace(intake, exhausted=True)
    pace = intake.pace
    if rules.speed is not None and pace is None and event.least is not None:
        pace = Pace(rules.speed, event.at.wall, event.least)
    due = None
    if pace is not None and event.greatest is not None:
        due = event.at.steady + pace.time_of(event.greatest) - event.at.wall
    behind = due is not None and due <= event.at.steady
    files = min(2 * intake.files, MAX_PACED_FILES) if behind else 1
    return replace(intake, has_batch=True, waiting_for=due, pace=pace, files=files)


def _shedding(state: State, event: NothingRead | BatchRead) -> IngestShare:
    """How much of the rows is read next: in a replay, and where somebody said how much to keep, all of them."""
    rules, intake = state.rules, state.intake
    counts = rules.timed and rules.speed is None and rules.keep is None and rules.qos != "best-effort"
    if isinstance(event, NothingRead) or intake.began is None or not counts:
        return IngestShare()
    # Holders that are this far behind have nothing left that could give way: answers from panes cost what they cost.
    took = event.at.steady - intake.began
    return intake.shedding.after(took, event.parts, rules.tick_us, stuck=_is_ahead(state))


def next_input(state: State, at: Moment) -> tuple[State, list[Command]]:
    """Commit, complete or read, whatever is next and may be done now."""
    intake = state.intake
    if intake.has_batch:
        if intake.waiting_for is not None and at.steady < intake.waiting_for:
            if state.stopping:  # its time never comes: the next run reads it again
                return replace(state, intake=replace(intake, has_batch=False)), []
            return state, []
        return replace(state, intake=replace(intake, has_batch=False)), [Commit(intake.pace)]
    if intake.under_way:
        return _look(state, at)
    if state.orders:
        return _ordered(state, at)
    if state.stopping or _is_ahead(state):
        return _look(state, at)
    match state.rules.mode:
        case "once":
            return _to_the_end(state, at)
        case "live":
            return _live(state, at)
        case "stepped":
            return state, []


def _is_ahead(state: State) -> bool:
    """Whether enough was read for now."""
    if state.rules.timed:
        return len(state.unapplied) >= MAX_UNAPPLIED
    return state.open_batches >= MAX_OPEN_BATCHES


def _ordered(state: State, at: Moment) -> tuple[State, list[Command]]:
    """What somebody asked for, once all before it is answered."""
    if state.unapplied or state.holder is not None or any_ready(state.firings.groups, at.wall, state.draws):
        return state, []
    order, *rest = state.orders
    state = replace(state, orders=tuple(rest))
    if isinstance(order, Mapping):
        return state, [Complete(order)] if _moves(state.reaches, order) else []
    return _read(state, at, order)


def _moves(reaches: Mapping[str, Reach], through: Mapping[str, Micros]) -> bool:
    """Whether a completion changes anything."""
    return any(name in reaches and at > reaches[name].through for name, at in through.items())


def _read(state: State, at: Moment, limit: int | None) -> tuple[State, list[Command]]:
    started = at.steady if state.intake.started is None else state.intake.started
    intake = replace(state.intake, under_way=True, began=at.steady, started=started, looked=at.steady)
    share, why = intake.shedding.share, intake.shedding.why if state.rules.keep is None else KEPT
    shares = dict.fromkeys(state.watermarks, share) if share < 1 else {}
    return replace(state, intake=intake), [Read(limit, shares, why)]


def _to_the_end(state: State, at: Moment) -> tuple[State, list[Command]]:
    if not state.intake.exhausted:
        return _read(state, at, None if state.rules.speed is None else state.intake.files)
    if not state.intake.ended:
        return replace(state, intake=replace(state.intake, ended=True)), [Complete({}, ended=True)]
    return state, []


def _live(state: State, at: Moment) -> tuple[State, list[Command]]:
    intake = state.intake
    if intake.began is None or at.steady >= intake.began + state.rules.tick_us:
        return _read(state, at, None)
    quiet = _quiet(state, at)
    if quiet:
        reaches = _completed(state.reaches, quiet)
        dues = due_instants(state.contracts.cohorts, reaches, state.released)
        stopped = stop_runaways(dues)
        if stopped:
            return state, [*stopped]
        now = one_step(dues, quiet) or (quiet if asked_now(state.contracts, reaches) else {})
        if now and _moves(state.reaches, now):
            if now != quiet:  # there is more to catch up with: rows are looked for before that
                state = replace(state, intake=replace(intake, began=None))
            return state, [Complete(now)]
    return state, []


def _quiet(state: State, at: Moment) -> dict[str, Micros]:
    """Streams that were silent for ``idle``, and through when they are complete by the wall clock.

    They are looked at after a batch was looked for, so that rows that are there go first.
    """
    started = state.intake.started
    idle = state.rules.idle_us
    if started is None:
        return {}
    return {
        name: at.wall - watermark - idle
        for name, watermark in state.watermarks.items()
        if at.steady - state.intake.spoke.get(name, started) >= idle
    }


def _completed(reaches: Mapping[str, Reach], through: Mapping[str, Micros]) -> dict[str, Reach]:
    return {
        name: replace(reach, through=max(reach.through, through[name])) if name in through else reach
        for name, reach in reaches.items()
    }


def _look(state: State, at: Moment) -> tuple[State, list[Command]]:
    """Rows that cannot be read yet are noticed all the same: their deadlines run."""
    intake = state.intake
    if not state.rules.timed or state.rules.mode != "live" or state.stopping:
        return state, []
    if intake.looked is not None and at.steady < intake.looked + state.rules.tick_us:
        return state, []
    return replace(state, intake=replace(intake, looked=at.steady)), [Look()]


def timer(state: State, at: Moment) -> list[Command]:
    """When to look again, if nothing happens before."""
    every = (_next_look(state, at), _next_stage(state, at), _next_epoch(state, at))
    times = [time for time in every if time is not None]
    return [WakeAt(min(times))] if times else []


def _next_look(state: State, at: Moment) -> Micros | None:
    """When to look at the input again."""
    intake = state.intake
    if intake.has_batch and intake.waiting_for is not None:
        return intake.waiting_for
    if state.rules.mode != "live" or state.stopping:
        return None
    busy = intake.under_way or _is_ahead(state)
    last = intake.looked if busy else intake.began
    return (last if last is not None else at.steady) + state.rules.tick_us


def _next_stage(state: State, at: Moment) -> Micros | None:
    """When the next answer of an instant may be begun; in steps nobody waits for it."""
    if not state.rules.timed or state.rules.mode == "stepped" or state.stopping:
        return None
    begin = next_begin(state.firings.groups, at.wall, state.draws)
    return None if begin is None else at.steady + begin - at.wall


def _next_epoch(state: State, at: Moment) -> Micros | None:
    """When the next epoch begins, or its plan is due."""
    plans = state.sharing.plans
    return None if plans is None or state.stopping else plans.wake_at(at.steady)


def is_exhausted(state: State) -> bool:
    """Whether nothing will come any more."""
    return state.rules.mode == "once" and state.intake.ended
