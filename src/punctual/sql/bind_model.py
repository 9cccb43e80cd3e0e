"""Models: their names and bounds are checked; none of them runs yet."""

from __future__ import annotations

from math import inf

from punctual.catalog import Catalog
from punctual.errors import BindError, Span
from punctual.plan.relation import Column, Stream
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems, RefusedNameError, suggest
from punctual.sql.syntax.models import FittedModel, ModelSyntax, PolynomialModel, SolvedModel
from punctual.sql.syntax.statement import FitModelSyntax
from punctual.sql.syntax.written import Name, Precision

SOLVERS = ("linear_ode",)
TIME = Column("t", "DOUBLE")
"""In a model ``t`` is the time since the row's event time."""


def check_model(model: ModelSyntax, relation: Relation, stream: Stream, problems: Problems) -> None:
    """MODEL after a stream; ``relation`` has the modelled attributes among its columns."""
    seen: set[str] = set()
    for attribute in model.attributes:
        if attribute.item is not None and attribute.item.text.lower() != relation.alias.lower():
            problems.add(BindError(
                "bind.unknown-stream", f'"{attribute.item.text}" is not the FROM item of this model',
                span=attribute.item.span, hint=f"write {relation.alias}.{attribute.name.text}",
            ))
        if attribute.name.text.lower() in seen:
            problems.add(BindError(
                "bind.duplicate-name", f'attribute "{attribute.name.text}" is modelled twice', span=attribute.name.span
            ))
        seen.add(attribute.name.text.lower())
    match model:
        case PolynomialModel():
            timed = Relation(relation.alias, "stream", relation.name, (*relation.columns, TIME), relation.span)
            for expression in model.expressions:
                row_expression(expression, Scope((timed,)), "MODEL", problems)
        case FittedModel():
            _check_column(model.attribute.name, stream, problems)
            if model.fit.within is not None:
                check_precision(model.fit.within, problems)
        case SolvedModel():
            if model.solver.text.lower() not in SOLVERS:
                problems.add(BindError(
                    "bind.unknown-solver", f'there is no solver "{model.solver.text}"', span=model.solver.span,
                    hint=suggest(model.solver.text, SOLVERS, "solvers"),
                ))
            for argument in model.arguments:
                row_expression(argument, Scope((relation,)), "MODEL", problems)
    problems.not_yet("MODEL", model.span)


def check_fit_statement(
    syntax: FitModelSyntax, catalog: Catalog, failed: frozenset[str], problems: Problems
) -> None:
    """CREATE MODEL ... AS FIT."""
    key = syntax.stream.text.lower()
    if key not in catalog.streams and key in failed:
        raise RefusedNameError
    if syntax.fit.within is not None:
        check_precision(syntax.fit.within, problems)
    if key not in catalog.streams:
        problems.add(BindError(
            "bind.unknown-stream", f'there is no stream "{syntax.stream.text}"', span=syntax.stream.span,
            hint=suggest(syntax.stream.text, [s.name for s in catalog.streams.values()], "streams"),
        ))
        return
    for name in (syntax.attribute, *syntax.keys):
        _check_column(name, catalog.streams[key], problems)
    problems.not_yet("CREATE MODEL", Span(syntax.span.start, syntax.name.span.end))


def check_precision(precision: Precision, problems: Problems) -> None:
    """A bound that is above 0, and a number."""
    numbers = (precision.relative, precision.absolute)
    if not all(number is None or 0 < number < inf for number in numbers):
        problems.add(BindError(
            "bind.bad-bound", "a bound of the error is above 0", span=precision.span,
            hint="for example: 1%, 0.5, or 1% OR 0.01",
        ))


def _check_column(name: Name, stream: Stream, problems: Problems) -> None:
    if stream.column(name.text) is None:
        problems.add(BindError(
            "bind.unknown-column", f'there is no column "{name.text}" of stream "{stream.name}"', span=name.span,
            hint=suggest(name.text, [c.name for c in stream.columns], "columns"),
        ))
