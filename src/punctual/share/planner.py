"""A program that is planned again and again: adding a query costs that query.

Plans are functions of the queries alone. What a planner remembers of the program before it only saves work: for the
same queries, options and rates it gives the plans of :func:`punctual.share.units.share_units` and
:func:`punctual.share.cadence.class_plans.class_plans`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from punctual.clock import Micros
from punctual.config import CadenceMethod
from punctual.estimate.window_work import Rates
from punctual.plan.shared import SharedPlan
from punctual.share.cadence.class_plan import ClassPlan
from punctual.share.cadence.class_plans import ClassPlans
from punctual.share.units import Member, Units


class ProgramPlanner:
    """Which queries share units, and when classes run; one for the life of an engine.

    It tells queries that did not change by their objects, so a catalog should keep those that it has.
    """

    def __init__(self) -> None:
        self._bare = Units()
        self._timed = Units()
        self._class_plans = ClassPlans()

    def share(
        self, members: Sequence[Member], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
    ) -> SharedPlan:
        """The shared plan of the queries; see :func:`punctual.share.units.share_units`."""
        # A program is planned twice, before and after it is known when its queries run: each has a memory of its own.
        units = self._bare if steps is None else self._timed
        return units.share(members, sharing=sharing, steps=steps)

    def class_plans(
        self, plan: SharedPlan, method: CadenceMethod, *, scan: bool, rates: Mapping[str, Rates] | None = None
    ) -> tuple[ClassPlan, ...]:
        """The plan of each class; see :func:`punctual.share.cadence.class_plans.class_plans`."""
        return self._class_plans.of(plan, method, scan=scan, rates=rates)
