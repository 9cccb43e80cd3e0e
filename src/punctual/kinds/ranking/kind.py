"""SELECT TOP k: rows, or keys, ranked over all worlds in which they may exist."""

from __future__ import annotations

import pyarrow as pa

from punctual.errors import PunctualError
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.memory import KindMemory, LettersWritten
from punctual.kinds.ranking import answers, needs
from punctual.kinds.ranking.bind import bind_ranking, ranks
from punctual.kinds.ranking.broken_rules import BrokenRules
from punctual.kinds.ranking.reach import SPARED, mass_read
from punctual.kinds.ranking.tail_cut import TailCut
from punctual.kinds.result import Result
from punctual.kinds.type_rules import unordered
from punctual.plan.aggregates import Aggregate
from punctual.plan.query import Query
from punctual.plan.ranking import Ranking
from punctual.plan.shared import Needs, Reader, Unit, UnitSynopsis
from punctual.runtime.backend import QueryTypes, TypeRequest
from punctual.schedule.contract import Knob
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import StableClause
from punctual.sql.syntax.select import SelectSyntax


class RankingKind(Kind[Ranking]):
    """Rankings of the rows of a window, all of them from one walk. The tail of the walk gives way."""

    body = Ranking
    without_rows = "in a ranking"
    clauses = frozenset((StableClause,))

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        return ranks(select, bound)

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        return bind_ranking(select, bound, problems)

    def needs(self, query: Query) -> Needs:
        return needs.needs(self.body_of(query), query.range_us)

    def knob(self, query: Query) -> Knob | None:
        """A walk by ranks ends sooner. What STABLE displays follows from the answer before, so its answers of one batch
        are not cut apart."""
        body = self.body_of(query)
        return None if body.whole or body.margin else TailCut(body.ranks)

    def never_sampled(self, query: Query) -> str | None:
        """What is cut is the tail, in time for a deadline: of that QUALITY says what it is worth."""
        cut = self.knob(query) is not None and query.deadline_us is not None and not self.in_order(query)
        return None if cut else "a ranking needs all rows of its window"

    def in_order(self, query: Query) -> bool:
        return self.body_of(query).margin > 0

    def type_request(self, query: Query) -> TypeRequest:
        body = self.body_of(query)
        ranking = Aggregate("collect_list", body.selected, span=body.span)  # to Spark a ranking is a list of rows
        return TypeRequest(query, body.rows, (ranking,), body.rows.conditions)

    def refusals(self, query: Query, types: QueryTypes) -> list[PunctualError]:
        (row,) = types.arguments
        assert row is not None
        score = unordered([(row.field("s").type, self.body_of(query).score.span)])
        return [*super().refusals(query, types), *score]

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        return answers.finish(job, self.body_of(job.query), answered)

    def memory(self, written: LettersWritten) -> KindMemory:
        return BrokenRules(written)

    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        body = self.body_of(reader.query)
        numbers = ", ".join(f"{number:g}" for number in body.parameters)
        by = f"{body.semantics}({numbers})" if numbers else body.semantics
        way = "asc" if body.ascending else "desc"
        stable = f", stable {100 * body.margin:g}%" if body.margin else ""
        return [f"top    {body.k} by {by}, score {body.score.written} {way}{stable}"]

    def describe_synopsis(self, synopsis: UnitSynopsis) -> str:
        k = synopsis.parameters[0]
        if not k:
            return "ranking(all rows)"
        masses = f"{mass_read(k):.0f}, {mass_read(SPARED * k):.0f} with rules"
        return f"ranking(candidates for {k}: the best of a pane, to a mass of {masses})"
