"""When a query answers, and how often at each instant."""

from __future__ import annotations

from typing import Any

from punctual.clock import span_text
from punctual.plan.query import Bound, Once, Period, Query


def cadence_text(query: Query) -> str:
    """The cadence in two words."""
    match query.cadence:
        case Period(us):
            return f"period {span_text(us)}"
        case Bound(us):
            return f"slide {span_text(us)}"
        case Once():
            return "once"


def stage_lines(query: Query) -> list[str]:
    """A line of EXPLAIN where an instant has several answers: when each of them is due after the release."""
    return [f"answer within {', '.join(map(span_text, query.stages))}"] if query.stages else []


def cadence_json(query: Query) -> dict[str, Any]:
    """The same for programs."""
    names = {Period: "period", Bound: "bound", Once: "once"}
    stages = {"stages_us": list(query.stages)} if query.stages else {}
    return {"cadence": names[type(query.cadence)], "step_us": query.cadence.us, **stages}
