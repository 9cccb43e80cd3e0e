"""When a query answers: PERIOD, FREQUENCY or SLIDE, exactly one of them; and the range of its window."""

from __future__ import annotations

from punctual.clock import Micros
from punctual.errors import BindError, Span
from punctual.plan.query import Bound, Cadence, Period
from punctual.sql.bind_from import BoundFrom
from punctual.sql.problems import Problems
from punctual.sql.syntax.statement import SelectSyntax


def bind_cadence(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> Cadence | None:
    """The query's cadence, or None with the reason in ``problems``."""
    found: list[tuple[Span, str, Cadence]] = []
    for item in bound.streams:
        window = item.syntax.window
        if window is not None and window.slide is not None and window.slide_span is not None:
            found.append((window.slide_span, "SLIDE", Bound(window.slide.us)))
            break
    for clause in select.clauses:
        if clause.keyword == "PERIOD":
            found.append((clause.span, "PERIOD", Period(clause.durations[0].us)))
        elif clause.keyword == "FREQUENCY":
            found.append((clause.span, "FREQUENCY", Bound(clause.durations[0].us)))
        elif clause.keyword == "EVERY":
            found.append((clause.span, "EVERY", Period(clause.durations[0].us)))
    found.sort(key=lambda entry: entry[0].start)
    for span, word, _cadence in found[1:]:
        problems.add(BindError(
            "bind.two-cadences", f"{word} and {found[0][1]} exclude one another", span=span,
            detail="each of them says when the query answers", hint=f"leave {word} out",
        ))
    anytime = select.clause("ANSWERS") is not None
    windowed = [item for item in bound.streams if item.syntax.window is not None and item.syntax.model is None]
    if not found and windowed and not anytime:
        window = windowed[0].syntax.window
        assert window is not None
        problems.add(BindError(
            "bind.no-cadence", "this query does not say when it answers", span=window.span,
            hint="add PERIOD 1 MINUTE (at every minute) or FREQUENCY 1 MINUTE (at least every minute)",
        ))
    if not found:
        return None
    cadence = found[0][2]
    if any(item.syntax.window.kind == "NOW" for item in windowed if item.syntax.window is not None):
        # [NOW] has the rows since the previous instant: were instants moved, it would count some twice.
        return Period(cadence.us)
    return cadence


def bind_range(bound: BoundFrom, cadence: Cadence | None) -> Micros | None:
    """The length of the window; [NOW] covers what came since the previous instant."""
    window = bound.streams[0].syntax.window if bound.streams else None
    if window is None:
        return None
    if window.kind == "NOW":
        return cadence.us if cadence is not None else None
    return window.range.us if window.range is not None else None
