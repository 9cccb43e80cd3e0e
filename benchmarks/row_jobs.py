"""Row queries as single jobs over windows that were made for them: what each job used, and what had been predicted."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from benchmarks.engines import WarmBackend
from benchmarks.process_tree import process_tree_us
from punctual.clock import SECOND
from punctual.engine.answers.row_model import RowModel
from punctual.engine.held.retained_rows import RetainedFiles, RetainedStream
from punctual.estimate.row_costs import RowCosts
from punctual.kinds.program import compile_program, typecheck
from punctual.kinds.registry import needs_of
from punctual.own_names import TIME
from punctual.plan.operators import OperatorRows
from punctual.plan.shared import RowNeeds
from punctual.runtime.backend import QueryTypes, RowAnswers, RowWork
from punctual.store.manifest import Section
from punctual.store.products import RetainedRows, to_ipc

STREAMS = """
CREATE STREAM s (ts TIMESTAMP EVENT TIME, k INT, g INT, v DOUBLE) FROM FEED;
CREATE STREAM r (ts TIMESTAMP EVENT TIME, k INT, w DOUBLE) FROM FEED;
"""
HOUR = 3_600 * SECOND


@dataclass(frozen=True, slots=True)
class Measured:
    """One job: what was predicted of it, what it used, and the rows of the operators of its queries."""

    predicted_us: float
    high_us: float
    used_us: float
    executions: tuple[OperatorRows | None, ...]


@dataclass(slots=True)
class RowJobs:
    """Queries by name over the streams ``s`` and ``r``; their windows hold all rows of a turn."""

    backend: WarmBackend
    queries: Mapping[str, str]
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="punctual-bench-")))
    _works: dict[str, tuple[RowNeeds, QueryTypes]] = field(default_factory=dict)
    _turns: int = 0

    def __post_init__(self) -> None:
        text = STREAMS + "".join(f"CREATE QUERY {name} AS {sql} PERIOD 1 HOUR;" for name, sql in self.queries.items())
        program = compile_program(text, base=".")
        queries = list(program.catalog.queries.values())
        types = typecheck(self.backend, program.declarations, queries, ())
        assert not types.errors, types.errors
        for query in queries:
            needs = needs_of(query)
            assert isinstance(needs, RowNeeds), f"{query.name} is answered from panes"
            self._works[query.name] = needs, types.queries[query.name]

    def model(self) -> RowModel:
        """A model that has learned nothing yet."""
        pid = self.backend.pid()
        assert pid is not None
        return RowModel(RowCosts(), lambda: process_tree_us(pid))

    def hold(self, tables: Mapping[str, pa.Table]) -> tuple[RetainedFiles, int]:
        """Rows as a tick would leave them, an hour of event time for each turn; when the hour ends."""
        self._turns += 1
        held = RetainedFiles(dict.fromkeys(tables, RetainedStream("m", "ts")), str(self.folder))
        end = self._turns * HOUR
        for name, table in tables.items():
            times = pa.array([end - 1] * table.num_rows, pa.int64())
            data = to_ipc(table.add_column(0, TIME, times)).to_pybytes()
            file = f"{name}.{self._turns}.arrow"
            (self.folder / file).write_bytes(data)
            product = RetainedRows(name, end - 1, end - 1, "m")
            held.add(Section(product, file, 0, len(data), zlib.crc32(data), table.num_rows))
        return held, end

    def run(self, model: RowModel, names: Sequence[str], held: RetainedFiles, at: int) -> Measured:
        """These queries as one job."""
        works = [self._work(name, held, at) for name in names]
        seen: list[RowAnswers] = []

        def answer(asked: Sequence[RowWork]) -> RowAnswers:
            seen.append(self.backend.rows(asked, {}))
            return seen[0]

        model.run(works, held, answer)
        spent = [one for several in model.take_spent().values() for one in several]
        return Measured(
            sum(one.predicted_us or 0.0 for one in spent),
            sum(one.high_us or 0.0 for one in spent),
            sum(one.used_us for one in spent),
            tuple(seen[0].executions),
        )

    def sampled(self, names: Sequence[str], held: RetainedFiles, at: int, sample: float, key: tuple[str, ...]) -> float:
        """Core time of the queries over a part of their windows, by this key, in microseconds."""
        works = []
        for name in names:
            work = self._work(name, held, at)
            windows = tuple(replace(window, sample=sample, sample_by=key) for window in work.windows)
            works.append(replace(work, windows=windows))
        pid = self.backend.pid()
        assert pid is not None
        before = process_tree_us(pid)
        self.backend.rows(works, {})
        return process_tree_us(pid) - before

    def _work(self, name: str, held: RetainedFiles, at: int) -> RowWork:
        needs, types = self._works[name]
        windows = tuple(held.window(window, at) for window in needs.statement.windows)
        return RowWork(name, needs.statement, types, at, windows, 10_000_000)
