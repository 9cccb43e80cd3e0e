"""The engine as a user has it: a program in, answers out.

``Engine`` wires the rooms together and owns the loop. Everything that touches the core runs under one lock, so a
notebook may feed rows, add queries and read answers while the loop runs in its thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from punctual.catalog import Catalog
from punctual.clock import Clock, Micros, SystemClock
from punctual.config import Options, parse_options
from punctual.engine.core import Core, Settled
from punctual.engine.loop import Loop
from punctual.errors import BindError, FeedError, ProgramErrors, PunctualError, RunError
from punctual.own_names import is_printable
from punctual.plan.query import WindowQuery
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
from punctual.runtime.type_rules import with_casts
from punctual.sql.program import Program, compile_program
from punctual.store.lock import StateLock
from punctual.store.store import Store

Report = Callable[[str], None]


class Engine:
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
        self._state = absolute_folder(state) if state is not None else None
        self._out = absolute_folder(out) if out is not None else None
        self._options = dict(options or {})
        self._base = os.path.abspath(base or os.getcwd())
        self._live = live
        self._speed = speed
        self._clock = clock or SystemClock()
        self._make_backend = backend or partial(SparkBackend, master)
        self._files = files or PosixFiles()
        self._report = report or (lambda message: None)
        self._catalog = Catalog()
        self._written: list[tuple[list[Declared], list[WindowQuery], str]] = []
        """What each text declared: its errors are shown in its own words."""
        self._types: dict[str, QueryTypes] = {}
        self._temporary: str | None = None
        self._lock: StateLock | None = None
        self._core: Core | None = None
        self._backend: Backend | None = None
        self._frames: dict[str, Any] = {}
        self._landings: dict[str, Any] = {}
        self._mutex = threading.RLock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._problem: BaseException | None = None
        self._sinks: dict[str, Sink] = {}
        self._listeners: list[Callable[[list[AnswerBlock]], None]] = []

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

    def _adopt(self, catalog: Catalog, declared: list[Declared], text: str) -> None:
        parse_options({**catalog.options, **self._options})
        new = [query for name, query in catalog.queries.items() if self._catalog.queries.get(name) is not query]
        if self._core is not None:
            options = parse_options({**catalog.options, **self._options})
            self._install(catalog, options, self._judge(catalog, options, declared, new, text))
        self._catalog = catalog
        self._written.append((declared, new, text))

    def _judge(
        self, catalog: Catalog, options: Options, declared: list[Declared], queries: list[WindowQuery], text: str
    ) -> dict[str, Feed]:
        """Ask the data plane about what is new and look at new sources; raise all that is wrong, placed in the text."""
        assert self._backend is not None
        assert self._core is not None
        new = {one.relation.name.lower() for one in declared}
        relations: list[Stream | Table] = [*catalog.streams.values(), *catalog.tables.values()]
        known = [relation for relation in relations if relation.name.lower() not in new]
        judged = self._backend.judge(declared, queries, known)
        errors = list(judged.errors)
        feeds: dict[str, Feed] = {}
        for one in declared:
            if isinstance(one.relation, Stream):
                name = one.relation.name.lower()
                try:
                    folder = self._core.store.feed_folder(name)
                    feeds[name] = feed_for(one.relation, options, folder, live=self._live)
                    feeds[name].look(self._clock.now())
                except FeedError as error:
                    error.span = one.span
                    errors.append(error)
        if errors:
            raise ProgramErrors(errors, text)
        self._types |= judged.queries
        return feeds

    def _install(self, catalog: Catalog, options: Options, feeds: Mapping[str, Feed]) -> None:
        core = self._core
        assert core is not None
        core.tables.declare(catalog.tables)
        former, core.options = core.options, options
        try:
            core.install(core.stand(_with_casts(catalog, self._types), self._types), feeds)
        except PunctualError:
            core.options = former
            raise

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
    ) -> None:
        """Make any streaming DataFrame a stream: it is landed as files by a streaming query of its own.

        Before ``start`` it is part of the program from the beginning, so a resumed program finds its queries as they
        were; afterwards it is a stream that was added later.
        """
        with self._mutex:
            self._raise_problem()
            columns = tuple(Column(f.name, f.dataType.simpleString().upper()) for f in frame.schema.fields)
            for given in (name, *(column.name for column in columns)):
                if not is_printable(given):
                    raise BindError("parse.bad-name", f"the name {given!r} has control characters")
            if self._catalog.kind_of(name) is not None:
                raise BindError("bind.duplicate-name", f'the name "{name}" is taken')
            keys = (key,) if key is not None else ()
            stream = Stream(name, columns, event_time, watermark, FeedSource(), keys, probability, rule)
            if stream.column(event_time) is None:
                raise BindError("bind.unknown-column", f'stream "{name}" has no column "{event_time}"')
            self._adopt(self._catalog.with_stream(stream), [Declared(stream)], "")
            self._frames[name] = frame
            if self._core is not None:
                self._land(self._core, name)

    def _land(self, core: Core, name: str) -> None:
        checkpoint = os.path.join(core.store.directory, "landing", name.lower())
        self._landings[name] = land(self._frames[name], core.store.feed_folder(name.lower()), checkpoint)

    def feed(self, name: str, rows: Any) -> None:
        """Give rows to a stream FROM FEED: dicts, tuples in declared order, a pandas DataFrame or an Arrow table.

        They are durable when this returns, and counted in the next batch. Raises what ended the loop, if anything did.
        """
        with self._mutex:
            self._raise_problem()
            core = self._opened()
            stream = self._catalog.streams.get(name.lower())
            if stream is None or not isinstance(stream.source, FeedSource):
                raise BindError(
                    "bind.unknown-stream",
                    f'there is no stream "{name}" that is fed from Python',
                    hint=f"declare it first: CREATE STREAM {name} (...) FROM FEED",
                )
            feed = core.sources.feeds[name.lower()]
            assert isinstance(feed, LandedFeed)
            feed.put(rows, self._clock.now())

    # -- running -----------------------------------------------------------------------------------

    def open(self) -> None:
        """Take the state, start the data plane, recover; nothing runs by itself yet."""
        with self._mutex:
            if self._core is not None:
                return
            directory = self._state
            if directory is None:
                directory = self._temporary = tempfile.mkdtemp(prefix="punctual-")
            self._lock = StateLock.acquire(directory, self._files, self._clock)
            try:
                store = Store.open(directory, self._files, identity=secrets.token_hex(8))
                sinks = {**self._out_sink(store), **self._sinks}
                backend = self._backend = self._make_backend()
                pid = backend.pid()
                if pid is not None:
                    self._lock.record_jvm(pid)
                options = parse_options({**self._catalog.options, **self._options})
                judged = self._live or self._speed is not None
                core = Core(backend, store, options, self._clock, judged=judged, report=self._report)
                core.delivery.listeners += self._listeners
                core.delivery.sinks |= sinks
                self._core = core
                standing = set(map(id, self._catalog.queries.values()))
                feeds: dict[str, Feed] = {}
                for declared, queries, text in self._written:
                    still = [q for q in queries if id(q) in standing]
                    feeds |= self._judge(self._catalog, options, declared, still, text)
                self._install(self._catalog, options, feeds)
                core.recover()
                for name in self._frames:
                    self._land(core, name)
            except BaseException:
                self._release()
                raise

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

    def tick(self, *, limit: int | None = None) -> Settled | None:
        """One batch, if there is anything to read, and its answers."""
        with self._mutex:
            return self._opened().tick(limit=limit)

    def advance(self, through: Mapping[str, Micros]) -> Settled | None:
        """Let streams be complete through these instants without new rows."""
        with self._mutex:
            return self._opened().advance({name.lower(): at for name, at in through.items()})

    def end(self) -> Settled | None:
        """There are no more rows: answer every instant up to the largest event time."""
        with self._mutex:
            core = self._opened()
            return core.advance(core.end_of_input())

    def run_once(self, progress: Callable[[Settled], None] | None = None) -> None:
        """Read what is there to its end and answer all that is due."""
        self.open()
        self._loop(progress).once(self._speed)

    def start(self) -> None:
        """Run in a thread until ``stop``."""
        self.open()
        self._stopping.clear()
        self._problem = None
        self._thread = threading.Thread(target=self._run_aside, name="punctual", daemon=True)
        self._thread.start()

    def run(self, progress: Callable[[Settled], None] | None = None) -> None:
        """Run in this thread until ``request_stop``."""
        self.open()
        self._loop(progress).live()

    def request_stop(self) -> None:
        """Let the loop end after the batch that it is at."""
        self._stopping.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the loop to end; raise what ended it."""
        if self._thread is not None:
            self._thread.join(timeout)
        self._raise_problem()

    def stop(self) -> None:
        """End the loop after the batch that it is at, and close; the state resumes."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.close()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _raise_problem(self) -> None:
        """Raise what ended the loop: a caller that goes on would wait for answers that never come."""
        if self._problem is not None:
            raise self._problem

    def _run_aside(self) -> None:
        try:
            self._loop(None).live()
        except BaseException as problem:
            self._problem = problem

    def _loop(self, progress: Callable[[Settled], None] | None) -> Loop:
        told = progress or (lambda settled: None)
        return Loop(self._opened(), self._mutex, self._clock, self._stopping, told, self._watch_landings)

    def _watch_landings(self) -> None:
        """A foreign stream that failed ends alone; its rows so far stay."""
        for name, landing in list(self._landings.items()):
            if not landing.isActive:
                del self._landings[name]
                self._report(f'stream "{name}" has ended: {landing.exception() or "its source has no more rows"}')

    def close(self) -> None:
        """Leave a state that resumes; a temporary one is removed."""
        with self._mutex:
            self._release()

    def _release(self) -> None:
        for landing in self._landings.values():
            with contextlib.suppress(Exception):
                landing.stop()
        self._landings = {}
        core, self._core = self._core, None
        backend, self._backend = self._backend, None
        try:
            if core is not None:
                core.close()
        finally:
            if backend is not None:
                with contextlib.suppress(Exception):
                    backend.close()
            if self._lock is not None:
                self._lock.release()
                self._lock = None
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
                self._temporary = None

    def _opened(self) -> Core:
        if self._core is None:
            raise RunError("run.not-open", "the engine is not running", hint="call start() or open() first")
        return self._core

    # -- answers -----------------------------------------------------------------------------------

    def records(self) -> Iterator[AnswerBlock]:
        """Every answer that the log still holds, oldest first; also when the loop has ended."""
        with self._mutex:
            return iter(list(self._opened().delivery.records()))

    def answers(self, query: str) -> pd.DataFrame:
        """The answers of a query as a DataFrame: a row for each row of each answer.

        Raises what ended the loop, if anything did, so that who polls for an answer learns that none will come;
        ``records`` still gives what was answered.
        """
        self._raise_problem()
        name = query.lower()
        if name not in self._catalog.queries:
            raise BindError("bind.unknown-query", f'there is no query "{query}"')
        sink = MemorySink()
        for position, block in enumerate(self.records(), start=1):
            if block.query.lower() == name:
                sink.write(position, [block])
        frame = sink.frame(self._catalog.queries[name].name)
        return pd.DataFrame() if frame is None else frame.to_pandas()

    def stopped(self) -> frozenset[str]:
        """Queries that failed and no longer run; ``status`` says why."""
        with self._mutex:
            return self._opened().stopped()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _with_casts(catalog: Catalog, types: Mapping[str, QueryTypes]) -> Catalog:
    """The catalog with each query as it runs: arguments are cast where Spark would cast them."""
    for query in catalog.queries.values():
        cast = with_casts(query, types[query.name])
        if cast is not query:
            catalog = catalog.with_query(cast)
    return catalog


def connect(state: str | None = None, **arguments: Any) -> Engine:
    """An engine, not yet started: ``sql``, ``feed``, ``start``, ``answers``, ``stop``."""
    return Engine(state, **arguments)
