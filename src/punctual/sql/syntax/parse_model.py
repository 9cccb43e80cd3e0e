"""Models: MODEL after a FROM item, and CREATE MODEL."""

from __future__ import annotations

from punctual.errors import ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.expression_extent import take_expression, take_expressions
from punctual.sql.syntax.models import Attribute, Fit, FittedModel, ModelSyntax, PolynomialModel, SolvedModel
from punctual.sql.syntax.parse_number import parse_precision, whole_number
from punctual.sql.syntax.parse_source import parse_files
from punctual.sql.syntax.statement import FitModelSyntax, ReadModelSyntax
from punctual.sql.syntax.written import Duration, Name, Precision

HIGHEST_DEGREE = 5
MODEL_EXAMPLE = "for example: MODEL x = x + v * t FOR 60 SECONDS"


def parse_model(cursor: Cursor) -> ModelSyntax:
    """MODEL after a FROM item."""
    first = cursor.index
    cursor.expect("MODEL")
    if cursor.accept("("):
        attributes, expressions = _equations(cursor)
        cursor.expect(")")
        cursor.expect("FOR")
        return PolynomialModel(attributes, expressions, parse_duration(cursor), cursor.since(first))
    attribute = _attribute(cursor)
    if cursor.accept("="):
        expression = take_expression(cursor, "an expression", frozenset(("FOR",)))
        cursor.expect("FOR")
        return PolynomialModel((attribute,), (expression,), parse_duration(cursor), cursor.since(first))
    if cursor.accept("FIT"):
        return FittedModel(attribute, _fit(cursor, ("WITHIN", "DEGREE", "GAP", "FOR")), cursor.since(first))
    if cursor.accept("BY"):
        solver = cursor.name("the name of a solver")
        arguments = _arguments(cursor)
        horizon = parse_duration(cursor) if cursor.accept("FOR") else None
        return SolvedModel(attribute, solver, arguments, horizon, cursor.since(first))
    raise cursor.wrong("=, FIT or BY", hint=MODEL_EXAMPLE)


def parse_create_model(cursor: Cursor) -> FitModelSyntax | ReadModelSyntax:
    """After CREATE MODEL."""
    name = cursor.name("the name of the model")
    if cursor.accept("FROM"):
        first = cursor.index
        cursor.expect("FILES")
        return ReadModelSyntax(name, parse_files(cursor, first), cursor.since(0))
    cursor.expect("AS", "FIT")
    attribute = cursor.name("the attribute to fit")
    fit = _fit(cursor, ("WITHIN", "DEGREE", "GAP"))
    if fit.within is None:
        # In a query its ERROR can say how close a model must be; a stored model has no query.
        raise cursor.wrong("WITHIN and how far the model may be off", hint="for example: WITHIN 0.5")
    cursor.expect("BY")
    keys = cursor.several(lambda cursor: cursor.name("a key column"))
    cursor.expect("FROM")
    stream = cursor.name("a stream")
    return FitModelSyntax(name, attribute, fit, keys, stream, cursor.since(0))


def _equations(cursor: Cursor) -> tuple[tuple[Attribute, ...], tuple[ExpressionSyntax, ...]]:
    attributes: list[Attribute] = []
    expressions: list[ExpressionSyntax] = []
    while True:
        attributes.append(_attribute(cursor))
        cursor.expect("=")
        expressions.append(take_expression(cursor, "an expression"))
        if not cursor.accept(","):
            return tuple(attributes), tuple(expressions)


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.name("a modelled attribute")
    if not cursor.accept("."):
        return Attribute(name)
    item: Name = name
    return Attribute(cursor.name("a modelled attribute"), item)


def _fit(cursor: Cursor, words: tuple[str, ...]) -> Fit:
    """What may follow FIT, in any order, each at most once."""
    within: Precision | None = None
    degree: int | None = None
    lengths: dict[str, Duration] = {}
    seen: set[str] = set()
    while (word := cursor.peek().word) in words:
        first = cursor.index
        cursor.next()
        if word in seen:
            raise ParseError("parse.duplicate-clause", f"{word} is there twice", span=cursor.since(first))
        seen.add(word)
        if word == "WITHIN":
            within = parse_precision(cursor)
        elif word == "DEGREE":
            degree = whole_number(cursor, "a degree", least=0, most=HIGHEST_DEGREE, code="bind.bad-degree")
        else:
            lengths[word] = parse_duration(cursor)
    return Fit(within, degree, lengths.get("GAP"), lengths.get("FOR"))


def _arguments(cursor: Cursor) -> tuple[ExpressionSyntax, ...]:
    cursor.expect("(")
    arguments = () if cursor.at(")") else take_expressions(cursor, "an argument")
    cursor.expect(")")
    return arguments
