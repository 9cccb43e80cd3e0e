"""The engine as a user has it: a program in, answers out.

``Engine`` wires the rooms together and owns the loop. While the loop runs in its thread a notebook may feed rows, add
queries and read answers: what changes the program is done by the loop between two events, so nobody waits for a job.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd
import pyarrow as pa

from punctual.catalog import Catalog
from punctual.clock import SECOND, Clock, Micros, SystemClock, datetime_us
from punctual.config import Options, parse_options
from punctual.engine.core import Core
from punctual.engine.dataframe import to_pandas
from punctual.engine.explaining import explained
from punctual.engine.lifecycle import Lifecycle
from punctual.engine.loop import Loop
from punctual.engine.program.programs import Change
from punctual.engine.status import read_status
from punctual.engine.world_functions import with_world_function
from punctual.errors import BindError, FeedError, PlanError, ProgramErrors
from punctual.kinds.program import compile_program, typecheck
from punctual.kinds.registry import kind_of
from punctual.own_names import is_printable
from punctual.plan.query import Query
from punctual.plan.relation import Column, Declared, Stream, Table
from punctual.plan.source import FeedSource
from punctual.ports.answers import AnswerBlock
from punctual.ports.feeds.feed import Feed
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.landing import land
from punctual.ports.feeds.sources import feed_for
from punctual.ports.sinks.jsonl import JsonLinesSink
from punctual.ports.sinks.memory import MemorySink
from punctual.ports.sinks.sink import Sink
from punctual.ports.storage import Files, PosixFiles, absolute_folder
from punctual.runtime.backend import Backend, QueryTypes
from punctual.runtime.spark import SparkBackend
from punctual.schedule.choosing import warnings
from punctual.schedule.state import Rules
from punctual.sql.bind_uncertain import uncertain_columns
from punctual.sql.program import Program
from punctual.store.store import Store

Report = Callable[[str], None]
Written = tuple[list[Declared], list[Query], str]
BATCHES_PER_BASE = 64
"""So many batches are kept before they are compacted into a base."""


class Engine(Lifecycle):
    """A program and its answers.

    Parameters
    ----------
    state : str, optional
        Directory that keeps the program's state between runs; without it a temporary one, removed at ``close``.
    out : str, optional
        Directory for ``<query>.jsonl`` files.
    master : str, optional
        Spark's master; by default this machine.
    options : mapping, optional
        Options as in ``SET``; they win over the program's.
    base : str, optional
        Directory that relative paths of the program start from; by default the working directory.

    Examples
    --------
    >>> import punctual
    >>> with punctual.connect() as engine:  # doctest: +SKIP
    ...     engine.sql("CREATE STREAM gps (t TIMESTAMP EVENT TIME, speed DOUBLE) FROM FEED")
    ...     engine.sql("CREATE QUERY fast AS SELECT max(speed) FROM gps [RANGE 1 MINUTE] PERIOD 10 SECONDS")
    ...     engine.start()
    ...     engine.feed("gps", [{"t": "2026-01-01T00:00:00Z", "speed": 3.5}])
    """

    def __init__(
        self,
        state: str | None = None,
        out: str | None = None,
        master: str | None = None,
        options: Mapping[str, str] | None = None,
        base: str | None = None,
        *,
        live: bool = True,
        speed: float | None = None,
        clock: Clock | None = None,
        backend: Callable[[], Backend] | None = None,
        files: Files | None = None,
        report: Report | None = None,
    ) -> None:
        folder = absolute_folder(state) if state is not None else None
        make_backend = backend or partial(SparkBackend, master)
        super().__init__(folder, clock or SystemClock(), files or PosixFiles(), make_backend)
        self._out = absolute_folder(out) if out is not None else None
        self._options = dict(options or {})
        self._base = os.path.abspath(base or os.getcwd())
        self._live = live
        self._speed = speed
        self._report = report or (lambda message: None)
        self._catalog = Catalog()
        self._written: list[Written] = []
        """What each text declared: its errors are shown in its own words."""
        self._types: dict[str, QueryTypes] = {}
        self._cast: dict[str, tuple[Query, Query]] = {}
        self._frames: dict[str, Any] = {}
        self._landings: dict[str, Any] = {}
        self._sinks: dict[str, Sink] = {}
        self._all_sinks: dict[str, Sink] = {}
        self._listeners: list[Callable[[list[AnswerBlock]], None]] = []
        self._feeds: dict[str, Feed] = {}

    # -- the program -------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """The names of the program as it stands."""
        return self._catalog

    def sql(self, text: str) -> Program:
        """Run statements. Either all of them take effect or none; every error is raised at once.

        Sources are looked at when the engine is open, or else when it opens. Raises what ended the loop, if anything
        did.
        """
        with self._mutex:
            self._raise_problem()
            program = compile_program(text, self._catalog, base=self._base)
            self._adopt(program.catalog, program.declarations, text)
            return program

    def explain(self, text: str) -> str:
        """What EXPLAIN statements say by what this engine has learned of costs; nothing takes effect.

        ``text`` may create queries before it explains them: ``CREATE QUERY q AS ...; EXPLAIN q``.
        """
        with self._mutex:
            self._raise_problem()
            program = compile_program(text, self._catalog, base=self._base)
            options = parse_options({**program.catalog.options, **self._options})
            return explained(None if self._loop is None else self._loop.core, program, options, text)

    def _adopt(self, catalog: Catalog, declared: list[Declared], text: str) -> None:
        options = parse_options({**catalog.options, **self._options})
        new = [query for name, query in catalog.queries.items() if self._catalog.queries.get(name) is not query]
        if self._loop is not None:
            feeds = self._typecheck(self._loop.core, catalog, options, declared, new, text)
            change = Change(self._with_casts(catalog), dict(self._types), options, feeds)
            with _placing([*self._written, (declared, new, text)]):
                self._have_done(partial(self._loop.change, change))
            self._feeds |= feeds
        self._catalog = catalog
        self._written.append((declared, new, text))

    def _typecheck(
        self,
        core: Core,
        catalog: Catalog,
        options: Options,
        declared: list[Declared],
        queries: list[Query],
        text: str,
    ) -> dict[str, Feed]:
        """Ask the data plane about what is new, look at new sources and read new tables.

        All that is wrong is raised, placed in the text.
        """
        new = {one.relation.name.lower() for one in declared}
        relations: list[Stream | Table] = [*catalog.streams.values(), *catalog.tables.values()]
        known = [relation for relation in relations if relation.name.lower() not in new]
        report = typecheck(core.backend, declared, queries, known)
        errors = list(report.errors)
        feeds: dict[str, Feed] = {}
        for one in declared:
            if isinstance(one.relation, Stream):
                name = one.relation.name.lower()
                try:
                    folder = core.store.feed_folder(name)
                    feeds[name] = feed_for(one.relation, options, folder, live=self._live)
                    feeds[name].look(self._clock.now())
                except FeedError as error:
                    error.span = one.span
                    errors.append(error)
        if not errors:
            tables = [(one.relation, one.span) for one in declared if isinstance(one.relation, Table)]
            errors += core.programs.tables.declare(tables)
        if errors:
            raise ProgramErrors(errors, text)
        self._types |= report.queries
        return feeds

    def _with_casts(self, catalog: Catalog) -> Catalog:
        """The catalog with each query as it runs: arguments are cast where Spark would cast them; each query once."""
        queries = {}
        for name, query in catalog.queries.items():
            known = self._cast.get(name)
            if known is None or known[0] is not query:
                known = self._cast[name] = (query, kind_of(query).with_casts(query, self._types[query.name]))
            queries[name] = known[1]
        return replace(catalog, queries=MappingProxyType(queries))

    def stream(
        self,
        name: str,
        frame: Any,
        *,
        event_time: str,
        watermark: Micros = 0,
        key: str | None = None,
        probability: str | None = None,
        rule: str | None = None,
        uncertain: Mapping[str, str] | None = None,
    ) -> None:
        """Make any streaming DataFrame a stream: it is landed as files by a streaming query of its own.

        Before ``start`` it is part of the program from the beginning, so a resumed program finds its queries as they
        were; afterwards it is a stream that was added later.

        ``uncertain`` has what CREATE STREAM would have after ``~``, by column: ``{"kmh": "NORMAL(kmh, sd)"}``. A name
        that the frame does not have becomes a column, if its distribution is made of others (``{"wait": "UNIFORM(lo,
        hi)"}``): a DOUBLE, or what the values of DISCRETE are. A column of the frame that is no parameter of its own
        distribution is not read.
        """
        with self._mutex:
            self._raise_problem()
            columns = tuple(Column(f.name, f.dataType.simpleString().upper()) for f in frame.schema.fields)
            for given in (name, *(column.name for column in columns), *(uncertain or {})):
                if not is_printable(given):
                    raise BindError("parse.bad-name", f"the name {given!r} has control characters")
            if self._catalog.kind_of(name) is not None:
                raise BindError("bind.duplicate-name", f'the name "{name}" is taken')
            keys = (key,) if key is not None else ()
            roles = {event_time: "EVENT TIME", key: "KEY", probability: "PROBABILITY", rule: "RULE"}
            named = {column: role for column, role in roles.items() if column is not None}
            columns = uncertain_columns(columns, named, uncertain or {})
            stream = Stream(name, columns, event_time, watermark, FeedSource(), keys, probability, rule)
            if stream.column(event_time) is None:
                raise BindError("bind.unknown-column", f'stream "{name}" has no column "{event_time}"')
            self._adopt(self._catalog.with_stream(stream), [Declared(stream)], "")
            self._frames[name] = frame
            if self._loop is not None:
                self._land(self._loop.core, name)

    def _land(self, core: Core, name: str) -> None:
        checkpoint = os.path.join(core.store.directory, "landing", name.lower())
        self._landings[name] = land(self._frames[name], core.store.feed_folder(name.lower()), checkpoint)

    def world_function(self, name: str, function: Callable[..., Any], returns: str) -> None:
        """Let queries over uncertain attributes call a function of Python where an aggregate may stand.

        It gets an array of rows by worlds for each argument, and returns a value of type ``returns`` (DOUBLE, BIGINT,
        STRING or BOOLEAN) for each world; ``docs/worlds.md`` says more. Queries come after it, also in a resumed run.
        """
        with self._mutex:
            self._catalog = with_world_function(self._catalog, name, function, returns)

    def feed(self, name: str, rows: Any) -> None:
        """Give rows to a stream FROM FEED: dicts, tuples in declared order, a pandas DataFrame or an Arrow table.

        They are durable when this returns, and counted in the next batch. Raises what ended the loop, if anything did.
        """
        with self._mutex:
            self._raise_problem()
            self._opened()
            stream = self._catalog.streams.get(name.lower())
            if stream is None or not isinstance(stream.source, FeedSource):
                raise BindError(
                    "bind.unknown-stream",
                    f'there is no stream "{name}" that is fed from Python',
                    hint=f"declare it first: CREATE STREAM {name} (...) FROM FEED",
                )
            feed = self._feeds[name.lower()]
            assert isinstance(feed, LandedFeed)
            feed.put(rows, self._clock.now())

    # -- running -----------------------------------------------------------------------------------

    def _recovered(self, store: Store, backend: Backend) -> Loop:
        options = parse_options({**self._catalog.options, **self._options})
        paced = self._speed is not None
        core = Core(backend, store, options, self._clock, self._report, timed=self._live or paced, paced=paced)
        core.delivery.listeners += self._listeners
        core.delivery.sinks |= self._all_sinks
        running = set(map(id, self._catalog.queries.values()))
        feeds: dict[str, Feed] = {}
        for declared, queries, text in self._written:
            still = [query for query in queries if id(query) in running]
            feeds |= self._typecheck(core, self._catalog, options, declared, still, text)
        change = Change(self._with_casts(self._catalog), dict(self._types), options, feeds)
        with _placing(self._written):
            planned = core.accept(change)
        core.install(change, planned)()
        self._feeds |= feeds
        state = core.recover(self._rules(options, backend.cores))
        return Loop(core, self._clock, state, lambda _report: None, self._watch_landings)

    def _rules(self, options: Options, cores: float) -> Rules:
        timed = self._live or self._speed is not None
        rules = Rules(timed=timed, speed=self._speed, cores=cores, batches_per_base=BATCHES_PER_BASE)
        return rules.with_options(options)

    def _before_backend(self, store: Store) -> None:
        self._all_sinks = {**self._out_sink(store), **self._sinks}

    def _opened_loop(self, loop: Loop) -> None:
        for name in self._frames:
            self._land(loop.core, name)

    def _before_close(self) -> None:
        for landing in self._landings.values():
            with contextlib.suppress(Exception):
                landing.stop()
        self._landings = {}

    def _out_sink(self, store: Store) -> dict[str, Sink]:
        if self._out is None:
            return {}
        sink = JsonLinesSink(self._files, self._out, state=None if self._state is None else store.identity.id)
        sink.prepare()  # before a JVM starts: a folder that cannot be used is said at once
        return {"jsonl": sink}

    def add_sink(self, name: str, sink: Sink) -> None:
        """Deliver answers to a sink of one's own; before ``open``."""
        self._sinks[name] = sink

    def listen(self, listener: Callable[[list[AnswerBlock]], None]) -> None:
        """Call with every block of answers as it is made; before ``open``."""
        self._listeners.append(listener)

    def _watch_landings(self) -> None:
        """A foreign stream that failed ends alone; its rows so far stay."""
        for name, landing in list(self._landings.items()):
            if not landing.isActive:
                del self._landings[name]
                self._report(f'stream "{name}" has ended: {landing.exception() or "its source has no more rows"}')

    # -- answers -----------------------------------------------------------------------------------

    def records(self) -> Iterator[AnswerBlock]:
        """Every answer that the log still holds, oldest first; also when the loop has ended."""
        return iter(list(self._opened().core.delivery.records()))

    def answers(self, query: str) -> pd.DataFrame:
        """The answers of a query as a DataFrame: a row for each row of each answer.

        Raises what ended the loop, if anything did, so that who polls for an answer learns that none will come;
        ``records`` still gives what was answered.
        """
        self._raise_problem()
        name = self._query(query).name
        sink = MemorySink()
        for position, block in enumerate(self.records(), start=1):
            if block.query.lower() == name.lower():
                sink.write(position, [block])
        frame = sink.frame(name)
        return pd.DataFrame() if frame is None else to_pandas(frame)

    def _query(self, name: str) -> Query:
        found = self._catalog.queries.get(name.lower())
        if found is None:
            raise BindError("bind.unknown-query", f'there is no query "{name}"')
        return found

    def cancel(self, query: str, at: Micros | datetime | None = None) -> int:
        """End what remains of a query's open instants, or of one of them: answers that did not come yet never come.

        Only queries with ANSWERS have such; instants that are released later are answered as ever. It is durable when
        this returns, also for what is being answered just now. Returns how many instants were ended. ``at`` is an
        instant as answers have it: a datetime (UTC where it names no zone), or microseconds since 1970.
        """
        with self._mutex:
            self._raise_problem()
            loop, name = self._opened(), self._query(query).name
            instant = datetime_us(at) if isinstance(at, datetime) else at
            count: int = self._have_done(partial(loop.cancel, name, instant))
            return count

    def status(self) -> dict[str, Any]:
        """How far it has come: what ``punctual status`` says, what waits to be read, and what is still to be answered.

        It never waits for a job. Raises what ended the loop, if anything did.
        """
        self._raise_problem()
        loop = self._opened()
        return {
            **read_status(loop.core.store.directory, self._have_done(loop.core.ledger.unsealed)),
            "running": self._runs,
            "lag_seconds": loop.lag_us / SECOND,
            "load": loop.load,
            "open_answers": loop.state.firings.most,
            "level": loop.state.level,
            "warnings": list(warnings(loop.state).values()),
            "waiting": {name: asdict(backlog) for name, backlog in loop.core.ingest.waiting.items()},
        }

    def ledger(self) -> pd.DataFrame:
        """What every batch and every answer used, oldest first, as far as it is kept; a row for each.

        It has what ``punctual ledger`` prints, and what is not in a file yet. Raises what ended the loop, if anything
        did.
        """
        self._raise_problem()
        core = self._opened().core
        names, unsealed = self._have_done(lambda: (core.store.ledger.names(), core.ledger.unsealed()))
        return to_pandas(pa.concat_tables([*core.store.ledger.read(names), unsealed]))

    def stopped(self) -> frozenset[str]:
        """Queries that failed and no longer run; ``status`` says why."""
        return self._opened().core.programs.stopped()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


@contextlib.contextmanager
def _placing(written: Sequence[Written]) -> Iterator[None]:
    """What cannot be planned is shown in the text that has its query."""
    try:
        yield
    except PlanError as error:
        newest_first = ((query.name, text) for _declared, queries, text in reversed(written) for query in queries)
        text = next((text for name, text in newest_first if name == error.query), None)
        raise ProgramErrors([error], text) from None


def connect(state: str | None = None, **arguments: Any) -> Engine:
    """An engine, not yet started: ``sql``, ``feed``, ``start``, ``answers``, ``stop``."""
    return Engine(state, **arguments)
