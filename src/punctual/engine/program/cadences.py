"""The cadence plans that are in force, and how they change.

``share`` plans the classes of the running program, and what follows for their queries is kept as a cadence plan, with
the instant from which it holds. A program whose classes, bounds and method are as before keeps its cadence plans;
another one gets a new one per class that takes over at an instant to come. Every change is in the journal before
anything follows from it.

A class without cadence plans keeps every query at its own bound. That is what is planned where sharing saves nothing,
and then nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Protocol

from punctual.clock import Micros
from punctual.config import CadenceMethod, Options
from punctual.engine.batch.progress import Progress, joint
from punctual.engine.journal import Journal
from punctual.estimate.window_work import MODELLED, Rates, Work, window_work
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Once, Query
from punctual.plan.shared import SharedPlan
from punctual.schedule.cadence_plans import CadencePlan, Slot, followed, step_from, takeover, timetable
from punctual.schedule.due import BEGINNING, Run, Timetable, length_text
from punctual.share.cadence.class_plan import ClassPlan
from punctual.share.cadence.class_plans import class_plans


class PlansOf(Protocol):
    """The cadence of every sharing class of a shared plan."""

    def __call__(
        self, plan: SharedPlan, method: CadenceMethod, *, scan: bool, rates: Mapping[str, Rates] | None = None
    ) -> tuple[ClassPlan, ...]: ...


PlansByClass = Mapping[str, tuple[CadencePlan, ...]]
"""The cadence plans of each class, in the order in which they take over."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When every query of a program answers: a proposal until it is adopted.

    All but ``cadence_plans`` is by the query's name: when it answers, of what all its instants are multiples, its
    sharing class, and what an execution of it costs.
    """

    cadence_plans: PlansByClass
    tables: Mapping[str, Timetable]
    steps: Mapping[str, Micros]
    classes: Mapping[str, str]
    works: Mapping[str, Work]


class Cadences:
    """Reads and writes the journal; everything else is a function of what it holds."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        by_class: dict[str, tuple[CadencePlan, ...]] = {}
        for one in journal.decided.cadence:
            by_class[one.identity] = (*by_class.get(one.identity, ()), one)
        self._plans: PlansByClass = by_class

    @property
    def plans(self) -> PlansByClass:
        """All that are in force or to come, by class."""
        return self._plans

    @property
    def rates(self) -> dict[str, Rates]:
        """The costs that the plans in force were made for, by class."""
        return {
            identity: Rates(*map(Fraction, several[-1].costs)) for identity, several in self._plans.items()
        }

    def propose(
        self,
        plan: SharedPlan,
        keys: Mapping[str, str],
        known: frozenset[str],
        options: Options,
        progress: Mapping[str, Progress],
        rates: Mapping[str, Rates],
        *,
        settled: bool,
        class_plans: PlansOf = class_plans,
    ) -> Timing:
        """The timing of a program.

        Parameters
        ----------
        keys : what each query means, by name
        known : those meanings that stood before
        rates : measured costs by class; a class without any is modelled
        settled : every committed instant is answered, so plans that ended before may go
        class_plans : may remember the program before
        """
        scan = options.window_merge == "scan"
        plans = class_plans(plan, options.cadence, scan=scan, rates=rates)
        by_name = {query.name: query for query in plan.queries}
        cadence_plans: dict[str, tuple[CadencePlan, ...]] = {}
        for one in plans:
            before = self._plans.get(one.sharing.identity) or self._inherited(one, keys)
            if one.own_bounds and not before:  # nothing is planned, and nothing was
                continue
            stream = joint(progress, one.sharing.streams)
            after = self._with(one, before, rates.get(one.sharing.identity, MODELLED), keys, known, options, stream)
            if settled:
                after = tuple(
                    earlier
                    for earlier, following in zip(after, (*after[1:], None))
                    if following is None or following.since > stream.through
                )
            if after:
                cadence_plans[one.sharing.identity] = after
        tables, steps = _timetables(by_name, keys, cadence_plans, progress)
        classes = {member.query: one.sharing.identity for one in plans for member in one.sharing.members}
        works = {member.query: work for one in plans for member, work in zip(one.sharing.members, one.works)}
        alone = [query for query in plan.queries if query.name not in classes]
        for query in alone:  # row queries and those that are asked once: each by itself, at its own bound
            classes[query.name] = f"rows-{keys[query.name]}"
            works[query.name] = window_work(1, "fold")
        return Timing(cadence_plans, tables, steps, classes, works)

    def _inherited(self, plan: ClassPlan, keys: Mapping[str, str]) -> tuple[CadencePlan, ...]:
        """Plans of queries that were in other classes until now (``sharing`` was changed), as this class's own."""
        if not self._plans:
            return ()
        mine = {keys[member.query] for member in plan.sharing.members}
        found = [
            replace(one, identity=plan.sharing.identity, slots=slots)
            for several in self._plans.values()
            for one in several
            if (slots := {key: slot for key, slot in one.slots.items() if key in mine})
        ]
        return tuple(sorted(found, key=lambda one: one.since))

    def _with(
        self,
        plan: ClassPlan,
        before: tuple[CadencePlan, ...],
        rates: Rates,
        keys: Mapping[str, str],
        known: frozenset[str],
        options: Options,
        stream: Progress,
    ) -> tuple[CadencePlan, ...]:
        """The cadence plans of a class, with a new one where the plan is not the one in force."""
        request = _request(plan, rates, keys, options)
        if before and before[-1].request == request:
            return before
        stood = [m for m in plan.sharing.members if keys[m.query] in known]
        if stream.through == BEGINNING or not (before or stood):
            return (_cadence_plan(plan, request, rates, keys, BEGINNING, None),)
        after = stream.through
        lattices = {key: slot.lattice for one in before for key, slot in one.slots.items()}
        for member in stood:
            # Rows that were cut at coarser edges cannot answer windows that end between them: wait until they are past.
            coarser = lattices.get(keys[member.query], member.bound)
            if not member.fixed and not plan.own_bounds and plan.unit_us % coarser:
                assert stream.greatest is not None
                after = max(after, stream.greatest + member.range_us)
        if before:
            instant, handed_by = takeover(before, after)
        else:
            dearest = max(stood, key=lambda member: (member.range_us, member.steps))
            handed_by = Run(length_text(dearest.bound), dearest.bound)
            instant = handed_by.following(after)
        return followed(before, _cadence_plan(plan, request, rates, keys, instant, handed_by))

    def adopt(self, timing: Timing) -> None:
        """From now on this holds; what is not in the journal yet is written first."""
        if timing.cadence_plans != self._plans:
            cadence = tuple(one for several in timing.cadence_plans.values() for one in several)
            self._journal.write(replace(self._journal.decided, cadence=cadence))
            self._plans = timing.cadence_plans


def own_bounds(plan: SharedPlan) -> Timing:
    """The timing of queries that are tried alone."""
    queries = plan.queries
    return Timing(
        {},
        {query.name: Timetable.multiples(query.cadence.us) for query in queries},
        {query.name: query.cadence.us for query in queries},
        {query.name: query.name for query in queries},
        {query.name: window_work(1, "fold") for query in queries},
    )


def _timetables(
    queries: Mapping[str, Query], keys: Mapping[str, str], cadence_plans: PlansByClass, progress: Mapping[str, Progress]
) -> tuple[dict[str, Timetable], dict[str, Micros]]:
    by_key: dict[str, list[CadencePlan]] = {}
    for several in cadence_plans.values():
        for one in several:
            for key in one.slots:
                by_key.setdefault(key, []).append(one)
    tables: dict[str, Timetable] = {}
    steps: dict[str, Micros] = {}
    same: dict[tuple[object, ...], Timetable] = {}
    for name, query in queries.items():
        mine = by_key.get(keys[name])
        if mine is None:
            step = steps[name] = query.cadence.us
            tables[name] = Timetable.once(None) if isinstance(query.cadence, Once) else Timetable.multiples(step)
            continue
        slots = tuple((one.identity, one.since, one.slots[keys[name]]) for one in mine)
        # Queries that always run together have one timetable, so that what is due is found once for all of them.
        table = same.setdefault((query.cadence.us, slots), timetable(keys[name], query.cadence.us, mine))
        tables[name] = table
        stream = joint(progress, query.streams)
        steps[name] = step_from(table, stream.through)
    return tables, steps


def _cadence_plan(
    plan: ClassPlan, request: str, rates: Rates, keys: Mapping[str, str], since: Micros, handed_by: Run | None
) -> CadencePlan:
    """The plan of a class as it holds from an instant on.

    Its cycles start where it takes over, or at multiples of the cycle since 1970.
    """
    members = plan.sharing.members
    anchor = 0 if handed_by is None else since
    lattice = gcd(plan.unit_us, anchor)
    runs = []
    for run in plan.runs:
        step = run.step * plan.unit_us
        start = anchor if run.anchored else 0
        offsets = tuple(sorted((start + offset * plan.unit_us) % step for offset in run.offsets))
        label = length_text(members[run.member].bound)
        if plan.method == "none":
            label += f"/{members[run.member].query}"  # queries of one bound run apart too
        plain = offsets == (0,) and step == members[run.member].bound
        runs.append(Run(label, step, offsets, step if plain else lattice))
    slots = {
        keys[member.query]: Slot(member.bound if plan.own_bounds else lattice, answered_by)
        for member, answered_by in zip(members, plan.answered_by)
        if not member.fixed
    }
    costs = (str(rates.merge), str(rates.answer))
    return CadencePlan(
        plan.sharing.identity, request, since, handed_by, plan.method, plan.why, costs, tuple(runs), slots
    )


def _request(plan: ClassPlan, rates: Rates, keys: Mapping[str, str], options: Options) -> str:
    """What was asked for: the same plan is not made twice."""
    members = tuple(sorted(keys[member.query] for member in plan.sharing.members))
    return fingerprint(options.cadence, options.window_merge, members, rates.merge, rates.answer)
