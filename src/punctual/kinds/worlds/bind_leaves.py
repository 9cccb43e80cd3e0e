"""What stands in expressions over worlds, at three heights: rows, groups in a world, and all worlds together.

Each height has its own leaves, and knows the one below it: an aggregate of a group is made of rows, EXPECTED and the
others of what a group is in every world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from punctual.errors import BindError, Span
from punctual.kinds.worlds.row_columns import RowColumns
from punctual.plan.functions import canonical
from punctual.plan.world_expression import (
    CertainColumn,
    Constant,
    DrawnAttribute,
    Operation,
    WorldAggregate,
    WorldExpression,
    WorldSummary,
    leaves,
)
from punctual.plan.worlds import Called, Folded, PythonFunction, Summary, Summed, WorldFunction
from punctual.sql.expressions.bind_known import is_column, known
from punctual.sql.expressions.bind_row import row_expression, row_pieces
from punctual.sql.expressions.bind_world import world_expression
from punctual.sql.expressions.function_names import MONTE_CARLO, is_aggregate
from punctual.sql.expressions.pieces import Pieces, unbracketed
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems, not_yet
from punctual.sql.syntax.expression import Call, ExpressionSyntax

FUNCTIONS: tuple[WorldFunction, ...] = ("count", "sum", "avg", "min", "max")
EXAMPLES = {
    "expected": "EXPECTED(sum(x))",
    "probability": "PROBABILITY(sum(x) > 10)",
    "interval": "INTERVAL(sum(x), 95%)",
    "histogram": "HISTOGRAM(sum(x), 20)",
}


def makes_one(call: Call, scope: Scope) -> bool:
    """Whether a call makes one value of many rows: an aggregate, or a function of Python."""
    return is_aggregate(call.name) or scope.function(call.name) is not None


@dataclass(slots=True)
class RowLeaves:
    """Certain columns and draws of a row."""

    columns: RowColumns
    scope: Scope
    place: str = "WHERE"

    def bind(self, expression: ExpressionSyntax) -> WorldExpression:
        """A row expression in every world."""
        return world_expression(expression, self)

    def is_uncertain(self, part: ExpressionSyntax) -> bool:
        """Whether an uncertain attribute stands in it."""
        found = (self.scope.find(reference.parts) for reference in part.columns)
        return any(one.column.uncertain is not None for several in found for one in several)

    def is_certain(self, part: ExpressionSyntax) -> bool:
        """Only what cannot be computed here is Spark's, so that most queries need none."""
        if self.is_uncertain(part):
            return False
        return is_column(part) or known(part, self.scope) is None

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        problems = Problems()
        expression = row_expression(part, self.scope, self.place, problems)
        _raise_first(problems)
        return CertainColumn(self.columns.number(expression))

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        resolved = self.scope.resolve(part.columns[0], part)
        if resolved.column.uncertain is None:
            return self.certain(part)
        return DrawnAttribute(self.columns.attribute(resolved.relation.alias, resolved.column))

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        if makes_one(call, self.scope):
            problems = Problems()
            row_pieces(part, self.scope, self.place, problems)
            _raise_first(problems)
        return None


@dataclass(slots=True)
class GroupLeaves:
    """Keys and aggregates of a group in a world. Of a query without groups, rows that are told apart by its keys."""

    rows: RowLeaves
    keys: list[Pieces]
    key_columns: list[int]
    grouped: bool
    where_is_certain: bool
    exist_surely: bool
    """Whether all rows exist in every world."""
    aggregates: list[Folded | Called] = field(default_factory=list)
    drawn_keys: list[tuple[Pieces, WorldExpression]] = field(default_factory=list)
    """Keys that differ between worlds; they are numbered after the others."""

    def bind(self, expression: ExpressionSyntax) -> WorldExpression:
        """An expression of a group in every world."""
        if self.grouped:
            return world_expression(expression, self)
        found = self._key(expression)
        if found is not None:
            return CertainColumn(found)
        return self.folded(Folded("value", self.rows.bind(expression), span=expression.span))

    def _key(self, part: ExpressionSyntax) -> int | None:
        problems = Problems()
        pieces = unbracketed(row_pieces(part, self.rows.scope, "GROUP BY", problems))
        if problems:
            return None
        said = [(piece.kind, piece.text) for piece in pieces]
        every = [*self.keys, *(pieces for pieces, _key in self.drawn_keys)]
        known = ([(piece.kind, piece.text) for piece in unbracketed(key)] for key in every)
        return next((number for number, key in enumerate(known) if key == said), None)

    def is_certain(self, part: ExpressionSyntax) -> bool:
        if any(makes_one(call, self.rows.scope) for call in part.calls):
            return False
        return self._key(part) is not None or (bool(part.columns) and not is_column(part) and self._of_keys(part))

    def _of_keys(self, part: ExpressionSyntax) -> bool:
        """Whether it is made of keys alone, in a way that only Spark knows."""
        columns = [part.part(one.first, one.end) for one in part.columns]
        return all(self._key(column) is not None for column in columns) and known(part, self.rows.scope) is None

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        found = self._key(part)
        if found is None and self.drawn_keys:
            raise not_yet(f"{part.text} beside a key that differs between worlds", part.span, "group by it")
        if found is None:  # a function of the keys tells no more rows apart than they do
            column = self.rows.certain(part)
            assert isinstance(column, CertainColumn)
            self.keys.append(row_pieces(part, self.rows.scope, "GROUP BY", Problems()))
            self.key_columns.append(column.number)
            found = len(self.keys) - 1
        return CertainColumn(found)

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        self.rows.scope.resolve(part.columns[0], part)
        name = ".".join(part.columns[0].parts)
        raise BindError(
            "bind.not-grouped", f'column "{name}" is neither grouped nor aggregated', span=part.span,
            hint=f"add it to GROUP BY, or aggregate it: avg({name})",
        )

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        refuse_nested(part)
        function = self.rows.scope.function(call.name)
        if function is not None:
            return self.folded(self._called(part, call, function))
        if not is_aggregate(call.name):
            return None
        return self.folded(self._aggregate(part, call))

    def folded(self, folded: Folded | Called) -> WorldAggregate:
        """The number of an aggregate among those of the query."""
        if folded not in self.aggregates:
            self.aggregates.append(folded)
        return WorldAggregate(self.aggregates.index(folded))

    def _aggregate(self, part: ExpressionSyntax, call: Call) -> Folded:
        name, span = canonical(call.name), part.place(call.first, call.end)
        if name not in FUNCTIONS or call.window is not None or (call.distinct and name not in ("min", "max")):
            raise not_yet(f"{part.text_at(span)} in every world", span, "count, sum, avg, min and max are there")
        if len(call.arguments) != 1:
            raise BindError("bind.bad-argument", f"{call.name} takes 1 argument", span=span)
        first, end = call.arguments[0]
        tokens = part.tokens[first:end]
        where = None if call.where is None else self._rows_at("FILTER").bind(part.part(*call.where))
        argument = None
        if not (name == "count" and len(tokens) == 1 and (tokens[0].word == "*" or tokens[0].kind == "number")):
            argument = self._rows_at("aggregate").bind(part.part(first, end))
        function = next(one for one in FUNCTIONS if one == name)
        return Folded(function, argument, where, stored=not self.exist_surely, span=span)

    def _called(self, part: ExpressionSyntax, call: Call, function: PythonFunction) -> Called:
        span = part.place(call.first, call.end)
        if call.distinct or call.ignore_nulls or call.window is not None:
            raise not_yet(f"{part.text_at(span)} of a function of Python", span, "write its arguments alone")
        count = len(call.arguments)
        if count < function.fewest or (function.most is not None and count > function.most):
            takes = f"{function.fewest}" if function.most == function.fewest else f"{function.fewest} or more"
            if function.most is not None and function.most > function.fewest:
                takes = f"{function.fewest} to {function.most}"
            raise BindError(
                "bind.bad-argument", f"{function.name} takes {takes} argument{'' if takes == '1' else 's'}", span=span,
                detail="as many as the function of Python that was registered",
            )
        where = None if call.where is None else self._rows_at("FILTER").bind(part.part(*call.where))
        arguments = tuple(self._rows_at("aggregate").bind(part.part(*one)) for one in call.arguments)
        if all(isinstance(one, Constant) for one in arguments):
            raise BindError(
                "bind.bad-argument", f"{function.name} has no argument that is of rows", span=span,
                hint=f"give it a column, for example: {function.name}(x)",
            )
        return Called(function.name, function.returns, arguments, where, stored=not self.exist_surely, span=span)

    def is_same(self, number: int) -> bool:
        """Whether an aggregate is the same in all worlds."""
        folded = self.aggregates[number]
        of = folded.arguments if isinstance(folded, Called) else (folded.argument,)
        parts = [one for one in (*of, folded.where) if one is not None]
        drawn = any(isinstance(leaf, DrawnAttribute) for one in parts for leaf in leaves(one))
        sure = self.where_is_certain and not self.drawn_keys
        return sure and not drawn and (folded.stored or self.exist_surely)

    def _rows_at(self, place: str) -> RowLeaves:
        return RowLeaves(self.rows.columns, self.rows.scope, place)


@dataclass(slots=True)
class AnswerLeaves:
    """Keys, and what all worlds together say."""

    groups: GroupLeaves
    summaries: list[Summed] = field(default_factory=list)

    def bind(self, expression: ExpressionSyntax) -> WorldExpression:
        """A column of answers: what it is made of where EXPECTED and the others stand in it, else its expectation."""
        if self.has_summary(expression):
            return world_expression(expression, self)
        return self._plain(expression)

    def has_summary(self, expression: ExpressionSyntax) -> bool:
        return any(call.name in MONTE_CARLO for call in expression.calls)

    def _plain(self, expression: ExpressionSyntax) -> WorldExpression:
        found = self.groups.bind(expression)
        if isinstance(found, CertainColumn):
            return found
        if self._is_same(found):
            if isinstance(found, WorldAggregate):
                return self._summed(Summed("SAME", found, span=expression.span))
            if not any(isinstance(leaf, WorldAggregate) for leaf in leaves(found)):
                return found
            return _over(found, lambda leaf: self._summed(Summed("SAME", leaf, span=expression.span)))
        return self._summed(Summed("EXPECTED", found, span=expression.span))

    def _is_same(self, expression: WorldExpression) -> bool:
        """Whether it is the same in all worlds: all of its aggregates are."""
        return all(self.groups.is_same(leaf.number) for leaf in leaves(expression) if isinstance(leaf, WorldAggregate))

    def is_certain(self, part: ExpressionSyntax) -> bool:
        return not self.has_summary(part) and (bool(part.columns) or bool(part.calls))

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        return self._plain(part)

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        return self._plain(part)

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        if call.name not in MONTE_CARLO:
            return None
        span, name = part.place(call.first, call.end), call.name
        wanted = 1 if name in ("expected", "probability") else 2
        if len(call.arguments) != wanted:
            raise BindError(
                "bind.bad-argument", f"{name.upper()} takes {wanted} argument{'s' if wanted > 1 else ''}", span=span,
                hint=f"for example: {EXAMPLES[name]}",
            )
        inner = part.part(*call.arguments[0])
        refuse_nested(inner)
        of = self.groups.bind(inner)
        parameter = parameter_of(part, call, span) if wanted == 2 else 0.0
        if not self.groups.exist_surely:
            of = _over_existing(of, self.groups)
        summary: Summary = next(one for one in SUMMARIES if one.lower() == name)
        return self._summed(Summed(summary, of, parameter, span))

    def _summed(self, summed: Summed) -> WorldSummary:
        if summed not in self.summaries:
            self.summaries.append(summed)
        return WorldSummary(self.summaries.index(summed))


SUMMARIES: tuple[Summary, ...] = ("EXPECTED", "PROBABILITY", "INTERVAL", "HISTOGRAM")


def _over(expression: WorldExpression, replaced: Callable[[WorldAggregate], WorldExpression]) -> WorldExpression:
    """The expression with its aggregates replaced."""
    if isinstance(expression, WorldAggregate):
        return replaced(expression)
    if isinstance(expression, Operation):
        arguments = tuple(_over(argument, replaced) for argument in expression.arguments)
        return Operation(expression.name, arguments, expression.span)
    return expression


def _over_existing(expression: WorldExpression, groups: GroupLeaves) -> WorldExpression:
    """The same over the rows that exist in a world: inside EXPECTED and the others nobody counts stored rows."""

    def existing(leaf: WorldAggregate) -> WorldExpression:
        folded = groups.aggregates[leaf.number]
        return groups.folded(replace(folded, stored=False))

    return _over(expression, existing)


def refuse_nested(of: ExpressionSyntax) -> None:
    """EXPECTED and the others are said of what is so in a world, and not of each other."""
    inner = next((one for one in of.calls if one.name in MONTE_CARLO), None)
    if inner is not None:
        raise BindError(
            "bind.nested-aggregate", f"{inner.name.upper()} cannot stand inside of what it is said of",
            span=of.place(inner.first, inner.end),
            detail="what it says is of all worlds together, and here is asked for what is so in each of them",
        )


def parameter_of(part: ExpressionSyntax, call: Call, span: Span) -> float:
    """The level of INTERVAL, as ``95%`` or ``0.95``; the number of bins of HISTOGRAM."""
    first, end = call.arguments[1]
    tokens = part.tokens[first:end]
    percent = len(tokens) == 2 and tokens[1].word == "%"
    number = None
    if tokens[0].kind == "number" and (len(tokens) == 1 or percent):
        try:
            number = float(tokens[0].text.rstrip("DdLl")) / (100 if percent else 1)
        except ValueError:
            number = None
    place = part.place(first, end)
    if call.name == "interval" and (number is None or not 0 < number < 1):
        raise BindError(
            "bind.bad-share", "an interval is of a level above 0% and below 100%", span=place,
            hint="for example: INTERVAL(sum(x), 95%)",
        )
    if call.name == "histogram" and (number is None or percent or number != int(number) or not 1 <= number <= 10_000):
        raise BindError(
            "bind.bad-argument", "a histogram has a whole number of bins, from 1 to 10,000", span=place,
            hint="for example: HISTOGRAM(sum(x), 20)",
        )
    assert number is not None
    return number


def _raise_first(problems: Problems) -> None:
    """What is wrong with a part is wrong with the whole."""
    if problems:
        raise problems.errors[0]
