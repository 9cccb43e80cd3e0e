"""What EXPLAIN and ``punctual check`` say of queries over worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from punctual.kinds.worlds.by_rows.drawn_window import DrawnWindow
from punctual.kinds.worlds.closed import closed_forms
from punctual.plan.row_query import RowWindow
from punctual.plan.world_expression import WorldSummary
from punctual.plan.worlds import Called, Effort, Existence, Worlds


def way(body: Worlds) -> str:
    """How such a query is answered."""
    if body.by_rows:
        return f"in {_rounds(body.effort)} worlds, by Spark: the round is one more key of groups, joins and partitions"
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


def _drawn(window: RowWindow) -> Iterator[str]:
    """What is drawn of a window that Spark gets in every round."""
    if isinstance(window.drawn, DrawnWindow):
        yield from (f"draw   {one.stream}.{one.name}  {one.law.written}" for one in window.drawn.attributes)
        yield from (_existence(one) for one in window.drawn.existence)


def _existence(one: Existence) -> str:
    rule = "" if one.rule is None else ", rows of a rule exclude each other"
    return f"draw   which rows of {one.stream} exist{rule}"


def described(body: Worlds, names: Sequence[str]) -> list[str]:
    """Its way, what is drawn, and what is said of the worlds."""
    lines = [f"way    {way(body)}"]
    lines += [f"draw   {one.stream}.{one.name}  {one.law.written}" for one in body.attributes]
    lines += [_existence(one) for one in body.existence]
    for called in body.aggregates:
        if isinstance(called, Called):
            lines.append(f"call   {called.function} of Python, {len(called.arguments)} arguments, {called.returns}")
    if body.by_rows:
        lines += dict.fromkeys(line for window in body.statement.windows for line in _drawn(window))
    laws = None if body.by_rows else closed_forms(body)
    for name, output in zip(names, body.outputs):
        summed = body.summaries[output.number] if isinstance(output, WorldSummary) else None
        if summed is not None and isinstance(output, WorldSummary) and summed.summary != "SAME":
            exact = "" if laws is None else f", closed form: {laws[output.number]}"
            lines.append(f"say    {name} = {summed.summary}{exact}")
    if body.likely is not None:
        lines.append(f"having probability {body.likely[0]} {body.likely[1]:.15g}")
    return [*lines, "select " + ", ".join(names)]

