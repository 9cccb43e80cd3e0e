"""What columns say after ``~``: from syntax to values of the plan, with everything wrong found at once.

A column whose distribution is made of other columns (``wait DOUBLE ~ UNIFORM(lo, hi)``) has no value in the rows: it is
a derived column, and NULL. One that is a parameter of its own (``kmh DOUBLE ~ NORMAL(kmh, sd)``) is read, and so is
one whose missing values are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from punctual.errors import BindError, ProgramErrors, Span
from punctual.plan.expression import NULL, Expression, cast
from punctual.plan.relation import Column, find_column
from punctual.plan.sql_text import quoted
from punctual.plan.uncertain import FoundBy, GivenBy, Uncertainty
from punctual.sql.expressions.bind_known import known
from punctual.sql.expressions.bind_predicate import INTEGERS
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems, suggest
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.parse_relation import FORMS, parse_uncertain
from punctual.sql.syntax.statement import ColumnSyntax, GivenDistribution, MissingValue, UncertainSyntax
from punctual.sql.syntax.tokens import Token, tokenize
from punctual.sql.syntax.written import Name

FRACTIONS = ("FLOAT", "DOUBLE")
NUMBERS = (*INTEGERS, *FRACTIONS)
GIVES = {"NORMAL": FRACTIONS, "UNIFORM": FRACTIONS, "INTERPOLATED": NUMBERS}
"""The types that a law can give; the others choose among values, of these types:"""
CHOSEN = (*NUMBERS, "STRING", "BOOLEAN")
CERTAIN_ROLES = ("EVENT TIME", "KEY", "PROBABILITY", "RULE", "AS")


def bind_laws(declared: Sequence[ColumnSyntax], scope: Scope, problems: Problems) -> dict[str, Uncertainty]:
    """What stands after ``~``, by the lower-case name of the column; ``scope`` has the columns that rows come with."""
    uncertain = {column.name.text.lower(): column for column in declared if column.uncertain is not None}
    laws: dict[str, Uncertainty] = {}
    for name, column in uncertain.items():
        assert column.uncertain is not None
        laws[name] = _law(column, column.uncertain, declared, scope, problems)
        condition = column.uncertain.condition
        if condition is not None:
            check_certain(condition, scope, uncertain.keys() - {name}, problems)
    return laws


def check_certain(expression: ExpressionSyntax, scope: Scope, uncertain: Set[str], problems: Problems) -> None:
    """What belongs to a row is computed once, of columns that are certain; ``uncertain`` has names in lower case."""
    for column, span in columns_read(expression, scope):
        if column.name.lower() in uncertain:
            problems.add(BindError(
                "bind.uncertain-in-column", f'column "{column.name}" is uncertain, and this is computed once per row',
                span=span, detail="in every world it would be another value",
                hint="compute it in the query, or of columns that are certain",
            ))


def columns_read(expression: ExpressionSyntax, scope: Scope) -> Iterator[tuple[Column, Span]]:
    """The columns that an expression reads, each with its place; names that mean none, or several, are left out."""
    for reference in expression.columns:
        found = scope.find(reference.parts)
        if len(found) == 1:
            yield found[0].column, expression.place(reference.first, reference.end)


def bound_column(name: str, kind: str, derived: Expression | None, law: Uncertainty | None) -> Column:
    """A declared column. One that is not in the rows, since its distribution is made of others, is derived.

    >>> bound_column("wait", "DOUBLE", None, GivenBy("UNIFORM", ("lo", "hi"))).derived.sql
    'CAST((NULL) AS DOUBLE)'
    """
    made = isinstance(law, GivenBy) and name not in law.parameters
    return Column(name, kind, cast(NULL, kind) if made and derived is None else derived, law)


def _law(
    column: ColumnSyntax, law: UncertainSyntax, declared: Sequence[ColumnSyntax], scope: Scope, problems: Problems
) -> Uncertainty:
    if not _has_other_role(column, problems):
        _check_type(column, law, problems)
    found = [_find(name, column, law, declared, problems) for name in law.columns]
    names = tuple(name.text if one is None else one.name.text for name, one in zip(law.columns, found))
    for name, one in zip(law.columns, found):
        if one is not None and one is not column and law.kind in ("NORMAL", "UNIFORM", "NEAREST"):
            _check_number(name, one, law.kind, problems)
    if isinstance(law, MissingValue):
        condition = law.condition
        missing_if = None if condition is None else row_expression(condition, scope, "IF", problems)
        known_if = None if condition is None else known(condition, scope)
        within_us = None if law.within is None else law.within.us
        return FoundBy(law.kind, names, law.neighbours, within_us, missing_if, known_if)
    if law.kind == "DISCRETE":
        _check_lists(column, law, found, problems)
    first, second = names
    return GivenBy(law.kind, (first, second))


def _has_other_role(column: ColumnSyntax, problems: Problems) -> bool:
    name, wrong = column.name.text, [(role, span) for role, span in column.roles if role in CERTAIN_ROLES]
    for role, span in wrong:
        problems.add(BindError(
            "bind.uncertain-role",
            f'column "{name}" is uncertain, so it cannot be {"derived" if role == "AS" else role}', span=span,
            detail="its value differs from world to world",
            hint="leave AS out, and derive the columns that ~ names" if role == "AS"
            else f"leave {role} out, or declare another column for it",
        ))
    return bool(wrong)


def _check_type(column: ColumnSyntax, law: UncertainSyntax, problems: Problems) -> None:
    accepted = GIVES.get(law.kind, CHOSEN)
    if column.type not in accepted:
        name, other = column.name.text, "DOUBLE" if law.kind in GIVES or _family(column.type) == "number" else "STRING"
        problems.add(BindError(
            "bind.bad-uncertain-type", f'column "{name}" is {column.type}, which {law.kind} cannot give',
            span=column.type_span, detail=f"{law.kind} gives {', '.join(accepted)}",
            hint=f"for example: {name} {other} ~ {FORMS[law.kind]}",
        ))


def _find(
    name: Name, column: ColumnSyntax, law: UncertainSyntax, declared: Sequence[ColumnSyntax], problems: Problems
) -> ColumnSyntax | None:
    """The column that ``~`` names; None with the reason in ``problems``."""
    one = next((other for other in declared if other.name.text.lower() == name.text.lower()), None)
    if one is None:
        problems.add(BindError(
            "bind.unknown-column", f'there is no column "{name.text}"', span=name.span,
            hint=suggest(name.text, [other.name.text for other in declared], "columns"),
        ))
    elif one is column and isinstance(law, MissingValue):
        problems.add(BindError(
            "bind.uncertain-parameter", f'column "{name.text}" cannot be found by itself', span=name.span,
            detail="where it is missing, it says nothing of the rows that stand for it",
            hint=f"name a column that is there: {law.kind} {'10 ' if law.kind == 'NEAREST' else ''}BY another",
        ))
    elif one is not column and one.uncertain is not None:
        problems.add(BindError(
            "bind.uncertain-parameter", f'column "{name.text}" is uncertain itself', span=name.span,
            detail="what a distribution is made of, or a value is found by, is the same in all worlds",
            hint=f'name a column without ~ in place of "{name.text}"',
        ))
    return one


def _check_number(name: Name, one: ColumnSyntax, kind: str, problems: Problems) -> None:
    if _family(one.type) != "number":
        why = "measures distances between numbers" if kind == "NEAREST" else "is made of numbers"
        problems.add(BindError(
            "bind.bad-parameter-type", f'{kind} {why}, and column "{one.name.text}" is {one.type}', span=name.span,
            hint=f"declare it as a number, for example: {one.name.text} DOUBLE",
        ))


def _check_lists(
    column: ColumnSyntax, law: GivenDistribution, found: Sequence[ColumnSyntax | None], problems: Problems
) -> None:
    """The values of DISCRETE are a list of what the column is, their weights a list of numbers."""
    own = _family(column.type)
    elements = (column.type if own is not None else "DOUBLE", "DOUBLE")
    for name, one, what, element in zip(law.columns, found, ("values", "weights"), elements):
        of = None if one is None else _element(one.type)
        hint = f"for example: {name.text} ARRAY<{element}>"
        if one is None:
            continue
        if of is None:
            problems.add(BindError(
                "bind.bad-parameter-type",
                f'the {what} of DISCRETE are an ARRAY, and column "{name.text}" is {one.type}',
                span=name.span, hint=hint,
            ))
        elif what == "weights" and _family(of) != "number":
            problems.add(BindError(
                "bind.bad-parameter-type", f'weights are numbers, and column "{name.text}" is {one.type}',
                span=name.span, hint=hint,
            ))
        elif what == "values" and own is not None and _family(of) != own:
            problems.add(BindError(
                "bind.bad-parameter-type",
                f'column "{column.name.text}" is {column.type}, and its values in column "{name.text}" are {one.type}',
                span=name.span, hint=hint,
            ))


def _element(kind: str) -> str | None:
    """The type of an array's members.

    >>> _element("ARRAY<DECIMAL(4,2)>"), _element("INT")
    ('DECIMAL(4,2)', None)
    """
    return kind.removeprefix("ARRAY<")[:-1] if kind.startswith("ARRAY<") else None


def _family(kind: str) -> str | None:
    """What a type is of, where its values can be drawn."""
    if kind in NUMBERS or kind.startswith("DECIMAL"):
        return "number"
    return kind.lower() if kind in ("STRING", "BOOLEAN") else None


def uncertain_columns(
    columns: Sequence[Column], roles: Mapping[str, str], laws: Mapping[str, str]
) -> tuple[Column, ...]:
    """Columns that are declared without SQL, with what the texts in ``laws`` say of them: that after ``~``, by name.

    ``roles`` has the other roles of columns, by name. A name that is no column yet becomes one, if its distribution is
    made of others: a DOUBLE, or what the values of DISCRETE are.

    Raises
    ------
    ProgramErrors
        Everything that is wrong, shown in a text that has a line for each of the columns.

    >>> lo, hi = Column("lo", "DOUBLE"), Column("hi", "DOUBLE")
    >>> [column.name for column in uncertain_columns([lo, hi], {}, {"wait": "UNIFORM(lo, hi)"})]
    ['lo', 'hi', 'wait']
    """
    if not laws:
        return tuple(columns)
    problems = Problems()
    given = {name.lower(): role for name, role in roles.items()}
    declared = {column.name.lower(): _without_law(column, given) for column in columns}
    text, places = _written(declared, laws)
    tokens, broken = tokenize(text)
    if broken is not None:
        raise ProgramErrors([broken], text)
    for (name, law_start, end), written in zip(places, laws):
        with problems.part():
            law = _parsed(text, tuple(token for token in tokens if law_start <= token.start < end))
            known = declared.get(written.lower()) or _added(name, law, columns)
            if known.uncertain is not None:
                raise BindError("bind.duplicate-name", f'column "{name.text}" is declared twice', span=name.span)
            own = tuple((role, name.span) for role, _nowhere in known.roles)
            place = Name(known.name.text, name.span)
            declared[written.lower()] = ColumnSyntax(place, known.type, name.span, own, uncertain=law)
    scope = Scope((Relation("", "stream", "", tuple(columns), Span(0, 0)),))
    found = bind_laws(tuple(declared.values()), scope, problems)
    problems.without_rows()
    if problems:
        raise ProgramErrors(problems.errors, text)
    return tuple(
        bound_column(column.name.text, column.type, None, found.get(name)) for name, column in declared.items()
    )


def _without_law(column: Column, roles: Mapping[str, str]) -> ColumnSyntax:
    nowhere = Span(0, 0)
    role = roles.get(column.name.lower())
    return ColumnSyntax(Name(column.name, nowhere), column.type, nowhere, () if role is None else ((role, nowhere),))


def _written(
    declared: Mapping[str, ColumnSyntax], laws: Mapping[str, str]
) -> tuple[str, list[tuple[Name, int, int]]]:
    """A line for each law, and where in the text its column, its law and its end are."""
    text, places = "", []
    for name, law in laws.items():
        start = len(text)
        plain = name.isidentifier() and name.isascii()
        text += name if plain else quoted(name)
        column = Name(name, Span(start, len(text)))
        known = declared.get(name.lower())
        text += " ~ " if known is None else f" {known.type} ~ "
        places.append((column, len(text), len(text) + len(law)))
        text += law + "\n"
    return text.removesuffix("\n"), places


def _parsed(text: str, tokens: tuple[Token, ...]) -> UncertainSyntax:
    cursor = Cursor(text, tokens)
    law = parse_uncertain(cursor, 0)
    if not cursor.done:
        raise cursor.wrong("nothing more after the distribution")
    return law


def _added(name: Name, law: UncertainSyntax, columns: Sequence[Column]) -> ColumnSyntax:
    """A column that is not there yet."""
    if isinstance(law, MissingValue):
        known = [column.name for column in columns]
        raise BindError(
            "bind.unknown-column", f'there is no column "{name.text}"', span=name.span,
            hint=suggest(name.text, known, "columns"),
        )
    values = find_column(tuple(columns), law.columns[0].text) if law.kind == "DISCRETE" else None
    element = None if values is None else _element(values.type)
    return ColumnSyntax(name, element or "DOUBLE", name.span)
