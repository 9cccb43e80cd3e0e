"""The data plane without a JVM: the very same operators scan and reduce, DuckDB evaluates expressions.

For tests of everything around Spark: the engine, the store, the scan, the kernels. Rows are dealt out to tasks by a
seeded shuffle, so whatever depends on how rows are cut or ordered shows here first. What Spark alone can mean (its
casts, its functions, its types) is tested on Spark.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv

from punctual.clock import SECOND, Micros, SystemClock
from punctual.kernel.sample.draw import ITSELF
from punctual.kernel.sample.marks import SHARES
from punctual.plan.operators import OperatorNode
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowStatement
from punctual.plan.rows import Join
from punctual.runtime.backend import (
    Draws,
    JobLimit,
    OverdueError,
    QueryTypes,
    Question,
    RowAnswers,
    RowTypeRequest,
    RowWork,
    SliceWork,
    Tick,
    TypeReport,
    TypeRequest,
)
from punctual.runtime.core_time import CoreTime
from punctual.runtime.direct_plan import direct_stream
from punctual.runtime.lower import Branch, Limits, branch_sql
from punctual.runtime.operators.direct import ScanAndReduce
from punctual.runtime.operators.enrich import Lookup
from punctual.runtime.operators.functions.call_functions import CallFunctions
from punctual.runtime.operators.merge_rows import MergeRows
from punctual.runtime.operators.order import Order
from punctual.runtime.operators.projected import ReduceProjected
from punctual.runtime.operators.reduction import Reduce
from punctual.runtime.operators.scan_rows import ScanRows
from punctual.runtime.operators.shards import AnswerShards
from punctual.runtime.operators.window_rows import CountRows
from punctual.runtime.tick import joined_table
from punctual.runtime.work_orders import work_order
from punctual.scan.marks import MARKS
from punctual.scan.parts import Weighed
from punctual.store.products import OUTPUT, to_ipc
from tests.inprocess.dealt import Dealt
from tests.inprocess.landed import read_landed
from tests.inprocess.rows import answer
from tests.inprocess.typecheck import typecheck
from tests.reference.duck import arrow_type, connect, duck_text

THROUGH, HORIZON = "7000000000000000001", "7000000000000000002"


def _slice(work: SliceWork, branches: Sequence[Branch], parts: Weighed | None) -> pa.Table:
    """The rows of a slice for branches that Spark would project: read apart from our scan, unless that sheds some."""
    marked = any(branch.marked for branch in branches)
    if work.share < SHARES and parts is not None:
        scan = ScanRows(work.stream, work.feed.reading, marked)
        batches = scan.run(work_order([work], {work.stream: parts}, None, 1), 0)
        return pa.Table.from_batches(batches, scan.schema)
    columns = [(c.name, c.type) for c in branches[0].stream.columns if c.derived is None]
    rows = read_landed(work.slice.parts, columns)
    for name in MARKS if marked else ():
        rows = rows.append_column(name, pa.repeat(ITSELF, rows.num_rows))
    return rows


def _in_time(work: Callable[[], list[pa.RecordBatch]], until: Micros) -> list[pa.RecordBatch]:
    """What tasks yield, unless that takes too long: nobody can end a thread, so it is left alone then."""
    found: list[list[pa.RecordBatch]] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(max(0.0, (until - SystemClock().monotonic()) / SECOND))
    if not found:
        raise OverdueError
    return found[0]


class InProcess:
    """Implements ``runtime.backend.Backend``.

    Parameters
    ----------
    partitions : int
        How many tasks a branch of a tick has.
    seed : int
        Of the shuffle that deals rows out to them.
    """

    def __init__(self, partitions: int = 1, seed: int = 0) -> None:
        self._partitions = partitions
        self._random = np.random.default_rng(seed)
        self._duck = connect()
        self._one_at_a_time = threading.RLock()
        """A connection of DuckDB serves one thread at a time; the engine has a reader and a holder."""
        self.core_time = CoreTime()
        self.cores = 1
        self.used: Counter[str] = Counter()
        """Microseconds that calls are said to have used, by what was called: as many as it had to do, times a prime."""

    def _use(self, what: str, us: int) -> None:
        self.core_time.add(us)
        self.used[what] += us

    def typecheck(
        self,
        relations: Sequence[Declared],
        requests: Sequence[TypeRequest | RowTypeRequest],
        known: Sequence[Stream | Table],
    ) -> TypeReport:
        with self._one_at_a_time:
            return typecheck(self._duck, relations, requests, known)

    def tick(self, tick: Tick) -> pa.Table:
        self._use("tick", 104_729 * len(tick.work))
        with self._one_at_a_time:
            batches: list[pa.RecordBatch] = []
            for work in tick.work:
                parts = work.feed.parts(work.slice)
                direct = [branch for branch in work.branches if branch.direct is not None and parts is not None]
                if direct and parts is not None:
                    batches += self._direct(tick, work, direct, parts)
                projected = [branch for branch in work.branches if branch.direct is None or parts is None]
                if projected:
                    self._duck.register("_slice", _slice(work, projected, parts))
                    order = work_order([work], {}, tick.incoming, 1)
                    for branch in projected:
                        batches += self._projected(tick, work, branch, order)
            return pa.Table.from_batches(batches, OUTPUT)

    def _direct(
        self, tick: Tick, work: SliceWork, branches: Sequence[Branch], parts: Weighed
    ) -> Iterator[pa.RecordBatch]:
        """The very operator of Spark's tasks; every task sees all parts, and takes the rows that are dealt to it."""

        def table(join: Join, outer: bool) -> Lookup:
            content = tick.tables[join.table.lower()]
            on = tuple((row.column or "", column) for row, column in join.on)
            return Lookup(join.alias, on, outer, uuid.uuid4().hex, SimpleNamespace(value=to_ipc(content).to_pybytes()))

        stream = direct_stream(work, branches, work.feed.reading, tick.shards, table)
        order = work_order([work], {work.stream: parts}, tick.incoming, 1)
        seed = int(self._random.integers(2**32))
        for task in range(self._partitions):
            yield from ScanAndReduce((stream,), Dealt(seed, task, self._partitions)).run(order, 0)

    def _projected(self, tick: Tick, work: SliceWork, branch: Branch, order: Order) -> list[pa.RecordBatch]:
        views = {join.alias: self._view(join, tick.tables[join.table.lower()]) for join in branch.joins}
        # Translated once per branch: the bounds, which change with every batch, are filled in afterwards.
        limits = Limits(str(work.earliest), HORIZON, THROUGH, str(work.tops).lower())
        text = duck_text(branch_sql(branch, "_slice", views, limits))
        text = text.replace(THROUGH, str(work.complete_through)).replace(HORIZON, str(work.horizon))
        rows = self._duck.sql(text).to_arrow_table()
        late = work.late if branch.counted else None
        reduction = Reduce(work.stream, branch.units, late, tick.shards, branch.counted, branch.retain)
        operator = ReduceProjected(reduction)
        dealt = self._random.integers(0, self._partitions, rows.num_rows)
        found: list[pa.RecordBatch] = []
        for part in range(self._partitions):
            chosen = rows.take(self._random.permutation(np.flatnonzero(dealt == part)))
            found += operator.run(order, chosen.to_batches())
        return found

    def _view(self, join: Join, table: pa.Table) -> str:
        name = f"_table_{join.alias}"
        self._duck.register(name, joined_table(join, table))
        return name

    def run_tasks(
        self, operator: AnswerShards | MergeRows | CountRows | CallFunctions, until: Micros | None = None
    ) -> pa.Table:
        tasks = operator.most_tasks
        self._use("run_tasks", 10_007 * tasks)
        each = replace(operator, tasks=tasks)
        order = self._random.permutation(tasks).tolist()
        if until is None:
            found = [batch for task in order for batch in each.run(None, task)]
        else:
            found = _in_time(lambda: [batch for task in order for batch in each.run(None, task)], until)
        return pa.Table.from_batches(found, OUTPUT)

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Micros | None = None
    ) -> RowAnswers:
        self._use("rows", 50_021 * len(work))
        with self._one_at_a_time:
            found, draws = answer(self._duck, work, tables, self.monotonic, self.answered)
            return RowAnswers(found, [None] * len(work), [False] * len(work), draws=draws)

    def rows_beside(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit) -> RowAnswers:
        if limit.ended or SystemClock().monotonic() >= limit.until:
            raise OverdueError
        self._use("rows_beside", 50_021 * len(work))
        with self._one_at_a_time:
            found, draws = answer(self._duck, work, tables, self.monotonic, self.answered)
            return RowAnswers(found, [None] * len(work), [False] * len(work), draws=draws)

    def answered(self, work: RowWork, draws: Draws) -> None:
        """Something was answered from rows: where time is simulated it goes on."""

    def monotonic(self) -> Micros:
        """The clock of scans."""
        return SystemClock().monotonic()

    def row_operators(
        self, statement: RowStatement, types: QueryTypes, tables: Mapping[str, pa.Table]
    ) -> OperatorNode | None:
        return None

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        self._use("evaluate", 1_009 * len(questions))
        with self._one_at_a_time:
            replies = []
            for question in questions:
                self._duck.register("_question", pa.table(dict(question.columns)))
                texts = (duck_text(f"({one.sql})") for one in question.expressions)
                columns = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
                table = self._duck.sql(f"SELECT {columns} FROM _question").to_arrow_table()
                replies.append(
                    [table.column(n).combine_chunks().cast(t) for n, t in enumerate(question.types)]
                )
            return replies

    def table(self, table: Table) -> pa.Table:
        types = {column.name: arrow_type(column.type) for column in table.columns}
        options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        found = pa.csv.read_csv(table.source.path, convert_options=options)
        return found.select(list(types))

    def alive(self) -> bool:
        return True

    def pid(self) -> int | None:
        return None

    def close(self) -> None:
        self._duck.close()
