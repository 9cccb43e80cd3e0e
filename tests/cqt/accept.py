"""Rewrite the expectations of cases: ``python -m tests.cqt.accept [path ...]``.

``answers`` and ``dead`` blocks (of run cases) are rewritten from the reference, never from the engine: a wrong engine
must not write its own expectations. ``explain`` blocks (of language cases) are the engine's own text. The diff of the
case files is what a reviewer reads first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cqt.case import Case, read_case
from tests.cqt.play import DATA, Play
from tests.cqt.play_reference import play_reference
from tests.cqt.running import run_play
from tests.inprocess.backend import InProcess


def accept(case: Case) -> bool:
    """Rewrite one case; whether anything changed."""
    play = Play(case, accept=True)
    if any(block.directive == "explain" for block in case.blocks):
        run_play(play, InProcess)
    else:
        play_reference(play)
    text = case.with_bodies(play.bodies)
    if text == case.path.read_text():
        return False
    case.path.write_text(text)
    return True


def main(arguments: Sequence[str]) -> int:
    if os.environ.get("CI"):
        print("expectations are not rewritten in CI")
        return 1
    explained = [path for path in sorted(DATA.glob("language/*.cqt")) if "\nexplain " in path.read_text()]
    answered = [path for folder in ("run", "planned") for path in sorted(DATA.glob(f"{folder}/*.cqt"))]
    paths = [Path(argument) for argument in arguments] or [*answered, *explained]
    for path in paths:
        if accept(read_case(path)):
            print(f"rewrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
