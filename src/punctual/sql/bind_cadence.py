"""When a query answers: PERIOD, FREQUENCY or SLIDE, exactly one of them, or once; and the range of its window."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.clock import Micros
from punctual.errors import BindError, Span
from punctual.plan.query import Bound, Cadence, Once, Period
from punctual.sql.bind_from import BoundFrom
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import (
    AnswersClause,
    Clause,
    EveryClause,
    FrequencyClause,
    PeriodClause,
    SampleClause,
)
from punctual.sql.syntax.select import NowWindow, RangeWindow, SelectSyntax, WindowSyntax

WHEN = "add PERIOD 1 MINUTE (at every minute) or FREQUENCY 1 MINUTE (at least every minute)"


def bind_cadence(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> Cadence | None:
    """The query's cadence, or None with the reason in ``problems``."""
    windows = [item.syntax.window for item in bound.streams if item.syntax.window is not None]
    return cadence_of(windows, select.clauses, problems) or _without_cadence(select, bound, problems)


def cadence_of(windows: Sequence[WindowSyntax], clauses: Sequence[Clause], problems: Problems) -> Cadence | None:
    """What windows and clauses say about when a query answers; None where they say nothing."""
    said = sorted(_said(windows, clauses), key=lambda entry: entry[0].start)
    for span, word, _cadence in said[1:]:
        problems.add(BindError(
            "bind.two-cadences", f"{word} and {said[0][1]} exclude one another", span=span,
            detail="each of them says when the query answers", hint=f"leave {word} out",
        ))
    if not said:
        return None
    cadence = said[0][2]
    # [NOW] has the rows since the previous instant: were instants moved, it would count some twice. An instant of
    # several answers outlives plans that would move it.
    moved = not any(isinstance(one, NowWindow) for one in windows)
    moved = moved and not any(isinstance(one, AnswersClause) for one in clauses)
    return cadence if moved else Period(cadence.us, cadence.span)


def check_slides(windows: Sequence[WindowSyntax | None], problems: Problems) -> None:
    """At most one window of a query has SLIDE."""
    slides = [window for window in windows if isinstance(window, RangeWindow) and window.slide is not None]
    for window in slides[1:]:
        problems.add(BindError(
            "bind.two-slides", "only one window of a query may have SLIDE", span=window.slide_span,
            detail="all windows of a query end at the same instant",
        ))


def no_cadence(span: Span, hint: str = WHEN) -> BindError:
    """The refusal of a query that does not say when it answers."""
    return BindError("bind.no-cadence", "this query does not say when it answers", span=span, hint=hint)


def _said(windows: Sequence[WindowSyntax], clauses: Sequence[Clause]) -> list[tuple[Span, str, Cadence]]:
    """Everything in the query that says when it answers: where, by which word, and what."""
    said: list[tuple[Span, str, Cadence]] = []
    slides = [window for window in windows if isinstance(window, RangeWindow) and window.slide is not None]
    for window in slides[:1]:
        assert window.slide is not None
        said.append((window.slide_span, "SLIDE", Bound(window.slide.us, "SLIDE", window.slide_span)))
    for clause in clauses:
        match clause:
            case PeriodClause():
                said.append((clause.span, "PERIOD", Period(clause.duration.us, clause.span)))
            case FrequencyClause():
                said.append((clause.span, "FREQUENCY", Bound(clause.duration.us, "FREQUENCY", clause.span)))
            case EveryClause():
                said.append((clause.span, "EVERY", Period(clause.period.us, clause.span)))
    return said


def _without_cadence(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> Cadence | None:
    """SAMPLE says when a query answers where nothing else does; one with ANSWERS is asked once."""
    sample, answers = select.clause(SampleClause), select.clause(AnswersClause)
    if sample is not None:
        return Period(sample.duration.us, sample.span)
    if answers is not None:
        return asked_once(answers, [item.syntax.window for item in bound.streams], problems)
    for item in bound.streams:
        part = item.syntax.window or item.syntax.model
        if part is not None:
            hint = WHEN if item.syntax.model is None else "add PERIOD 1 MINUTE or SAMPLE EVERY 1 SECOND"
            problems.add(no_cadence(part.span, hint))
            break
    return None


def asked_once(answers: AnswersClause, windows: Sequence[WindowSyntax | None], problems: Problems) -> Cadence:
    """The cadence of a query with ANSWERS that says nothing else of when it answers."""
    for window in windows:
        if isinstance(window, NowWindow):
            problems.add(BindError(
                "bind.no-cadence", "[NOW] begins at the previous instant, and a query that is asked once has none",
                span=window.span, hint=WHEN,
            ))  # fmt: skip
    return Once(answers.span)


def bind_range(window: WindowSyntax | None, cadence: Cadence) -> Micros:
    """The length of a window; [NOW] covers what came since the previous instant."""
    return window.length.us if isinstance(window, RangeWindow) else cadence.us
