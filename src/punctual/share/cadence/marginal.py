"""What a query adds to the work of its stream, on whose executions it rides, and which bound would make it cheaper.

Model
-----
The work of a stream is what its classes cost per microsecond. The marginal work of a query is what its class costs with
it less what it would cost without it, both planned anew. A shorter bound keeps the query's promise, so a suggestion
never asks for a longer one: it names a bound of the class at which somebody dearer runs already.

Why it is fast enough: a query that another one with the same or a shorter bound outdoes in cost adds nothing under the
methods that combine them, unless panes are finer because of it; so only those that head a stair of the combination
rule, and those that refine panes, are planned without. All of these plans together take at most
:data:`punctual.share.cadence.effort.MOST_COMPARED` steps; what is not known by then is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from punctual.clock import Micros
from punctual.config import CadenceMethod
from punctual.errors import PlanError
from punctual.estimate.window_work import Operator, Rates
from punctual.share.cadence import Group, unit_of
from punctual.share.cadence.class_plan import ClassPlan, plan_class
from punctual.share.cadence.class_plans import works_of
from punctual.share.cadence.effort import MOST_COMPARED, STEPS_PER_MEMBER, Effort
from punctual.share.cadence.groups import combined
from punctual.share.classes import Member, SharingClass

MOST_CANDIDATES = 8
"""So many shorter bounds are tried for a suggestion, the longest first."""
WORTH_SAYING = Fraction(1, 1000)
"""Savings below this share of the stream's work are not worth a suggestion."""
FEW_MEMBERS = 50
ABSORBING: tuple[str, ...] = ("exact", "greedy", "aggressive")
"""Methods in which a query that is outdone by another one costs nothing of its own."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """With ``bound`` the query would ride on ``rides_on`` and the stream's work would fall by the share ``saving``."""

    bound: Micros
    rides_on: str
    saving: Fraction


@dataclass(frozen=True, slots=True)
class Ride:
    """A query among the others.

    ``rides_on`` is the dearest query whose executions answer it (None: only its own do); ``runs`` says whether it has
    executions of its own; ``marginal`` is the share of the stream's work that would go with it, None where that takes
    too long to find.
    """

    query: str
    rides_on: str | None
    runs: bool
    marginal: Fraction | None
    suggestion: Suggestion | None


class Rides:
    """All rides of a program whose classes are planned.

    Parameters
    ----------
    plans : as :func:`punctual.share.cadence.class_plans.class_plans` gives them
    method, operator, rates : as they were planned
    """

    def __init__(
        self, plans: Sequence[ClassPlan], method: CadenceMethod, operator: Operator, rates: Mapping[str, Rates]
    ) -> None:
        self._plans = {plan.sharing.identity: plan for plan in plans}
        self._method = method
        self._operator = operator
        self._rates = rates
        self._total = Effort(MOST_COMPARED)
        self._stream_work: dict[str, Fraction] = {}
        for plan in plans:
            stream = plan.sharing.stream
            self._stream_work[stream] = self._stream_work.get(stream, Fraction(0)) + _rate(plan)

    def all(self) -> list[Ride]:
        """The ride of every query, class after class."""
        everybody = [(plan, i) for plan in self._plans.values() for i in range(len(plan.sharing.members))]
        heads = {identity: _stair_heads(plan) for identity, plan in self._plans.items()}
        marginals = [self._marginal(plan, i, heads[plan.sharing.identity]) for plan, i in everybody]
        return [self._ride(plan, i, marginal) for (plan, i), marginal in zip(everybody, marginals)]

    def _ride(self, plan: ClassPlan, i: int, marginal: Fraction | None) -> Ride:
        members = plan.sharing.members
        answering = [plan.runs[place].member for place in plan.answered_by[i]]
        others = [member for member in answering if member != i]
        runs = i in answering
        rides_on = members[others[0]].query if others else None
        suggestion = self._suggestion(plan, i) if marginal and marginal > 0 and not members[i].fixed else None
        work = self._stream_work[plan.sharing.stream]
        if marginal is not None:
            marginal = marginal / work if work else Fraction(0)
        return Ride(members[i].query, rides_on, runs, marginal, suggestion)

    def _marginal(self, plan: ClassPlan, i: int, heads: frozenset[int]) -> Fraction | None:
        members = plan.sharing.members
        if plan.own_bounds and not any(work.shared for work in plan.works):
            return plan.works[i].own / members[i].bound  # its answers, and nobody runs otherwise without it
        # Under auto the others might keep their own bounds without it: looked for where that takes no time.
        quick = self._method != "auto" or len(members) > FEW_MEMBERS
        absorbed = quick and plan.method in ABSORBING and not members[i].fixed and i not in heads
        if absorbed and self._keeps_panes(plan, i):
            return Fraction(0)
        rest = tuple(member for index, member in enumerate(members) if index != i)
        without = self._rate_with(plan.sharing, rest) if rest else Fraction(0)
        return None if without is None or not plan.cost_is_exact else _rate(plan) - without

    def _keeps_panes(self, plan: ClassPlan, i: int) -> bool:
        """Whether the class would run on the same panes without the query."""
        members = plan.sharing.members
        rest = [member for index, member in enumerate(members) if index != i]
        if not rest or plan.works[i].own or unit_of(member.bound for member in rest) != plan.unit_us:
            return False
        residue = members[i].range_us % plan.unit_us
        # Panes are cut where its windows begin, too.
        return not residue or any(member.range_us % plan.unit_us == residue for member in rest)

    def _suggestion(self, plan: ClassPlan, i: int) -> Suggestion | None:
        """The shorter bound that saves most."""
        members = plan.sharing.members
        work = self._stream_work[plan.sharing.stream]
        if not work or not plan.cost_is_exact or not any(one.shared for one in plan.works):
            return None
        dearer: dict[Micros, int] = {}
        for place, member in enumerate(members):
            if member.bound < members[i].bound and plan.levels[place] >= plan.levels[i] and place != i:
                best = dearer.setdefault(member.bound, place)
                if plan.levels[place] > plan.levels[best]:
                    dearer[member.bound] = place
        # With a level below its own it would not ride for nothing, but sharing instants may still be cheaper.
        shorter = {member.bound for member in members if member.bound < members[i].bound}
        best_one: Suggestion | None = None
        for bound in sorted(shorter, reverse=True)[:MOST_CANDIDATES]:
            changed = tuple(replace(m, bound=bound) if index == i else m for index, m in enumerate(members))
            other = self._rate_with(plan.sharing, changed)
            if other is None:
                continue
            saving = (_rate(plan) - other) / work
            if saving >= WORTH_SAYING and (best_one is None or saving > best_one.saving):
                host = dearer.get(bound)
                if host is None:
                    host = next(place for place, member in enumerate(members) if member.bound == bound)
                best_one = Suggestion(bound, members[host].query, saving)
        return best_one

    def _rate_with(self, sharing: SharingClass, members: tuple[Member, ...]) -> Fraction | None:
        """What the class would cost per microsecond with these members, planned anew; None if that takes too long."""
        if not self._total.left:
            return None
        self._total.count(STEPS_PER_MEMBER * len(members))
        changed = replace(sharing, members=members)
        others = [p.sharing for p in self._plans.values() if p.sharing.unit == sharing.unit and p.sharing != sharing]
        together = works_of([changed, *others], self._operator, self._rates, own_bounds=False)[sharing.identity]
        alone = works_of([changed, *others], self._operator, self._rates, own_bounds=True)[sharing.identity]
        try:
            other = plan_class(changed, together, self._method, alone, self._total)
        except PlanError:
            return None
        return _rate(other) if other.cost_is_exact else None


def _stair_heads(plan: ClassPlan) -> frozenset[int]:
    """The members that others do not outdo, in bound or in cost; of equal ones none."""
    groups = [Group(m.bound, level) for m, level in zip(plan.sharing.members, plan.levels)]
    alike = Counter((group.bound, group.cost) for group in groups)
    heads = (block.index for block in combined(groups))
    return frozenset(i for i in heads if alike[groups[i].bound, groups[i].cost] == 1)


def _rate(plan: ClassPlan) -> Fraction:
    return plan.cost_per_unit / plan.unit_us
