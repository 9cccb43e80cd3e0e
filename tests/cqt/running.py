"""Cases on the engine: one case by itself, or all of a folder as one program, step by step together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Sequence
from datetime import datetime, timedelta

from punctual.clock import EPOCH, ManualClock
from punctual.config import parse_options
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from punctual.errors import ProgramErrors, PunctualError
from punctual.explain.look import plan_look
from punctual.ports.answers import AnswerBlock
from punctual.runtime.backend import Backend
from tests.cqt.case import Case
from tests.cqt.play import DATA, NOW_US, Advance, End, Feed, Mismatch, Play, Request, Restart, Statement, Tick
from tests.reference.recompute import Answer

MakeBackend = Callable[[], Backend]


class EngineTarget:
    """An engine as what runs cases. It can be stopped and resumed between any two requests."""

    def __init__(self, backend: MakeBackend, options: dict[str, str] | None = None) -> None:
        self._backend = backend
        self._options = options or {}
        self._folder = tempfile.TemporaryDirectory(prefix="case-")
        self._statements: list[str] = []
        self._engine: Engine | None = None
        self._answers: dict[str, list[Answer]] = {}
        self._read = 0
        """So many blocks of the answer log are in ``_answers``."""
        self._stale = True

    # -- what a play asks --------------------------------------------------------------------------

    def answers(self, query: str) -> list[Answer]:
        if self._stale:
            self._stale = False
            blocks = list(self.engine.records())
            for block in blocks[self._read :]:
                self._answers.setdefault(block.query.lower(), []).extend(_answers(block))
            self._read = len(blocks)
        return self._answers.get(query.lower(), [])

    def dead(self, stream: str) -> dict[str, int]:
        counts: dict[str, int] = {}
        for letter in read_dead(self._folder.name, stream.lower()):
            counts[letter["reason"]] = counts.get(letter["reason"], 0) + 1
        return counts

    def explain(self, kind: str) -> str:
        catalog = self.engine.catalog
        found = plan_look(catalog, parse_options(catalog.options))
        return found.sharing() if kind == "sharing" else found.schedule()

    # -- requests ----------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The running engine; opened when first needed, so that the statements before it are checked together."""
        if self._engine is None:
            self._engine = Engine(
                state=self._folder.name,
                options=self._options,
                base=str(DATA),
                live=False,
                clock=ManualClock(NOW_US),
                backend=self._backend,
            )
            if self._statements:
                self._engine.sql(";\n".join(self._statements))
            self._engine.open()
        return self._engine

    def statement(self, text: str) -> None:
        """A statement that must be accepted."""
        if self._engine is not None:
            self._engine.sql(text)
        self._statements.append(text)

    def refused(self, statement: Statement) -> None:
        """A statement that must be refused, with all its codes, and leave nothing behind."""
        before = self.engine.catalog
        try:
            self.engine.sql(statement.text)
        except ProgramErrors as errors:
            codes = sorted(error.code for error in errors.errors)
        except PunctualError as error:
            codes = [error.code]
        else:
            raise Mismatch(f"accepted, though it must be refused: {statement.text}")
        if codes != sorted(statement.errors):
            raise Mismatch(f"refused with {codes}, not {sorted(statement.errors)}: {statement.text}")
        if self.engine.catalog is not before:
            raise Mismatch(f"refused, but something of it stayed: {statement.text}")

    def do(self, requests: Sequence[Request]) -> None:
        """Requests of one kind, of several plays, at once."""
        if isinstance(requests[0], Statement):
            accepted = [r.text for r in requests if isinstance(r, Statement) and not r.errors]
            if accepted:
                self.statement(";\n".join(accepted))
            for request in requests:
                if isinstance(request, Statement) and request.errors:
                    self.refused(request)
        elif isinstance(requests[0], Feed):
            for request in requests:
                if isinstance(request, Feed):
                    self.engine.feed(request.stream, request.rows)
        elif isinstance(requests[0], Tick):
            self.engine.tick()
        else:
            self.engine.advance(
                {name: at for r in requests if isinstance(r, Advance) for name, at in r.through.items()}
            )
            ended = {name.lower() for r in requests if isinstance(r, End) for name in r.streams}
            if ended:
                self._end(ended)
            if any(isinstance(r, Restart) for r in requests):
                self.restart()
        self._stale = True

    def _end(self, streams: set[str]) -> None:
        """The end of input of some streams; of all of them it is the engine's own."""
        if streams == set(self.engine.catalog.streams):
            self.engine.end()
            return
        last = {name: read_status(self._folder.name)["streams"][name]["last"] for name in streams}
        self.engine.advance({name: _micros(at) for name, at in last.items() if at is not None})

    def restart(self) -> None:
        """Close, and open again from the state."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._folder.cleanup()


def run_case(case: Case, backend: MakeBackend, *, resume: bool = False, options: dict[str, str] | None = None) -> None:
    """One case by itself; with ``resume`` the engine is stopped and resumed after every request."""
    run_play(Play(case), backend, resume=resume, options=options)


def run_play(play: Play, backend: MakeBackend, *, resume: bool = False, options: dict[str, str] | None = None) -> None:
    """One play by itself."""
    problems = run_together([play], backend, resume=resume, options=options)
    if problems:
        raise problems[play.case.name]


def run_together(
    plays: Sequence[Play], backend: MakeBackend, *, resume: bool = False, options: dict[str, str] | None = None
) -> dict[str, Exception]:
    """Cases as one program, each request of one shared with the same kind of the others; what failed, by case."""
    target = EngineTarget(backend, options)
    problems: dict[str, Exception] = {}
    waiting: dict[str, tuple[Generator[Request, None, None], Request]] = {}

    def go_on(name: str, running: Generator[Request, None, None]) -> None:
        waiting.pop(name, None)
        try:
            waiting[name] = (running, next(running))
        except StopIteration:
            pass
        except Mismatch as problem:
            problems[name] = problem

    try:
        for play in plays:
            go_on(play.case.name, play.run(target))
        while waiting:
            kind = min(_kind(request) for _running, request in waiting.values())
            now = [(name, running, request) for name, (running, request) in waiting.items() if _kind(request) == kind]
            try:
                target.do([request for _name, _running, request in now])
            except Mismatch as problem:
                if len(plays) > 1:
                    raise
                problems[now[0][0]] = problem
                break
            if resume:
                target.restart()
            for name, running, _request in now:
                go_on(name, running)
        return problems
    finally:
        target.close()


def _answers(block: AnswerBlock) -> list[Answer]:
    columns = tuple(block.columns())
    fields = (block.table.column(name).to_pylist() for name in ("at", "rows", "complete", "late_rows"))
    return [
        Answer(at, columns, tuple(tuple(row.values()) for row in rows), complete, late)
        for at, rows, complete, late in zip(*fields)
    ]


def _micros(iso: str) -> int:
    return (datetime.fromisoformat(iso) - EPOCH) // timedelta(microseconds=1)


def _kind(request: Request) -> int:
    """Statements of all cases first, then their rows, then their ticks as one, then advances."""
    return next((kind for kind, of in enumerate((Statement, Feed, Tick)) if isinstance(request, of)), 3)
