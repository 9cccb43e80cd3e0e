"""The shared plan: what all standing queries need from rows, each thing once.

A *unit* is one way to cut a stream's rows: its enrichment, the opaque part of WHERE, the group keys, and the columns
that queries compare with constants. All queries that agree on these read the same cells, whatever their windows,
thresholds and functions. A *reader* is a query seen from its unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.fingerprint import fingerprint
from punctual.plan.functions import SynopsisKind
from punctual.plan.query import Query
from punctual.plan.row_query import RowStatement, RowWindow
from punctual.plan.rows import Comparison, Constant, GroupedRows, Join, Predicate

Parameter = Constant | tuple[Constant, ...]
Conditions = tuple[tuple[Comparison, ...], ...]
"""One conjunction of comparisons for each band of a unit."""


@dataclass(frozen=True, slots=True)
class UnitSynopsis:
    """What a unit keeps of one row expression."""

    kind: SynopsisKind
    argument: Expression | None
    parameters: tuple[int | None, ...] = ()
    ignore_nulls: bool = False


ROWS = UnitSynopsis("rows", None)
"""How many rows there are: every unit keeps it first."""


@dataclass(frozen=True, slots=True)
class NeededUse:
    """A function over a synopsis of the rows that a predicate selects; ``span`` is its place in the program."""

    function: str
    synopsis: UnitSynopsis
    parameters: tuple[Parameter, ...]
    where: Predicate
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Walk:
    """Work that queries over the same window have in common: one walk, as long as the longest of them needs.

    key : what walks have to agree on to be one
    steps : how far this query's walk goes
    execution_steps, answer_steps : what an execution costs besides its walk, and an answer, as so many steps
    counted_in : what a step is called, in the plural
    """

    key: str
    steps: int
    execution_steps: int
    answer_steps: int
    counted_in: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What a query reads of cells: rows in groups, and uses of synopses of them.

    Windows over the same rows share the merging of panes. A query that shares a ``walk`` over a window says so.
    ``sampled`` says whether the rows may be samples: then the query can make use of what a row stands for.
    """

    rows: GroupedRows
    uses: tuple[NeededUse, ...]
    walk: Walk | None = None
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class RowNeeds:
    """What a query reads of rows: what is to be answered over windows of streams."""

    statement: RowStatement | AggregatedRows


@dataclass(frozen=True, slots=True)
class BandColumn:
    """A row expression that queries compare with constants, and those constants, sorted."""

    column: Expression
    kind: Literal["number", "label"]
    cuts: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One shared way to reduce a stream's rows to cells."""

    stream: str
    joins: tuple[Join, ...]
    mask: tuple[Expression, ...]
    keys: tuple[Expression, ...]
    bands: tuple[BandColumn, ...]
    synopses: tuple[UnitSynopsis, ...]
    windows: tuple[tuple[Micros, Micros], ...]
    """Pairs (range, step) of the windows that read the unit, sorted: every instant is a multiple of its step."""
    owner: str = ""
    """The one query that reads it, where sharing is off."""
    united: tuple[str, ...] = ()
    """The further streams whose rows it reduces with the first one's."""
    sampled: bool = False
    """Whether rows may be samples: then what a row stands for is one more key of its cells, the last one."""
    parted: bool = False
    """Whether the parts of a sample have cells of their own. The error of what is computed of estimates needs them."""
    drawn_apart: tuple[str, ...] = ()
    """The joined windows, by alias, whose samples are drawn apart: what their rows stand for are further such keys."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Every stream whose rows it reduces."""
        return (self.stream, *self.united)

    @property
    def identity(self) -> str:
        """What does not change when queries with other windows, thresholds or functions come and go."""
        bands = tuple((band.column, band.kind) for band in self.bands)
        marked = ("sampled", *self.drawn_apart) if self.sampled else ()
        marked += ("parted",) if self.parted else ()
        return fingerprint(self.stream, self.joins, self.mask, self.keys, bands, self.owner, self.united, *marked)

    @property
    def fingerprint(self) -> str:
        """Everything that decides what a cell of the unit holds."""
        return fingerprint(self)


@dataclass(frozen=True, slots=True)
class Use:
    """One function that a query uses: the synopsis it reads and which bands of it."""

    function: str
    synopsis: int
    parameters: tuple[Parameter, ...]
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Reader:
    """A query as its unit sees it. All instants that it may answer are multiples of ``step``."""

    query: Query
    unit: int
    step: Micros
    where: Conditions
    uses: tuple[Use, ...]
    walk: Walk | None = None


@dataclass(frozen=True, slots=True)
class AggregatedRows:
    """Aggregates that are answered from the retained rows of windows: no cells are kept of them.

    ``unit`` is how the rows of a window are reduced when it is answered: the unit that the query has for itself, and
    ``reader`` reads it. Time is counted from the instant, so every window of the query is the one pane
    ``(-range_us, 0]``. ``summed`` are, of each window, columns that are added up, where rows may be samples: a sum over
    a heavy tail rests on few rows, so those of the largest values are in every sample. Of a join the first window is
    the one whose rows are enriched by those of the others; ``names`` are what FROM calls them, and ``by`` has the
    columns of each by which samples of all of them are drawn together, where they are.
    """

    unit: Unit
    reader: Reader
    windows: tuple[RowWindow, ...]
    summed: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()
    by: tuple[tuple[str, ...], ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The static tables that it is joined with, in lower case."""
        return tuple(dict.fromkeys(join.table.lower() for join in self.unit.joins if not join.windowed))


@dataclass(frozen=True, slots=True)
class RowReader:
    """A query that reads rows. All instants that it may answer are multiples of ``step``."""

    query: Query
    step: Micros
    statement: RowStatement | AggregatedRows

    @property
    def windows(self) -> tuple[RowWindow, ...]:
        return self.statement.windows


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """All units and all readers; readers in the order of the program's queries."""

    units: tuple[Unit, ...] = ()
    readers: tuple[Reader, ...] = ()
    row_readers: tuple[RowReader, ...] = ()

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries of all readers."""
        return (*(reader.query for reader in self.readers), *(reader.query for reader in self.row_readers))

    def row_windows(self, stream: str) -> list[tuple[RowReader, RowWindow]]:
        """The windows over the rows of a stream, by its name in lower case."""
        return [
            (reader, window)
            for reader in self.row_readers
            for window in reader.windows
            if window.stream.lower() == stream
        ]

    def readers_of(self, unit: int) -> tuple[Reader, ...]:
        return tuple(reader for reader in self.readers if reader.unit == unit)
