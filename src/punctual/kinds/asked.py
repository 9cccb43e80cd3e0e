"""What a query asks of the cells, pass after pass, and which queries are answered as one.

It follows from the query and its types, so it is worked out once and not for every answer. Queries that ask the same
have the very same objects, and those that are answered as one are arrays.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.quality_curve import curve_of
from punctual.kernel.panes import spec as kernel
from punctual.kernel.panes.answers import call_shape
from punctual.kinds.kind import Kind
from punctual.kinds.registry import kind_of
from punctual.plan.shared import AggregatedRows, Conditions, Reader, RowReader
from punctual.runtime.backend import QueryTypes

I64 = NDArray[np.int64]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What does not change from one job of a query to the next.

    ``family`` numbers what queries that are answered as one have in common; None: this one is answered by itself.
    ``columns`` numbers the names of its columns, ``execution`` is how names of its executions begin. ``begins`` says
    whether its windows have a beginning: those by rows have none. ``best`` is the quality of an answer that rests on
    all rows.
    """

    reader: Reader | RowReader
    types: QueryTypes
    kind: Kind[Any]
    family: int | None
    where: kernel.Selection
    calls: tuple[kernel.Call, ...]
    range_us: Micros
    columns: int
    execution: str
    begins: bool = True
    best: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class AskedTogether:
    """What queries of one unit that are answered as one ask, as arrays with an entry for each.

    ``places`` are those of the queries in the program; ``columns`` numbers the names of their columns (``names_of``);
    answers are complete where the window begins at ``covered_from`` or later; ``deadlines`` are by the number of the
    answer, and null where there are none. ``readers`` are what the kernel is asked, but for the instants. ``work`` is
    what an answer of each is expected to cost, in proportion to the others.
    """

    asked: tuple[Asked, ...]
    places: I64
    after: I64
    covered_from: I64
    work: NDArray[np.float64]
    queries: NDArray[np.object_] = field(init=False)
    columns: I64 = field(init=False)
    deadlines: tuple[pa.Array, ...] = field(init=False)
    begins: NDArray[np.bool_] = field(init=False)
    best: NDArray[np.float64] = field(init=False)
    readers: kernel.Readers = field(init=False)

    def __post_init__(self) -> None:
        asked = self.asked
        queries = np.array([one.reader.query.name for one in asked], np.object_)
        wheres, where = _numbered([one.where for one in asked])
        calls, call = _numbered([one.calls for one in asked])
        ranges = np.array([one.range_us for one in asked], np.int64)
        readers = kernel.Readers(wheres, where, ranges, calls, call, np.zeros(0, np.int64))
        object.__setattr__(self, "queries", queries)
        object.__setattr__(self, "columns", np.array([one.columns for one in asked], np.int64))
        # Queries that are due together agree on how many answers an instant has.
        due = zip(*(one.reader.query.due_us for one in asked))
        object.__setattr__(self, "deadlines", tuple(pa.array(each, pa.int64()) for each in due))
        object.__setattr__(self, "begins", np.array([one.begins for one in asked], np.bool_))
        object.__setattr__(self, "best", np.array([one.best for one in asked], np.float64))
        object.__setattr__(self, "readers", readers)

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def family(self) -> int | None:
        return self.asked[0].family

    @property
    def unit(self) -> int | None:
        """The unit that they read; None where they read rows."""
        reader = self.asked[0].reader
        return reader.unit if isinstance(reader, Reader) else None

    @property
    def execution(self) -> str:
        """How names of their executions begin."""
        return self.asked[0].execution

    def only(self, members: Sequence[int]) -> AskedTogether:
        """Some of them."""
        some = np.array(members, np.int64)
        chosen = tuple(self.asked[n] for n in members)
        return AskedTogether(chosen, self.places[some], self.after[some], self.covered_from[some], self.work[some])


def names_of(columns: int) -> tuple[str, ...]:
    """Names of columns by their number."""
    return _NAMES[columns]


def asked(reader: Reader | RowReader, types: QueryTypes, setting: float | None) -> Asked:
    """What a query asks; the same object as long as its reader and types are the same."""
    which = id(reader.query), setting  # plans come and go, and what was known for an older one makes room
    known = _KNOWN.get(which)
    if known is None or known.reader is not reader or known.types is not types:
        if len(_KNOWN) >= MAX_KNOWN:
            _KNOWN.clear()
            _SAME.clear()
        known = _KNOWN[which] = _made(reader, types, setting)
    return known


def form(asked: Asked) -> Hashable:
    """What queries of one unit agree on that are answered as one; each that is answered by itself has its own."""
    if asked.family is None:
        return id(asked)
    unit = asked.reader.unit if isinstance(asked.reader, Reader) else None
    return asked.family, unit, asked.execution, call_shape(asked.calls)


def _made(reader: Reader | RowReader, types: QueryTypes, setting: float | None) -> Asked:
    query, kind, of_cells = reader.query, kind_of(reader.query), _reader_of_cells(reader)
    alike = kind.alike(query, types)
    turned = setting is not None and kind.knob(query) is not None
    parameter = (setting,) if turned else ()  # a knob's setting is the last parameter of every call
    value_types = kind.value_types(query, types)
    calls = tuple(
        kernel.Call(use.function, use.synopsis, use.parameters + parameter, _selection(use.conditions), data_type)
        for use, data_type in zip(() if of_cells is None else of_cells.uses, value_types)
    )
    names = tuple(output.name for output in query.outputs)
    if names not in _COLUMNS:
        _COLUMNS[names] = len(_NAMES)
        _NAMES.append(names)
    return Asked(
        reader,
        types,
        kind,
        None if alike is None else _FAMILIES.setdefault((kind.body, alike), len(_FAMILIES)),
        _selection(() if of_cells is None else of_cells.where),
        _same(calls),
        query.range_us,
        _COLUMNS[names],
        f"{'+'.join(query.streams)}/",
        begins=isinstance(reader, Reader) or any(window.range_us is not None for window in reader.windows),
        best=1.0 if query.quality is None else curve_of(query.quality).quality(1.0),
    )


def _reader_of_cells(reader: Reader | RowReader) -> Reader | None:
    """Who reads cells, be they kept or made of rows when they are asked for; None: nobody does."""
    if isinstance(reader, Reader):
        return reader
    return reader.statement.reader if isinstance(reader.statement, AggregatedRows) else None


def _numbered(values: Sequence[T]) -> tuple[tuple[T, ...], I64]:
    """The different ones, and for each its place among them. Equal ones are the very same object."""
    place: dict[int, int] = {}
    numbers = np.array([place.setdefault(id(value), len(place)) for value in values], np.int64)
    return tuple({id(value): value for value in values}.values()), numbers


def _selection(conditions: Conditions) -> kernel.Selection:
    return _same(tuple(
        tuple(kernel.Comparison(comparison.operator, comparison.values) for comparison in conjunction)
        for conjunction in conditions
    ))  # fmt: skip


def _same(value: T) -> T:
    """The first object that is equal to this one."""
    found: T = _SAME.setdefault(value, value)
    return found


MAX_KNOWN = 16_384
_KNOWN: dict[tuple[int, float | None], Asked] = {}
"""By the identity of the objects: even a hash of a query looks at all of it."""
_SAME: dict[Any, Any] = {}
_FAMILIES: dict[Hashable, int] = {}
"""Numbers are never given twice; there are as many as there are forms of queries."""
_COLUMNS: dict[tuple[str, ...], int] = {}
_NAMES: list[tuple[str, ...]] = []
"""Names of columns by number; those of queries that are gone stay."""
