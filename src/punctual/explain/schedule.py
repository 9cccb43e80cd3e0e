"""The schedule as text: of every sharing class its groups, the chosen instants on a timeline, and what methods cost.

Costs are those that the plan was made for: merges of panes, until an engine has measured microseconds. The other
methods are planned for the comparison only; one whose plan would take too long says so, and together they take no more
than :data:`punctual.share.cadence.effort.MOST_COMPARED` steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from punctual.clock import Micros, span_text
from punctual.config import CadenceMethod
from punctual.errors import PlanError
from punctual.estimate.window_work import Operator, Rates, Work
from punctual.explain.columns import count, line
from punctual.plan.shared import SharedPlan
from punctual.share.cadence import METHODS
from punctual.share.cadence.class_plan import ClassPlan, PlannedRun, plan_class
from punctual.share.cadence.class_plans import class_plans, operator_of, works_of
from punctual.share.cadence.effort import MOST_COMPARED, STEPS_PER_MEMBER, Effort
from punctual.share.cadence.planning import SEPARATE

TIMELINE = 60
"""Columns of a timeline; a longer cycle is drawn coarser."""
MOST_NAMES = 6
MOST_DRAWN = 40
"""Groups on a timeline, those with the shortest bounds."""
MOST_LOOKED_AT = 32
"""So many instants of a run within a column are compared with those of dearer runs. Where these have at most five steps
that decides it: five progressions that cover 2^5 neighbours cover them all (Crittenden and Vanden Eynden, 1970)."""

Compared = Mapping[str, ClassPlan | None]
"""What each method would plan for one class; None where that takes too long."""


@dataclass(frozen=True, slots=True)
class Group:
    """Queries of one bound: whenever the dearest runs, the others do. ``cost`` is that of its execution."""

    bound: Micros
    fixed: bool
    cost: Fraction
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The plans of all classes, with what is needed to compare them."""

    plans: tuple[ClassPlan, ...]
    operator: Operator
    asked: CadenceMethod
    rates: Mapping[str, Rates]

    @staticmethod
    def of(plan: SharedPlan, asked: CadenceMethod, *, scan: bool, rates: Mapping[str, Rates]) -> Schedule:
        """Plan every class as an engine with these options does."""
        plans = class_plans(plan, asked, scan=scan, rates=rates)
        return Schedule(plans, operator_of(asked, scan=scan), asked, rates)

    def text(self) -> str:
        """All of it, for people."""
        queries = sum(len(plan.sharing.members) for plan in self.plans)
        together = [plan for plan in self.plans if not _one_bound(plan)]
        lines = [f"schedule · {count(queries, 'query', 'queries')} · {count(len(self.plans), 'class', 'classes')}"]
        single = [member for plan in self.plans if _one_bound(plan) for member in plan.sharing.members]
        if single:
            lines.append("")
        for member in single:
            kind = "period" if member.fixed else "bound"
            about = f"{kind} {span_text(member.bound)} · at its multiples since 1970 UTC"
            lines.append(line(member.query, about))
        for plan, methods in zip(together, self.compared(together)):
            lines += ["", *self._class_text(plan, methods)]
        return "\n".join(lines) + "\n"

    def to_json(self) -> list[dict[str, Any]]:
        """The same for programs: classes in order, rates per second."""
        together = [plan for plan in self.plans if not _one_bound(plan)]
        methods = dict(zip((plan.sharing.identity for plan in together), self.compared(together)))
        return [self._class_json(plan, methods.get(plan.sharing.identity, {})) for plan in self.plans]

    # -- one class -------------------------------------------------------------------------------------

    def _class_text(self, plan: ClassPlan, methods: Compared) -> list[str]:
        groups = self.groups(plan)
        names = " ".join(f"g{number}" for number in range(1, len(groups) + 1))
        cost = self._costs_in(plan, "merges of panes")
        head = f"class of stream {plan.sharing.stream} · {names} · unit {span_text(plan.unit_us)} · costs in {cost}"
        lines = [head, ""]
        for number, group in enumerate(groups, 1):
            kind = "period" if group.fixed else "bound"
            about = f"{kind} {span_text(group.bound)}"
            lines.append(f"  g{number:<4}{about:<18}cost {_number(group.cost):<10}{_names(plan, group)}")
        chosen = "conservative, every query at its own bound" if plan.own_bounds else plan.method
        lines += ["", f"  plan: {chosen} · {plan.why}", "", *(_timeline(plan, groups)), ""]
        lines += _comparison(plan, methods)
        if self.operator == "scan" and self.asked != "auto" and not plan.sharing.walked_in:
            lines += ["", "  costs are those of one scan an execution (SET window_merge = scan)"]
        return lines

    def _costs_in(self, plan: ClassPlan, merges: str) -> str:
        if self.operator == "fold":
            return "answers"
        return plan.sharing.walked_in or merges

    def compared(self, plans: Sequence[ClassPlan]) -> list[Compared]:
        """For each of the plans what every method would plan; None where that takes too long."""
        works = works_of([plan.sharing for plan in self.plans], self.operator, self.rates, own_bounds=False)
        total = Effort(MOST_COMPARED)
        return [self._methods(plan, works[plan.sharing.identity], total) for plan in plans]

    def _methods(self, plan: ClassPlan, works: Sequence[Work], total: Effort) -> Compared:
        methods: dict[str, ClassPlan | None] = {}
        for method in METHODS:
            methods[method] = plan
            if method == plan.method and not plan.own_bounds:
                continue
            total.count(STEPS_PER_MEMBER * len(works))
            try:
                methods[method] = plan_class(plan.sharing, works, method, total=total) if total.left else None
            except PlanError:
                methods[method] = None
        return methods

    def groups(self, plan: ClassPlan) -> list[Group]:
        """The queries of a class by bound, ascending; PERIOD queries apart."""
        same: dict[tuple[Micros, bool], list[int]] = {}
        for i, member in enumerate(plan.sharing.members):
            same.setdefault((member.bound, member.fixed), []).append(i)
        found = []
        for (bound, fixed), members in sorted(same.items()):
            cost = max(plan.levels[i] for i in members)
            if plan.own_bounds:  # an execution answers nobody else
                cost = max(plan.works[i].shared for i in members) + sum(plan.works[i].own for i in members)
            found.append(Group(bound, fixed, cost, tuple(members)))
        return found

    def _class_json(self, plan: ClassPlan, methods: Compared) -> dict[str, Any]:
        return {
            "class": plan.sharing.identity,
            "stream": plan.sharing.stream,
            "method": plan.method,
            "own_bounds": plan.own_bounds,
            "why": plan.why,
            "unit_us": plan.unit_us,
            "costs_in": self._costs_in(plan, "merges"),
            "cost_per_unit": float(plan.cost_per_unit),
            "lower_bound": float(plan.lower_bound),
            "methods": {name: None if one is None else float(one.cost_per_unit) for name, one in methods.items()},
            "groups": [
                {
                    "bound_us": group.bound,
                    "period": group.fixed,
                    "cost": float(group.cost),
                    "queries": [plan.sharing.members[i].query for i in group.members],
                }
                for group in self.groups(plan)
            ],
            "runs": [
                {
                    "query": plan.sharing.members[run.member].query,
                    "step_us": run.step * plan.unit_us,
                    "offsets_us": [offset * plan.unit_us for offset in run.offsets],
                    "answers": [
                        member.query
                        for member, places in zip(plan.sharing.members, plan.answered_by)
                        if number in places
                    ],
                }
                for number, run in enumerate(plan.runs)
            ],
        }


def _comparison(plan: ClassPlan, methods: Compared) -> list[str]:
    """The table of what the methods cost."""
    per = span_text(plan.unit_us)
    lines = [f"  {'method':<15}{'cost per ' + per:<20}times the lower bound"]
    for method, one in methods.items():
        mark = "  <- chosen" if one is plan else ""
        lines.append(f"  {method:<15}{'takes too long to find' if one is None else _cost(one)}{mark}")
    if plan.own_bounds:
        lines.append(f"  {'own bounds':<15}{_cost(plan)}  <- chosen")
    lines.append(f"  {'lower bound':<15}{_number(plan.lower_bound)}")
    return lines


def _cost(plan: ClassPlan) -> str:
    cost = ("" if plan.cost_is_exact else "at most ") + _number(plan.cost_per_unit)
    return f"{cost:<20}{_ratio(plan.cost_per_unit, plan.lower_bound)}"


def _one_bound(plan: ClassPlan) -> bool:
    return len({member.bound for member in plan.sharing.members}) == 1


def _timeline(plan: ClassPlan, groups: Sequence[Group]) -> list[str]:
    """Which groups run over one cycle, and which are answered on the way."""
    cycle = _cycle(plan)
    columns = min(cycle, TIMELINE)
    per_column = -(-cycle // columns)
    columns = -(-cycle // per_column)
    wide = 1 if columns > 30 else 2
    spans = [(column * per_column, (column + 1) * per_column) for column in range(columns)]
    drawing = _Drawing(plan, spans)
    drawn = range(min(len(groups), MOST_DRAWN), 0, -1)
    rows = [(number, drawing.marks(groups[number - 1])) for number in drawn]
    lines = [f"  g{number:<4}|" + "".join(f"{mark:>{wide}}" for mark in marks) for number, marks in rows]
    axis = f"  {'':<5}0{span_text(cycle * plan.unit_us):>{max(wide * columns, 1)}}"
    coarse = "" if per_column == 1 else f" · one column is {span_text(per_column * plan.unit_us)}"
    cut = " · the cycle goes on" if _cycle_length(plan) > cycle else ""
    more = f" · {len(groups) - MOST_DRAWN} more groups" if len(groups) > MOST_DRAWN else ""
    return [*lines, axis, f"  {'':<5}● runs  ○ answered on the way{coarse}{cut}{more}"]


class _Drawing:
    """The marks of a timeline, by arithmetic: a column may stand for any number of instants.

    ``spans`` are its columns, each (low, high] in units.
    """

    def __init__(self, plan: ClassPlan, spans: Sequence[tuple[int, int]]) -> None:
        self._plan = plan
        self._spans = spans
        # Of runs that come together only the dearest does, and answers the others on the way.
        self._together = not plan.own_bounds and plan.method not in SEPARATE
        self._occupied = [[_upto(run, high) > _upto(run, low) for low, high in spans] for run in plan.runs]

    def marks(self, group: Group) -> list[str]:
        own = [index for index, run in enumerate(self._plan.runs) if run.member in group.members]
        answering = {index for i in group.members for index in self._plan.answered_by[i]}
        return [self._mark(column, own, answering) for column in range(len(self._spans))]

    def _mark(self, column: int, own: Sequence[int], answering: Collection[int]) -> str:
        if any(self._runs_in(column, index) for index in own if self._occupied[index][column]):
            return "●"
        return "○" if any(self._occupied[index][column] for index in answering) else "·"

    def _runs_in(self, column: int, index: int) -> bool:
        """Whether a run has an instant in the column that no dearer run has too, as far as it is looked for."""
        runs = self._plan.runs
        dearer = [runs[other] for other in range(index) if self._occupied[other][column]] if self._together else []
        low, high = self._spans[column]
        instant = _following(runs[index], low)
        for _look in range(MOST_LOOKED_AT):
            if instant > high:
                return False
            if not any(_runs_at(other, instant) for other in dearer):
                return True
            instant = _following(runs[index], instant)
        return False


def _upto(run: PlannedRun, time: int) -> int:
    """How many instants of the run are in [0, time]."""
    cycle, rest = divmod(time, run.step)
    return cycle * len(run.offsets) + bisect_right(run.offsets, rest)


def _following(run: PlannedRun, time: int) -> int:
    """The first instant of the run after this one."""
    cycle, rest = divmod(time, run.step)
    index = bisect_right(run.offsets, rest)
    return cycle * run.step + (run.offsets[index] if index < len(run.offsets) else run.step + run.offsets[0])


def _runs_at(run: PlannedRun, time: int) -> bool:
    return _following(run, time - 1) == time


def _cycle_length(plan: ClassPlan) -> int:
    return lcm(*(run.step for run in plan.runs))


def _cycle(plan: ClassPlan) -> int:
    """What the timeline shows: the cycle, or of a very long one three of its longest steps."""
    return min(_cycle_length(plan), max(3 * max(run.step for run in plan.runs), TIMELINE))


def _names(plan: ClassPlan, group: Group) -> str:
    names = [plan.sharing.members[i].query for i in group.members]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.4g}"


def _ratio(cost: Fraction, bound: Fraction) -> str:
    return f"{float(cost / bound):.3f}" if bound else "-"
