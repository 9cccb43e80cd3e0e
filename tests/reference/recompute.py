"""The reference: every answer recomputed from all rows fed so far.

Model
-----
A stream is complete through C: the largest accepted event time minus the watermark minus 1 us, or what ``advance`` and
``end`` said. A row at or before C when its batch comes is late. A query answers at the multiples of its step after
what was complete when it was added, not before the smallest accepted event time, up to C. Its answer at an instant is
the user's own SELECT, run by DuckDB over the rows whose event time lies in (at - range, at], nothing else remembered.

The reference plans nothing. Where a case has a cadence plan, the case itself states the instants (``Planned``), worked
out by hand; the reference holds them against the query's bound.

It shares nothing with the kernels, the planner and the engine; ``aggregates.py`` says which functions are Python's.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tests.cqt.cells import MISSING, Malformed
from tests.reference.aggregates import replace_aggregates
from tests.reference.duck import arrow_type, connect, duck_sql, duck_text, parse
from tests.reference.row_queries import RowQuery, Window, read_row_query
from tests.reference.statements import Drop, Option, Query, RowText, Stream, Table, read_statement

BEGINNING, FOREVER = -(2**62), 2**62
EARLIEST = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
"""Rows before it are dead letters unless the option says otherwise."""
FROM, THROUGH, INSTANT = 7_000_000_000_000_000_001, 7_000_000_000_000_000_002, 7_000_000_000_000_000_003
"""Numbers that stand in a query's text for the bounds of its window; no case has them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its instant, its rows as tuples in SELECT order."""

    at: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    complete: bool
    late_rows: int


@dataclass(frozen=True, slots=True)
class Planned:
    """Through ``until`` a query answers at ``m * cycle + offset``."""

    until: int
    offsets: tuple[int, ...]
    cycle: int

    def instants(self, first: int, last: int) -> list[int]:
        """Those in [first, last], ascending."""
        cycles = range(first // self.cycle, last // self.cycle + 1)
        found = {number * self.cycle + offset % self.cycle for number in cycles for offset in self.offsets}
        return sorted(at for at in found if first <= at <= last)


@dataclass(slots=True)
class StreamState:
    stream: Stream
    through: int = BEGINNING
    least: int | None = None
    greatest: int | None = None
    late: list[int] = field(default_factory=list)
    dead: dict[str, int] = field(default_factory=dict)
    batch: int = 0


@dataclass(slots=True)
class QueryState:
    query: Query | RowQuery
    text: str
    streams: tuple[str, ...]
    after: int
    batch: int
    covered_from: int
    answers: list[Answer] = field(default_factory=list)


class Reference:
    """Plays a case. ``covered`` says for a query that is added later how much of the past other queries' panes still
    hold for it: rows younger than what is complete minus that duration; without an entry it starts from nothing.
    ``planned`` says when a query answers that does not keep to the multiples of its bound, stretch after stretch;
    ``row_queries`` are the names of queries that are answered from rows."""

    def __init__(
        self,
        base: Path,
        now: int,
        max_ahead: int,
        covered: Mapping[str, int],
        planned: Mapping[str, Sequence[Planned]] | None = None,
        row_queries: Collection[str] = (),
    ) -> None:
        self._base = base
        self._horizon = now + max_ahead
        self._covered = covered
        self._planned = planned or {}
        self._row_queries = row_queries
        self._duck = connect()
        self.streams: dict[str, StreamState] = {}
        self.queries: dict[str, QueryState] = {}
        self._dropped: dict[str, QueryState] = {}
        self._fed: dict[str, list[dict[str, Any]]] = {}
        self._texts: dict[str, str] = {}
        """SELECTs that make a stream's rows, derived columns included, of the cells of a batch."""

    # -- what a case says --------------------------------------------------------------------------

    def statement(self, text: str) -> None:
        match read_statement(text, self._base, self._row_queries):
            case Stream() as stream:
                self.streams[stream.name] = StreamState(stream)
                self._create(stream)
            case Table() as table:
                self._load(table)
            case Query() as query:
                self._add(query)
            case RowText(name, written):
                self._add_rows(name, written)
            case Drop(name):
                self._dropped[name] = self.queries.pop(name)
            case Option():
                pass

    def feed(self, stream: str, rows: Sequence[dict[str, Any]]) -> None:
        self._fed.setdefault(stream, []).extend(rows)

    def tick(self) -> None:
        """All rows fed since the last tick are one batch."""
        fed, self._fed = self._fed, {}
        for name, rows in fed.items():
            self._take(self.streams[name], rows)
        for name in fed:
            self._answer(name)

    def advance(self, through: Mapping[str, int]) -> None:
        for name, at in through.items():
            self.streams[name].through = max(self.streams[name].through, at)
        for name in through:
            self._answer(name)

    def end(self) -> None:
        ends = {name: s.greatest for name, s in self.streams.items() if s.greatest is not None}
        own = dict(ends)
        for query in self.queries.values():  # streams that are read together end together
            last = max((own[name] for name in query.streams if name in own), default=None)
            if last is not None:
                ends |= {name: max(last, ends.get(name, last)) for name in query.streams}
        self.advance(ends)

    def answers(self, query: str) -> list[Answer]:
        """All answers of a query so far; also of one that was dropped."""
        state = self.queries.get(query) or self._dropped[query]
        return state.answers

    def dead(self, stream: str) -> dict[str, int]:
        """How many rows were not used, by reason."""
        return self.streams[stream].dead

    def close(self) -> None:
        self._duck.close()

    # -- streams -----------------------------------------------------------------------------------

    def _create(self, stream: Stream) -> None:
        derived = "".join(
            f", CAST({duck_text(c.derived)} AS {_sql_type(c.type)}) AS \"{c.name}\""
            for c in stream.columns
            if c.derived is not None
        )
        declared = [c for c in stream.columns if c.derived is None]
        plain = ", ".join(f'CAST("{c.name}" AS {_sql_type(c.type)}) AS "{c.name}"' for c in declared)
        empty = pa.table({c.name: pa.nulls(0, arrow_type(c.type)) for c in declared})
        self._duck.register("_empty", empty)
        rows_of = f'SELECT *, epoch_us("{stream.event_time}") AS _t FROM (SELECT *{derived} FROM (SELECT {plain} FROM '
        self._duck.execute(f"CREATE TEMP TABLE {stream.name} AS SELECT *, 0::INT AS _batch FROM ({rows_of}_empty)))")
        self._texts[stream.name] = f"{rows_of}_batch))"

    def _take(self, state: StreamState, rows: Sequence[dict[str, Any]]) -> None:
        state.batch += 1
        declared = [c for c in state.stream.columns if c.derived is None]
        good = []
        for row in rows:
            wrong = [f'column "{c.name}" is not {c.type}' for c in declared if isinstance(row.get(c.name), Malformed)]
            self._count(state, "; ".join(wrong), int(bool(wrong)))
            good += [] if wrong else [row]
        cells = {c.name: [_cell(row.get(c.name), c.type) for row in good] for c in declared}
        batch = pa.table({c.name: pa.array(cells[c.name], arrow_type(c.type)) for c in declared})
        self._duck.register("_batch", batch)
        text = self._texts[state.stream.name]
        name = state.stream.name
        self._duck.execute(f"CREATE OR REPLACE TEMP TABLE _judged AS {text}")
        bounds = f"_t >= {EARLIEST} AND _t <= {self._horizon} AND _t > {state.through}"
        self._count(state, "missing event time", self._number("_t IS NULL"))
        self._count(state, "event time too far ahead", self._number(f"_t > {self._horizon}"))
        self._count(state, "event time before earliest", self._number(f"_t < {EARLIEST}"))
        late = self._duck.execute(f"SELECT _t FROM _judged WHERE _t BETWEEN {EARLIEST} AND {state.through}").fetchall()
        self._count(state, "late", len(late))
        state.late += [time for (time,) in late]
        self._duck.execute(f"INSERT INTO {name} SELECT *, {state.batch} FROM _judged WHERE {bounds}")
        least, greatest = self._duck.execute(f"SELECT min(_t), max(_t) FROM {name}").fetchall()[0]
        if greatest is not None:
            state.least, state.greatest = least, greatest
            state.through = max(state.through, greatest - state.stream.watermark_us - 1)

    def _number(self, condition: str) -> int:
        return int(self._duck.execute(f"SELECT count(*) FROM _judged WHERE {condition}").fetchall()[0][0])

    @staticmethod
    def _count(state: StreamState, reason: str, rows: int) -> None:
        if rows:
            state.dead[reason] = state.dead.get(reason, 0) + rows

    def _load(self, table: Table) -> None:
        with table.path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {
            c.name: pa.array([row[c.name] or None for row in rows], pa.string()).cast(arrow_type(c.type))
            for c in table.columns
        }
        self._duck.register("_table", pa.table(columns))
        self._duck.execute(f"CREATE TEMP TABLE {table.name} AS SELECT * FROM _table")

    # -- queries -----------------------------------------------------------------------------------

    def _add(self, query: Query) -> None:
        select = parse(query.select)
        assert isinstance(select, exp.Select)
        (table,) = (t for t in select.find_all(exp.Table) if t.name in self.streams)
        state = self.streams[table.name]
        alias = table.alias_or_name
        kept = self._covered.get(query.name, 0)
        covered_from = BEGINNING
        if state.greatest is not None:
            covered_from = state.through - kept if kept else state.greatest
        window = f"SELECT * FROM {table.name} WHERE _t > {FROM} AND _t <= {THROUGH}"
        if covered_from != BEGINNING:
            window += f" AND (_batch > {state.batch} OR {int(bool(kept))} = 1 AND _t > {covered_from})"
        ties = [c.name for c in state.stream.columns if c.name != state.stream.event_time]
        select = replace_aggregates(select, self._duck, alias, ties)
        for found in select.find_all(exp.Table):
            if found.name == table.name:
                found.replace(exp.Subquery(this=parse(window), alias=exp.TableAlias(this=exp.to_identifier(alias))))
        _order_by_keys(select)
        text = duck_sql(select.transform(_instant))
        self.queries[query.name] = QueryState(query, text, (table.name,), state.through, state.batch, covered_from)

    def _add_rows(self, name: str, written: str) -> None:
        kept = self._covered.get(name, 0)
        covered: list[int] = []

        def window(one: Window, begin: int, end: int) -> str:
            state = self.streams[one.stream]
            columns = ", ".join(column.name for column in state.stream.columns)
            text = f"SELECT {columns} FROM {one.stream} WHERE _t <= {end}"
            if one.rows is None:
                text += f" AND _t > {begin}"
            if state.greatest is not None:
                covered.append(state.through - kept if kept else state.greatest)
                text += f" AND (_batch > {state.batch} OR {int(bool(kept))} = 1 AND _t > {covered[-1]})"
            if one.rows is not None:
                by = f"PARTITION BY {one.keys} " if one.keys else ""
                text += f" QUALIFY row_number() OVER ({by}ORDER BY {last_first(state.stream)}) <= {one.rows}"
            return text

        def last_first(stream: Stream) -> str:
            """Rows of one event time are ordered by the columns that the query may name."""
            words = set(re.findall(r"\w+", written.lower()))
            every = re.search(r"(SELECT|\.)\s*\*", written, re.IGNORECASE)
            named = [column.name for column in stream.columns if every or column.name.lower() in words]
            return ", ".join(f"{name} DESC NULLS LAST" for name in ("_t", *named))

        def describe(text: str) -> list[str]:
            return [row[0] for row in self._duck.execute(f"DESCRIBE {text}").fetchall()]

        def common(streams: Sequence[str]) -> str:
            first, *others = (self.streams[stream].stream for stream in streams)
            declared = [{(column.name, column.type) for column in other.columns} for other in others]
            return ", ".join(c.name for c in first.columns if all((c.name, c.type) in one for one in declared))

        query = read_row_query(name, written, window, describe, self._duck.execute, common)
        through = min(self.streams[stream].through for stream in query.streams)
        covered_from = max(covered, default=BEGINNING)
        self.queries[name] = QueryState(query, "", query.streams, through, 0, covered_from)

    def _answer(self, stream: str) -> None:
        for query in self.queries.values():
            if stream not in query.streams:
                continue
            states = [self.streams[name] for name in query.streams]
            least = min((state.least for state in states if state.least is not None), default=None)
            through = min(state.through for state in states)
            if least is None or through == BEGINNING:
                continue
            for at in self._instants(query.query, max(least, query.after + 1), through):
                query.answers.append(self._evaluate(query, states, at))
            query.after = max(query.after, through)

    def _instants(self, query: Query | RowQuery, first: int, last: int) -> list[int]:
        """When a query answers in [first, last]."""
        stretches = self._planned.get(query.name, (Planned(FOREVER, (0,), query.step_us),))
        found = []
        begin = BEGINNING
        for stretch in stretches:
            found += stretch.instants(max(first - query.step_us, begin), min(last, stretch.until))
            begin = stretch.until + 1
        for earlier, later in pairwise(found):
            assert later - earlier <= query.step_us, f"the case states instants of {query.name} beyond its bound"
        return [at for at in found if at >= first]

    def _evaluate(self, query: QueryState, states: Sequence[StreamState], at: int) -> Answer:
        start = at - query.query.range_us
        if isinstance(query.query, RowQuery):
            least = min(state.least for state in states if state.least is not None)
            text = query.query.at(at, least, self._duck.execute)
        else:
            text = query.text.replace(str(FROM), str(start)).replace(str(THROUGH), str(at))
            text = text.replace(str(INSTANT), str(at))
        result = self._duck.execute(text)
        columns = tuple(column[0] for column in result.description)
        rows = tuple(tuple(_plain(cell) for cell in row) for row in result.fetchall())
        late = sum(start < time <= at for state in states for time in state.late)
        return Answer(at, columns, rows, self._complete(query, at), late)

    def _complete(self, query: QueryState, at: int) -> bool:
        """Whether all rows of the windows were seen with all columns."""
        if query.covered_from == BEGINNING:
            return True
        if not isinstance(query.query, RowQuery):
            return at - query.query.range_us >= query.covered_from
        for window, back in query.query.windows:
            if window.keys:
                return False
            if window.rows is not None:
                between = f"_t > {query.covered_from} AND _t <= {at - back}"
                counted = self._duck.execute(f"SELECT count(*) FROM {window.stream} WHERE {between}").fetchall()
                if counted[0][0] < window.rows:
                    return False
        return not query.query.begins or at - query.query.range_us >= query.covered_from


def _order_by_keys(select: exp.Select) -> None:
    """Rows are in the order of ORDER BY, then of the group keys; NULL first, as Spark sorts."""
    group = select.args.get("group")
    order = list(select.args["order"].expressions) if select.args.get("order") else []
    order += [exp.Ordered(this=key.copy(), nulls_first=True) for key in (group.expressions if group else [])]
    if order:
        select.set("order", exp.Order(expressions=order))


def _instant(node: exp.Expression) -> exp.Expression:
    """``now()`` is the instant of the answer."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "now":
        return exp.Anonymous(this="make_timestamptz", expressions=[exp.Literal.number(INSTANT)])
    return node


def _sql_type(declared: str) -> str:
    return {"STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMPTZ"}.get(declared, declared)


def _cell(cell: Any, declared: str) -> Any:
    if cell is MISSING:
        return None
    if isinstance(cell, Decimal):
        return cell.quantize(Decimal(1).scaleb(-arrow_type(declared).scale))
    return cell


def _plain(cell: Any) -> Any:
    """Python's own values: an instant in UTC, lists as they are."""
    if isinstance(cell, datetime):
        return cell.astimezone(UTC)
    if isinstance(cell, date | str | int | float | Decimal | list) or cell is None:
        return cell
    raise TypeError(f"an answer holds {cell!r}")
