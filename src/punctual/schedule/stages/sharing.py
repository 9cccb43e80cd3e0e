"""Rounds that are drawn while a stage runs: which firings have a share of the cores, and what is drawn next.

Model
-----
Some queries have better answers the more is drawn for them. A stage of such a firing runs until its deadline: first
what is essential is drawn, then whatever the cores have time for, and shortly before the deadline it is answered from
what there is. Who gets the cores is decided by :mod:`punctual.schedule.online`; here firings become its queries, and
its joblets become commands. A firing is known once the holder has made it ready (``Ready``), which takes a moment.
Stages come as they come, each with what it needs; or there are plans, which say how much core time each has in the
epoch that runs (:mod:`punctual.schedule.stages.epoch_plans`). All else is the same.

What is drawn is in nobody's journal: an answer says itself how many rounds it rests on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.quality_curve import CONVEX
from punctual.schedule.contract import Contract
from punctual.schedule.epoch import AnytimeQuery
from punctual.schedule.firings import FiringGroup
from punctual.schedule.online import Arrived, Ended, Event, Foreseen, Reestimated, Rules, Start
from punctual.schedule.online import State as Online
from punctual.schedule.online import step as online_step
from punctual.schedule.quality import Firing
from punctual.schedule.stages.answer_times import AnswerTimes
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.epoch_plans import EpochPlans
from punctual.schedule.stages.open_stages import (
    LEAST_LEAD_US,
    OpenStages,
    answers_begin,
    is_ahead,
    longest_lead_us,
    open_stages,
)
from punctual.schedule.stages.stage import Stage

I64 = NDArray[np.int64]
NEVER = 2**62
"""What waits for rows is answered once these are there, and by no time."""
ENDING_US = 10_000
"""So long an answer waits for joblets, which end when it may be begun."""
JOBLET_US = 50_000.0
"""Core time of a joblet: so long whatever arrives waits for a core."""
MOST_DRAWN = 256
"""So many instants are drawn for; others are answered with what is essential once they are due."""
MOST_AT_ONCE = 16
"""So many are made ready before something else may be done,"""
READY_US = 50_000
"""and none after so long: answers that are due wait for the one that was begun, as for a joblet."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw so many rounds for an instant, none of them begun after ``until`` (by the steady clock)."""

    joblet: int
    stage: Stage
    rounds: int
    until: Micros


@dataclass(frozen=True, slots=True)
class EndDraws:
    """End these joblets as soon as may be: nobody wants any more what they draw, or others need their cores.

    Jobs have drawn nothing then. Threads stop within a few milliseconds, and what they have drawn counts.
    """

    joblets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sharing:
    """Where the draws stand."""

    online: Online | None = None
    running: Mapping[str, Stage] = field(default_factory=dict)
    """By the name that :mod:`punctual.schedule.online` has for them."""
    targets: Mapping[str, int] = field(default_factory=dict)
    """By the same name, how many rounds it is to have."""
    ends: Mapping[str, Micros] = field(default_factory=dict)
    """Until when there is time for it, by the steady clock: sooner than it was thought once others are due with it."""
    drawn: Mapping[tuple[str, Micros], Drawn] = field(default_factory=dict)
    making: frozenset[tuple[str, Micros]] = frozenset()
    """Instants whose rows Spark makes: they are answered once these are there."""
    given: Mapping[int, int] = field(default_factory=dict)
    """The rounds of joblets that are under way."""
    drawing: Mapping[int, Stage] = field(default_factory=dict)
    """What they are for."""
    ended: frozenset[int] = frozenset()
    """Those of them that were told to end."""
    unable: frozenset[str] = frozenset()
    """Queries for which nothing can be drawn before they are answered."""
    times: AnswerTimes = field(default_factory=AnswerTimes)
    """How long it takes to answer from such draws."""
    seen: Mapping[str, Drawn] = field(default_factory=dict)
    """By query, what was seen of its rounds last."""
    plans: EpochPlans | None = None
    """Where epochs are planned."""

    def lead_us(self, contract: Contract, number: int) -> Micros:
        """How long before its deadline the answer of this number is begun, by itself."""
        lead_us = LEAST_LEAD_US + self.times.pass_us + self.times.of(contract.query)
        return int(min(lead_us, longest_lead_us(contract, number)))

    def open(self, groups: tuple[FiringGroup, ...]) -> OpenStages:
        """The stages of open firings for which rounds may be drawn."""
        return open_stages(groups, self.unable)

    def waiting(
        self, groups: tuple[FiringGroup, ...], now: Micros, most: int = MOST_AT_ONCE
    ) -> tuple[FiringGroup, ...]:
        """Firings whose stage has begun, and that nobody has made ready; a few of them, those first that are answered
        first."""
        left = min(most, MOST_DRAWN - len(self.drawn))
        stages = self.open(groups)
        begin = answers_begin(stages, self.times)
        lines = np.flatnonzero((stages.begins <= now) & (begin > now))
        chosen: dict[int, list[int]] = {}
        for line in lines[np.argsort(begin[lines], kind="stable")].tolist():
            if left <= 0:
                break
            if any(not self._is_known(one.query, one.at) for one in stages.stages[line]):
                chosen.setdefault(int(stages.group[line]), []).append(int(stages.place[line]))
                left -= len(stages.stages[line])
        found: list[FiringGroup] = []
        for number, places in chosen.items():
            some = np.zeros(groups[number].due.instants.size, np.bool_)
            some[places] = True
            found.append(groups[number].only(some))
        return tuple(found)

    def _is_known(self, query: str, at: Micros) -> bool:
        """Whether there are draws for an instant, or Spark makes its rows."""
        return (query, at) in self.drawn or (query, at) in self.making

    def answers_begin(self, groups: tuple[FiringGroup, ...]) -> I64:
        """When the answer of each open stage may be begun: shortly before it is due, or once it has all it may have.

        One whose rows Spark makes just now is begun once these are there, and one for which a joblet is just ending
        once it has: what it has drawn counts.
        """
        stages = self.open(groups)
        found = np.maximum(stages.begins, answers_begin(stages, self.times))
        ending = {one for one in self.drawing.values() if not self._is_by_jobs(one)}
        if ending:
            found += ENDING_US * np.array([not ending.isdisjoint(line) for line in stages.stages], np.int64)
        full = {which for which, one in self.drawn.items() if one.full}
        if full:
            every = [all((one.query, one.at) in full for one in line) for line in stages.stages]
            found = np.where(np.array(every, np.bool_), stages.begins, found)
        if self.making:
            made = [all((one.query, one.at) not in self.making for one in line) for line in stages.stages]
            found = np.where(np.array(made, np.bool_), found, NEVER)
        return found

    def _is_by_jobs(self, stage: Stage) -> bool:
        known = self.drawn.get((stage.query, stage.at))
        return known is not None and known.at_once > 0

    def is_drawn(self, group: FiringGroup) -> bool:
        """Whether there are draws for all of these firings, or soon will be."""
        instants: list[Micros] = group.due.instants.tolist()
        every = ((query, at) for query in group.cohort.queries for at in instants)
        return is_ahead(group, self.unable) and all(self._is_known(*which) for which in every)

    def prepared(
        self, found: Mapping[tuple[str, Micros], Drawn], unable: frozenset[str], left: frozenset[tuple[str, Micros]]
    ) -> Sharing:
        """These instants are ready, and Spark makes the rows of those that are ``left``."""
        return replace(self.with_drawn(found), unable=self.unable | unable, making=self.making | left)

    def rows_made(
        self, which: frozenset[tuple[str, Micros]], found: Mapping[tuple[str, Micros], Drawn], unable: frozenset[str]
    ) -> Sharing:
        """Spark makes the rows of these instants no longer: some are ready, if they are still wanted."""
        wanted = {one: drawn for one, drawn in found.items() if one in self.making}
        return replace(self.with_drawn(wanted), unable=self.unable | unable, making=self.making - which)

    def with_drawn(self, found: Mapping[tuple[str, Micros], Drawn]) -> Sharing:
        """So far are the draws for some instants."""
        seen = {query: one for (query, _at), one in found.items()}
        return replace(self, drawn={**self.drawn, **found}, seen={**self.seen, **seen})

    def after_pass(self, groups: Sequence[FiringGroup], took_us: float) -> Sharing:
        """A pass took so long that answered these; where it answered others too, it says nothing of them."""
        if not all(self.is_drawn(group) for group in groups):
            return self
        return replace(self, times=self.times.after(groups, took_us))

    def demands(self, now: Micros, steady: Micros) -> list[Firing]:
        """What is essential and has not begun, for the level of everybody."""
        alive = () if self.online is None else self.online.alive
        return [Firing(int(one.deadline) - steady + now, 0.0, one.queued, CONVEX) for one in alive if one.queued]


def running_stages(
    sharing: Sharing, groups: tuple[FiringGroup, ...], now: Micros, answering: frozenset[Stage]
) -> Iterator[tuple[Stage, Micros]]:
    """The stages that run now, but for those that are being answered, and until when there is time to draw."""
    stages = sharing.open(groups)
    ends = answers_begin(stages, sharing.times)
    for line in np.flatnonzero((stages.begins <= now) & (ends > now)).tolist():
        for stage in stages.stages[line]:
            if stage not in answering:
                yield stage, int(ends[line])


def stages_of(groups: Iterable[FiringGroup]) -> frozenset[Stage]:
    """All answers of some firings."""
    return frozenset(
        Stage(query, at, group.number)
        for group in groups
        if group.cohort.one.ahead
        for query in group.cohort.queries
        for at in group.due.instants.tolist()
    )


@dataclass(frozen=True, slots=True)
class Cores:
    """What is known of the machine when cores are shared: how many, by which clock, and whether they have time."""

    count: int
    now: Micros
    steady: Micros
    idle: bool
    level: float
    seed: int = 0

    @property
    def spare(self) -> bool:
        """Whether there is time for more than what is essential."""
        return self.idle and self.level >= 1.0


def shared(
    sharing: Sharing, running: Iterable[tuple[Stage, Micros]], cores: Cores
) -> tuple[Sharing, list[Draw | EndDraws]]:
    """Who draws now: stages that are new have arrived, those that are gone need nothing more.

    Where there is no time to spare, bonus joblets that run give their cores back.
    """
    stages = dict(running)
    every = {
        stage: until
        for stage, until in stages.items()
        if (known := sharing.drawn.get((stage.query, stage.at))) is not None and not known.full and not known.begun
    }
    if sharing.plans is not None:
        plans = sharing.plans.by(cores.steady, every)
        sharing = replace(sharing, plans=plans)
        # A stage that goes on in the next epoch has another part there.
        border = plans.ends - cores.steady + cores.now
        every = {stage: min(until, border) for stage, until in every.items()}
    wanted = {_name(sharing, stage): (stage, until) for stage, until in every.items()}
    if not wanted and not sharing.running and not sharing.given:
        return (sharing if sharing.online is None else replace(sharing, online=None)), []
    online = sharing.online
    if online is not None:  # events of others may be a little older than the last one
        cores = replace(cores, steady=max(cores.steady, int(online.now)))
    else:
        online = Online(Rules(max(1, cores.count), JOBLET_US, cores.seed), now=float(cores.steady))
    online, events = _only(online, wanted), list[Event]()
    targets = {name: target for name, target in sharing.targets.items() if name in wanted}
    for name, (stage, until) in wanted.items():
        if name not in sharing.running:
            known = sharing.drawn[stage.query, stage.at]
            targets[name] = known.rounds + ceil(CONVEX.share(cores.level) * (known.target(stage.number) - known.rounds))
            # Shares follow from what is needed: who has all that is essential needs a little more.
            needed, granted = max(known.work_us(targets[name] - known.rounds), known.each_us), None
            if sharing.plans is not None:
                plan = sharing.plans.granted(stage)
                needed = needed if plan is None else CONVEX.share(cores.level) * plan.essential
                granted = 0.0 if plan is None else plan.core_time
            lifetime = AnytimeQuery(cores.steady, cores.steady + max(1, until - cores.now), needed)
            events.append(Arrived(cores.steady, name, lifetime, known.least_us, granted))
    events.append(Foreseen(cores.steady, None, bonus=cores.spare))
    now_running = {name: stage for name, (stage, _until) in wanted.items()}
    ends_at = {name: until + cores.steady - cores.now for name, (_stage, until) in wanted.items()}
    sharing = replace(sharing, online=online, running=now_running, targets=targets, ends=ends_at)
    unwanted = {joblet for joblet, stage in sharing.drawing.items() if stage not in stages}
    unwanted |= set() if cores.spare else _bonus_of_threads(sharing)
    ends = tuple(sorted(unwanted - sharing.ended))
    sharing = replace(sharing, ended=sharing.ended.union(ends)) if ends else sharing
    sharing, draws = _told(sharing, events)
    return sharing, [*([EndDraws(ends)] if ends else []), *draws]


def _bonus_of_threads(sharing: Sharing) -> set[int]:
    """The joblets beyond what is essential that lose nothing where they end early."""
    assert sharing.online is not None
    found = set()
    for number in [one.number for one in sharing.online.given if one.bonus]:
        stage = sharing.drawing[number]
        known = sharing.drawn.get((stage.query, stage.at))
        if known is not None and not known.at_once:
            found.add(number)
    return found


def joblet_ended(
    sharing: Sharing, at: Micros, joblet: int, used_us: float, stage: Stage, found: Drawn | None
) -> tuple[Sharing, list[Draw]]:
    """A joblet has ended; ``found`` is how far the draws are now, None: nothing more can be drawn for its query."""
    at = at if sharing.online is None else max(at, int(sharing.online.now))
    given = {number: rounds for number, rounds in sharing.given.items() if number != joblet}
    before = sharing.drawn.get((stage.query, stage.at))
    if found is not None and (stage.query, stage.at) in sharing.drawn:
        sharing = sharing.with_drawn({(stage.query, stage.at): found})
    drawn, unable = sharing.drawn, sharing.unable
    events: list[Event] = [Ended(at, joblet, used_us)]
    running = sharing.running
    if found is None:
        unable = unable | {stage.query}
        drawn = {which: one for which, one in drawn.items() if which[0] != stage.query}
        running = {name: one for name, one in running.items() if one.query != stage.query}
    drawing = {number: one for number, one in sharing.drawing.items() if number != joblet}
    sharing = replace(
        sharing, running=running, given=given, drawn=drawn, unable=unable, drawing=drawing,
        ended=sharing.ended - {joblet},
    )  # fmt: skip
    if found is not None and before is not None and found.needed > before.needed and stage.name in sharing.targets:
        # What the data ask for is only known now.
        target = max(sharing.targets[stage.name], found.target(stage.number))
        sharing = replace(sharing, targets={**sharing.targets, stage.name: target})
    if sharing.online is None:
        return sharing, []
    online = _only(sharing.online, running)
    sharing = replace(sharing, online=online)
    one = next((one for one in online.alive if one.name == stage.name), None)
    left = _left(sharing, stage.name)
    if found is not None and one is not None and (one.queued or left) and sharing.plans is None:
        # Plans give core time, whatever rounds turn out to cost. Else what was dropped is queued again: it may fit now.
        events.append(Reestimated(at, stage.name, found.work_us(left), found.least_us))
    elif found is not None and found.at_once:  # joblets of rounds beyond the essential ones are to fit, too
        names = [one.name for one in online.alive if running.get(one.name) == stage]
        events += [Reestimated(at, name, None, found.least_us) for name in names]
    sharing, draws = _told(sharing, events)
    sharing, more = _told(sharing, _dropped_before(sharing, at))
    return sharing, [*draws, *more]


def _left(sharing: Sharing, name: str) -> int:
    """How many essential rounds of a stage nobody has begun."""
    stage = sharing.running.get(name)
    known = None if stage is None else sharing.drawn.get((stage.query, stage.at))
    if known is None or sharing.online is None or name not in sharing.targets:
        return 0
    begun = sum(sharing.given.get(one.number, 0) for one in sharing.online.given if one.name == name)
    return max(0, sharing.targets[name] - known.rounds - begun)


def _dropped_before(sharing: Sharing, at: Micros) -> list[Event]:
    """Where nothing is queued any more, essential rounds that were dropped, since they were thought to cost more."""
    online = sharing.online
    if online is None or sharing.plans is not None or any(one.queued for one in online.alive):
        return []
    found: list[Event] = []
    for one in online.alive:
        if left := _left(sharing, one.name):
            stage = sharing.running[one.name]
            known = sharing.drawn[stage.query, stage.at]
            found.append(Reestimated(at, one.name, known.work_us(left), known.least_us))
    return found


def _told(sharing: Sharing, events: Iterable[Event]) -> tuple[Sharing, list[Draw]]:
    online, draws, given, drawing = sharing.online, list[Draw](), dict(sharing.given), dict(sharing.drawing)
    assert online is not None
    for event in events:
        online, commands = online_step(online, event)
        for command in commands:
            if isinstance(command, Start):
                stage = sharing.running.get(command.joblet.name)
                assert stage is not None, "joblets are of queries that run"
                known = sharing.drawn[stage.query, stage.at]
                rounds = known.rounds_for(command.joblet.budget)
                given[command.joblet.number], drawing[command.joblet.number] = rounds, stage
                until = int(min(command.joblet.until, sharing.ends[command.joblet.name]))
                draws.append(Draw(command.joblet.number, stage, rounds, until))
    return replace(sharing, online=online, given=given, drawing=drawing), draws


def _only(online: Online, names: Collection[str]) -> Online:
    """Without those that nobody wants any more: all at once, so that no joblet begins for the next one that goes."""
    return replace(online, alive=tuple(one for one in online.alive if one.name in names))


def _name(sharing: Sharing, stage: Stage) -> str:
    """By what a stage is known to the sharing of cores: each of its parts by its own name, where epochs are planned."""
    return stage.name if sharing.plans is None else f"{stage.name}\n{sharing.plans.at}"
