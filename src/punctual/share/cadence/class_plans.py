"""The cadence of every sharing class of a shared plan: panes are counted, work is modelled, each class is planned.

A class whose members and work are as they were is not planned again (:class:`ClassPlans`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from punctual.clock import Micros
from punctual.config import CadenceMethod
from punctual.errors import PlanError
from punctual.estimate.panes import panes_by_density
from punctual.estimate.window_work import MODELLED, Operator, Rates, Work, walk_work, window_work
from punctual.plan.shared import SharedPlan
from punctual.share.cadence import unit_of
from punctual.share.cadence.class_plan import ClassPlan, plan_class
from punctual.share.classes import Classes, SharingClass


def operator_of(method: CadenceMethod, *, scan: bool) -> Operator:
    """Whose costs count: where a method is asked for by name, its plan is that of the papers' operator."""
    return "scan" if scan or method != "auto" else "fold"


def class_plans(
    plan: SharedPlan, method: CadenceMethod, *, scan: bool, rates: Mapping[str, Rates] | None = None
) -> tuple[ClassPlan, ...]:
    """The plan of each class, in the order of their first queries.

    ``scan`` says whether windows are merged by scans (``SET window_merge = scan``); ``rates`` are what merges and
    answers of a class (by its identity) were measured to cost.

    Raises
    ------
    PlanError
        ``plan.cadence-too-fine`` at the longest bound of a class that takes too long to plan.
    """
    return ClassPlans().of(plan, method, scan=scan, rates=rates)


Edges = tuple[tuple[Micros, Micros], ...]
"""Windows of a unit as (range, step), sorted."""


_Question = tuple[SharingClass, CadenceMethod, Operator, Rates, Edges, Edges]
"""All that the plan of a class follows from; at last its unit's edges, on lattices and with own bounds."""


class ClassPlans:
    """Plans of programs that follow each other. They are those that :func:`class_plans` gives, only sooner."""

    def __init__(self) -> None:
        self._classes = Classes()
        self._known: dict[str, tuple[_Question, ClassPlan]] = {}

    def of(
        self, plan: SharedPlan, method: CadenceMethod, *, scan: bool, rates: Mapping[str, Rates] | None = None
    ) -> tuple[ClassPlan, ...]:
        """The plan of each class; see :func:`class_plans`."""
        classes = self._classes.of(plan)
        operator = operator_of(method, scan=scan)
        edges, own = (_edges(classes, operator, own_bounds=own_bounds) for own_bounds in (False, True))
        known: dict[str, tuple[_Question, ClassPlan]] = {}
        for sharing in classes:
            rate = MODELLED if rates is None else rates.get(sharing.identity, MODELLED)
            question = (sharing, method, operator, rate, edges[sharing.unit], own[sharing.unit])
            before = self._known.get(sharing.identity)
            if before is None or before[0] != question:
                before = (question, _planned(question, plan))
            known[sharing.identity] = before
        self._known = known
        return tuple(planned for _question, planned in known.values())


def _planned(question: _Question, plan: SharedPlan) -> ClassPlan:
    sharing, method, operator, rates, edges, own = question
    works, alone = _works(sharing, operator, rates, edges), _works(sharing, operator, rates, own)
    try:
        return plan_class(sharing, works, method, alone)
    except PlanError as error:
        longest = max((member for member in sharing.members if not member.fixed), key=lambda member: member.bound)
        error.query = longest.query
        error.span = next(reader.query.cadence.span for reader in plan.readers if reader.query.name == longest.query)
        raise


def works_of(
    classes: Sequence[SharingClass], operator: Operator, rates: Mapping[str, Rates], *, own_bounds: bool
) -> dict[str, tuple[Work, ...]]:
    """What an execution of each member of each class costs, if every class ran on its lattice, or ``own_bounds``: every
    query at its own bound."""
    edges = _edges(classes, operator, own_bounds=own_bounds)
    return {
        one.identity: _works(one, operator, rates.get(one.identity, MODELLED), edges[one.unit]) for one in classes
    }


def _edges(classes: Sequence[SharingClass], operator: Operator, *, own_bounds: bool) -> dict[int, Edges]:
    """Where the panes of each unit are cut; nothing where they are not counted: a fold costs the same however many."""
    windows: dict[int, set[tuple[Micros, Micros]]] = {}
    for sharing in classes:
        mine = windows.setdefault(sharing.unit, set())
        if operator == "scan":
            lattice = unit_of(member.bound for member in sharing.members)
            mine.update((member.range_us, member.bound if own_bounds else lattice) for member in sharing.members)
    return {unit: tuple(sorted(several)) for unit, several in windows.items()}


def _works(sharing: SharingClass, operator: Operator, rates: Rates, edges: Edges) -> tuple[Work, ...]:
    walks = [member.walk for member in sharing.members if member.walk is not None]
    if walks:
        return tuple(walk_work(walk, operator, rates) for walk in walks)
    if operator == "fold":
        return (window_work(1, operator, rates),) * len(sharing.members)
    panes = panes_by_density(edges, [member.range_us for member in sharing.members])
    return tuple(window_work(count, operator, rates) for count in panes)
