"""Clauses: what can be checked of them without running anything, and which of them do not run yet."""

from __future__ import annotations

from itertools import pairwise

from punctual.errors import BindError, Span
from punctual.sql.bind_from import BoundFrom, check_item_name
from punctual.sql.bind_model import check_precision
from punctual.sql.body_binder import BodyBinder
from punctual.sql.expressions.bind_answer import output_name
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems, suggest
from punctual.sql.syntax.clauses import (
    Clause,
    ConfidenceClause,
    DeadlineClause,
    ErrorClause,
    EveryClause,
    FrequencyClause,
    PeriodClause,
    QualityClause,
    QualityPoint,
    StableClause,
)
from punctual.sql.syntax.select import SelectSyntax
from punctual.sql.syntax.written import Share

RUNS = (PeriodClause, FrequencyClause, DeadlineClause)
"""The clauses of every query that this release carries out."""
SPLITS = ("EQUAL", "GRADIENT")
QUALITY_EXAMPLE = "for example: QUALITY (100% => 1, 50% => 0.9, 10% => 0.4)"


def check_clauses(select: SelectSyntax, bound: BoundFrom, binder: BodyBinder | None, problems: Problems) -> None:
    """Check names and numbers of every clause, then refuse those that do not run, or that are of another kind."""
    own = binder.clauses if binder is not None else frozenset()
    for clause in select.clauses:
        match clause:
            case QualityClause():
                _check_quality(clause, bound, problems)
            case ErrorClause():
                _check_error(clause, select, bound, problems)
            case ConfidenceClause():
                check_precision(clause.within, problems)
                _check_confidence(clause.confidence, problems)
            case EveryClause():
                check_precision(clause.within, problems)
                if clause.confidence is not None:
                    _check_confidence(clause.confidence, problems)
        if isinstance(clause, RUNS) or type(clause) in own:
            continue
        refuse_clause(clause, problems)


def refuse_clause(clause: Clause, problems: Problems) -> None:
    """A clause that does not run, or that is of another kind."""
    if isinstance(clause, StableClause):
        problems.add(BindError(
            "bind.stable-without-top", "STABLE is for rankings, and this query has no TOP", span=clause.span,
            hint="leave STABLE out, or rank: SELECT TOP 3 ... ORDER BY score",
        ))
    else:
        problems.not_yet(clause.keyword, clause.span)


def _check_confidence(share: Share, problems: Problems) -> None:
    if not 0 < share.value < 1:
        problems.add(BindError(
            "bind.bad-share", "a confidence is above 0% and below 100%", span=share.span, hint="for example: 95%"
        ))


def _check_error(clause: ErrorClause, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    outputs = _output_names(select, bound.scope)
    known = {name.lower() for name in outputs}
    has_bound: set[str] = set()
    for error_bound in clause.bounds:
        check_precision(error_bound.within, problems)
        name = error_bound.output
        if name is None:
            continue
        if name.text.lower() in has_bound:
            problems.add(BindError("bind.bad-bound", f'output "{name.text}" has two bounds', span=name.span))
        has_bound.add(name.text.lower())
        if bound.complete and name.text.lower() not in known:
            problems.add(BindError(
                "bind.unknown-column", f'there is no output "{name.text}"', span=name.span,
                detail="ERROR is a bound of what the query selects", hint=suggest(name.text, outputs, "outputs"),
            ))
    split = clause.split
    if split is not None and split.text.upper() not in SPLITS:
        problems.add(BindError(
            "bind.unknown-split", f'there is no split "{split.text}"', span=split.span,
            hint=suggest(split.text, SPLITS, "splits"),
        ))


def _output_names(select: SelectSyntax, scope: Scope) -> list[str]:
    names: list[str] = []
    for item in select.items:
        if item.expression is not None:
            names.append(output_name(item, set(), Problems()))
            continue
        star_of = None if item.star_of is None else item.star_of.text.lower()
        for relation in scope.relations:
            if star_of in (None, relation.alias.lower()):
                names += [column.name for column in relation.columns]
    return names


def _check_quality(clause: QualityClause, bound: BoundFrom, problems: Problems) -> None:
    if isinstance(clause.curve, str):
        return
    before = len(problems.errors)
    inputs = _inputs(clause.curve[0])
    for point in clause.curve:
        names = [share.input for share in point.shares if share.input is not None]
        for name in names if bound.complete else ():
            check_item_name(name, bound.scope, problems)
        if _inputs(point) != inputs or len(set(_inputs(point))) != len(point.shares):
            problems.add(_bad_quality("every point of a table names the same inputs, each once", point.span))
        if not 0 <= point.quality <= 1:
            problems.add(_bad_quality("a quality is a number from 0 to 1", point.span))
        for share in point.shares:
            if not 0 <= share.share.value <= 1:
                problems.add(_bad_quality("a share of an input is from 0% to 100%", share.share.span))
    if len(problems.errors) > before:
        return
    if not any(all(share.share.value == 1 for share in point.shares) for point in clause.curve):
        problems.add(_bad_quality("this table does not say the quality of 100%", clause.span))
    # Any order may be written; from good to bad, every step must use less.
    falling = sorted(clause.curve, key=lambda point: (-point.quality, [-share for share in _shares(point)]))
    for better, worse in pairwise(falling):
        steps = [more - less for more, less in zip(_shares(better), _shares(worse))]
        if min(steps) < 0 or max(steps) == 0:
            problems.add(_bad_quality("less input gives no better quality, and no share stands twice", worse.span))


def _inputs(point: QualityPoint) -> list[str]:
    return sorted(share.input.text.lower() if share.input is not None else "" for share in point.shares)


def _shares(point: QualityPoint) -> list[float]:
    """The shares in the order of their inputs' names."""
    named = sorted(point.shares, key=lambda share: share.input.text.lower() if share.input is not None else "")
    return [share.share.value for share in named]


def _bad_quality(fact: str, span: Span) -> BindError:
    return BindError("bind.bad-quality", fact, span=span, hint=QUALITY_EXAMPLE)
