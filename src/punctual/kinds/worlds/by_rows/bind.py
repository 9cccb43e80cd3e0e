"""A query over worlds that Spark answers: in every world as it is written, with the round as one more key.

Its text becomes a lateral subquery of the rounds: ``FROM rounds, LATERAL (SELECT ... FROM (the rows of that round))``.
What that means is Spark's own rule, so nothing of the text has to be understood: when Spark takes such a query apart it
makes the round a key of groups, joins, DISTINCT and partitions, and what it cannot take apart it refuses. Only the last
SELECT is put together anew: EXPECTED and the others are said of columns that Spark gives in every round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from punctual.errors import BindError, Span
from punctual.kinds.worlds.bind import PROBABILITY, direction_of, effort_of, likeliness, names_probability
from punctual.kinds.worlds.by_rows.drawn_window import DrawnWindow, EveryRound
from punctual.kinds.worlds.by_rows.lateral_text import lateral_text
from punctual.kinds.worlds.by_rows.leaves import FIRST_COLUMN, RowLeaves, has_over, is_over_rows
from punctual.kinds.worlds.by_rows.rounds_of_windows import RoundsOfWindows, rounds_of_windows
from punctual.kinds.worlds.by_rows.select_parts import SelectPart, select_parts, set_operations
from punctual.kinds.worlds.by_rows.uncertain_names import UncertainNames
from punctual.kinds.worlds.by_rows.windows import drawn_attributes, in_rounds, is_drawn, uncertain_columns
from punctual.kinds.worlds.missing_if import known_condition
from punctual.own_names import own
from punctual.plan.expression import column_of
from punctual.plan.query import Output
from punctual.plan.row_query import RowStatement, RowWindow, Token, Word
from punctual.plan.sql_text import quoted
from punctual.plan.uncertain import FoundBy
from punctual.plan.world_expression import Operation, WorldExpression, WorldSummary
from punctual.plan.worlds import Comparison, Worlds
from punctual.sql.body_binder import BoundBody, WrittenRows
from punctual.sql.expressions.bind_answer import output_name
from punctual.sql.expressions.bind_predicate import conjuncts
from punctual.sql.expressions.function_names import MONTE_CARLO
from punctual.sql.expressions.scope import Relation, Scope
from punctual.sql.problems import Problems, not_yet
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.expression import ExpressionSyntax, parse_expression, split_commas
from punctual.sql.syntax.parse_query import parse_item, parse_order
from punctual.sql.syntax.select import ItemSyntax, OrderSyntax, RowsWindow
from punctual.sql.syntax.tokens import Token as Written

ODD_WORDS = frozenset((
    "|>", "VIEW", "PIVOT", "UNPIVOT", "ROLLUP", "CUBE", "GROUPING SETS", "GROUPING", "RECURSIVE", "TABLE",
))  # fmt: skip
"""Words of queries whose columns cannot be told by their names."""


def bind_worlds_by_rows(written: WrittenRows, problems: Problems) -> BoundBody | None:
    """The body and outputs of a query that is Spark's text; None with the reasons in ``problems``."""
    binder = _Binder(written, problems)
    binder.refuse()
    return None if problems else binder.bind()


class _Binder:
    def __init__(self, written: WrittenRows, problems: Problems) -> None:
        self.written, self.problems = written, problems
        self.rows, self.tokens = written.rows, written.rows.tokens
        self.parts = select_parts(self.tokens)
        self.top = [part for part in self.parts if part.depth == 0]
        self.united = list(set_operations(self.tokens, 0))
        self.places = {token.start: index for index, token in enumerate(self.tokens)}
        self.exist = all(stream.probability is None for stream in written.streams)
        self.effort = effort_of(self.rows.clauses, problems)

    @cached_property
    def names(self) -> UncertainNames:
        return UncertainNames(self.tokens, self.parts, uncertain_columns(self.written.streams), exist=self.exist)

    @cached_property
    def rounds_of(self) -> RoundsOfWindows:
        """Which round windows are of that cannot name that of the query."""
        places = zip(self.written.texts.places, self.written.windows())
        drawn = [number for (number, _back), window in places if is_drawn(window, self.written.streams[number])]
        return rounds_of_windows(self.rows, self.parts, drawn)

    @cached_property
    def scope(self) -> Scope:
        """The columns of all streams; who is meant by a name is Spark's."""
        windows = zip(self.rows.windows, self.written.streams)
        return Scope(tuple(
            Relation(one.name.text, "stream", stream.name, stream.columns, one.name.span) for one, stream in windows
        ))  # fmt: skip

    # -- what is not there -------------------------------------------------------------------------

    def refuse(self) -> None:
        """What Spark's way does not know yet."""
        problems, tokens = self.problems, self.tokens
        if tokens[0].word not in ("SELECT", "WITH") or len(self.top) != len(self.united) + 1:
            problems.not_yet(
                "this form of a query over uncertain attributes", tokens[0].span,
                "write SELECT ... UNION SELECT ... without brackets",
            )
        for token in tokens:
            if token.word in ODD_WORDS:
                problems.not_yet(f"{token.word} over uncertain attributes", token.span)
        for one in self.rows.subqueries:
            problems.not_yet("a window over a subquery, over uncertain attributes", one.window.span)
        for part in self.parts:
            self._refuse_in(part)
        self._refuse_windows()
        for place in self.rounds_of.joins:
            problems.not_yet(
                "this outer join over uncertain attributes", place,
                "begin FROM with a stream that is uncertain, and LEFT JOIN others to it",
            )
        for place in self.rounds_of.subqueries:
            problems.not_yet(
                "this subquery inside an expression, over uncertain attributes", place,
                "join with it: FROM s [RANGE ...] AS s, (SELECT ...) AS q",
            )

    def _refuse_in(self, part: SelectPart) -> None:
        for first, end in part.items if part.depth == 0 else ():
            star = self.tokens[end - 1]
            if star.word == "*" and (end - first == 1 or self.tokens[end - 2].word == "."):
                self.problems.not_yet(
                    "* in a query over uncertain attributes that Spark answers", star.span, "name the columns"
                )
        inside = range(part.select, part.end)
        for index in inside if part.depth or self.united else ():
            token, after = self.tokens[index], self.tokens[index + 1] if index + 1 < len(self.tokens) else None
            called = token.kind == "word" and after is not None and after.word == "("
            if called and token.value.lower() in MONTE_CARLO and not _is_literal(token.word):
                self.problems.not_yet(
                    f"{token.word} in a part of a query", token.span, "say it in the SELECT of the whole query"
                )

    def _refuse_windows(self) -> None:
        self.written.texts.text(0, self.rows.order)
        for (number, _back), window in zip(self.written.texts.places, self.written.windows()):
            written, stream = self.rows.windows[number].window, self.written.streams[number]
            if isinstance(written, RowsWindow) and is_drawn(window, stream):
                self.problems.not_yet("this window over uncertain attributes", written.span, "use [RANGE ...]")
            for column in drawn_attributes(window, stream):
                law = column.uncertain
                if isinstance(law, FoundBy) and law.missing_if is not None and known_condition(law, stream) is None:
                    self.problems.not_yet(
                        f"IF {law.missing_if.written}, where Spark answers", self.rows.windows[number].name.span,
                        "compare columns, numbers and strings, for example: IF load < 0",
                    )

    # -- binding -----------------------------------------------------------------------------------

    def bind(self) -> BoundBody | None:
        """The body and outputs."""
        found = _United(self) if self.united else _Single(self)
        with self.problems.part():
            found.bind()
        if self.problems:
            return None
        leaves = found.leaves
        body = Worlds(
            self._statement(found.text(), len(leaves.columns)),
            self.effort,
            self.written.windows()[0].range_us or 0,
            keys=tuple(leaves.keys),
            aggregates=tuple(leaves.aggregates),
            summaries=tuple(leaves.summaries),
            outputs=tuple(found.outputs),
            order=tuple(found.order),
            chosen=found.chosen,
            likely=found.likely,
            by_rows=True,
        )
        if self.exist and not any(one.drawn is not None and one.drawn.names for one in body.statement.windows):
            self.problems.add(BindError(
                "bind.nothing-uncertain", "nothing in this query is uncertain", span=self.tokens[0].span,
                detail="worlds differ in uncertain attributes, or in which rows exist",
                hint="declare one in CREATE STREAM, for example: kmh DOUBLE ~ NORMAL(kmh, kmh_sd)",
            ))
            return None
        names = [*found.names, *([] if PROBABILITY in map(str.lower, found.names) else [PROBABILITY])]
        outputs = tuple(Output(name, column_of(name)) for name in names)
        return BoundBody(body, outputs, tuple(direction_of(item) for item in found.ordered), self.limit())

    def _statement(self, text: Sequence[tuple[Token, Span]], columns: int) -> RowStatement:
        windows = [
            in_rounds(window, self.written.streams[number], self.effort.rounds)
            for (number, _back), window in zip(self.written.texts.places, self.written.windows())
        ]
        windows += self._rounds(windows)
        names = [own(f"c{number}") for number in range(columns)]
        select = lateral_text(text, windows, names, self.rounds_of, self.tokens[0].span)
        return RowStatement(select, tuple(windows), self.written.tables)

    def _rounds(self, windows: Sequence[RowWindow]) -> list[RowWindow]:
        """What has every round: one for each window that there may be remarks on, or one."""
        rounds = self.effort.rounds
        found = [
            replace(one, drawn=EveryRound(rounds, one.drawn))
            for one in dict.fromkeys(windows)
            if isinstance(one.drawn, DrawnWindow) and one.drawn.may_be_remarked
        ]
        first = self.written.streams[0]
        any_window = RowWindow(first.name, windows[0].range_us or 1, (first.event_time,), drawn=EveryRound(rounds))
        return found or [any_window]

    def limit(self) -> int | None:
        """LIMIT of the whole query, which is of result rows."""
        tail = self.tokens[self.rows.tail :]
        if not tail:
            return None
        if len(tail) != 2 or tail[0].word != "LIMIT" or not tail[1].text.isdecimal():
            raise not_yet("this limit of a query over uncertain attributes", tail[0].span, "for example: LIMIT 10")
        return int(tail[1].text)

    def text_of(self, expression: ExpressionSyntax) -> list[tuple[Token, Span]]:
        """An expression of the text as Spark's."""
        first = self.places[expression.tokens[0].start]
        return self.text(first, first + len(expression.tokens))

    def text(self, first: int, end: int) -> list[tuple[Token, Span]]:
        found = self.written.texts.text(first, end)
        return list(zip(found.tokens, found.spans))

    def item(self, first: int, end: int) -> ItemSyntax:
        return parse_item(Cursor(self.written.source, self.tokens[first:end]))

    def differs(self, expression: ExpressionSyntax) -> bool:
        first = self.places[expression.tokens[0].start]
        return self.names.differs(first, first + len(expression.tokens))

    def orders(self) -> tuple[OrderSyntax, ...]:
        """The items of ORDER BY of the whole query."""
        if self.rows.order >= self.rows.tail:
            return ()
        cursor = Cursor(self.written.source, self.tokens[self.rows.order + 1 : self.rows.tail])
        return cursor.several(parse_order)


class _Last(ABC):
    """What is said of result rows: of one SELECT, or of several that are united or subtracted."""

    def __init__(self, binder: _Binder) -> None:
        self.binder = binder
        self.leaves: RowLeaves = RowLeaves(False, lambda _part: True, lambda _part: False, False)
        self.names: list[str] = []
        self.outputs: list[WorldExpression] = []
        self.ordered: tuple[OrderSyntax, ...] = ()
        self.order: list[WorldExpression] = []
        self.chosen: WorldExpression | None = None
        self.likely: tuple[Comparison, float] | None = None

    @abstractmethod
    def bind(self) -> None:
        """Gather what Spark has to give, and what is said of it."""

    @abstractmethod
    def text(self) -> list[tuple[Token, Span]]:
        """What Spark is asked in every round."""

    def bind_order(self, *, of_columns: bool) -> None:
        """ORDER BY of result rows: by a column of theirs, or where that is there by anything that could be one."""
        self.ordered = self.binder.orders()
        for item in self.ordered:
            expression = item.expression
            tokens = expression.tokens
            named = {name.lower(): output for name, output in reversed(list(zip(self.names, self.outputs)))}
            word = tokens[0].value.lower()
            if len(tokens) == 1 and tokens[0].text.isdecimal():
                number = int(tokens[0].text)
                if not 1 <= number <= len(self.outputs):
                    raise BindError(
                        "bind.bad-ordinal", f"there is no SELECT item {number}", span=expression.span,
                        detail=f"SELECT has {len(self.outputs)} items",
                    )
                self.order.append(self.outputs[number - 1])
            elif len(tokens) == 1 and word in named:
                self.order.append(named[word])
            elif len(tokens) == 1 and word == PROBABILITY and not self.binder.scope.find((PROBABILITY,)):
                self.order.append(WorldSummary(-1))
            elif of_columns:
                self.order.append(self.leaves.bind(expression))
            else:
                raise not_yet("this order of a query over uncertain attributes", expression.span, "name a column of it")


class _Single(_Last):
    """One SELECT."""

    def __init__(self, binder: _Binder) -> None:
        super().__init__(binder)
        (self.part,) = binder.top
        self.aliases: dict[int, str] = {}
        self.in_worlds: list[ExpressionSyntax] = []
        items = [binder.item(*one) for one in self.part.items]
        self.items = [(item, item.expression) for item in items if item.expression is not None]
        having = self._having()
        self.having = [] if having is None else conjuncts(having)
        every = [*(expression for _item, expression in self.items), *self.having]
        self.grouped = "GROUP BY" in self.part.clauses or any(is_over_rows(one) for one in every)
        self.leaves = RowLeaves(self.grouped, self._is_key, binder.differs, not binder.exist)

    def _having(self) -> ExpressionSyntax | None:
        place = self.part.clauses.get("HAVING")
        if place is None:
            return None
        return parse_expression(self.binder.written.source, self.binder.tokens[place[0] : place[1]])

    def _is_key(self, part: ExpressionSyntax) -> bool:
        """Whether result rows are told apart by it: all that is selected by DISTINCT, groups, or what is certain."""
        if self.part.distinct:
            return True
        if self.grouped:
            return not is_over_rows(part) and not has_over(part)
        return not self.binder.differs(part)

    def _places(self) -> list[int]:
        """The items in the order of GROUP BY: result rows are in the order of their keys, what is certain first."""
        tokens = self.binder.tokens
        listed = split_commas(tokens, *self.part.clauses.get("GROUP BY", (0, 0)))
        groups = [_said(tokens[first:end]) for first, end in listed]

        def place(number: int) -> tuple[bool, int]:
            item, expression = self.items[number]
            names = [_said(expression.tokens), [str(number + 1)]]
            names += [] if item.alias is None else [[item.alias.text.lower()]]
            found = [groups.index(name) for name in names if name in groups]
            return self.binder.differs(expression), min(found, default=len(groups))

        return sorted(range(len(self.items)), key=place)

    def bind(self) -> None:
        taken: set[str] = set()
        for number in self._places() if self.grouped else ():
            expression = self.items[number][1]
            if not self.leaves.has_summary(expression) and self._is_key(expression):
                self.leaves.bind(expression)
        for item, expression in self.items:
            if self.part.distinct and self.leaves.has_summary(expression):
                distinct = self.binder.tokens[self.part.select + 1]
                raise not_yet("DISTINCT beside what is said of all worlds", distinct.span)
            self.names.append(output_name(item, taken, self.binder.problems))
            self.outputs.append(self.leaves.bind(expression))
            if item.alias is not None and not self.leaves.has_summary(expression):
                self.aliases.setdefault(self.leaves.number(expression), item.alias.text)
        self._bind_having()
        self.bind_order(of_columns=not self.part.distinct)

    def _bind_having(self) -> None:
        of_answers: list[WorldExpression] = []
        for part in self.having:
            if names_probability(part, self.binder.scope):
                self.likely = likeliness(part)
            elif self.leaves.has_summary(part):
                of_answers.append(self.leaves.bind(part))
            elif not self.binder.exist and is_over_rows(part):
                raise not_yet(
                    "HAVING over rows that may not exist, where Spark answers", part.span,
                    f"HAVING PROBABILITY({part.text}) >= 0.5 is over the rows that exist in a world",
                )
            else:
                self.in_worlds.append(part)
        if of_answers:
            self.chosen = of_answers[0] if len(of_answers) == 1 else Operation("and", tuple(of_answers))

    def text(self) -> list[tuple[Token, Span]]:
        binder, part = self.binder, self.part
        span = binder.tokens[part.select].span
        found = binder.text(0, part.first_item)
        for number, expression in enumerate(self.leaves.columns, FIRST_COLUMN):
            found += [(Word(",", gap=False), span)] if number > FIRST_COLUMN else []
            found += [(Word("("), span), *binder.text_of(expression), (Word(")"), span)]
            if number in self.aliases:
                found += [(Word("AS"), span), (Word(quoted(self.aliases[number])), span)]
        start = part.items[-1][1]
        end = min(part.end, binder.rows.order)
        for word in ("GROUP BY", "HAVING"):
            if word not in part.clauses:
                continue
            first, stop = part.clauses[word]
            found += binder.text(start, first - 1)
            found += self._groups(first, stop) if word == "GROUP BY" else self._conditions(span)
            start = stop
        return found + binder.text(start, end)

    def _groups(self, first: int, stop: int) -> list[tuple[Token, Span]]:
        """GROUP BY, of which numbers of items are the items: they may have other numbers now."""
        binder = self.binder
        found = binder.text(first - 1, first)
        for place, (start, end) in enumerate(split_commas(binder.tokens, first, stop)):
            token = binder.tokens[start]
            found += [(Word(",", gap=False), token.span)] if place else []
            if end - start == 1 and token.text.isdecimal():
                number = int(token.text)
                if not 1 <= number <= len(self.items):
                    raise BindError(
                        "bind.bad-ordinal", f"there is no SELECT item {number}", span=token.span,
                        detail=f"SELECT has {len(self.items)} items",
                    )
                found += [
                    (Word("("), token.span), *binder.text_of(self.items[number - 1][1]), (Word(")"), token.span)
                ]  # fmt: skip
            else:
                found += binder.text(start, end)
        return found

    def _conditions(self, span: Span) -> list[tuple[Token, Span]]:
        """HAVING, as far as it is of one world."""
        found: list[tuple[Token, Span]] = []
        for part in self.in_worlds:
            found += [(Word("AND" if found else "HAVING"), span), (Word("("), span)]
            found += [*self.binder.text_of(part), (Word(")"), span)]
        return found


class _United(_Last):
    """Several SELECTs: a row of what they come to is a result row, unless all of its columns are kept by ALL."""

    def __init__(self, binder: _Binder) -> None:
        super().__init__(binder)
        self.distinct = not all(whole for _index, whole in binder.united)
        self.certain: list[bool] = []
        self.leaves = RowLeaves(False, self._is_key, lambda _part: True, False)

    def _is_key(self, part: ExpressionSyntax) -> bool:
        return self.distinct or self.certain[self.leaves.columns.index(part)]

    def bind(self) -> None:
        binder = self.binder
        items = [[binder.item(*one) for one in part.items] for part in binder.top]
        taken: set[str] = set()
        for number, item in enumerate(items[0]):
            assert item.expression is not None, "a star was refused"
            others = [several[number].expression for several in items if number < len(several)]
            self.certain.append(not any(binder.differs(one) for one in others if one is not None))
            self.leaves.columns.append(item.expression)
            self.names.append(output_name(item, taken, binder.problems))
        for expression in list(self.leaves.columns):
            self.outputs.append(self.leaves.bind(expression))
        self.bind_order(of_columns=False)

    def text(self) -> list[tuple[Token, Span]]:
        return self.binder.text(0, self.binder.rows.order)


def _said(tokens: Sequence[Written]) -> list[str]:
    """Tokens as they are compared: the case of words means nothing."""
    return [token.text.lower() if token.kind == "word" else token.text for token in tokens]


def _is_literal(word: str) -> bool:
    """INTERVAL before a bracket may be a literal of Spark's."""
    return word == "INTERVAL"
