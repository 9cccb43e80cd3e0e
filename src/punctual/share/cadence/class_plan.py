"""When the queries of one sharing class run: costs, a method, and the runs that answer each query.

Model
-----
Bounds become integers of the class's unit, costs those of :mod:`punctual.estimate.window_work` with finishing folded
into the levels. ``SET cadence`` names a method of :mod:`punctual.share.cadence`; ``auto`` takes the exact plan where it
is found fast and the greedy one elsewhere, and neither where sharing saves nothing: then every query keeps its own
bound.

PERIOD queries are never moved. Under methods whose executions answer all cheaper queries they are free rides: a bounded
query that is no dearer and may wait as long needs no execution of its own, and what is left is planned either by itself
or inside the gaps between PERIOD instants, whichever is cheaper.

Planning is bounded (:mod:`punctual.share.cadence.effort`). Where ``exact`` is asked for by name and takes too long that
is an error; ``auto`` then takes the greedy plan. Where what coincides cannot be counted the cost is an upper bound. A
plan says so in ``why``.

Invariants: the instants of a query are never further apart than its bound (``tests/share/test_class_plan.py``, against
enumeration); a PERIOD query runs at the multiples of its period and nowhere else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from punctual.clock import Micros
from punctual.config import CadenceMethod
from punctual.errors import PlanError
from punctual.estimate.window_work import Work
from punctual.share.cadence import Cadence, Group, Method, fold_finishing, plan, unit_of
from punctual.share.cadence.cadence import WhenDue
from punctual.share.cadence.dearest_due import Multiples, Rate, rate_of_dearest_due
from punctual.share.cadence.effort import Effort, OutOfSteps
from punctual.share.cadence.fixed_cycle import fixed_cycle
from punctual.share.cadence.groups import combined, least_rate
from punctual.share.cadence.planning import SEPARATE
from punctual.share.cadence.rates import rate_of
from punctual.share.classes import Member, SharingClass

FAST_GROUPS = 200
FAST_UNITS = 40_000
"""Up to here ``auto`` looks for the exact plan; beyond, planning could hold up a tick."""
UPPER_BOUND = "its cost is an upper bound, as so many bounds coincide in too many ways to be counted"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The member at ``member`` runs at ``m * step + offset`` (in units), and with it those that it answers.

    ``anchored`` runs count from where the plan took over, the others from 1970: they go with PERIOD instants.
    """

    member: int
    step: int
    offsets: tuple[int, ...]
    anchored: bool


@dataclass(frozen=True)
class ClassPlan:
    """A plan of one class. What it costs is computed when it is asked for: an engine that plans may never ask.

    Attributes
    ----------
    method : as used; ``conservative`` with ``own_bounds`` where every query keeps its own bound
    unit_us : every instant is a multiple of it
    works : what an execution of each member costs, on panes as this plan cuts them
    runs : the dearest first
    answered_by : for each member, the places of the runs that answer it; they are neighbours
    planned_cost : what the method says it costs per unit; None for own bounds of windows
    cost_is_exact : otherwise it costs at most that
    """

    sharing: SharingClass
    method: Method
    own_bounds: bool
    why: str
    unit_us: Micros
    works: tuple[Work, ...]
    runs: tuple[PlannedRun, ...]
    answered_by: tuple[range, ...]
    planned_cost: Fraction | None
    cost_is_exact: bool

    def steps(self) -> dict[str, Micros]:
        """By query, of what all its instants are multiples if the plan's cycles start at 1970."""
        return {m.query: m.bound if self.own_bounds or m.fixed else self.unit_us for m in self.sharing.members}

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """What an execution of each member costs, with all that it answers where the dearest answers the rest."""
        return tuple(group.cost for group in fold_finishing(self._bare))

    @cached_property
    def cost_per_unit(self) -> Fraction:
        """Per unit of time."""
        if self.planned_cost is not None:
            return self.planned_cost
        shared = [(self.works[run.member].shared, run.step) for run in self.runs]
        return rate_of([*shared, *((own, group.bound) for group, own in self._bare)])

    @cached_property
    def lower_bound(self) -> Fraction:
        """No plan that keeps the bounds costs less per unit."""
        answers = rate_of((own, group.bound) for group, own in self._bare)
        return least_rate(combined([group for group, _own in self._bare])) + answers

    @property
    def _bare(self) -> list[tuple[Group, Fraction]]:
        return bare_groups(self.sharing.members, self.works, self.unit_us)


def bare_groups(members: Sequence[Member], works: Sequence[Work], unit: Micros) -> list[tuple[Group, Fraction]]:
    """A group for every member, with what it shares as its cost, and beside it what finishing its answer costs."""
    return [(Group(member.bound // unit, work.shared), work.own) for member, work in zip(members, works)]


def plan_class(
    sharing: SharingClass,
    works: Sequence[Work],
    method: CadenceMethod,
    alone: Sequence[Work] | None = None,
    total: Effort | None = None,
) -> ClassPlan:
    """The plan of a class whose members' work is ``works``.

    ``alone`` is their work where every query keeps its own bound: panes are coarser there (by default the same). The
    steps that planning takes are counted in ``total`` too.

    Raises
    ------
    PlanError
        ``plan.cadence-too-fine``, where ``exact`` was asked for and would take too long.
    """
    problem = _Problem(sharing, works, total)
    singly = _Problem(sharing, works if alone is None else alone, total)
    if not problem.bounded:
        return singly.own_bounds("PERIOD instants are where they are")
    if method != "auto":
        return problem.planned(method, f"SET cadence = {method}")
    if len({member.bound for member in sharing.members}) == 1:
        return singly.own_bounds("nobody else of its class runs at other times")
    if not any(work.shared for work in works):
        return singly.own_bounds(
            "running sooner to share saves nothing: an execution costs its answers, and no less when they share it"
        )
    best = problem.fastest()
    own = singly.own_bounds("running sooner to share saves nothing: what is gained costs more in panes and answers")
    return best if best.cost_per_unit < own.cost_per_unit else own


class _Problem:
    """A class with its costs: everything that the methods have in common."""

    def __init__(self, sharing: SharingClass, works: Sequence[Work], total: Effort | None) -> None:
        self.total = total
        self.sharing = sharing
        self.works = tuple(works)
        self.members: tuple[Member, ...] = sharing.members
        self.unit = unit_of(member.bound for member in self.members)
        self.bounded = [i for i, member in enumerate(self.members) if not member.fixed]
        self.fixed = [i for i, member in enumerate(self.members) if member.fixed]

    @cached_property
    def levels(self) -> tuple[Group, ...]:
        return fold_finishing(bare_groups(self.members, self.works, self.unit))

    @cached_property
    def shared(self) -> tuple[Group, ...]:
        return tuple(group for group, _own in bare_groups(self.members, self.works, self.unit))

    def own_bounds(self, why: str) -> ClassPlan:
        """Every query at the multiples of its bound; those of one bound together."""
        dearest: dict[int, int] = {}
        for i, member in enumerate(self.members):
            best = dearest.setdefault(member.bound, i)
            if self.works[i].shared > self.works[best].shared:
                dearest[member.bound] = i
        runs = [PlannedRun(i, bound // self.unit, (0,), anchored=False) for bound, i in dearest.items()]
        runs.sort(key=lambda run: (-self.works[run.member].shared, run.step))
        place = {run.step * self.unit: _only(number) for number, run in enumerate(runs)}
        by_member = tuple(place[member.bound] for member in self.members)
        rate = None
        if self.sharing.walked_in:  # of one window: where bounds meet, the longest walk serves them all
            shared = self._dearest_due([(run.step, self.works[run.member].shared) for run in runs])
            answers = rate_of((work.own, member.bound // self.unit) for work, member in zip(self.works, self.members))
            rate = Rate(shared.cost + answers, shared.exact)
        return self._result("conservative", why, runs, by_member, rate, own_bounds=True)

    def fastest(self) -> ClassPlan:
        """The exact plan where it is found fast, else the greedy one."""
        bounds = [member.bound // self.unit for member in self.members]
        if len(bounds) <= FAST_GROUPS and max(bounds) <= FAST_UNITS:
            try:
                return self.planned("exact", "around PERIOD instants" if self.fixed else "no plan is cheaper")
            except PlanError:
                pass
        return self.planned("greedy", "the exact plan of so many or so fine bounds would take too long to find")

    def planned(self, method: Method, why: str) -> ClassPlan:
        """The plan by one of the methods."""
        if method in SEPARATE:
            return self._separate(method, why)
        if method in ("exact", "greedy"):
            return self._with_rides(method, why)
        runs = self._fixed_runs()
        if self.bounded:
            cadence = plan([self.levels[i] for i in self.bounded], method, self.total)
            if not self.fixed:
                return self._joint(method, why, self._runs(cadence, self.bounded), _rate(cadence))
            runs += [PlannedRun(self.bounded[i], step, (0,), anchored=False) for i, step in _blocks(cadence)]
        return self._joint(method, why, runs, self._rate_when_due(runs))

    # -- methods whose executions share nothing --------------------------------------------------------

    def _separate(self, method: Method, why: str) -> ClassPlan:
        runs: list[PlannedRun] = []
        answered: dict[int, range] = {}
        cost = Fraction(0)
        for some in (self.bounded, self.fixed):
            if not some:
                continue
            # PERIOD queries of one period may share; none of them may move.
            how: Method = method if some is self.bounded or method == "none" else "intra"
            cadence = plan([self.shared[i] for i in some], how, self.total)
            cost += cadence.cost_per_unit
            for block_index, step in _blocks(cadence):
                for position in cadence.answers[block_index]:
                    answered[some[position]] = _only(len(runs))
                    cost += self.works[some[position]].own / step
                runs.append(PlannedRun(some[block_index], step, (0,), anchored=False))
        order = sorted(range(len(runs)), key=lambda place: -self.works[runs[place].member].shared)
        moved = {place: _only(new) for new, place in enumerate(order)}
        by_member = tuple(moved[answered[i].start] for i in range(len(self.members)))
        return self._result(method, why, [runs[place] for place in order], by_member, Rate(cost, exact=True))

    # -- exact and greedy, with PERIOD instants as free rides ---------------------------------------------

    def _with_rides(self, method: Method, why: str) -> ClassPlan:
        runs = self._fixed_runs()
        fixed = [(run.step, self.levels[run.member].cost) for run in runs]
        base = self._rate_when_due(runs)
        left = [
            i
            for i in self.bounded
            if not any(period <= self.levels[i].bound and cost >= self.levels[i].cost for period, cost in fixed)
        ]
        if not left:
            return self._joint(method, why, runs, base)
        cadence = plan([self.levels[i] for i in left], method, self.total)
        if not fixed:
            return self._joint(method, why, self._runs(cadence, left), _rate(cadence))
        best, cost = self._runs(cadence, left), cadence.cost_per_unit
        effort = Effort(within=self.total)
        for period, ridden in fixed:
            inside = self._inside(left, period, ridden, effort)
            if inside is not None and inside[1] < cost:
                best, cost = inside
        return self._joint(method, why, [*runs, *best], Rate(base.cost + cost, base.exact))

    def _inside(
        self, left: list[int], period: int, ridden: Fraction, effort: Effort
    ) -> tuple[list[PlannedRun], Fraction] | None:
        """What is left runs inside the gaps between PERIOD instants, and at them where it is dearer.

        None where that takes too long to find: what is left then runs by itself.
        """
        stairs = combined([self.levels[i] for i in left])
        try:
            best = fixed_cycle([stair.bound for stair in stairs], [stair.cost for stair in stairs], period, effort)
        except OutOfSteps:
            return None
        dearest = stairs[-1]
        times: dict[int, list[int]] = {}
        for time, level in zip(best.times.tolist(), best.levels.tolist()):
            times.setdefault(left[stairs[level].index], []).append(time)
        if dearest.cost > ridden:
            times.setdefault(left[dearest.index], []).insert(0, 0)
        runs = [PlannedRun(member, period, tuple(offsets), anchored=False) for member, offsets in times.items()]
        return runs, best.rate + max(Fraction(0), dearest.cost - ridden) / period

    # -- results ------------------------------------------------------------------------------------------

    def _fixed_runs(self) -> list[PlannedRun]:
        """The PERIOD queries, those of one period together."""
        dearest: dict[int, int] = {}
        for i in self.fixed:
            period = self.levels[i].bound
            if period not in dearest or self.levels[i].cost > self.levels[dearest[period]].cost:
                dearest[period] = i
        return [PlannedRun(i, period, (0,), anchored=False) for period, i in dearest.items()]

    def _rate_when_due(self, runs: Sequence[PlannedRun]) -> Rate:
        return self._dearest_due([(run.step, self.levels[run.member].cost) for run in runs])

    def _dearest_due(self, due: Sequence[tuple[int, Fraction]]) -> Rate:
        return rate_of_dearest_due(due, Multiples((step for step, _cost in due), Effort(within=self.total)))

    def _runs(self, cadence: Cadence, members: Sequence[int]) -> list[PlannedRun]:
        if cadence.cycle is None or cadence.method != "exact":
            return [PlannedRun(members[i], step, (0,), anchored=True) for i, step in _blocks(cadence)]
        times: dict[int, list[int]] = {}
        for time, group in cadence.executions:
            times.setdefault(members[group], []).append(time % cadence.cycle)
        return [PlannedRun(i, cadence.cycle, tuple(sorted(when)), anchored=True) for i, when in times.items()]

    def _joint(self, method: Method, why: str, runs: Sequence[PlannedRun], rate: Rate) -> ClassPlan:
        """A run answers every query that is not dearer; a PERIOD query only at its own instants."""
        dearest: dict[object, PlannedRun] = {}
        for run in sorted(runs, key=lambda run: (-self.levels[run.member].cost, run.step, run.member)):
            # Of runs that always come together the dearest is enough, unless somebody's PERIOD is named by it.
            fixed = self.members[run.member].fixed
            dearest.setdefault((run.step, run.offsets, run.anchored, fixed), run)
        ordered = list(dearest.values())
        falling = [-self.levels[run.member].cost for run in ordered]
        period = {run.step: place for place, run in enumerate(ordered) if self.members[run.member].fixed}
        answered = tuple(
            _only(period[group.bound]) if member.fixed else range(bisect_right(falling, -group.cost))
            for member, group in zip(self.members, self.levels)
        )
        return self._result(method, why, ordered, answered, rate)

    def _result(
        self,
        method: Method,
        why: str,
        runs: Sequence[PlannedRun],
        answered_by: tuple[range, ...],
        rate: Rate | None,
        *,
        own_bounds: bool = False,
    ) -> ClassPlan:
        cost, exact = (None, True) if rate is None else rate
        return ClassPlan(
            self.sharing,
            method,
            own_bounds,
            why if exact else f"{why} · {UPPER_BOUND}",
            self.unit,
            self.works,
            tuple(runs),
            answered_by,
            cost,
            exact,
        )


def _rate(cadence: Cadence) -> Rate:
    return Rate(cadence.cost_per_unit, cadence.cost_is_exact)


def _only(place: int) -> range:
    return range(place, place + 1)


def _blocks(cadence: Cadence) -> list[tuple[int, int]]:
    """The group that runs and the step of every block of a plan whose blocks run when they are due."""
    assert isinstance(cadence.schedule, WhenDue)
    return [(block.index, block.bound) for block in cadence.schedule.blocks]
