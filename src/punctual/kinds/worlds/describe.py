"""What EXPLAIN and ``punctual check`` say of queries over worlds."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.kinds.worlds.closed import closed_forms
from punctual.plan.world_expression import WorldSummary
from punctual.plan.worlds import Called, Effort, Worlds


def way(body: Worlds) -> str:
    """How such a query is answered."""
    read = "read as they are" if body.statement.plain is not None else "made by Spark"
    if closed_forms(body) is not None:
        return f"by closed forms, over rows that are {read}"
    names = _functions(body)
    calls = f", and {' and '.join(names)} in tasks of Spark" if names else ""
    return f"in {_rounds(body.effort)} worlds, by kernels over rows that are {read}{calls}"


def _functions(body: Worlds) -> list[str]:
    """The functions of Python that it calls."""
    return list(dict.fromkeys(one.function for one in body.aggregates if isinstance(one, Called)))


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
    for called in body.aggregates:
        if isinstance(called, Called):
            lines.append(f"call   {called.function} of Python, {len(called.arguments)} arguments, {called.returns}")
    laws = closed_forms(body)
    for name, output in zip(names, body.outputs):
        summed = body.summaries[output.number] if isinstance(output, WorldSummary) else None
        if summed is not None and isinstance(output, WorldSummary) and summed.summary != "SAME":
            exact = "" if laws is None else f", closed form: {laws[output.number]}"
            lines.append(f"say    {name} = {summed.summary}{exact}")
    if body.likely is not None:
        lines.append(f"having probability {body.likely[0]} {body.likely[1]:.15g}")
    return [*lines, "select " + ", ".join(names)]

