"""What the rest of the engine asks of a kind of query.

A kind owns one type of body. Everything that differs between bodies is asked of it here, so nobody else has to look
into a body: how SQL becomes one, what it reads of cells, which types it needs, what gives way under overload, how it
answers, what it says of itself. A new kind is a folder with a subclass, and a line in :mod:`punctual.kinds.registry`.

Answering has two phases, so that expressions of all queries of a pass are one call of Catalyst. From what the cells
gave (``Answered``) a kind makes a question; from the reply to it the rows and fields of its answers. The second is done
for all queries at once that the kind says are ``alike``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import InternalError, PunctualError
from punctual.kernel.panes.panes import Answered
from punctual.kinds.clause import Clause
from punctual.kinds.drawing import Drawing
from punctual.kinds.job import Job
from punctual.kinds.memory import KindMemory, LettersWritten
from punctual.kinds.result import Result
from punctual.kinds.type_rules import common_refusals
from punctual.kinds.world_run import RowsOfRounds, WorldRun
from punctual.plan.query import Body, Query
from punctual.plan.relation import Stream
from punctual.plan.shared import Needs, Reader, RowNeeds, Unit, UnitSynopsis
from punctual.runtime.backend import QueryTypes, Question, RowTypeRequest, TypeRequest
from punctual.schedule.contract import Knob
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody, WrittenRows
from punctual.sql.parse_rows import RowsSyntax
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import Clause as ClauseSyntax
from punctual.sql.syntax.select import SelectSyntax

B = TypeVar("B", bound=Body)


class FromText(ABC):
    """How SQL becomes a query of a kind."""

    clauses: frozenset[type[ClauseSyntax]] = frozenset()
    """The types of its own clauses, besides those that every query may have."""
    without_rows: str | None = None
    """Where it is, said of what only rows could answer; None: such a SELECT is a row query."""

    def joins_windows(self, *, sampled: bool) -> bool:
        """Whether it binds joins of streams, of queries with QUALITY (``sampled``) or of others."""
        return False

    @abstractmethod
    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        """Whether a SELECT is of this kind. Kinds are asked in the order of the registry."""

    @abstractmethod
    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        """The body and outputs of a SELECT, or None with everything wrong in ``problems``."""

    def claims_rows(self, rows: RowsSyntax, streams: Sequence[Stream]) -> bool:
        """Whether a query that panes cannot answer, over these streams, is of this kind all the same."""
        return False

    def bind_rows(self, written: WrittenRows, problems: Problems) -> BoundBody | None:
        """The body and outputs of such a query, or None with everything wrong in ``problems``."""
        raise InternalError("it claims no query that is Spark's text")


class UnderLoad:
    """What gives way in queries of a kind."""

    def knob(self, query: Query) -> Knob | None:
        """What gives way under overload; None: nothing."""
        return None

    def never_sampled(self, query: Query) -> str | None:
        """Why QUALITY has no effect on a query that has it; None where it may have one."""
        return None

    def instead_of_rows(self, query: Query) -> str | None:
        """What gives way where no rows do, as a sentence; None where rows do, or nothing."""
        return None

    def draws_ahead(self, query: Query) -> bool:
        """Whether more can be drawn for an answer before it is given, the longer the better."""
        return False

    def load_kernels(self) -> None:
        """Have what its answers need in memory: where that is much, the first deadline is no time for it."""

    def drawn_by_jobs(self, query: Query) -> bool:
        """Whether jobs of the data plane draw ahead for it; else threads of the driver do, once the window was read."""
        return False

    def drawing_by_jobs(self, query: Query, at: Micros, asked: RowsOfRounds) -> Drawing:
        """The worlds of a query at an instant, of which nothing is drawn yet."""
        raise InternalError(f"no job draws for {query.name}")

    def rounds_at_first(self, query: Query, number: int) -> int:
        """In how many rounds Spark is first asked for the answer of this number, where it answers in every round."""
        raise InternalError(f"nothing is drawn for {query.name}")

    def drawing(self, query: Query, rows: Answered, at: Micros, run: WorldRun) -> Drawing:
        """The worlds of a query at an instant, from the rows of its window, ready to be drawn."""
        raise InternalError(f"nothing is drawn ahead for {query.name}")


class Described(ABC):
    """What EXPLAIN and ``check`` say of queries of a kind."""

    of_rows = "SparkSql"
    """What EXPLAIN calls such a query where it reads rows."""

    @abstractmethod
    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        """Lines of EXPLAIN: what it computes from its unit."""

    def way(self, query: Query) -> str | None:
        """How a query that reads rows is answered, where it is not Spark that answers it."""
        return None

    def describe_rows(self, query: Query) -> list[str]:
        """Lines of EXPLAIN of a query that reads rows: what is made of them."""
        return []

    def describe_synopsis(self, synopsis: UnitSynopsis) -> str:
        """A synopsis that its queries need, in EXPLAIN."""
        argument = "" if synopsis.argument is None else synopsis.argument.written
        return f"{synopsis.kind}({argument})"


class Kind(FromText, UnderLoad, Described, Generic[B]):
    """One kind of query. It has no state: what it remembers between answers is in what ``memory`` makes."""

    body: type[B]

    def body_of(self, query: Query) -> B:
        """The body of one of its queries."""
        assert isinstance(query.body, self.body)
        return query.body

    # -- planning ----------------------------------------------------------------------------------

    @abstractmethod
    def needs(self, query: Query) -> Needs | RowNeeds:
        """What it reads of cells or rows, and what its work is made of."""

    def in_order(self, query: Query) -> bool:
        """Whether an answer depends on the one before it, which is then in ``Job.last``."""
        return False

    # -- types -------------------------------------------------------------------------------------

    @abstractmethod
    def type_request(self, query: Query) -> TypeRequest | RowTypeRequest:
        """What Spark's analyzer is asked about the query."""

    def refusals(self, query: Query, types: QueryTypes) -> list[PunctualError]:
        """Everything that the query asks of values of types that cannot do it."""
        request = self.type_request(query)
        return common_refusals(request, types) if isinstance(request, TypeRequest) else []

    def with_casts(self, query: Query, types: QueryTypes) -> Query:
        """The query with the casts that Spark makes without being asked."""
        return query

    # -- answering ---------------------------------------------------------------------------------

    def alike(self, query: Query, types: QueryTypes) -> Hashable | None:
        """What queries must agree in to be answered as one; None: the query is answered by itself.

        A job stands then for all of them, one query's instants after the other's. Each has a question, with as many
        expressions of the same types, or none has.
        """
        return None

    def value_types(self, query: Query, types: QueryTypes) -> Sequence[pa.DataType]:
        """The types of what its uses of cells give, in their order."""
        return types.aggregates

    def put_together(self, job: Job, answered: Answered) -> Answered:
        """What cells gave, as rows of answers: where rows may be samples, a row has several parts at first."""
        return answered

    def question(self, job: Job, answered: Answered) -> tuple[Question, list[Clause]] | None:
        """What Catalyst must evaluate for the job, and where each expression stands; None where nothing."""
        return None

    @abstractmethod
    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        """Rows and fields of the job's answers. ``reply`` has an array for each expression of the question.

        Rows have the columns of the query, in their order; how they are called there does not matter.
        """

    def memory(self, written: LettersWritten) -> KindMemory | None:
        """What the kind remembers of answers while a program runs, if anything; ``written`` are the dead letters so
        far."""
        return None
