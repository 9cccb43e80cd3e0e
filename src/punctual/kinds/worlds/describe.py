"""What EXPLAIN and ``punctual check`` say of queries over worlds."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.kinds.worlds.closed import closed_forms
from punctual.plan.world_expression import WorldSummary
from punctual.plan.worlds import Effort, Worlds


def way(body: Worlds) -> str:
    """How such a query is answered."""
    read = "read as they are" if body.statement.plain is not None else "made by Spark"
    if closed_forms(body) is not None:
        return f"by closed forms, over rows that are {read}"
    return f"in {_rounds(body.effort)} worlds, by kernels over rows that are {read}"


def _rounds(effort: Effort) -> str:
    if effort.confidence is None:
        return f"{effort.rounds:,}"
    within = [] if effort.relative is None else [f"{effort.relative:.15g} of a value"]
    within += [] if effort.absolute is None else [f"{effort.absolute:.15g}"]
    return f"as many as {effort.confidence:.15g} within {' or '.join(within)} takes"


def described(body: Worlds, names: Sequence[str]) -> list[str]:
    """Its way, what is drawn, and what is said of the worlds."""
    lines = [f"way    {way(body)}"]
    lines += [f"draw   {one.stream}.{one.name}  {one.law.written}" for one in body.attributes]
    for one in body.existence:
        rule = "" if one.rule is None else ", rows of a rule exclude each other"
        lines.append(f"draw   which rows of {one.stream} exist{rule}")
    laws = closed_forms(body)
    for name, output in zip(names, body.outputs):
        summed = body.summaries[output.number] if isinstance(output, WorldSummary) else None
        if summed is not None and isinstance(output, WorldSummary) and summed.summary != "SAME":
            exact = "" if laws is None else f", closed form: {laws[output.number]}"
            lines.append(f"say    {name} = {summed.summary}{exact}")
    if body.likely is not None:
        lines.append(f"having probability {body.likely[0]} {body.likely[1]:.15g}")
    return [*lines, "select " + ", ".join(names)]

