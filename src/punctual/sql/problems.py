"""All errors of a program, not just the first: parts of a statement are bound each on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from punctual.errors import PlanError, PunctualError, Span
from punctual.errors import suggest as suggest  # what binders need of errors, in one place
from punctual.sql.syntax.expression import NeedsRowsError

NOT_YET = "plan.not-yet"


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

    def take(self, other: Problems) -> None:
        """Keep what was found by somebody else."""
        for error in other.errors:
            self.add(error)

    def not_yet(self, what: str, span: Span | None, hint: str | None = None) -> None:
        self.add(not_yet(what, span, hint))

    def needs_rows(self, what: str, span: Span | None) -> None:
        self.add(NeedsRowsError(what, span))

    @property
    def rows_are_needed(self) -> bool:
        """Whether panes cannot answer it, and rows could: nothing is asked for that is not there yet."""
        needed = any(isinstance(error, NeedsRowsError) for error in self.errors)
        return needed and all(error.code != NOT_YET for error in self.errors)

    def without_rows(self, where: str = "here") -> None:
        """What needs rows is wrong, or not there yet, where none are kept."""
        found, self.errors = self.errors, []
        self._known.clear()
        for error in found:
            if isinstance(error, NeedsRowsError):
                self.add(error.otherwise or not_yet(f"{error.what} {where}", error.span))
            else:
                self.add(error)

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
    return PlanError(NOT_YET, f"{what} is not there yet", span=span, hint=hint)
