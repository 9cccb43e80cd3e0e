"""``punctual run``: a program from its start to its end or to Ctrl-C."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from punctual.cli.program_file import given_options, read_program
from punctual.cli.terminal import Screen
from punctual.engine.engine import Engine
from punctual.engine.status import read_costs
from punctual.errors import PlanError, RunError
from punctual.explain.look import look_at


def run(arguments: argparse.Namespace) -> int:
    """Run until the input ends (``--once``) or until asked to stop; the state resumes."""
    if arguments.web is not None:
        raise PlanError(
            "plan.not-yet", "--web is not there yet", hint="punctual status --state DIR shows how far a run is"
        )
    text, base = read_program(arguments.program)
    options = given_options(arguments.set)
    look = look_at(text, base, options, types=False, costs=read_costs(arguments.state))
    for explanation in look.explanations():
        sys.stderr.write(explanation)  # standard output is for answers
    live = not arguments.once and arguments.speed is None
    screen = Screen(quiet=arguments.out is not None)
    engine = Engine(
        arguments.state,
        arguments.out,
        arguments.master,
        options,
        base,
        live=live,
        speed=arguments.speed,
        report=screen.say,
    )

    try:
        with _stopped_by_signals(engine, screen):
            engine.sql(text)
            engine.listen(screen.show)
            with screen:
                screen.starting()
                engine.open()
                screen.started(engine.catalog)
                if live:
                    engine.run(screen.progress)
                else:
                    engine.run_once(screen.progress)
                failed = engine.stopped()
            screen.finished(failed)
    except RunError as error:
        if error.code != "run.jvm-died":
            raise
        hint = _resuming(arguments) if arguments.state else "start it again; without --state nothing was kept"
        raise RunError(error.code, error.fact, detail=error.detail, hint=hint) from error
    finally:
        engine.close()
    return 1 if failed else 0


@contextmanager
def _stopped_by_signals(engine: Engine, screen: Screen) -> Iterator[None]:
    """The first signal lets the batch end, a second one ends the process at once; the state resumes either way."""

    def stop(number: int, _frame: FrameType | None) -> None:
        engine.request_stop()
        signal.signal(number, signal.SIG_DFL)
        # Said by a thread of its own: this one may be in the middle of writing.
        threading.Thread(target=screen.say, args=("stopping after this batch",)).start()

    former = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _resuming(arguments: argparse.Namespace) -> str:
    """The command that goes on where this one stopped."""
    words = ["punctual", "run", arguments.program]
    words += ["--once"] if arguments.once else []
    for name in ("out", "state", "master", "speed"):
        value = getattr(arguments, name)
        words += [f"--{name}", str(value)] if value is not None else []
    words += ["--no-web"] if arguments.no_web else []
    for pair in arguments.set:
        words += ["--set", pair]
    return "to resume: " + shlex.join(words)
