"""Types of row queries, by Spark's analyzer over windows without rows: no data is read and no job runs.

Each query is analysed as its author wrote it, in a session that knows the program's windows and tables and nothing
else. What Spark refuses is refused at its place; so is what Spark would take and we cannot: tables of the user's
catalog, and what gives other answers for the same rows. A plan is made too, since Spark refuses some queries only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from punctual.errors import BindError, PunctualError
from punctual.own_names import ROW_IDENTITY, own, shown
from punctual.plan.drawn_rows import DrawnRows
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowSampling, RowStatement, RowWindow, SparkText
from punctual.plan.sql_text import quoted
from punctual.runtime.analysis import PlacedText, answer_type, empty_frame
from punctual.runtime.backend import QueryTypes, RowTypeRequest, TypeReport, WindowTypes
from punctual.runtime.operators.read_window import ReadWindow
from punctual.runtime.row_queries.plan_nodes import plan_nodes, stands
from punctual.runtime.row_queries.refusals import Refusals
from punctual.runtime.row_queries.repeats import foreign_or_not_repeatable, not_repeatable_words
from punctual.runtime.row_queries.row_sampling import row_sampling, why_never
from punctual.runtime.row_queries.row_session import row_session
from punctual.runtime.row_queries.row_text import instant_text, row_text

Columns = tuple[tuple[str, pa.DataType], ...]
SHOWN_INSTANT = instant_text(0).replace("L)", ")")
"""How Spark names a column of ``now()``."""


def typecheck_rows(
    spark: SparkSession,
    relations: Sequence[Declared],
    requests: Sequence[RowTypeRequest],
    known: Sequence[Stream | Table] = (),
) -> TypeReport:
    """Check row queries; what reads a relation that is refused itself is left out."""
    every = {one.name.lower(): one for one in (*known, *(declared.relation for declared in relations))}
    windows = _Windows(row_session(spark), every)
    windows.show_tables(name for request in requests for name in request.statement.tables)
    found: dict[str, QueryTypes] = {}
    errors: list[PunctualError] = []
    for request in requests:
        try:
            types = _types(windows, request, every)
        except PunctualError as error:
            errors.append(error)
            continue
        if types is not None:
            found[request.query.name] = types
    return TypeReport(found, tuple(errors))


class _Windows:
    """Views without rows of a program's windows and tables, by what they show."""

    def __init__(self, session: SparkSession, relations: Mapping[str, Stream | Table]) -> None:
        self.session = session
        self._relations = relations
        self._views: dict[tuple[str, tuple[str, ...], DrawnRows | None], tuple[str, WindowTypes] | None] = {}

    def show_tables(self, names: Iterable[str]) -> None:
        """Let tables be seen under their own names."""
        for name in dict.fromkeys(names):
            table = self._relations[name]
            schema = self._columns(table, tuple(column.name for column in table.columns))
            if schema is not None:
                self._show(schema, table.name)

    def view(self, window: RowWindow) -> tuple[str, WindowTypes] | None:
        """The view of a window; None where its stream is refused."""
        key = (window.stream.lower(), window.columns, window.drawn)
        if key not in self._views:
            stream = self._relations[key[0]]
            assert isinstance(stream, Stream)
            name = own(f"window {len(self._views)}")
            stored = self._columns(stream, window.columns)
            types = None if stored is None else WindowTypes.of(window, _types_of(stored), stream.event_time)
            if stored is not None and types is not None:
                self._show(stored if types.drawn is None else from_arrow_schema(pa.schema(list(types.columns))), name)
            self._views[key] = None if types is None else (name, types)
        return self._views[key]

    def _columns(self, relation: Stream | Table, columns: tuple[str, ...]) -> StructType | None:
        """The columns of a relation as Spark has them; None where it is refused."""
        made = f"CAST(NULL AS BIGINT) AS {quoted(ROW_IDENTITY)}"
        selected = ", ".join(made if column == ROW_IDENTITY else quoted(column) for column in columns)
        try:
            return self.session.sql(f"SELECT {selected} FROM ({empty_frame(relation).text})").schema
        except AnalysisException:
            return None

    def _show(self, schema: StructType, name: str) -> None:
        # As rows will come: Catalyst would plan nothing at all for what it knows to be empty.
        rows = self.session.range(0, 1, 1, 1).mapInArrow(_no_rows, schema)
        rows.createOrReplaceTempView(quoted(name))


def _types_of(schema: StructType) -> Columns:
    return tuple((one.name, answer_type(one.dataType, None)) for one in schema.fields)


def _no_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(())


def _types(windows: _Windows, request: RowTypeRequest, relations: Mapping[str, Stream | Table]) -> QueryTypes | None:
    """The types of a query, None where a stream of it is refused.

    Raises
    ------
    PunctualError
        What is wrong with the query.
    """
    # Answers of a subquery are the same text, so two of them show what is wrong with all.
    statement = request.statement.since(request.query.cadence.us)
    views = [windows.view(window) for window in statement.windows]
    shown_windows = [view for view in views if view is not None]
    if len(shown_windows) < len(views):
        return None
    refusals = Refusals(request, relations)
    problem = not_repeatable_words(refusals)
    if problem is not None:
        raise problem

    def view_name(window: int) -> str:
        return shown_windows[window][0]

    # In brackets, where nothing but a query may stand: Spark runs commands while it analyses them.
    text = PlacedText().add("SELECT * FROM (").include(row_text(statement, view_name, 0)).add(")")
    try:
        frame = windows.session.sql(str(text))
    except PySparkException as refusal:
        raise refusals.of(refusal, text) from None
    problem = foreign_or_not_repeatable(frame, refusals)
    if problem is not None:
        raise problem
    fields = frame.schema.fields
    names = tuple(shown(one.name).replace(SHOWN_INSTANT, "now()") for one in fields)
    twice = next((name for i, name in enumerate(names) if name.lower() in {n.lower() for n in names[:i]}), None)
    if twice is not None:
        raise refusals.duplicate(twice)
    types = tuple(answer_type(one.dataType, refusals.place_of_output(name)) for one, name in zip(fields, names))
    prepared = _check_plan(windows.session, row_text(statement, view_name, 0, types), refusals)
    seen = tuple(types for _name, types in shown_windows)
    sampling = None if request.query.quality is None else _sampling(windows.session, request.statement, seen)
    return QueryTypes((), (), types, (), (), names=names, windows=seen, stands=prepared, sampling=sampling)


def _sampling(session: SparkSession, statement: RowStatement, windows: Sequence[WindowTypes]) -> RowSampling:
    """How the windows of a query may be samples: by its plan, in which each has its number. No order counts."""
    never = why_never(statement)
    if never is not None:
        return RowSampling(why_not=never)
    for number, types in enumerate(windows):
        rows = session.range(0, 1, 1, 1).mapInArrow(
            ReadWindow("", number, types.columns, types.event_time), from_arrow_schema(pa.schema(list(types.columns)))
        )
        rows.createOrReplaceTempView(quoted(_numbered(number)))
    frame = session.sql(str(row_text(replace(statement, order=SparkText()), _numbered, 0)))
    nodes = plan_nodes(frame._jdf.queryExecution().executedPlan())
    return row_sampling(nodes, [types.columns for types in windows])


def _numbered(window: int) -> str:
    return own(f"numbered window {window}")


def _check_plan(session: SparkSession, text: PlacedText, refusals: Refusals) -> bool:
    """Make the plan once, with the order that answers have; whether it may be run again."""
    try:
        return stands(session.sql(str(text)))
    except PySparkException as refusal:
        raise refusals.of(refusal, text) from None
    except Py4JJavaError as failure:
        said = str(failure.java_exception.getMessage() or "").split("\n")[0]
        raise BindError(
            "bind.refused-by-spark", "Spark cannot plan this query", span=refusals.query.span,
            detail=shown(said) or None,
        ) from None
