"""SELECT TOP k [BY semantics | STREAMS] columns ... ORDER BY score: a ranking of rows or keys over possible worlds.

The row travels as one struct: its score, probability and rule, and what is selected, all computed from the row before
anything is ranked. Declared columns are kept with every ranked row anyway, since they break ties, so rankings by one
score that select nothing else keep the very same rows. What the semantics says of each ranked row comes after the
selected columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.errors import BindError, PunctualError
from punctual.plan.expression import NULL, Expression, Term, aggregate_name, cast, column_of, compose, struct
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Output
from punctual.plan.ranking import Ranking
from punctual.plan.relation import Column, Stream
from punctual.plan.uncertain import GivenBy
from punctual.plan.united import KEY, PROBABILITY, ROW, RULE, STREAM, column_or_null, common_columns, key_of
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_rows import bind_rows, check_rows
from punctual.sql.bind_uncertain import columns_read
from punctual.sql.body_binder import BoundBody
from punctual.sql.expressions.bind_answer import output_name
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import StableClause
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.parse_query import missing_k
from punctual.sql.syntax.select import ItemSyntax, OrderSyntax, SelectSyntax, TopSyntax

VALUES = {"EXPECTED_RANK": "expected", "PRF": "score", "PRFE": "score", "STREAMS": "expected"}
"""What a ranked row is worth, by semantics; a probability otherwise."""
RANK = "rank"
LISTS = ("U_TOPK", "U_KRANKS")
"""Semantics whose answer is a list as a whole: its rows are not weighed against one another."""


def ranks(select: SelectSyntax, bound: BoundFrom) -> bool:
    """Whether a SELECT is a ranking, or was meant to be one."""
    return select.top is not None or _is_called_top(select, bound.scope)


def _is_called_top(select: SelectSyntax, scope: Scope) -> bool:
    """Whether TOP was read as a column and there is none of that name."""
    first = select.items[0].expression
    return first is not None and first.tokens[0].word == "TOP" and not scope.find(("TOP",))


def bind_ranking(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
    """The ranking and its outputs; None with the reason in ``problems``."""
    syntax = select.top
    if syntax is None:
        if bound.complete:
            assert select.items[0].expression is not None
            problems.add(missing_k(select.items[0].expression.tokens[0].span))
        return None
    if select.distinct is not None:
        problems.not_yet("DISTINCT with TOP", select.distinct, "leave DISTINCT out; TOP k STREAMS ranks a key once")
    streams = [item.stream for item in bound.streams]
    _check_probability(syntax, streams, problems)
    if not bound.complete:
        return None
    misread = _misread_exclusive(select, syntax, bound.scope)
    if misread is not None:
        problems.add(misread)
        return None
    if not bound.as_one or any(item.syntax.model for item in bound.streams):
        check_rows(select, bound, problems)
        return None
    return _bind_ranking(select, syntax, bound, problems)


def _bind_ranking(
    select: SelectSyntax, syntax: TopSyntax, bound: BoundFrom, problems: Problems
) -> BoundBody | None:
    streams, scope = [item.stream for item in bound.streams], bound.scope
    rows, _key_pieces = bind_rows(select, bound, problems)
    semantics = _semantics(syntax, streams, problems)
    margin = _margin(select, semantics, problems)
    if select.having is not None:
        problems.not_yet("HAVING with TOP", select.having.span)
    if select.limit is not None:
        problems.add(BindError(
            "bind.top-and-limit", "TOP already says how many rows there are", span=syntax.span, hint="leave LIMIT out",
        ))
    score = _score(select, syntax, problems)
    if score is None:
        return None
    _check_certain(select, score, bound, problems)
    probability, rule, key = _meanings(streams)
    rule = key if syntax.exclusive else rule
    by = row_expression(_meant(score.expression, select), scope, "ORDER BY", problems)
    ranked = [("s", by), ("p", cast(probability, "DOUBLE")), ("r", cast(rule, "STRING"))]
    kept = [*ranked, ("u", column_of(STREAM)), ("w", column_of(ROW))] if len(streams) > 1 else list(ranked)
    there = _kept_anyway(streams)
    key_field = ""
    if syntax.streams:
        key_field = there.get(key, "k")
        if key_field == "k":
            kept.append(("k", cast(key, "STRING")))
    selected: list[tuple[str, Expression]] = []
    fields: list[str] = []
    outputs: list[Output] = []
    names: set[str] = set()
    for item in _items(select, problems):
        assert item.expression is not None
        field, value = f"x{len(outputs)}", row_expression(item.expression, scope, "TOP", problems)
        selected.append((field, value))
        # Named by what it is, wherever it stands in SELECT: queries that select the same keep the same.
        fields.append(there.setdefault(value, f"x{fingerprint(value)}"))
        if fields[-1][0] == "x" and (fields[-1], value) not in kept:
            kept.append((fields[-1], value))
        shown = compose(column_of(aggregate_name(0)), "[0].", Term("field", field), span=item.expression.span)
        outputs.append(Output(output_name(item, names, problems), shown))
    body = Ranking(
        rows=rows,
        k=syntax.k,
        semantics=semantics,
        score=by,
        kept=struct(kept[:3] + sorted(kept[3:], key=lambda entry: entry[0])),
        selected=struct([*ranked, *selected]),
        fields=tuple(fields),
        key=key_field,
        alike=syntax.exclusive and streams[0].probability is None,
        parameters=syntax.parameters,
        ascending=score.ascending,
        margin=margin,
        span=syntax.span,
    )
    return BoundBody(body, (*outputs, *_own_outputs(semantics, outputs, problems)))


def _own_outputs(semantics: str, outputs: Sequence[Output], problems: Problems) -> tuple[Output, ...]:
    """What the semantics says of each ranked row, after the selected columns."""
    value = VALUES.get(semantics, "probability")
    taken = {output.name.lower(): output for output in outputs}
    for name in (value, RANK):
        if name in taken:
            problems.add(BindError(
                "bind.duplicate-name", f'a ranking has a column "{name}" of its own', span=taken[name].expression.span,
                hint=f"rename yours: AS {name}_2",
            ))
    return Output(value, cast(NULL, "DOUBLE")), Output(RANK, cast(NULL, "INT"))


def _misread_exclusive(select: SelectSyntax, syntax: TopSyntax, scope: Scope) -> PunctualError | None:
    """What is wrong where EXCLUSIVE was read as a column and there is none of that name."""
    first = select.items[0].expression
    if first is None or syntax.streams or first.tokens[0].word != "EXCLUSIVE" or scope.find(("EXCLUSIVE",)):
        return None
    return BindError(
        "bind.bad-top", "EXCLUSIVE belongs to a ranking of STREAMS", span=first.tokens[0].span,
        hint=f"write TOP {syntax.k} STREAMS EXCLUSIVE",
    )


def _check_probability(syntax: TopSyntax, streams: Sequence[Stream], problems: Problems) -> None:
    """Rows need a probability each; alternatives of a key may do without, all of them."""
    lacking = [stream for stream in streams if stream.probability is None]
    if lacking and not (syntax.exclusive and len(lacking) == len(streams)):
        problems.add(BindError(
            "bind.no-probability", f'stream "{lacking[0].name}" has no probability column', span=syntax.span,
            detail="a top-k over possible worlds ranks rows that may not exist, so each row needs a probability",
            hint="declare one in CREATE STREAM, for example: confidence DOUBLE PROBABILITY",
        ))


def _semantics(syntax: TopSyntax, streams: Sequence[Stream], problems: Problems) -> str:
    """What the ranking is called, with its parameters checked."""
    semantics = syntax.semantics
    if syntax.streams:
        if semantics != "PK":
            problems.not_yet(f"{semantics} of STREAMS", syntax.span, "leave BY out")
        for stream in (stream for stream in streams if not stream.keys):
            problems.add(BindError(
                "bind.no-key", f'stream "{stream.name}" has no key', span=syntax.span,
                detail="TOP k STREAMS ranks keys", hint="declare one in CREATE STREAM, for example: sensor STRING KEY",
            ))
        semantics = "STREAMS_EXCLUSIVE" if syntax.exclusive else "STREAMS"
    _check_parameters(syntax, problems)
    return semantics


def _kept_anyway(streams: Sequence[Stream]) -> dict[Expression, str]:
    """Under which name a ranked row keeps each declared column: its event time, and what breaks ties."""
    times = {stream.event_time for stream in streams}
    common = [declared.name for declared in common_columns(streams)]
    ties = [name for name in common if name != streams[0].event_time]
    found = {column_of(name): f"tie{place}" for place, name in enumerate(ties)}
    if len(times) == 1 and times <= set(common):
        found[column_of(streams[0].event_time)] = "t"
    return found


def _meanings(streams: Sequence[Stream]) -> tuple[Expression, Expression, Expression]:
    """Probability, rule and key of a row."""
    if len(streams) > 1:
        return column_of(PROBABILITY), column_of(RULE), column_of(KEY)
    (stream,) = streams
    return column_or_null(stream.probability), column_or_null(stream.rule), key_of(stream)


def _score(select: SelectSyntax, syntax: TopSyntax, problems: Problems) -> OrderSyntax | None:
    if len(select.order) == 1:
        return select.order[0]
    if select.order:
        second = select.order[1].expression
        problems.add(BindError(
            "bind.no-score", "TOP ranks by one score, and this is another", span=second.span,
            detail="equal scores rank by event time, then by the other columns in declared order",
            hint=f"leave {second.text} out, or make one expression of both",
        ))
        return None
    problems.add(BindError(
        "bind.no-score", "TOP ranks by a score, and there is none", span=syntax.span,
        hint="add ORDER BY with one expression, for example: ORDER BY speed DESC",
    ))
    return None


def _check_certain(select: SelectSyntax, score: OrderSyntax, bound: BoundFrom, problems: Problems) -> None:
    """What a ranking reads of a row is the same in all worlds: only which rows there are is not."""
    items = [item.expression for item in select.items if item.expression is not None]
    filters = [*([] if select.where is None else [select.where]), *bound.conditions, *select.groups]
    filters += [condition for table in bound.tables for condition in table.left_on or ()]
    read = [("rank by an uncertain score", _meant(score.expression, select))]
    read += [("select an uncertain column", one) for one in items]
    read += [("decide by an uncertain column", one) for one in filters]
    for what, expression in read:
        for column, span in columns_read(expression, bound.scope):
            if column.uncertain is not None:
                problems.add(BindError(
                    "bind.uncertain-score", f"TOP cannot {what}", span=span,
                    detail=f'column "{column.name}" differs from world to world, and TOP ranks rows by what they say',
                    hint=_certain_instead(column),
                ))


def _certain_instead(column: Column) -> str:
    law = column.uncertain
    if isinstance(law, GivenBy) and column.name not in law.parameters and law.kind != "DISCRETE":
        return f"name a column that is certain, for example: {law.parameters[0]}"
    if isinstance(law, GivenBy) and law.kind != "DISCRETE":
        one, other = (f"{column.name}_read" if name == column.name else name for name in law.parameters)
        return f"name what is read apart: {column.name} {column.type} ~ {law.kind}({one}, {other})"
    return "name a column without ~"


def _meant(expression: ExpressionSyntax, select: SelectSyntax) -> ExpressionSyntax:
    """ORDER BY an alias means what it stands for."""
    if len(expression.tokens) == 1 and expression.columns:
        name = expression.columns[0].parts[0].lower()
        for item in select.items:
            if item.alias is not None and item.alias.text.lower() == name and item.expression is not None:
                return item.expression
    return expression


def _items(select: SelectSyntax, problems: Problems) -> list[ItemSyntax]:
    named = []
    for item in select.items:
        if item.expression is None:
            problems.not_yet("SELECT *", item.span, "name the columns")
        else:
            named.append(item)
    return named


def _margin(select: SelectSyntax, semantics: str, problems: Problems) -> float:
    """What STABLE says, as a fraction; 0 without it."""
    clause = select.clause(StableClause)
    if clause is None:
        return 0.0
    if not 0 < clause.share <= 1:
        problems.add(BindError(
            "bind.bad-margin", f"a margin is above 0% and at most 100%, not {100 * clause.share:g}%", span=clause.span,
            hint="for example: STABLE 5%",
        ))
    if semantics in LISTS:
        problems.add(BindError(
            "bind.stable-list", f"a ranking by {semantics} cannot be STABLE", span=clause.span,
            detail="its rows are the answer as a whole: they have no values to weigh one by one",
            hint="rank BY PK, GLOBAL, PT, EXPECTED_RANK, PRF or PRFE, or leave STABLE out",
        ))
    return clause.share


def _check_parameters(syntax: TopSyntax, problems: Problems) -> None:
    if syntax.semantics in ("PT", "PRFE") and not 0 < syntax.parameters[0] <= 1:
        what = "a threshold" if syntax.semantics == "PT" else "an alpha"
        problems.add(BindError(
            "bind.bad-top", f"{syntax.semantics} needs {what} above 0 and at most 1, not {syntax.parameters[0]:g}",
            span=syntax.numbers, hint=f"for example: BY {syntax.semantics}(0.5)",
        ))
