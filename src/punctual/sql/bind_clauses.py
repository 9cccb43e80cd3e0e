"""Clauses: what can be checked of them without running anything, and which of them do not run yet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from punctual.clock import Micros
from punctual.errors import BindError
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_model import check_precision
from punctual.sql.body_binder import BodyBinder
from punctual.sql.expressions.bind_answer import output_name
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems, suggest
from punctual.sql.syntax.clauses import (
    AnswersClause,
    Clause,
    ConfidenceClause,
    DeadlineClause,
    ErrorClause,
    EveryClause,
    FrequencyClause,
    PeriodClause,
    QualityClause,
    RoundsClause,
    StableClause,
)
from punctual.sql.syntax.select import SelectSyntax
from punctual.sql.syntax.written import Share

RUNS = (PeriodClause, FrequencyClause, DeadlineClause, QualityClause)
"""The clauses of every query that this release carries out."""
SPLITS = ("EQUAL", "GRADIENT")
LEAST_STAGE_US: Micros = 5_000
"""No round is drawn and answered in less time, whatever it is of."""


def check_clauses(select: SelectSyntax, bound: BoundFrom, binder: BodyBinder | None, problems: Problems) -> None:
    """Check names and numbers of every clause, then refuse those that do not run, or that are of another kind."""
    own = binder.clauses if binder is not None else frozenset()
    for clause in select.clauses:
        match clause:
            case ErrorClause():
                _check_error(clause, select, bound, problems)
            case EveryClause():
                check_precision(clause.within, problems)
                if clause.confidence is not None:
                    _check_confidence(clause.confidence, problems)
        _check_effort(clause, select.clauses, own, problems)
        if not isinstance(clause, RUNS) and type(clause) not in own:
            refuse_clause(clause, problems)


def check_row_clauses(clauses: Sequence[Clause], binder: BodyBinder | None, problems: Problems) -> None:
    """The same for a query that is Spark's text."""
    own = binder.clauses if binder is not None else frozenset()
    for clause in clauses:
        _check_effort(clause, clauses, own, problems)
        if not isinstance(clause, RUNS) and type(clause) not in own:
            refuse_clause(clause, problems)


def _check_effort(
    clause: Clause, clauses: Sequence[Clause], own: frozenset[type[Clause]], problems: Problems
) -> None:
    """What clauses of queries over worlds say."""
    if isinstance(clause, ConfidenceClause):
        check_precision(clause.within, problems)
        _check_confidence(clause.confidence, problems)
    elif isinstance(clause, AnswersClause) and AnswersClause in own:
        _check_stages(clause, clauses, problems)


def stages_of(clauses: Sequence[Clause]) -> tuple[Micros, ...]:
    """How long after the release of an instant each of its answers is due, where it has several."""
    found = (clause.deadlines for clause in clauses if isinstance(clause, AnswersClause))
    return tuple(deadline.us for deadlines in found for deadline in deadlines)


def refuse_clause(clause: Clause, problems: Problems) -> None:
    """A clause that does not run, or that is of another kind."""
    if isinstance(clause, StableClause):
        problems.add(BindError(
            "bind.stable-without-top", "STABLE is for rankings, and this query has no TOP", span=clause.span,
            hint="leave STABLE out, or rank: SELECT TOP 3 ... ORDER BY score",
        ))
    elif isinstance(clause, AnswersClause | RoundsClause | ConfidenceClause):
        word = clause.keyword
        problems.add(BindError(
            "bind.nothing-uncertain",
            f"{word} is for queries over uncertain attributes, and nothing here is uncertain",
            span=clause.span, hint=f"leave {word} out",
        ))
    else:
        problems.not_yet(clause.keyword, clause.span)


def _check_stages(clause: AnswersClause, clauses: Sequence[Clause], problems: Problems) -> None:
    """Each answer is due after the one before, and nothing else says when."""
    for before, after in pairwise(clause.deadlines):
        if after.us <= before.us:
            problems.add(BindError(
                "bind.bad-stages", "each deadline of ANSWERS is later than the one before", span=after.span,
                detail="an answer is made from the deadline before its own to its own",
                hint="for example: ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS",
            ))
        elif after.us - before.us < LEAST_STAGE_US:
            problems.add(BindError(
                "bind.bad-stages", "two deadlines of ANSWERS are closer than a round and its answer can be",
                span=after.span, detail="there are 5 milliseconds between them at least",
                hint="for example: ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS",
            ))
    deadline = next((one for one in clauses if isinstance(one, DeadlineClause)), None)
    if deadline is not None:
        problems.add(BindError(
            "bind.two-deadlines", "DEADLINE and ANSWERS exclude one another", span=deadline.span,
            detail="each of them says when an answer is due", hint="leave DEADLINE out",
        ))


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
