"""What a standing windowed query means, with every name resolved.

Expressions are Spark SQL text over two vocabularies:

*row expressions* (keys, arguments, opaque predicates) name the columns of the enriched row: a stream's
column ``c`` as `` `c` ``, a column ``c`` of a joined table with alias ``t`` as the one identifier `` `t.c` ``;
*answer expressions* (outputs, HAVING, ORDER BY) name group keys as `` `k0` ``, `` `k1` `` ... and aggregates as
`` `a0` ``, `` `a1` `` ..., and the instant as `` `at` `` (a timestamp).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.fingerprint import LAYOUT

Operator = Literal["<", "<=", "=", ">=", ">", "<>", "in"]
Constant = int | float | str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A declared column against constants, of a type pair that the kernel compares as Spark does.

    ``column`` is a row expression that is one column, or the truth of a condition. Integers are compared with integers
    (a fraction was rounded to the equivalent integer bound), FLOAT and DOUBLE with floats, STRING with strings by = and
    IN only. ``values`` has one constant, or several for ``in``.
    """

    column: str
    operator: Operator
    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A conjunction: opaque parts evaluated by Spark, comparisons evaluated in the kernel."""

    opaque: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            tuple(sorted({*self.opaque, *other.opaque})),
            tuple(sorted({*self.comparisons, *other.comparisons}, key=repr)),
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct of WHERE or FILTER that Spark has to judge: a row expression, and its place in the program."""

    row: str
    span: Span | None = None

    @property
    def truth(self) -> str:
        """The row expression that is 1 where the condition holds, and 0 or NULL elsewhere."""
        return f"CAST(({self.row}) AS INT)"


@dataclass(frozen=True, slots=True)
class Join:
    """Enrichment of a row by a static table: ``row_expression = table_column`` for every pair."""

    table: str
    alias: str
    how: Literal["inner", "left"]
    on: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One call of an aggregate function over a row expression.

    ``function`` is a name of ``plan.functions.FUNCTIONS``; ``argument`` is None for ``count(*)``;
    ``parameters`` are constants after the argument (percentages, accuracy), ``ignore_nulls`` is for first and last;
    ``where`` is the query's WHERE together with the call's FILTER; ``conditions`` are those of the FILTER that are in
    it by their truth; ``span`` is its place in the program.
    """

    function: str
    argument: str | None
    parameters: tuple[Constant | tuple[Constant, ...], ...] = ()
    distinct: bool = False
    ignore_nulls: bool = False
    where: Predicate = Predicate()
    conditions: tuple[Condition, ...] = field(default=(), metadata=LAYOUT)
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping expression."""

    row: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: its name and its answer expression.

    ``reference`` is ``k<i>`` or ``a<i>`` when the expression is just that.
    """

    name: str
    expression: str
    reference: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY item over an answer expression. NULL sorts as Spark does unless said."""

    expression: str
    ascending: bool
    nulls_first: bool
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Period:
    """An answer at every multiple of ``us``."""

    us: Micros


@dataclass(frozen=True, slots=True)
class Bound:
    """Answers never more than ``us`` apart; the engine chooses the instants."""

    us: Micros


Cadence = Period | Bound


@dataclass(frozen=True, slots=True)
class Top:
    """A ranking over possible worlds in place of aggregates.

    The query's one aggregate is ``top`` over a struct of the row with ``x0``, ``x1``, ... for the columns it selects;
    its outputs are these, then what the semantics says of each row. ``score`` is a row expression, ``kept`` the struct
    of what panes keep of a row besides its declared columns: ``s`` (score), ``p`` (probability), ``r`` (rule), and
    what is selected and no column. ``margin`` is that of STABLE, 0 without it.
    """

    k: int
    semantics: str
    score: str
    kept: str
    parameters: tuple[float, ...] = ()
    ascending: bool = False
    margin: float = 0.0
    score_span: Span | None = None

    @property
    def whole(self) -> bool:
        """Whether it needs every row of a window, and no ranks: it has a closed form or a walk of its own."""
        return self.semantics in ("U_TOPK", "EXPECTED_RANK", "PRFE")

    @property
    def ranks(self) -> int:
        """How many ranks of every row it has to know."""
        if self.whole:
            return 1
        return max(self.k, len(self.parameters)) if self.semantics == "PRF" else self.k


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """Aggregates over one windowed stream, or several that are united, enriched by static tables.

    ``united`` are the further streams of a UNION ALL (see :mod:`punctual.plan.united`). ``where`` is the WHERE alone
    (it decides which groups exist), ``conditions`` its opaque parts with their places. ``text`` is the statement as
    written, ``span`` its place.
    """

    name: str
    stream: str
    range_us: Micros
    cadence: Cadence
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    joins: tuple[Join, ...] = ()
    where: Predicate = Predicate()
    conditions: tuple[Condition, ...] = field(default=(), metadata=LAYOUT)
    having: str | None = None
    having_span: Span | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    deadline_us: Micros | None = None
    top: Top | None = None
    united: tuple[str, ...] = ()
    text: str = field(default="", metadata=LAYOUT)
    span: Span | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """Every stream that it reads."""
        return (self.stream, *self.united)

    @property
    def row_conditions(self) -> tuple[Condition, ...]:
        """What WHERE and FILTERs leave to Spark."""
        return (*self.conditions, *(c for aggregate in self.aggregates for c in aggregate.conditions))
