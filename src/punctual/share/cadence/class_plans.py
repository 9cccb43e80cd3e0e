"""The cadence of every sharing class of a shared plan: panes are counted, work is modelled, each class is planned."""

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
from punctual.share.classes import SharingClass, sharing_classes


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
        ``plan.cadence-too-fine`` at the query with the longest bound of a class that takes too long to plan.
    """
    classes = sharing_classes(plan)
    operator = operator_of(method, scan=scan)
    together = works_of(classes, operator, rates or {}, own_bounds=False)
    alone = works_of(classes, operator, rates or {}, own_bounds=True)
    plans = []
    for sharing in classes:
        try:
            plans.append(plan_class(sharing, together[sharing.identity], method, alone[sharing.identity]))
        except PlanError as error:
            longest = max(sharing.members, key=lambda member: member.bound).query
            span = next(reader.query.span for reader in plan.readers if reader.query.name == longest)
            raise PlanError(error.code, error.fact, span=span, detail=error.detail, hint=error.hint) from None
    return tuple(plans)


def works_of(
    classes: Sequence[SharingClass], operator: Operator, rates: Mapping[str, Rates], *, own_bounds: bool
) -> dict[str, tuple[Work, ...]]:
    """What an execution of each member of each class costs, if every class ran on its lattice, or ``own_bounds``: every
    query at its own bound."""
    windows: dict[int, set[tuple[Micros, Micros]]] = {}
    for sharing in classes:
        lattice = unit_of(member.bound for member in sharing.members)
        edges = ((member.range_us, member.bound if own_bounds else lattice) for member in sharing.members)
        windows.setdefault(sharing.unit, set()).update(edges)
    found: dict[str, tuple[Work, ...]] = {}
    for sharing in classes:
        rate = rates.get(sharing.identity, MODELLED)
        walks = [member.walk for member in sharing.members if member.walk is not None]
        if walks:
            found[sharing.identity] = tuple(walk_work(walk, operator, rate) for walk in walks)
            continue
        panes = [1] * len(sharing.members)  # a fold costs the same however many panes there are
        if operator == "scan":
            panes = panes_by_density(sorted(windows[sharing.unit]), [member.range_us for member in sharing.members])
        found[sharing.identity] = tuple(window_work(count, operator, rate) for count in panes)
    return found
