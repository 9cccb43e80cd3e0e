"""The names that an expression of a query may use: FROM items and their columns, and functions of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.errors import BindError, Span
from punctual.own_names import joined_column
from punctual.plan.relation import Column, find_column
from punctual.plan.worlds import PythonFunction
from punctual.sql.expressions.pieces import Piece
from punctual.sql.problems import suggest
from punctual.sql.syntax.expression import ColumnReference, ExpressionSyntax


@dataclass(frozen=True, slots=True)
class Relation:
    """A FROM item: its alias, what it is, its columns, and its place."""

    alias: str
    kind: Literal["stream", "table"]
    name: str
    columns: tuple[Column, ...]
    span: Span
    apart: frozenset[str] = frozenset()
    """Names, in lower case, that only some of united streams declare, or with different types."""
    joined: bool = False
    """Whether it is a stream whose window is joined with that of the first one in FROM."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A column of a FROM item; ``used`` says how many parts of the written name it took (the rest are fields)."""

    relation: Relation
    column: Column
    used: int

    @property
    def name(self) -> str:
        """What the enriched row calls the column."""
        if self.relation.kind == "stream" and not self.relation.joined:
            return self.column.name
        return joined_column(self.relation.alias, self.column.name)


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns are found by Spark's rules: qualified by a FROM item first, else in all of them; case does not matter."""

    relations: tuple[Relation, ...]
    functions: tuple[PythonFunction, ...] = ()

    def function(self, name: str) -> PythonFunction | None:
        """The function of Python of this name."""
        return next((one for one in self.functions if one.name.lower() == name.lower()), None)

    def find(self, parts: tuple[str, ...]) -> list[Resolved]:
        """All columns that a name may mean."""
        if len(parts) > 1:
            qualifier = parts[0].lower()
            qualified = [
                Resolved(relation, column, 2)
                for relation in self.relations
                if relation.alias.lower() == qualifier and (column := find_column(relation.columns, parts[1]))
            ]
            if qualified:
                return qualified
        return [
            Resolved(relation, column, 1)
            for relation in self.relations
            if (column := find_column(relation.columns, parts[0]))
        ]

    def resolve(self, reference: ColumnReference, expression: ExpressionSyntax) -> Resolved:
        """The one column that a name means."""
        found = self.find(reference.parts)
        if len(found) == 1:
            return found[0]
        span = expression.place(reference.first, reference.end)
        name = ".".join(reference.parts)
        if found:
            choices = " or ".join(f"{r.relation.alias}.{r.column.name}" for r in found)
            raise BindError(
                "bind.ambiguous-column", f'column "{name}" is in more than one FROM item', span=span,
                hint=f"write {choices}",
            )
        aliases = {relation.alias.lower(): relation for relation in self.relations}
        of = aliases.get(reference.parts[0].lower()) if len(reference.parts) > 1 else None
        known = [c.name for relation in ((of,) if of else self.relations) for c in relation.columns]
        wanted = reference.parts[1] if of else reference.parts[0]
        where = f' of {of.kind} "{of.name}"' if of else ""
        apart = any(wanted.lower() in relation.apart for relation in ((of,) if of else self.relations))
        raise BindError(
            "bind.unknown-column", f'there is no column "{wanted if of else name}"{where}', span=span,
            detail="all streams of a UNION ALL have to declare it, with one type and one distribution (~), if any"
            if apart
            else None,
            hint=suggest(wanted, known, "columns"),
        )

    def pieces(self, reference: ColumnReference, expression: ExpressionSyntax) -> tuple[Piece, ...]:
        """The column as a piece, followed by the fields that were taken out of it."""
        resolved = self.resolve(reference, expression)
        span = expression.place(reference.first, reference.end)
        column = Piece(resolved.name, "column", span)
        fields = reference.parts[resolved.used :]
        return (column, *(
            piece
            for field in fields
            for piece in (Piece(".", "symbol", span), Piece(field, "field", span))
        ))
