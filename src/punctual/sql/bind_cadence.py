"""When a query answers: PERIOD, FREQUENCY or SLIDE, exactly one of them; and the range of its window."""

from __future__ import annotations

from punctual.clock import Micros
from punctual.errors import BindError, Span
from punctual.plan.query import Bound, Cadence, Period
from punctual.sql.bind_from import BoundFrom
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import AnswersClause, EveryClause, FrequencyClause, PeriodClause, SampleClause
from punctual.sql.syntax.select import NowWindow, RangeWindow, SelectSyntax

WHEN = "add PERIOD 1 MINUTE (at every minute) or FREQUENCY 1 MINUTE (at least every minute)"


def bind_cadence(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> Cadence | None:
    """The query's cadence, or None with the reason in ``problems``."""
    said = sorted(_said(select, bound), key=lambda entry: entry[0].start)
    for span, word, _cadence in said[1:]:
        problems.add(BindError(
            "bind.two-cadences", f"{word} and {said[0][1]} exclude one another", span=span,
            detail="each of them says when the query answers", hint=f"leave {word} out",
        ))
    if not said:
        return _without_cadence(select, bound, problems)
    cadence = said[0][2]
    if any(isinstance(item.syntax.window, NowWindow) for item in bound.streams):
        # [NOW] has the rows since the previous instant: were instants moved, it would count some twice.
        return Period(cadence.us, cadence.span)
    return cadence


def _said(select: SelectSyntax, bound: BoundFrom) -> list[tuple[Span, str, Cadence]]:
    """Everything in the query that says when it answers: where, by which word, and what."""
    said: list[tuple[Span, str, Cadence]] = []
    windows = [item.syntax.window for item in bound.streams]
    slides = [window for window in windows if isinstance(window, RangeWindow) and window.slide is not None]
    for window in slides[:1]:
        assert window.slide is not None
        said.append((window.slide_span, "SLIDE", Bound(window.slide.us, "SLIDE", window.slide_span)))
    for clause in select.clauses:
        match clause:
            case PeriodClause():
                said.append((clause.span, "PERIOD", Period(clause.duration.us, clause.span)))
            case FrequencyClause():
                said.append((clause.span, "FREQUENCY", Bound(clause.duration.us, "FREQUENCY", clause.span)))
            case EveryClause():
                said.append((clause.span, "EVERY", Period(clause.period.us, clause.span)))
    return said


def _without_cadence(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> Cadence | None:
    """SAMPLE says when a query answers where nothing else does; an anytime query begins by itself."""
    sample = select.clause(SampleClause)
    if sample is not None:
        return Period(sample.duration.us, sample.span)
    if select.clause(AnswersClause) is not None:
        return None
    for item in bound.streams:
        part = item.syntax.window or item.syntax.model
        if part is not None:
            hint = WHEN if item.syntax.model is None else "add PERIOD 1 MINUTE or SAMPLE EVERY 1 SECOND"
            problems.add(BindError(
                "bind.no-cadence", "this query does not say when it answers", span=part.span, hint=hint
            ))
            break
    return None


def bind_range(bound: BoundFrom, cadence: Cadence | None) -> Micros | None:
    """The length of the window; [NOW] covers what came since the previous instant."""
    window = bound.streams[0].syntax.window if bound.streams else None
    if isinstance(window, NowWindow):
        return cadence.us if cadence is not None else None
    return window.length.us if isinstance(window, RangeWindow) else None
