"""QUALITY: the curve or the table of a query, checked and bound; and a DEADLINE that nothing can miss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from punctual.clock import Micros
from punctual.errors import BindError, Span
from punctual.plan.quality import Quality, QualityPoint
from punctual.plan.query import Cadence
from punctual.sql.problems import Problems, suggest
from punctual.sql.syntax.clauses import Clause, DeadlineClause, QualityClause
from punctual.sql.syntax.clauses import QualityPoint as WrittenPoint

EXAMPLE = "for example: QUALITY (100% => 1, 50% => 0.9, 10% => 0.4)"


def bind_quality(clauses: Sequence[Clause], inputs: Sequence[str] | None, problems: Problems) -> Quality | None:
    """What QUALITY says, None where there is none, or where something is wrong with it.

    ``inputs`` are the names that FROM gives to its windows; None where they are not known.
    """
    clause = next((one for one in clauses if isinstance(one, QualityClause)), None)
    if clause is None:
        return None
    if isinstance(clause.curve, str):
        return Quality(clause.curve)
    before = len(problems.errors)
    named = _inputs(clause.curve[0])
    for point in clause.curve:
        _check_point(point, named, inputs, problems)
    if len(problems.errors) > before:
        return None
    known = {name.lower(): name for name in inputs or ()}
    lacking = [name for key, name in known.items() if key not in named] if named != [""] else []
    if lacking:
        each = ", ".join(f"{name} 100%" for name in known.values())
        problems.add(_bad(
            f'this table says no share of "{lacking[0]}"', clause.curve[0].span, f"name every window: 1 => ({each})"
        ))  # fmt: skip
    if not any(all(share.share.value == 1 for share in point.shares) for point in clause.curve):
        problems.add(_bad("this table does not say the quality of 100%", clause.span))
    # Any order may be written; from good to bad, every step must use less.
    falling = sorted(clause.curve, key=lambda point: (-point.quality, [-share for share in _shares(point)]))
    for better, worse in pairwise(falling):
        steps = [more - less for more, less in zip(_shares(better), _shares(worse))]
        if min(steps) < 0 or max(steps) == 0:
            problems.add(_bad("less input gives no better quality, and no share stands twice", worse.span))
    if len(problems.errors) > before:
        return None
    return Quality(
        points=tuple(QualityPoint(point.quality, tuple(_shares(point))) for point in falling),
        inputs=tuple(named) if named != [""] else (),
    )


def bind_deadline(clauses: Sequence[Clause], cadence: Cadence | None, problems: Problems) -> Micros | None:
    """How long after its release an answer is due; None where nobody says so. Without instants nothing can be late."""
    clause = next((one for one in clauses if isinstance(one, DeadlineClause)), None)
    if clause is not None and cadence is None:
        problems.add(
            BindError(
                "bind.nothing-due",
                "a DEADLINE counts from an instant, and this query has none",
                span=clause.span,
                hint="say when it answers: PERIOD, FREQUENCY or SLIDE",
            )
        )
    return None if clause is None else clause.duration.us


def _check_point(point: WrittenPoint, named: Sequence[str], inputs: Sequence[str] | None, problems: Problems) -> None:
    known = None if inputs is None else {name.lower() for name in inputs}
    for share in point.shares:
        if share.input is not None and known is not None and share.input.text.lower() not in known:
            problems.add(
                BindError(
                    "bind.unknown-stream",
                    f'there is no window "{share.input.text}" in FROM',
                    span=share.input.span,
                    detail="a share is that of the rows of a window",
                    hint=suggest(share.input.text, inputs or (), "windows"),
                )
            )
        if not 0 <= share.share.value <= 1:
            problems.add(_bad("a share of an input is from 0% to 100%", share.share.span))
    if _inputs(point) != named or len(set(_inputs(point))) != len(point.shares):
        problems.add(_bad("every point of a table names the same inputs, each once", point.span))
    if not 0 <= point.quality <= 1:
        problems.add(_bad("a quality is a number from 0 to 1", point.span))


def _inputs(point: WrittenPoint) -> list[str]:
    return sorted(share.input.text.lower() if share.input is not None else "" for share in point.shares)


def _shares(point: WrittenPoint) -> list[float]:
    """The shares in the order of their inputs' names."""
    named = sorted(point.shares, key=lambda share: share.input.text.lower() if share.input is not None else "")
    return [share.share.value for share in named]


def _bad(fact: str, span: Span, hint: str = EXAMPLE) -> BindError:
    return BindError("bind.bad-quality", fact, span=span, hint=hint)
