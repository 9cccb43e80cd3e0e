"""``punctual run``: a program from its start to its end or to Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from punctual.cli.program_file import given_options, read_program
from punctual.cli.terminal import Screen
from punctual.engine.engine import Engine
from punctual.engine.look import look_at
from punctual.errors import PlanError


def run(arguments: argparse.Namespace) -> int:
    """Run until the input ends (``--once``) or until asked to stop; the state resumes."""
    if arguments.web is not None:
        raise PlanError("plan.not-yet", "--web is not there yet", hint="punctual status --state DIR shows how far a run is")
    text, base = read_program(arguments.program)
    options = given_options(arguments.set)
    look = look_at(text, base, options, judge=False)
    for explanation in look.explanations:
        sys.stdout.write(explanation)
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

    def stop(_signal: int, _frame: FrameType | None) -> None:
        screen.say("stopping after this batch")
        engine.request_stop()

    former = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
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
    finally:
        engine.close()
        for number, handler in former.items():
            signal.signal(number, handler)
    return 1 if failed else 0
