"""A pass: every instant that a committed batch released, answered for all queries together.

Readers of one unit are answered by one call of the kernel; expressions over aggregates of all queries by one call of
Catalyst; then each query's rows are sorted, cut and packed as Arrow lists, one row an answer. A query whose
expressions fail is found and reported; the others' answers stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.places import Place
from punctual.kernel.panes import spec as kernel
from punctual.kernel.panes.keys import encode
from punctual.kernel.panes.keys import order as spark_order
from punctual.kernel.panes.panes import Answered
from punctual.plan.query import Comparison, WindowQuery
from punctual.plan.shared import Conditions, Reader
from punctual.ports.answers import FIELDS, GROUPS, STABLE, AnswerBlock
from punctual.runtime.backend import QueryTypes, Question
from punctual.schedule.due import Listed

I64 = NDArray[np.int64]
NAMES = re.compile(r"`(k\d+|a\d+|at)`|\bat\b")
TIME = pa.timestamp("us", tz="UTC")
ROWS_PLACE = [name for name, _type in FIELDS].index("rows")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and the instants that it answers in this pass."""

    reader: Reader
    types: QueryTypes
    due: Listed
    covered_from: Micros
    after: Micros
    """The query stands for instants after this one."""
    eps: float | None = None
    """Where a ranking's tail is cut, if that was decided."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When instants became known and were answered, by the wall clock; None in a replay at full speed."""

    released: Micros
    answered: Micros


def without(asked: Asked, delivered: Mapping[str, I64]) -> Asked:
    """The same without the instants that were answered before."""
    due = asked.due
    there = np.isin(due.instants, delivered.get(asked.reader.query.name, due.instants[:0]))
    if not there.any():
        return asked
    left = ~there
    return replace(asked, due=Listed(due.instants[left], due.ran[left], due.number[left], due.runs))


Evaluate = Callable[[Sequence[Question]], list[list[pa.Array]]]


def kernel_reader(asked: Asked) -> kernel.Reader:
    """The reader as the kernel sees it."""
    cut = () if asked.eps is None else (asked.eps,)
    calls = tuple(
        kernel.Call(use.function, use.synopsis, use.parameters + cut, _selection(use.conditions), data_type)
        for use, data_type in zip(asked.reader.uses, asked.types.aggregates)
    )
    return kernel.Reader(_selection(asked.reader.where), asked.reader.query.range_us, asked.due.instants, calls)


def _selection(conditions: Conditions) -> kernel.Selection:
    return tuple(tuple(_comparison(c) for c in conjunction) for conjunction in conditions)


def _comparison(comparison: Comparison) -> kernel.Comparison:
    return kernel.Comparison(comparison.operator, comparison.values)


def finish(
    asked: Sequence[Asked],
    answered: Sequence[Answered],
    late: Sequence[I64 | None],
    evaluate: Evaluate,
    moment: Callable[[], Moment | None],
) -> list[AnswerBlock]:
    """Blocks of answers, one a query, in the order of ``asked``; ``moment`` is asked once everything is evaluated."""
    questions = [_question(a, result) for a, result in zip(asked, answered)]
    replies = iter(evaluate([q for q in questions if q is not None]))
    rows: list[pa.ListArray] = []
    errors: list[pa.Array | None] = []
    for a, result, question in zip(asked, answered, questions):
        listed, error = _rows(a, result, next(replies) if question is not None else [])
        rows.append(listed)
        errors.append(error)
    blocks = _blocks(asked, rows, errors, late, moment())
    return [
        block if a.reader.query.top is None else replace(block, table=_about_ranking(a, result, block.table))
        for a, result, block in zip(asked, answered, blocks)
    ]


def _question(asked: Asked, answered: Answered) -> Question | None:
    """What Catalyst must evaluate for the query; None when its columns are keys and aggregates as they are."""
    query, types = asked.reader.query, asked.types
    if query.top is not None:
        return None
    expressions = [(o.expression, t) for o, t in zip(query.outputs, types.outputs) if o.reference is None]
    if query.having is not None:
        expressions.append((query.having, pa.bool_()))
    expressions += [(o.expression, t) for o, t in zip(query.order, types.order) if _plain(o.expression) is None]
    if not expressions:
        return None
    used = {m.group(1) or "at" for text, _t in expressions for m in NAMES.finditer(text)}
    columns = {name: _column(asked, answered, name) for name in sorted(used or {"at"})}
    return Question(tuple(e for e, _t in expressions), tuple(t for _e, t in expressions), columns)


def apart(asked: Asked, answered: Answered) -> list[tuple[Place, Question]]:
    """What Catalyst evaluates for the query, an expression at a time."""
    whole = _question(asked, answered)
    if whole is None:
        return []
    query = asked.reader.query
    places = [Place(f'column "{o.name}"', o.span) for o in query.outputs if o.reference is None]
    if query.having is not None:
        places.append(Place("HAVING", query.having_span))
    places += [Place("ORDER BY", o.span) for o in query.order if _plain(o.expression) is None]
    singles = zip(places, whole.expressions, whole.types)
    return [(place, Question((text,), (data_type,), whole.columns)) for place, text, data_type in singles]


def _plain(expression: str) -> str | None:
    match = re.fullmatch(r"`(k\d+|a\d+|at)`", expression.strip())
    return match.group(1) if match else None


def _column(asked: Asked, answered: Answered, name: str) -> pa.Array:
    """The column that expressions call by this name: a key, an aggregate or the instant of the answer."""
    if name == "at":
        return pa.array(asked.due.instants[answered.instant], pa.int64()).cast(TIME)
    place = int(name[1:])
    return answered.values[place] if name[0] == "a" else of_type(answered.keys[place], asked.types.keys[place])


def of_type(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The array in a type that it nearly always has already: a cast that does nothing costs as much as any."""
    return array if array.type == data_type else array.cast(data_type)


def _rows(asked: Asked, answered: Answered, reply: list[pa.Array]) -> tuple[pa.ListArray, pa.Array | None]:
    """The result rows of each answer, and what is said about their error (None: they are exact)."""
    query, types = asked.reader.query, asked.types
    if query.top is not None:
        return _ranked_rows(asked, answered), _cut_errors(asked)
    results = iter(reply)
    outputs = [
        of_type(_column(asked, answered, o.reference) if o.reference is not None else next(results), t)
        for o, t in zip(query.outputs, types.outputs)
    ]
    having = next(results) if query.having is not None else None
    order = []
    for item in query.order:
        plain = _plain(item.expression)
        order.append(_column(asked, answered, plain) if plain is not None else next(results))
    instant = answered.instant.astype(np.int64)
    rows = _arrange(query, instant, having, order)
    if rows is not None:
        outputs = [array.take(rows) for array in outputs]
        instant = instant[rows.to_numpy()]
    count = asked.due.instants.size
    offsets = np.searchsorted(instant, np.arange(count + 1)).astype(np.int32)
    names = [o.name for o in query.outputs]
    struct = pa.StructArray.from_arrays(outputs, names=names)
    listed = pa.ListArray.from_arrays(pa.array(offsets), struct)
    return listed, _errors(asked, answered, rows, offsets, count)


def _ranked_rows(asked: Asked, answered: Answered) -> pa.ListArray:
    """The rows of each ranking, group after group."""
    query, types = asked.reader.query, asked.types
    lists = answered.values[0].field("rows")
    items = lists.flatten()
    ends = lists.offsets.to_numpy()
    # The groups of an instant are neighbours, and their lists go on from each other.
    offsets = (ends - ends[0])[np.searchsorted(answered.instant, np.arange(asked.due.instants.size + 1))]
    columns = [of_type(column, t) for column, t in zip(items.flatten(), types.outputs)]
    struct = pa.StructArray.from_arrays(columns, names=[o.name for o in query.outputs])
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def _cut_errors(asked: Asked) -> pa.Array | None:
    """By how much values may be less than they are, because a tail was cut; None where nothing was."""
    query = asked.reader.query
    if asked.eps is None or query.top is None:
        return None
    moved = asked.eps
    if query.top.semantics.startswith("STREAMS"):
        moved *= query.top.k  # all rows of a key that are not read are among the k best so rarely, together
    elif query.top.semantics == "PRF":
        moved *= max(abs(weight) for weight in query.top.parameters)
    text = orjson.dumps({query.outputs[-2].name: moved}).decode()
    return pa.repeat(text, asked.due.instants.size)


def _about_ranking(asked: Asked, answered: Answered, table: pa.Table) -> pa.Table:
    """What a ranking says besides: its semantics, how many rows broke their rule, and what STABLE did."""
    top = asked.reader.query.top
    assert top is not None
    if answered.values[0].field("short").true_count:  # so many rules broke that panes lack rows
        short = _by_instant(asked, answered, "short").to_numpy() > 0
        complete = table["complete"].to_numpy(zero_copy_only=False) & ~short
        table = table.set_column(table.column_names.index("complete"), "complete", pa.array(complete))
    table = table.append_column("semantics", pa.repeat(top.semantics, table.num_rows))
    table = table.append_column("rejected", _by_instant(asked, answered, "rejected"))
    if not top.margin:
        return table
    table = table.append_column(STABLE, pa.repeat(top.margin, table.num_rows))
    table = table.append_column("held", _by_instant(asked, answered, "held"))
    if not answered.keys:
        return table
    sizes = np.diff(answered.values[0].field("rows").offsets.to_numpy())
    group = pa.array(np.repeat(np.arange(sizes.size), sizes))
    keys = [of_type(key, t).take(group) for key, t in zip(answered.keys, asked.types.keys)]
    struct = pa.StructArray.from_arrays(keys, names=[f"k{place}" for place in range(len(keys))])
    rows = table["rows"].combine_chunks()
    return table.append_column(GROUPS, pa.ListArray.from_arrays(rows.offsets, struct))


def _by_instant(asked: Asked, answered: Answered, name: str) -> pa.Array:
    """A count that each group's ranking has, for all groups of an answer."""
    counts = answered.values[0].field(name).to_numpy(zero_copy_only=False)
    return pa.array(np.bincount(answered.instant, counts, asked.due.instants.size).astype(np.int64))


def _arrange(query: WindowQuery, instant: I64, having: pa.Array | None, order: list[pa.Array]) -> pa.Array | None:
    """Which rows stay, in which order; None when all of them as they are (by instant, then by keys)."""
    if having is None and not order and query.limit is None:
        return None
    kept = np.arange(instant.size)
    if having is not None:
        kept = kept[pc.fill_null(having, False).to_numpy(zero_copy_only=False)]
    if order:
        ranks: list[NDArray[np.int64]] = [kept]
        for item, array in reversed(list(zip(query.order, order))):
            chosen = array.take(pa.array(kept))
            codes, distinct = encode([chosen], len(chosen))  # equal values must have equal ranks
            rank = spark_order(distinct).astype(np.int64)[codes]
            ranks.append(rank if item.ascending else -rank)
            null = pc.is_null(chosen).to_numpy(zero_copy_only=False)
            ranks.append((null != item.nulls_first).astype(np.int64))
        ranks.append(instant[kept])
        kept = kept[np.lexsort(ranks)]
    if query.limit is not None:
        at = instant[kept]
        place = np.arange(at.size) - np.searchsorted(at, at)
        kept = kept[place < query.limit]
    return pa.array(kept)


def _errors(
    asked: Asked, answered: Answered, rows: pa.Array | None, offsets: NDArray[np.int32], count: int
) -> pa.Array | None:
    """For each answer, the widest half-width of each approximate output, as JSON; None when all of them are exact."""
    query = asked.reader.query
    widths: dict[str, NDArray[np.float64]] = {}
    for output in query.outputs:
        if output.reference is None or output.reference[0] != "a":
            continue
        half = answered.errors[int(output.reference[1:])]
        if half is None or half.null_count == len(half):
            continue
        chosen = half if rows is None else half.take(rows)
        values = np.append(pc.fill_null(chosen, 0.0).to_numpy(zero_copy_only=False), 0.0)
        starts = np.minimum(offsets[:-1], values.size - 1)
        widest = np.maximum.reduceat(values, starts)
        widths[output.name] = np.where(offsets[:-1] < offsets[1:], widest, 0.0)
    if not widths:
        return None
    texts: list[str | None] = []
    for number in range(count):
        said = {name: float(width[number]) for name, width in widths.items() if width[number] > 0}
        texts.append(orjson.dumps(said).decode() if said else None)
    return pa.array(texts, pa.string())


def _blocks(
    asked: Sequence[Asked],
    rows: Sequence[pa.ListArray],
    errors: Sequence[pa.Array | None],
    late: Sequence[I64 | None],
    moment: Moment | None,
) -> list[AnswerBlock]:
    """Rows and everything beside them. That is made for all queries at once and then cut: a thousand queries have an
    answer or two each, and making fifteen arrays for each of them would cost more than the answers."""
    counts = np.array([len(one) for one in rows])
    fields = _fields(asked, counts, errors, late, moment)
    starts = np.cumsum(counts) - counts
    return [
        AnswerBlock(a.reader.query.name, fields.slice(start, len(one)).add_column(ROWS_PLACE, "rows", one))
        for a, one, start in zip(asked, rows, starts.tolist())
    ]


def _fields(
    asked: Sequence[Asked],
    counts: I64,
    errors: Sequence[pa.Array | None],
    late: Sequence[I64 | None],
    moment: Moment | None,
) -> pa.Table:
    """The fields of all answers except their rows, query after query."""
    queries = [a.reader.query for a in asked]
    at = np.concatenate([a.due.instants for a in asked])
    owner = np.repeat(np.arange(counts.size), counts)
    count = at.size
    since = at - np.array([query.range_us for query in queries])[owner]
    covered_from = np.array([a.covered_from for a in asked])[owner]
    labels = [f"{'+'.join(query.streams)}/{run.label}#" for query, a in zip(queries, asked) for run in a.due.runs]
    first_label = np.cumsum([0] + [len(a.due.runs) for a in asked])[:-1]
    ran = np.concatenate([a.due.ran for a in asked]) + first_label[owner]
    number = np.concatenate([a.due.number for a in asked])
    released = deadline = answered = pa.nulls(count, pa.int64())
    on_time = pa.nulls(count, pa.bool_())
    if moment is not None:
        released, answered = _constant(moment.released, count), _constant(moment.answered, count)
        allowed = pa.array([query.deadline_us for query in queries], pa.int64())
        deadline = pc.add(allowed, moment.released).take(pa.array(owner))
        on_time = pc.greater_equal(deadline, moment.answered)
    error = pa.concat_arrays([pa.nulls(n, pa.string()) if e is None else e for e, n in zip(errors, counts.tolist())])
    lacking = [np.zeros(n, np.int64) if one is None else one for one, n in zip(late, counts.tolist())]
    columns: Mapping[str, pa.Array] = {
        "number": pa.array(np.zeros(count, np.int32)),
        "at": pa.array(at),
        "from": pa.array(since),
        "basis": pa.repeat("exact", count),
        "quality": pa.array(np.ones(count)),
        "kept": pa.array(np.ones(count)),
        "complete": pa.array(since >= covered_from),
        "error": error,
        "released": released,
        "deadline": deadline,
        "answered": answered,
        "on_time": on_time,
        "execution": pc.binary_join_element_wise(
            pa.array(labels).take(pa.array(ran)), pa.array(number).cast(pa.string()), ""
        ),
        "late_rows": pa.array(np.concatenate(lacking)),
    }
    return pa.table(columns)


def _constant(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, np.int64))
