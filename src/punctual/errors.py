"""Every error that Punctual raises, in two halves.

The user's half (:class:`PunctualError`) is caused by a program, its data or its machine: it has a
stable code, one fact, the place in the source, and what to do. The internal half
(:class:`InternalError`) means a bug in Punctual and says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a program's text."""

    start: int
    end: int


class PunctualError(Exception):
    """Something that the user can mend.

    Parameters
    ----------
    code : str
        Stable, dotted, such as ``bind.unknown-column``; its first part is the phase.
    fact : str
        One line, lower case, no full stop; objects are quoted and preceded by their kind.
    span : Span, optional
        The place in the program's text.
    detail, hint : str, optional
        Why it is so; something that the user can type.
    """

    def __init__(
        self,
        code: str,
        fact: str,
        *,
        span: Span | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(f"[{code}] {fact}")
        self.code = code
        self.fact = fact
        self.span = span
        self.detail = detail
        self.hint = hint

    def render(self, text: str | None = None) -> str:
        """The error as a user reads it, with its place underlined when the text is known."""
        lines = [f"error[{self.code}]: {self.fact}"]
        if text is not None and self.span is not None:
            lines += _underline(text, self.span)
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class ParseError(PunctualError):
    """The text is not a statement of the language."""


class BindError(PunctualError):
    """A statement names something that is not there, or does not fit."""


class PlanError(PunctualError):
    """A statement means something that cannot be planned.

    Queries of several texts are planned together: ``query`` is the name of the one whose text has the place.
    """

    query: str | None = None


class ConfigError(PunctualError):
    """An option has a wrong name or value."""


class StateError(PunctualError):
    """A state directory cannot be used."""


class FeedError(PunctualError):
    """A source of rows cannot be read."""


class RunError(PunctualError):
    """A running program cannot go on."""


class EnvironmentFault(PunctualError):
    """The machine lacks something: Java, disk, memory."""


class ProgramErrors(PunctualError):
    """All errors of one program, in the order of their places."""

    def __init__(self, errors: Iterable[PunctualError], text: str | None = None) -> None:
        self.errors: Sequence[PunctualError] = tuple(sorted(errors, key=lambda e: e.span.start if e.span else -1))
        self.text = text
        first = self.errors[0]
        super().__init__(first.code, first.fact, span=first.span, detail=first.detail, hint=first.hint)

    def render(self, text: str | None = None) -> str:
        text = text if text is not None else self.text
        return "\n\n".join(error.render(text) for error in self.errors)

    def __str__(self) -> str:
        return self.render()


class InternalError(Exception):
    """A bug in Punctual: please report it with the text below it."""


def corrupt(path: str, why: str) -> StateError:
    """The error for a file of the state that is not what was written."""
    return StateError(
        "state.corrupt",
        f'file "{path}" is damaged: {why}',
        detail="the state was left as it is, and nothing was read from it",
        hint="restore the state directory from a copy, or start with an empty one",
    )


def jvm_died() -> RunError:
    """The error for a data plane that has ended by itself."""
    return RunError(
        "run.jvm-died",
        "the Java process of Spark has died",
        detail="what was committed is in the state, and a new run goes on from there",
        hint="start it again on the same state to resume; without one nothing was kept",
    )


def disk_full(path: str | None) -> StateError:
    """The error for a disk (or a quota) that is full; ``path`` is what was being written, where it is known."""
    return StateError(
        "state.disk-full",
        f'no space is left for file "{path}"' if path else "no space is left on the disk",
        detail="what was being written is not part of the state; all that was committed before is whole",
        hint="free some space (or raise the quota) and start the same command again: it resumes",
    )


def suggest(name: str, known: Iterable[str], kind: str) -> str | None:
    """A hint: the names that look alike, else all there are."""
    names = list(dict.fromkeys(known))
    lower = {n.lower(): n for n in names}
    near = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"{kind}: {', '.join(names)}" if names else None


def _underline(text: str, span: Span) -> list[str]:
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    number = text.count("\n", 0, start) + 1
    width = max(1, min(span.end, line_end) - start)
    line = text[line_start:line_end].replace("\t", " ")
    gutter = f"{number:>4} | "
    return [f"{gutter}{line}", " " * 5 + "| " + " " * (start - line_start) + "^" * width]
