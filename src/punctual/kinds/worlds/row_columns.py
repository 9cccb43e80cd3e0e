"""The rows of a query over worlds: every certain part of it is a column, and so is what draws are made of.

They are rows of a statement of ours over the query's windows, which reads like any row query: windows are joined and
static tables enrich them by what is certain, and each column is Spark's. Where all columns are those of one stream as
they are, nobody has to ask Spark (``RowStatement.plain``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from punctual.clock import Micros
from punctual.errors import Span
from punctual.kinds.worlds.missing_if import known_condition
from punctual.own_names import MARK, ROW_IDENTITY, joined_column, joined_columns, joined_flag, own
from punctual.plan.expression import Expression, column_of, compose, conjunction
from punctual.plan.relation import Column, Stream
from punctual.plan.row_query import RowStatement, RowWindow, SparkText, Token, WindowPlace, Word
from punctual.plan.rows import Join
from punctual.plan.sql_text import quoted
from punctual.plan.uncertain import FoundBy, GivenBy
from punctual.plan.world_expression import WorldExpression, renumbered
from punctual.plan.worlds import Attribute, Existence


@dataclass(frozen=True, slots=True)
class WindowedStream:
    """A stream of the query: what FROM calls it, how long its window is, and whether it is joined with the first."""

    alias: str
    stream: Stream
    range_us: Micros
    joined: bool = False

    def name(self, column: str) -> str:
        """What the joined row calls a column of it."""
        return joined_column(self.alias, column) if self.joined else column


class RowColumns:
    """Gathers columns of the rows of one stream, joined with others and enriched by tables."""

    def __init__(self, streams: Sequence[WindowedStream]) -> None:
        self.streams = {one.alias.lower(): one for one in streams}
        self._numbers: dict[Expression, int] = {}
        self._attributes: dict[tuple[str, str], int] = {}
        self.attributes: list[Attribute] = []

    @property
    def first(self) -> WindowedStream:
        return next(iter(self.streams.values()))

    def number(self, expression: Expression) -> int:
        """The number of the column that this is."""
        return self._numbers.setdefault(expression, len(self._numbers))

    def _column(self, of: WindowedStream, name: str) -> int:
        return self.number(column_of(of.name(name)))

    def attribute(self, alias: str, column: Column) -> int:
        """The number of an uncertain column of a stream among the attributes of the query."""
        key = alias.lower(), column.name
        if key not in self._attributes:
            of, law = self.streams[alias.lower()], column.uncertain
            assert law is not None, "a certain column"
            missing = None
            if isinstance(law, GivenBy):
                columns = tuple(self._column(of, name) for name in law.parameters)
            else:
                value, missing = self._observed(of, column, law)
                columns = (value, *(self._column(of, name) for name in law.by))
            self._attributes[key] = len(self.attributes)
            identity, time = self._column(of, ROW_IDENTITY), self._column(of, of.stream.event_time)
            self.attributes.append(Attribute(of.stream.name, column.name, law, columns, identity, time, missing))
        return self._attributes[key]

    def _observed(self, of: WindowedStream, column: Column, law: FoundBy) -> tuple[int, WorldExpression | None]:
        """The column that has the value where there is one, and where it is missing besides."""
        if law.missing_if is None:
            return self._column(of, column.name), None
        known = known_condition(law, of.stream)
        if known is None:
            value = column_of(column.name)
            return self.number(compose("CASE WHEN (", law.missing_if, ") THEN NULL ELSE ", value, " END")), None
        numbers = [self._column(of, name) for name in known.columns]
        return self._column(of, column.name), renumbered(known.expression, numbers)

    def existence(self) -> tuple[Existence, ...]:
        """Which rows may not exist, by the columns of streams."""
        found = []
        for one in self.streams.values():
            probability, rule = one.stream.probability, one.stream.rule
            if probability is not None:
                by = None if rule is None else self._column(one, rule)
                identity, time = self._column(one, ROW_IDENTITY), self._column(one, one.stream.event_time)
                found.append(Existence(one.stream.name, identity, time, self._column(one, probability), by))
        return tuple(found)

    @property
    def looks_back_us(self) -> Micros:
        """How long before the window rows may help to find values."""
        within = [one.law.within_us or 0 for one in self.attributes if isinstance(one.law, FoundBy)]
        return max(within, default=0)

    def statement(self, joins: Sequence[Join], span: Span) -> RowStatement:
        """The rows of the windows."""
        named = frozenset[str]().union(*(one.names for one in self._numbers))
        named |= {name for join in joins for row, _column in join.on for name in row.names}
        windows = [self._window(self.first, {name for name in named if MARK not in name or name == ROW_IDENTITY})]
        tokens: list[tuple[Token, Span]] = [(Word("SELECT"), span)]
        for number, expression in enumerate(self._numbers):
            end = "," if number + 1 < len(self._numbers) else ""
            text = f"({expression.sql}) AS {quoted(own(f'c{number}'))}{end}"
            tokens.append((Word(text), expression.span or span))
        tokens += [(Word("FROM"), span), (WindowPlace(0, ""), span)]
        for join in joins:
            columns = joined_columns(named, join.alias) | {column for _row, column in join.on}
            place: Token = Word(quoted(join.table.lower()))
            if join.windowed:
                place = WindowPlace(len(windows), "")
                windows.append(self._window(self.streams[join.alias.lower()], columns))
            before, after = _joined(join, sorted(columns))
            tokens += [(Word(before), span), (place, span), (Word(after), span)]
        plain = None
        if not joins and all(one.column is not None for one in self._numbers):
            plain = tuple(str(one.column) for one in self._numbers)
        select = SparkText(tuple(token for token, _span in tokens), tuple(place for _token, place in tokens))
        tables = tuple(dict.fromkeys(join.table.lower() for join in joins if not join.windowed))
        return RowStatement(select, tuple(windows), tables, plain=plain)

    def _window(self, of: WindowedStream, named: set[str]) -> RowWindow:
        wanted = named | {of.stream.event_time}
        columns = tuple(column.name for column in of.stream.columns if column.name in wanted)
        if ROW_IDENTITY in named:
            columns = (*columns, ROW_IDENTITY)
        return RowWindow(of.stream.name, of.range_us + self.looks_back_us, columns)


def _joined(join: Join, columns: Sequence[str]) -> tuple[str, str]:
    """What stands before and after the name of what is joined, of which these columns are named."""
    names = [f"{quoted(name)} AS {quoted(joined_column(join.alias, name))}" for name in columns]
    on = conjunction([
        compose(row, " = ", column_of(joined_column(join.alias, column))) for row, column in join.on
    ])  # fmt: skip
    how = "JOIN" if join.how == "inner" else "LEFT JOIN"
    return f"{how} (SELECT {', '.join(names)}, true AS {quoted(joined_flag(join.alias))} FROM", f") ON {on.sql}"
