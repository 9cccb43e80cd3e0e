"""The schedule as text: of every sharing class its groups, the chosen instants on a timeline, and what methods cost.

Costs are those that the plan was made for: merges of panes, until an engine has measured microseconds. The other
methods are planned for the comparison only; one whose plan would take too long says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from punctual.clock import Micros, span_text
from punctual.config import CadenceMethod
from punctual.errors import PlanError
from punctual.estimate.window_work import Operator, Rates
from punctual.explain.columns import count, line
from punctual.plan.shared import SharedPlan
from punctual.share.cadence import METHODS
from punctual.share.cadence.class_plan import ClassPlan, plan_class
from punctual.share.cadence.class_plans import class_plans, operator_of, works_of
from punctual.share.cadence.planning import SEPARATE

TIMELINE = 60
"""Columns of a timeline; a longer cycle is drawn coarser."""
MOST_NAMES = 6


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
        for plan in together:
            lines += ["", *self._class_text(plan)]
        return "\n".join(lines) + "\n"

    def to_json(self) -> list[dict[str, Any]]:
        """The same for programs: classes in order, rates per second."""
        return [self._class_json(plan) for plan in self.plans]

    # -- one class -------------------------------------------------------------------------------------

    def _class_text(self, plan: ClassPlan) -> list[str]:
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
        lines += self._comparison(plan)
        if self.operator == "scan" and self.asked != "auto" and not plan.sharing.ranking:
            lines += ["", "  costs are those of one scan an execution (SET window_merge = scan)"]
        return lines

    def _costs_in(self, plan: ClassPlan, merges: str) -> str:
        if self.operator == "fold":
            return "answers"
        return "ranks of a row" if plan.sharing.ranking else merges

    def _comparison(self, plan: ClassPlan) -> list[str]:
        per = span_text(plan.unit_us)
        lines = [f"  {'method':<15}{'cost per ' + per:<20}times the lower bound"]
        for method, cost in self.costs(plan).items():
            mark = "  <- chosen" if method == plan.method and not plan.own_bounds else ""
            said = "takes too long to find" if cost is None else f"{_number(cost):<20}{_ratio(cost, plan.lower_bound)}"
            lines.append(f"  {method:<15}{said}{mark}")
        if plan.own_bounds:
            ratio = _ratio(plan.cost_per_unit, plan.lower_bound)
            lines.append(f"  {'own bounds':<15}{_number(plan.cost_per_unit):<20}{ratio}  <- chosen")
        lines.append(f"  {'lower bound':<15}{_number(plan.lower_bound)}")
        return lines

    def costs(self, plan: ClassPlan) -> dict[str, Fraction | None]:
        """What every method costs per unit; None where its plan would take too long to find."""
        found: dict[str, Fraction | None] = {}
        classes = tuple(one.sharing for one in self.plans)
        works = works_of(classes, self.operator, self.rates, own_bounds=False)[plan.sharing.identity]
        for method in METHODS:
            if method == plan.method and not plan.own_bounds:
                found[method] = plan.cost_per_unit
                continue
            try:
                found[method] = plan_class(plan.sharing, works, method).cost_per_unit
            except PlanError:
                found[method] = None
        return found

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

    def _class_json(self, plan: ClassPlan) -> dict[str, Any]:
        costs = {} if _one_bound(plan) else self.costs(plan)
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
            "methods": {method: None if cost is None else float(cost) for method, cost in costs.items()},
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


def _one_bound(plan: ClassPlan) -> bool:
    return len({member.bound for member in plan.sharing.members}) == 1


def _timeline(plan: ClassPlan, groups: Sequence[Group]) -> list[str]:
    """Which groups run over one cycle, and which are answered on the way."""
    cycle = _cycle(plan)
    columns = min(cycle, TIMELINE)
    per_column = -(-cycle // columns)
    columns = -(-cycle // per_column)
    wide = 1 if columns > 30 else 2
    lines = []
    together = not plan.own_bounds and plan.method not in SEPARATE
    for number in range(len(groups), 0, -1):
        group = groups[number - 1]
        ran = _run_instants(plan, group.members, cycle, together=together)
        answered = {t for i in group.members for t in _instants(plan, plan.answered_by[i], cycle)}
        marks = []
        for column in range(columns):
            span = range(column * per_column + 1, (column + 1) * per_column + 1)
            marks.append("●" if ran.intersection(span) else "○" if answered.intersection(span) else "·")
        lines.append(f"  g{number:<4}|" + "".join(f"{mark:>{wide}}" for mark in marks))
    axis = f"  {'':<5}0{span_text(cycle * plan.unit_us):>{max(wide * columns, 1)}}"
    drawn = "" if per_column == 1 else f" · one column is {span_text(per_column * plan.unit_us)}"
    cut = " · the cycle goes on" if _cycle_length(plan) > cycle else ""
    return [*lines, axis, f"  {'':<5}● runs  ○ answered on the way{drawn}{cut}"]


def _run_instants(plan: ClassPlan, members: Sequence[int], cycle: int, *, together: bool) -> set[int]:
    """Instants at which one of the members is what runs; of runs that come together only the dearest does."""
    found: set[int] = set()
    dearer: set[int] = set()
    for place, run in enumerate(plan.runs):
        instants = _instants(plan, (place,), cycle)
        if run.member in members:
            found |= instants - dearer
        if together:
            dearer |= instants
    return found


def _instants(plan: ClassPlan, places: Sequence[int], cycle: int) -> set[int]:
    """The instants of these runs in (0, cycle]."""
    runs = [plan.runs[place] for place in places]
    return {t for run in runs for offset in run.offsets for t in range(offset or run.step, cycle + 1, run.step)}


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
