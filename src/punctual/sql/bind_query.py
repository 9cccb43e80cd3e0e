"""CREATE QUERY: from syntax to a :class:`WindowQuery`, with everything wrong found at once.

The order: FROM gives the scope; joins take their equalities; WHERE; GROUP BY gives the keys; SELECT, HAVING and
ORDER BY are answer expressions over keys and aggregates. A construct that this release does not run is bound as far
as its names go, and then refused by ``plan.not-yet``.
"""

from __future__ import annotations

from collections.abc import Mapping

from punctual.catalog import Catalog
from punctual.errors import BindError, PunctualError
from punctual.plan.query import Key, Order, Output, WindowQuery
from punctual.sql.bind_answer import AnswerBinder, output_name, reference_of
from punctual.sql.bind_cadence import bind_cadence, bind_range
from punctual.sql.bind_clauses import check_clauses
from punctual.sql.bind_from import BoundFrom, bind_from
from punctual.sql.bind_join import bind_joins
from punctual.sql.bind_nested import check_names, refuse_nested
from punctual.sql.bind_predicate import bind_predicate, conjuncts
from punctual.sql.bind_row import row_pieces
from punctual.sql.bind_top import bind_top
from punctual.sql.bound import CreateQuery
from punctual.sql.function_names import is_aggregate
from punctual.sql.pieces import Pieces, render
from punctual.sql.problems import Problems
from punctual.sql.scope import Scope
from punctual.sql.syntax.clauses import DeadlineClause, StableClause
from punctual.sql.syntax.expression import Expression
from punctual.sql.syntax.parse_query import missing_k
from punctual.sql.syntax.select import ItemSyntax, OrderSyntax, SelectSyntax
from punctual.sql.syntax.statement import CreateQuerySyntax


def bind_query(
    syntax: CreateQuerySyntax, text: str, catalog: Catalog, failed: frozenset[str], problems: Problems
) -> CreateQuery | None:
    """The query, or None with the reasons in ``problems``."""
    select = syntax.select
    bound = bind_from(select, catalog, failed, problems)
    cadence = bind_cadence(select, bound, problems)
    check_clauses(select, bound, problems)
    _refuse_clauses(select, bound, problems)
    refuse_nested(select, catalog, failed, problems)
    if not bound.complete:
        return None
    misread = _misread_top(select, bound.scope)
    if misread is not None:
        problems.add(misread)
        return None
    parts = conjuncts(select.where) if select.where is not None else []
    if not bound.streams:
        problems.not_yet("a query without a stream", bound.tables[0].syntax.span)
    joins, parts = bind_joins(bound, parts, problems)
    where, conditions = bind_predicate(parts, bound.scope, problems)
    ranks = select.top is not None and bound.as_one and not any(item.syntax.model for item in bound.streams)
    if not ranks and (any(item.syntax.model for item in bound.streams) or not _aggregates(select)):
        _refuse_rows(select, bound, problems)
        return None
    streams = [item.stream for item in bound.streams]
    keys, key_pieces = _keys(select, bound.scope, problems)
    deadline = select.clause(DeadlineClause)
    deadline_us = deadline.duration.us if deadline else None
    if ranks:
        ranking = bind_top(select, streams, bound.scope, where, problems)
        range_us = bind_range(bound, cadence)
        if ranking is None or problems or cadence is None or range_us is None:
            return None
        top, aggregate, columns = ranking
        query = WindowQuery(
            syntax.name.text, streams[0].name, range_us, cadence, keys, (aggregate,), columns, joins, where,
            conditions, deadline_us=deadline_us, top=top, united=tuple(s.name for s in streams[1:]),
            text=text[syntax.span.start : syntax.span.end], span=syntax.span,
        )  # fmt: skip
        return CreateQuery(query, syntax.span)
    binder = AnswerBinder(bound.scope, where, key_pieces, problems)
    outputs, aliases, selected = _outputs(select, binder)
    having = None
    if select.having is not None and not _is_probability(select.having, bound.scope, problems):
        having = render(binder.bind(select.having, "grouped columns first", aliases))
    order = tuple(_order(item, binder, aliases, selected) for item in select.order)
    range_us = bind_range(bound, cadence)
    if problems or cadence is None or range_us is None:
        return None
    query = WindowQuery(
        name=syntax.name.text,
        stream=streams[0].name,
        range_us=range_us,
        cadence=cadence,
        keys=keys,
        aggregates=tuple(binder.aggregates),
        outputs=outputs,
        joins=joins,
        where=where,
        conditions=conditions,
        having=having,
        having_span=select.having.span if select.having is not None else None,
        order=order,
        limit=select.limit,
        deadline_us=deadline_us,
        united=tuple(stream.name for stream in streams[1:]),
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _misread_top(select: SelectSyntax, scope: Scope) -> PunctualError | None:
    """What is wrong where TOP or EXCLUSIVE was read as a column and there is none of that name."""
    first = select.items[0].expression
    if first is None or scope.find((first.tokens[0].word,)):
        return None
    if select.top is None and first.tokens[0].word == "TOP":
        return missing_k(first.tokens[0].span)
    if select.top is not None and not select.top.streams and first.tokens[0].word == "EXCLUSIVE":
        return BindError(
            "bind.bad-top", "EXCLUSIVE belongs to a ranking of STREAMS", span=first.tokens[0].span,
            hint=f"write TOP {select.top.k} STREAMS EXCLUSIVE",
        )
    return None


def _aggregates(select: SelectSyntax) -> bool:
    """Whether a query makes groups of rows: it has GROUP BY, or an aggregate somewhere."""
    expressions = [item.expression for item in select.items] + [item.expression for item in select.order]
    calls = [call for e in (*expressions, select.having) if e is not None for call in e.calls]
    return bool(select.groups) or any(is_aggregate(call.name) for call in calls)


def _refuse_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    """A query whose answer is made of rows: its names are checked, and it is refused."""
    check_names(select, bound.scope, problems)
    if select.top is None and not any(item.syntax.model for item in bound.streams):
        what = "SELECT *" if select.items[0].expression is None else "a query without aggregates"
        problems.not_yet(what, select.items[0].span, "for example: SELECT lane, count(*) ... GROUP BY lane")


def _refuse_clauses(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    stable = select.clause(StableClause)
    if stable is not None and select.top is None:
        problems.add(BindError(
            "bind.stable-without-top", "STABLE is for rankings, and this query has no TOP", span=stable.span,
            hint="leave STABLE out, or rank: SELECT TOP 3 ... ORDER BY score",
        ))
    if select.distinct is not None and select.top is None:
        problems.not_yet("SELECT DISTINCT", select.distinct, "GROUP BY the same columns")
    if select.top is None:
        return
    if select.distinct is not None:
        problems.not_yet("DISTINCT with TOP", select.distinct, "leave DISTINCT out; TOP k STREAMS ranks a key once")
    for item in bound.streams:
        alike = select.top.exclusive and all(other.stream.probability is None for other in bound.streams)
        if item.stream.probability is None and not alike:
            problems.add(BindError(
                "bind.no-probability", f'stream "{item.stream.name}" has no probability column', span=select.top.span,
                detail="a top-k over possible worlds ranks rows that may not exist, so each row needs a probability",
                hint="declare one in CREATE STREAM, for example: confidence DOUBLE PROBABILITY",
            ))
            return


def _is_probability(having: Expression, scope: Scope, problems: Problems) -> bool:
    """``HAVING PROBABILITY >= 0.8``: the probability of a result row, which is no column."""
    for column in having.columns:
        if column.parts[0].lower() == "probability" and not scope.find(column.parts):
            problems.not_yet("HAVING PROBABILITY", having.span)
            return True
    return False


def _keys(select: SelectSyntax, scope: Scope, problems: Problems) -> tuple[tuple[Key, ...], list[Pieces]]:
    keys: list[Key] = []
    pieces: list[Pieces] = []
    for group in select.groups:
        expression = group
        with problems.part():
            expression = _group_expression(group, select, scope)
        row = row_pieces(expression, scope, "GROUP BY", problems)
        text = render(row)
        if all(key.row != text for key in keys):
            keys.append(Key(text, group.span))
            pieces.append(row)
    return tuple(keys), pieces


def _group_expression(group: Expression, select: SelectSyntax, scope: Scope) -> Expression:
    """What GROUP BY 2 and GROUP BY alias stand for, by Spark's rules: a column goes before an alias."""
    item = _ordinal(group, select)
    if item is None and len(group.columns) == 1 and len(group.tokens) == 1 and not scope.find(group.columns[0].parts):
        name = group.columns[0].parts[0].lower()
        item = next((i for i in select.items if i.alias is not None and i.alias.text.lower() == name), None)
    if item is None or item.expression is None:
        return group
    if any(is_aggregate(call.name) for call in item.expression.calls):
        raise BindError(
            "bind.aggregate-in-group-by", "an aggregate cannot stand in GROUP BY", span=group.span,
            detail=f'"{group.text}" stands for {item.expression.text}',
        )
    return item.expression


def _ordinal(expression: Expression, select: SelectSyntax) -> ItemSyntax | None:
    if len(expression.tokens) != 1 or not expression.tokens[0].text.isdecimal():
        return None
    number = int(expression.tokens[0].text)
    if not 1 <= number <= len(select.items):
        raise BindError(
            "bind.bad-ordinal", f"there is no SELECT item {expression.text}", span=expression.span,
            detail=f"SELECT has {len(select.items)} items",
        )
    return select.items[number - 1]


def _outputs(
    select: SelectSyntax, binder: AnswerBinder
) -> tuple[tuple[Output, ...], Mapping[str, Pieces], list[Pieces]]:
    """The columns of the answer, what their names stand for in other clauses, and their pieces."""
    outputs: list[Output] = []
    aliases: dict[str, Pieces] = {}
    names: set[str] = set()
    selected: list[Pieces] = []
    for item in select.items:
        if item.expression is None:
            binder.problems.not_yet("SELECT *", item.span, "name the columns")
            selected.append(())
            continue
        pieces = binder.bind(item.expression, "columns first", aliases)
        selected.append(pieces)
        name = output_name(item, names, binder.problems)
        if item.alias is not None:
            aliases[item.alias.text.lower()] = pieces
        outputs.append(Output(name, render(pieces), reference_of(pieces), item.expression.span))
    return tuple(outputs), aliases, selected


def _order(
    item: OrderSyntax, binder: AnswerBinder, aliases: Mapping[str, Pieces], selected: list[Pieces]
) -> Order:
    nulls_first = item.ascending if item.nulls_first is None else item.nulls_first
    text = "NULL"
    with binder.problems.part():
        text = render(_ordered(item.expression, binder, aliases, selected))
    return Order(text, item.ascending, nulls_first, item.expression.span)


def _ordered(
    expression: Expression, binder: AnswerBinder, aliases: Mapping[str, Pieces], selected: list[Pieces]
) -> Pieces:
    if len(expression.tokens) == 1 and expression.tokens[0].text.isdecimal():
        number = int(expression.tokens[0].text)
        if not 1 <= number <= len(selected):
            raise BindError(
                "bind.bad-ordinal", f"there is no SELECT item {number}", span=expression.span,
                detail=f"SELECT has {len(selected)} items",
            )
        return selected[number - 1]
    return binder.bind(expression, "aliases first", aliases)
