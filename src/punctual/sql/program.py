"""A program from text to bound statements and a catalog; all of its errors, or all of its effects.

Statements are parsed each on its own (a wrong one ends at its semicolon) and bound in order, each seeing what those
before it declared. A name whose statement failed is remembered, so that its users add no errors of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from punctual.catalog import Catalog
from punctual.config import NOT_YET, parse_options
from punctual.errors import BindError, ProgramErrors, PunctualError, Span
from punctual.plan.query import Query
from punctual.plan.relation import Declared
from punctual.sql.bind_model import check_fit_statement
from punctual.sql.bind_query import bind_query
from punctual.sql.bind_relation import bind_files, bind_relation
from punctual.sql.body_binder import BodyBinder, RowBody
from punctual.sql.bound import CreateQuery, CreateStream, CreateTable, DropQuery, Explain, SetOption, Statement
from punctual.sql.problems import Problems, RefusedNameError, suggest
from punctual.sql.syntax.parse_statement import created_name, parse_statement
from punctual.sql.syntax.statement import (
    CreateQuerySyntax,
    CreateRelationSyntax,
    CreateSyntax,
    DropSyntax,
    ExplainSyntax,
    FitModelSyntax,
    ReadModelSyntax,
    SetSyntax,
    StatementSyntax,
)
from punctual.sql.syntax.tokens import split_statements, tokenize
from punctual.sql.syntax.written import Name

EMPTY = Catalog()


@dataclass(frozen=True, slots=True)
class Program:
    """Bound statements in order, and the catalog after all of them."""

    catalog: Catalog
    statements: tuple[Statement, ...]
    text: str

    @property
    def declarations(self) -> list[Declared]:
        """The streams and tables that it declares, with the spans of their columns."""
        declared = []
        for statement in self.statements:
            if isinstance(statement, CreateStream | CreateTable):
                relation = statement.stream if isinstance(statement, CreateStream) else statement.table
                spans = tuple(
                    column.derived.span if column.derived else span
                    for column, span in zip(relation.columns, statement.column_spans)
                )
                declared.append(Declared(relation, spans, statement.span))
        return declared


class RefusedProgram(ProgramErrors):
    """Everything that is wrong with a program; ``bound`` is what is left of it, which may have errors of its own."""

    def __init__(self, errors: Sequence[PunctualError], bound: Program) -> None:
        super().__init__(errors, bound.text)
        self.bound = bound


def compile_program(
    text: str, catalog: Catalog = EMPTY, *, base: str, binders: Sequence[BodyBinder], row_body: RowBody
) -> Program:
    """Parse and bind a program.

    Parameters
    ----------
    text : str
        Statements that end with ``;`` (the last one may do without).
    catalog : Catalog
        What was declared before.
    base : str
        The directory that relative paths of FILES start from.
    binders : sequence of BodyBinder
        One for each kind of query.
    row_body : RowBody
        The body of what they cannot answer.

    Raises
    ------
    RefusedProgram
        Everything that is wrong, in the order of the spans.
    """
    tokens, broken = tokenize(text)
    binder = _Binder(text, catalog, base, binders, row_body)
    statements = split_statements(tokens)
    if broken is not None:
        binder.errors.append(broken)
        if statements and (not tokens or tokens[-1].word != ";"):
            binder.fail(created_name(statements.pop()))
    for statement in statements:
        try:
            syntax = parse_statement(text, statement)
        except PunctualError as error:
            binder.errors.append(error)
            binder.fail(created_name(statement))
            continue
        binder.bind(syntax)
    program = Program(binder.catalog, tuple(binder.statements), text)
    if binder.errors:
        raise RefusedProgram(binder.errors, program)
    return program


class _Binder:
    """The catalog as it grows from statement to statement."""

    def __init__(
        self, text: str, catalog: Catalog, base: str, binders: Sequence[BodyBinder], row_body: RowBody
    ) -> None:
        self.text = text
        self.catalog = catalog
        self.base = base
        self.binders = binders
        self.row_body = row_body
        self.errors: list[PunctualError] = []
        self.statements: list[Statement] = []
        self.failed: frozenset[str] = frozenset()

    def fail(self, name: str | None) -> None:
        if name is not None:
            self.failed |= {name.lower()}

    def bind(self, syntax: StatementSyntax) -> None:
        problems = Problems()
        bound: Statement | None = None
        try:
            with problems.part():
                bound = self._bind(syntax, problems)
        except RefusedNameError:
            problems = Problems()
        problems.without_rows()
        self.errors += problems.errors
        if bound is None or problems:
            if isinstance(syntax, CreateSyntax):
                self.fail(syntax.name.text)
            return
        self.statements.append(bound)

    def _bind(self, syntax: StatementSyntax, problems: Problems) -> Statement | None:
        if isinstance(syntax, CreateSyntax):
            self._check_new(syntax.name, problems)
        match syntax:
            case CreateRelationSyntax():
                return self._declare(bind_relation(syntax, self.base, problems))
            case CreateQuerySyntax():
                return self._declare(self._bind_query(syntax, problems))
            case FitModelSyntax():
                check_fit_statement(syntax, self.catalog, self.failed, problems)
                return None
            case ReadModelSyntax():
                problems.not_yet("CREATE MODEL", Span(syntax.span.start, syntax.name.span.end))
                bind_files(syntax.files, self.base)
                return None
            case SetSyntax():
                return self._set(syntax)
            case DropSyntax():
                return self._drop(syntax)
            case ExplainSyntax():
                query = self._query(syntax.name) if syntax.name is not None else None
                return Explain(syntax.kind, query, syntax.span)

    def _bind_query(self, syntax: CreateQuerySyntax, problems: Problems) -> CreateQuery | None:
        return bind_query(syntax, self.text, self.catalog, self.failed, self.binders, self.row_body, problems)

    def _declare(self, bound: CreateStream | CreateTable | CreateQuery | None) -> Statement | None:
        """A name is known from here on only where its statement is right."""
        if isinstance(bound, CreateStream):
            self.catalog = self.catalog.with_stream(bound.stream)
        elif isinstance(bound, CreateTable):
            self.catalog = self.catalog.with_table(bound.table)
        elif isinstance(bound, CreateQuery):
            self.catalog = self.catalog.with_query(bound.query)
        return bound

    def _check_new(self, name: Name, problems: Problems) -> None:
        kind = self.catalog.kind_of(name.text)
        if kind is not None:
            problems.add(BindError(
                "bind.duplicate-name", f'there is already a {kind} "{name.text}"', span=name.span,
                detail="streams, tables and queries share one name space",
            ))

    def _set(self, syntax: SetSyntax) -> SetOption:
        name, value = syntax.name.text.lower(), syntax.value.text
        try:
            parse_options({**self.catalog.options, name: value})
        except PunctualError as error:
            wrong_name = error.code == "config.unknown-option" or name in NOT_YET
            span = syntax.name.span if wrong_name else syntax.value.span
            raise type(error)(error.code, error.fact, span=span, detail=error.detail, hint=error.hint) from None
        self.catalog = self.catalog.with_option(name, value)
        return SetOption(name, value, syntax.span)

    def _drop(self, syntax: DropSyntax) -> DropQuery:
        if syntax.kind == "model":
            # No model is ever declared so far, so a name is that of a refused statement, or unknown.
            if syntax.name.text.lower() in self.failed:
                raise RefusedNameError
            raise BindError("bind.unknown-model", f'there is no model "{syntax.name.text}"', span=syntax.name.span)
        name = self._query(syntax.name).name
        self.catalog = self.catalog.without_query(name)
        return DropQuery(name, syntax.span)

    def _query(self, name: Name) -> Query:
        query = self.catalog.queries.get(name.text.lower())
        if query is not None:
            return query
        if name.text.lower() in self.failed:
            raise RefusedNameError
        raise BindError(
            "bind.unknown-query", f'there is no query "{name.text}"', span=name.span,
            hint=suggest(name.text, [q.name for q in self.catalog.queries.values()], "queries"),
        )
