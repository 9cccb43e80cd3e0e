"""SELECT over uncertain attributes, or over rows that may not exist: what is drawn, reckoned and said of all worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from punctual.errors import BindError
from punctual.kinds.worlds.bind_leaves import AnswerLeaves, GroupLeaves, RowLeaves, makes_one
from punctual.kinds.worlds.row_columns import RowColumns, WindowedStream
from punctual.plan.expression import column_of
from punctual.plan.query import Order, Output
from punctual.plan.rows import Join
from punctual.plan.uncertain import FoundBy
from punctual.plan.world_expression import (
    Constant,
    DrawnAttribute,
    Operation,
    WorldExpression,
    WorldSummary,
    leaves,
)
from punctual.plan.worlds import Comparison, Effort, Existence, Worlds
from punctual.runtime.backend import is_function_of_spark
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_join import bind_joins
from punctual.sql.bind_nested import check_names
from punctual.sql.body_binder import BoundBody
from punctual.sql.expressions.all_columns import starred, with_all_columns
from punctual.sql.expressions.bind_answer import output_name
from punctual.sql.expressions.bind_predicate import conjuncts
from punctual.sql.expressions.bind_row import row_expression, row_pieces
from punctual.sql.expressions.function_names import MONTE_CARLO
from punctual.sql.expressions.pieces import Pieces
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import NOT_YET, Problems
from punctual.sql.syntax.clauses import AnswersClause, Clause, ConfidenceClause, RoundsClause
from punctual.sql.syntax.expression import Call, ExpressionSyntax, NeedsRowsError
from punctual.sql.syntax.select import OrderSyntax, RangeWindow, SelectSyntax

ROUNDS = 100
"""How many rounds an answer has where nothing is said."""
MOST_ROUNDS = 100_000_000
"""No answer has more of them."""
PROBABILITY = "probability"
"""The column that every result row has: in which part of the worlds it is there."""
ONLY_SPARK = (NOT_YET, "bind.not-in-worlds")
"""What kernels do not know may be something that Spark does."""
MIRRORED: Mapping[str, str] = {"<": ">", "<=": ">=", "=": "=", ">=": "<=", ">": "<"}


def is_over_worlds(select: SelectSyntax, bound: BoundFrom) -> bool:
    """Whether a SELECT reads an uncertain attribute, or says something of worlds."""
    left = [condition for item in bound.tables for condition in item.left_on or ()]
    every = [*_expressions(select), *bound.conditions, *left]
    calls = any(_says_it(call, bound.scope) for expression in every for call in expression.calls)
    clauses = any(isinstance(clause, RoundsClause | ConfidenceClause | AnswersClause) for clause in select.clauses)
    having = any(names_probability(one, bound.scope) for one in _having(select))
    if calls or clauses or having:
        return True
    found = (bound.scope.find(one.parts) for expression in every for one in expression.columns)
    named = {one.column for several in found for one in several}
    all_of = {column for item in select.items for one in starred(item, bound.scope) for column in one.columns}
    return any(column.uncertain is not None for column in named | all_of)


def _says_it(call: Call, scope: Scope) -> bool:
    """Whether a call has a meaning over worlds alone."""
    return call.name in MONTE_CARLO or scope.function(call.name) is not None


def _expressions(select: SelectSyntax) -> list[ExpressionSyntax]:
    items = [item.expression for item in select.items] + [item.expression for item in select.order]
    return [one for one in (*items, *select.groups, select.where, select.having) if one is not None]


def _having(select: SelectSyntax) -> list[ExpressionSyntax]:
    return [] if select.having is None else conjuncts(select.having)


def bind_worlds(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
    """The body and outputs of a SELECT; None with the reasons in ``problems``."""
    if not bound.complete:
        return None
    select = with_all_columns(select, bound.scope)
    own = Problems()
    own.take(problems)
    found: BoundBody | None = None
    if _refuse_what_is_not_there(select, bound, own):
        check_names(select, bound.scope, own)
    else:
        found = _WorldBinder(select, bound, own).bind()
    names = {call.name for one in (*_expressions(select), *bound.conditions) for call in one.calls} - set(MONTE_CARLO)
    spark = all(item.syntax.model is None for item in bound.streams) and all(map(is_function_of_spark, names))
    for error in own.errors[len(problems.errors) :]:
        problems.add(NeedsRowsError(error.fact, error.span, error) if spark and error.code in ONLY_SPARK else error)
    return found


def _refuse_what_is_not_there(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> bool:
    before, endless = len(problems.errors), False
    if bound.as_one and len(bound.streams) > 1:
        problems.not_yet("UNION ALL of streams with uncertain attributes", bound.streams[1].syntax.span)
    for item in bound.streams:
        if item.syntax.model is not None:
            problems.not_yet("a model over uncertain attributes", item.syntax.model.span)
        elif item.syntax.window is None:
            endless = True  # FROM has said so
        elif not isinstance(item.syntax.window, RangeWindow):
            problems.not_yet("this window over uncertain attributes", item.syntax.window.span, "use [RANGE ...]")
    return endless or len(problems.errors) > before


class _WorldBinder:
    """Binds one SELECT over one stream, perhaps enriched by tables."""

    def __init__(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
        self.select, self.bound, self.problems = select, bound, problems
        self.scope: Scope = bound.scope
        self.columns = RowColumns([
            WindowedStream(item.relation.alias, item.stream, item.syntax.window.length.us, item.relation.joined)
            for item in bound.streams
            if isinstance(item.syntax.window, RangeWindow)
        ])  # fmt: skip
        self.rows = RowLeaves(self.columns, self.scope)

    def bind(self) -> BoundBody | None:
        select, problems = self.select, self.problems
        joins, conditions = self._joins()
        where = self._all_of([self._row(part) for part in conditions])
        grouped = bool(select.groups) or self._aggregates()
        existence = self.columns.existence()
        groups = GroupLeaves(self.rows, [], [], grouped, not _is_drawn(where), exist_surely=not existence)
        self._keys(groups)
        answers = AnswerLeaves(groups)
        outputs, written, named = self._outputs(answers)
        likely, having, chosen = self._having(groups, answers)
        order = [self._order(item, answers, named, written) for item in select.order]
        effort = effort_of(select.clauses, problems)
        if problems:
            return None
        if select.distinct is not None and (grouped or answers.summaries):
            problems.not_yet("DISTINCT of what differs between worlds", select.distinct)
            return None
        if not self.columns.attributes and not existence:
            problems.add(self._nothing_uncertain())
            return None
        if joins and self._refuse_in_joins(existence):
            return None
        body = Worlds(
            self.columns.statement(joins, select.items[0].span),
            effort,
            self.columns.first.range_us,
            tuple(self.columns.attributes),
            existence,
            where,
            tuple(groups.key_columns),
            drawn_keys=tuple(key for _pieces, key in groups.drawn_keys),
            grouped=bool(select.groups) or not grouped,
            aggregates=tuple(groups.aggregates),
            having=having,
            summaries=tuple(answers.summaries),
            outputs=tuple(written),
            order=tuple(order),
            chosen=chosen,
            likely=likely,
        )
        return BoundBody(body, outputs, tuple(direction_of(item) for item in select.order), select.limit)

    def _joins(self) -> tuple[tuple[Join, ...], list[ExpressionSyntax]]:
        """What joins rows, which is certain, and what is left for WHERE."""
        parts = conjuncts(self.select.where) if self.select.where is not None else []
        drawn = [part for part in (*parts, *self.bound.conditions) if self.rows.is_uncertain(part)]
        sure = [part for part in parts if part not in drawn]
        bound = replace(self.bound, conditions=tuple(one for one in self.bound.conditions if one not in drawn))
        for item in self.bound.tables:
            for condition in item.left_on or ():
                if self.rows.is_uncertain(condition):
                    self.problems.not_yet("a LEFT JOIN by an uncertain attribute", condition.span)
        found = bind_joins(bound, sure, self.problems)
        return found.joins, [*found.left, *drawn]

    def _refuse_in_joins(self, existence: tuple[Existence, ...]) -> bool:
        """What would have to know all rows of a window, of which a join leaves only some."""
        found: list[str] = [one.law.kind for one in self.columns.attributes if isinstance(one.law, FoundBy)]
        found += ["RULE" for one in existence if one.rule is not None]
        if found:
            self.problems.not_yet(f"a join with {found[0]}", self.bound.joined or self.bound.tables[0].syntax.span)
        return bool(found)

    def _row(self, part: ExpressionSyntax) -> WorldExpression:
        with self.problems.part():
            return self.rows.bind(part)
        return Constant(None)

    def _all_of(self, conditions: list[WorldExpression]) -> WorldExpression | None:
        if not conditions:
            return None
        return conditions[0] if len(conditions) == 1 else Operation("and", tuple(conditions))

    def _aggregates(self) -> bool:
        """Whether an aggregate stands in SELECT, HAVING or ORDER BY, be it inside EXPECTED or not."""
        expressions = [item.expression for item in self.select.items]
        expressions += [*(item.expression for item in self.select.order), self.select.having]
        calls = (call for one in expressions if one is not None for call in one.calls)
        return any(makes_one(call, self.scope) and call.name not in MONTE_CARLO for call in calls)

    def _keys(self, groups: GroupLeaves) -> None:
        """What result rows are told apart by: GROUP BY, or without groups all that is selected and certain."""
        select = self.select
        if groups.grouped:
            expressions = [self._group(group) for group in select.groups]
        else:
            selected = [item.expression for item in select.items if item.expression is not None]
            expressions = [one for one in selected if not self._is_uncertain(one)]
        for expression in expressions:
            if groups.grouped and self.rows.is_uncertain(expression):
                continue
            pieces: Pieces = row_pieces(expression, self.scope, "GROUP BY", self.problems)
            groups.keys.append(pieces)
            groups.key_columns.append(
                self.columns.number(row_expression(expression, self.scope, "GROUP BY", Problems()))
            )
        for expression in expressions:
            if groups.grouped and self.rows.is_uncertain(expression):
                with self.problems.part():
                    pieces = row_pieces(expression, self.scope, "GROUP BY", self.problems)
                    groups.drawn_keys.append((pieces, self.rows.bind(expression)))

    def _is_uncertain(self, expression: ExpressionSyntax) -> bool:
        return self.rows.is_uncertain(expression) or any(call.name in MONTE_CARLO for call in expression.calls)

    def _group(self, group: ExpressionSyntax) -> ExpressionSyntax:
        """What GROUP BY 2 and GROUP BY alias stand for."""
        item = None
        if len(group.tokens) == 1 and group.tokens[0].text.isdecimal():
            number = int(group.tokens[0].text)
            item = self.select.items[number - 1] if 1 <= number <= len(self.select.items) else None
            if item is None:
                self.problems.add(BindError(
                    "bind.bad-ordinal", f"there is no SELECT item {group.text}", span=group.span,
                    detail=f"SELECT has {len(self.select.items)} items",
                ))
        elif len(group.columns) == 1 and len(group.tokens) == 1 and not self.scope.find(group.columns[0].parts):
            name = group.columns[0].parts[0].lower()
            item = next((i for i in self.select.items if i.alias is not None and i.alias.text.lower() == name), None)
        return group if item is None or item.expression is None else item.expression

    def _outputs(
        self, answers: AnswerLeaves
    ) -> tuple[tuple[Output, ...], list[WorldExpression], dict[str, WorldExpression]]:
        """The columns of answers, what they are, and what their aliases stand for."""
        outputs: list[Output] = []
        written: list[WorldExpression] = []
        named: dict[str, WorldExpression] = {}
        taken: set[str] = set()
        for item in self.select.items:
            assert item.expression is not None
            found: WorldExpression = Constant(None)
            with self.problems.part():
                found = answers.bind(item.expression)
            name = output_name(item, taken, self.problems)
            outputs.append(Output(name, column_of(name, item.expression.span)))
            written.append(found)
            named.setdefault(name.lower(), found)
        if PROBABILITY not in taken:
            outputs.append(Output(PROBABILITY, column_of(PROBABILITY)))
        return tuple(outputs), written, named

    def _having(
        self, groups: GroupLeaves, answers: AnswerLeaves
    ) -> tuple[tuple[Comparison, float] | None, WorldExpression | None, WorldExpression | None]:
        """HAVING: of the probability of a result row, of a group in a world, and of what all worlds say."""
        likely: tuple[Comparison, float] | None = None
        in_worlds: list[WorldExpression] = []
        of_answers: list[WorldExpression] = []
        for part in _having(self.select):
            with self.problems.part():
                if names_probability(part, self.scope):
                    likely = likeliness(part)
                elif answers.has_summary(part):
                    of_answers.append(answers.bind(part))
                elif not groups.grouped:
                    raise BindError(
                        "bind.having-without-groups", "HAVING is about groups, and this query has none",
                        span=part.span, hint="write the condition in WHERE",
                    )
                else:
                    in_worlds.append(groups.bind(part))
        return likely, self._all_of(in_worlds), self._all_of(of_answers)

    def _order(
        self,
        item: OrderSyntax,
        answers: AnswerLeaves,
        named: Mapping[str, WorldExpression],
        written: list[WorldExpression],
    ) -> WorldExpression:
        expression = item.expression
        tokens = expression.tokens
        if len(tokens) == 1 and tokens[0].text.isdecimal():
            number = int(tokens[0].text)
            if 1 <= number <= len(written):
                return written[number - 1]
            self.problems.add(BindError(
                "bind.bad-ordinal", f"there is no SELECT item {number}", span=expression.span,
                detail=f"SELECT has {len(self.select.items)} items",
            ))
            return Constant(None)
        if len(tokens) == 1 and expression.columns and expression.columns[0].parts[0].lower() in named:
            return named[expression.columns[0].parts[0].lower()]
        if len(tokens) == 1 and tokens[0].word == "PROBABILITY" and not self.scope.find((PROBABILITY,)):
            return WorldSummary(-1)
        with self.problems.part():
            return answers.bind(expression)
        return Constant(None)

    def _nothing_uncertain(self) -> BindError:
        every = _expressions(self.select)
        calls = [one.place(call.first, call.end) for one in every for call in one.calls if _says_it(call, self.scope)]
        clauses = [
            clause.span
            for clause in self.select.clauses
            if isinstance(clause, RoundsClause | ConfidenceClause | AnswersClause)
        ]
        having = [part.span for part in _having(self.select) if names_probability(part, self.scope)]
        stream = self.columns.first.stream
        own = [column.name for column in stream.columns if column.uncertain is not None]
        why = f"it does not read {' or '.join(own)}" if own else f'stream "{stream.name}" has no uncertain column'
        return BindError(
            "bind.nothing-uncertain", f"nothing in this query is uncertain: {why}",
            span=(calls or clauses or having or [self.select.items[0].span])[0],
            detail="worlds differ in uncertain attributes, or in which rows exist",
            hint=f"ask for something of {own[0]}" if own else
            "declare one in CREATE STREAM, for example: kmh DOUBLE ~ NORMAL(kmh, kmh_sd)",
        )  # fmt: skip


def effort_of(clauses: Sequence[Clause], problems: Problems) -> Effort:
    """How many rounds an answer rests on, by the clauses of its query."""
    rounds = next((one for one in clauses if isinstance(one, RoundsClause)), None)
    confidence = next((one for one in clauses if isinstance(one, ConfidenceClause)), None)
    if rounds is not None and confidence is not None:
        problems.add(BindError(
            "bind.two-efforts", "ROUNDS and CONFIDENCE exclude one another", span=confidence.span,
            detail="each of them says how many worlds an answer rests on", hint="leave one of them out",
        ))
    if rounds is not None and rounds.rounds > MOST_ROUNDS:
        problems.add(BindError(
            "bind.bad-rounds", f"an answer has at most {MOST_ROUNDS:,} rounds", span=rounds.span,
            detail="their error falls with the root of their number", hint="for example: ROUNDS 500",
        ))
    if confidence is not None:
        within = confidence.within
        return Effort(ROUNDS, confidence.confidence.value, within.absolute, within.relative)
    return Effort(ROUNDS if rounds is None else rounds.rounds)


def direction_of(item: OrderSyntax) -> Order:
    """Which way it is ordered; what by is in the body."""
    nulls_first = item.ascending if item.nulls_first is None else item.nulls_first
    return Order(column_of(PROBABILITY), item.ascending, nulls_first)


def _is_drawn(expression: WorldExpression | None) -> bool:
    return expression is not None and any(isinstance(leaf, DrawnAttribute) for leaf in leaves(expression))


def names_probability(part: ExpressionSyntax, scope: Scope) -> bool:
    """Whether a condition is one of the probability of a result row, which is no column and no call."""
    called = {call.first for call in part.calls}
    return any(
        column.parts[0].lower() == PROBABILITY and column.first not in called and not scope.find(column.parts)
        for column in part.columns
    )


def likeliness(part: ExpressionSyntax) -> tuple[Comparison, float]:
    """``PROBABILITY >= 0.8``, either way round."""
    words = [token.text.upper() for token in part.tokens]
    sides = [words[:1], words[-1:]]
    middle = words[1] if len(words) == 3 else ""
    if len(words) == 4 and words[-1] == "%":
        sides, middle = [words[:1], words[2:3]], words[1]
    number = next((side[0] for side in sides if side and side[0] != "PROBABILITY"), "")
    try:
        value = float(number) / (100 if words[-1] == "%" else 1)
    except ValueError:
        value = -1.0
    if middle == "==":
        middle = "="
    if middle not in MIRRORED or not 0 <= value <= 1 or "PROBABILITY" not in words:
        raise BindError(
            "bind.bad-probability", "PROBABILITY of a result row is compared with a number from 0 to 1",
            span=part.span, hint="for example: HAVING PROBABILITY >= 0.8",
        )
    operator = middle if words[0] == "PROBABILITY" else MIRRORED[middle]
    return cast(Comparison, operator), value
