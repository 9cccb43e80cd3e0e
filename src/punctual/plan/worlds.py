"""A query over possible worlds: rows that Spark makes of its windows, and what is drawn and reckoned in every world.

The rows are those of a statement of ours (``RowStatement``): every certain part of the query is a column of it, and so
are identities, parameters of distributions, probabilities and rules. All else is arrays (``kinds/worlds``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.query import Body
from punctual.plan.row_query import RowStatement
from punctual.plan.uncertain import Uncertainty
from punctual.plan.world_expression import WorldExpression

WorldFunction = Literal["count", "sum", "avg", "min", "max", "value"]
"""``value`` is that of the row, where a result row is a row; the mean where several rows are one."""
Summary = Literal["EXPECTED", "PROBABILITY", "INTERVAL", "HISTOGRAM", "SAME"]
"""What is said of all worlds together; SAME of what is the same in all of them."""
Returns = Literal["DOUBLE", "BIGINT", "STRING", "BOOLEAN"]
"""What functions of Python may return."""
Comparison = Literal["<", "<=", "=", ">=", ">"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """An uncertain column of a stream of the query.

    ``columns`` are the columns of the rows that its distribution is made of: its two parameters; or its own value as it
    was read, then those that it is found BY. The value is missing where it is NULL, or where ``missing`` holds, over
    columns of the rows. ``identity`` and ``time`` are the columns that tell rows apart and say their time.
    """

    stream: str
    name: str
    law: Uncertainty
    columns: tuple[int, ...]
    identity: int
    time: int
    missing: WorldExpression | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """The rows of a stream with PROBABILITY, and perhaps RULE, by the columns that say it; and that of their time."""

    stream: str
    identity: int
    time: int
    probability: int
    rule: int | None = None


@dataclass(frozen=True, slots=True)
class Folded:
    """An aggregate in every world: of ``argument`` (None: of rows) over the rows for which ``where`` holds.

    ``stored`` says that it is over all rows that were read, whether or not they exist in a world.
    """

    function: WorldFunction
    argument: WorldExpression | None = None
    where: WorldExpression | None = None
    stored: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class PythonFunction:
    """A function that a program of Python may call where an aggregate stands: as bytes, which workers make it of.

    ``takes_present`` says whether it is told which rows are there in each world. It takes at least ``fewest`` arguments
    and at most ``most``, None: any number.
    """

    name: str
    returns: Returns
    code: bytes
    takes_present: bool
    fewest: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """A function of Python, by name, in every world: of all rows of a group at once for which ``where`` holds.

    It is told apart by its name: what it does is not part of a program. ``stored`` is as in `Folded`.
    """

    function: str
    returns: Returns
    arguments: tuple[WorldExpression, ...]
    where: WorldExpression | None = None
    stored: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Summed:
    """What is said of a world expression over all worlds; ``parameter`` is the level of INTERVAL, the n of
    HISTOGRAM."""

    summary: Summary
    of: WorldExpression
    parameter: float = 0.0
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Effort:
    """How many rounds an answer rests on: ROUNDS, or as many as CONFIDENCE within a half-width asks for.

    The half-width is ``absolute``, or a part of the value (``relative``); of both the larger counts.
    """

    rounds: int
    confidence: float | None = None
    absolute: float | None = None
    relative: float | None = None

    def at_first(self, number: int) -> int:
        """How many rounds the answer of this number of an instant has before anybody looks at what they say."""
        return self.rounds * (number + 1) if self.confidence is None else self.rounds


@dataclass(frozen=True, slots=True)
class Worlds(Body):
    """The body.

    statement : makes the rows
    range_us : how long the window is; rows from before it only help to find values
    attributes, existence : what is drawn
    where : what has to hold of a row in a world
    keys : columns of the rows by which result rows are told apart
    drawn_keys : what else they are grouped by, which differs between worlds
    grouped : whether a result row is there only in worlds in which it has rows
    aggregates : of the rows of a group in a world
    having : what has to hold of a group in a world
    summaries : what is said over all worlds; answers are expressions over keys and these
    outputs, order : the columns of answers, and what they are ordered by
    chosen : what has to hold of a result row, over keys and summaries
    likely : HAVING PROBABILITY: the operator and the number
    by_rows : whether Spark answers the query in every world: rows of the statement are result rows then, their first
        columns are the round and two remarks, how many values are marked and how many rows rejected, and aggregates put
        together what a result row has in it
    """

    statement: RowStatement
    effort: Effort
    range_us: Micros
    attributes: tuple[Attribute, ...] = ()
    existence: tuple[Existence, ...] = ()
    where: WorldExpression | None = None
    keys: tuple[int, ...] = ()
    drawn_keys: tuple[WorldExpression, ...] = ()
    grouped: bool = True
    aggregates: tuple[Folded | Called, ...] = ()
    having: WorldExpression | None = None
    summaries: tuple[Summed, ...] = ()
    outputs: tuple[WorldExpression, ...] = ()
    order: tuple[WorldExpression, ...] = ()
    chosen: WorldExpression | None = None
    likely: tuple[Comparison, float] | None = None
    by_rows: bool = False
