"""All errors of a program, not just the first: parts of a statement are bound each on its own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from punctual.errors import PlanError, PunctualError, Span


class RefusedNameError(Exception):
    """A name whose own statement was refused: that was reported there, and nothing more can be known of it."""


class Problems:
    """Errors found so far."""

    def __init__(self) -> None:
        self.errors: list[PunctualError] = []
        self._known: set[tuple[str, str, Span | None]] = set()

    def add(self, error: PunctualError) -> None:
        """Keep an error; the same one at the same place is kept once."""
        known = (error.code, error.fact, error.span)
        if known not in self._known:
            self._known.add(known)
            self.errors.append(error)

    def not_yet(self, what: str, span: Span | None, hint: str | None = None) -> None:
        self.add(not_yet(what, span, hint))

    @contextmanager
    def part(self) -> Iterator[None]:
        """What fails inside is noted, and the rest of the statement is bound all the same."""
        try:
            yield
        except PunctualError as error:
            self.add(error)

    def __bool__(self) -> bool:
        return bool(self.errors)


def not_yet(what: str, span: Span | None, hint: str | None = None) -> PlanError:
    """The refusal of something that the language has and this release does not run."""
    return PlanError("plan.not-yet", f"{what} is not there yet", span=span, hint=hint)


def suggest(name: str, known: Iterable[str], kind: str) -> str | None:
    """A hint: the names that look alike, else all there are."""
    names = list(dict.fromkeys(known))
    lower = {n.lower(): n for n in names}
    near = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"{kind}: {', '.join(names)}" if names else None
