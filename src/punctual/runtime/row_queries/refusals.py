"""What is wrong with a row query, at the place of its text where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from pyspark.errors import ParseException, PySparkException

from punctual.errors import BindError, ParseError, PunctualError, Span, suggest
from punctual.own_names import MARK
from punctual.plan.relation import Stream, Table
from punctual.runtime.analysis import PlacedText, in_our_words
from punctual.runtime.backend import RowTypeRequest

LONGEST_FRAGMENT = 80
_PLACE = re.compile(r"\(line (\d+), pos (\d+)\)")
_PARTS = re.compile(r"`((?:[^`]|``)*)`")


class Refusals:
    """Errors of one query, over the relations of its program."""

    def __init__(self, request: RowTypeRequest, relations: Mapping[str, Stream | Table]) -> None:
        self.query = request.query
        self._statement = request.statement
        self._relations = relations
        self._words = [word for text in self._statement.texts for word in text.words()]

    def of(self, refusal: PySparkException, text: PlacedText) -> PunctualError:
        """Our error for one of Spark's."""
        code, fact = in_our_words(refusal)
        if isinstance(refusal, ParseException):
            start = _parse_index(refusal, text)
            at_end = start is not None and all(start >= end for _first, end, _span in text.places)
            fact = "the query ends too early" if at_end else fact
            return ParseError("parse.syntax", fact, span=_place_before(text, start) or self.query.span)
        contexts = refusal.getQueryContext() or []
        start = contexts[0].startIndex() if contexts else -1
        span = self._between(text, start, contexts[0].stopIndex()) if contexts else None
        condition = refusal.getCondition() or ""
        parameters = refusal.getMessageParameters() or {}
        if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
            return self.unknown_relation(_last_part(parameters.get("relationName", "")), text.place(start))
        fragment = contexts[0].fragment() if contexts else ""
        # What names our views, or is long, is the query itself, which is shown anyway.
        short = fragment if len(fragment) <= LONGEST_FRAGMENT and MARK not in fragment else ""
        hint = None
        if code == "bind.unknown-function":
            hint = "expressions are Spark SQL's: see its function reference"
        elif code == "bind.unknown-column":
            name = _last_part(parameters.get("objectName", ""))
            fact, hint = f'there is no column "{name}"', self._columns_like(name)
        detail = f"in {short}" if short and hint is None else None
        return BindError(code, fact, span=span or self.query.span, detail=detail, hint=hint)

    def unknown_relation(self, name: str, span: Span | None = None) -> BindError:
        """A name that is none of the query's windows and tables."""
        span = span or self.place_of(name) or self.query.span
        stream = self._relations.get(name.lower())
        if isinstance(stream, Stream):
            return BindError(
                "bind.missing-window", f'stream "{stream.name}" needs a window', span=span,
                detail="a stream has no end, so a query says which of its rows an answer covers",
                hint=f"for example: {stream.name} [RANGE 20 MINUTES SLIDE 2 MINUTES]",
            )
        known = [relation.name for relation in self._relations.values()]
        return BindError(
            "bind.unknown-stream", f'there is no stream or table "{name}"', span=span,
            hint=suggest(name, known, "streams and tables")
            or "declare it before its first use: CREATE STREAM ...",
        )

    def not_repeatable(self, what: str, span: Span | None) -> BindError:
        """Something that does not give the same answer again."""
        return BindError(
            "bind.not-repeatable", f"{what} does not repeat", span=span or self.query.span,
            detail="the same rows must give the same answer whenever and wherever it is computed",
        )

    def duplicate(self, name: str) -> BindError:
        """Two columns of one name."""
        return BindError(
            "bind.duplicate-name", f'the answer has two columns "{name}"', span=self.place_of_output(name, 1),
            hint="rename one of them with AS",
        )

    def is_table(self, name: str) -> bool:
        """Whether a static table of the program has this name."""
        return isinstance(self._relations.get(name.lower()), Table)

    def place_of(self, name: str) -> Span | None:
        """Where a name first stands."""
        return next((span for word, span in self._words if _plain(word) == name.lower()), None)

    @property
    def called(self) -> list[str]:
        """The names of functions that are called, in lower case."""
        return [_plain(word) for (word, _span), (after, _) in pairwise(self._words) if after == "("]

    def place_of_call(self, names: frozenset[str]) -> tuple[str, Span] | None:
        """Where a function of one of these names is first called, or stands without brackets."""
        found = [(_plain(word), span, after == "(") for (word, span), (after, _) in pairwise(self._words)]
        for name, span, _called in sorted(found, key=lambda one: not one[2]):
            if name in names:
                return name, span
        return None

    def place_of_literal(self, types: frozenset[str], values: frozenset[str]) -> tuple[str, Span] | None:
        """Where one of these values first stands as a literal of one of these types."""
        for (before, _span), (word, span) in pairwise(self._words):
            if _plain(before) in types and word.strip("\"' ").lower() in values and word[0] in "\"'":
                return word, span
        return None

    def place_of_output(self, name: str, which: int = 0) -> Span | None:
        """Where a selected column has its name, for the so-manieth time; the statement's where that is not written."""
        selected = self._selected()
        named = [span for word, span in selected if _plain(word) == name.lower()]
        stars = [span for word, span in selected if word == "*"]
        if len(named) > which:
            return named[which]
        return stars[-1] if stars else self.query.span

    def _selected(self) -> list[tuple[str, Span]]:
        """The words between the first SELECT outside brackets and its FROM."""
        depth, found, inside = 0, [], False
        for word, span in self._words:
            depth += (word == "(") - (word == ")")
            if depth == 0 and word.upper() == "FROM" and inside:
                break
            inside = inside or (depth == 0 and word.upper() == "SELECT")
            if inside:
                found.append((word, span))
        return found

    def _between(self, text: PlacedText, start: int, stop: int) -> Span | None:
        first, last = text.place(start), text.place(stop)
        if first is None:
            return None
        return first if last is None or last.end < first.start else Span(first.start, last.end)

    def _columns_like(self, name: str) -> str | None:
        streams = {stream.lower() for stream in self.query.streams}
        readable = [one for key, one in self._relations.items() if key in streams or key in self._statement.tables]
        owners = [one.name for one in readable if name.lower() in (column.name.lower() for column in one.columns)]
        if owners:
            return f"{name} is a column of {' and '.join(owners)}, which cannot be named here"
        return suggest(name, [column.name for relation in readable for column in relation.columns], "columns")


def _parse_index(refusal: ParseException, text: PlacedText) -> int | None:
    """Where a syntax error stands, which Spark says by line and column of its text."""
    places = _PLACE.findall(str(refusal).split("== SQL")[0])
    if not places:
        return None
    line, column = map(int, places[-1])
    return sum(len(one) + 1 for one in str(text).split("\n")[: line - 1]) + column


def _place_before(text: PlacedText, start: int | None) -> Span | None:
    """The place at an index, or the last one before it: of white space, or of the end."""
    indexes = range(-1 if start is None else start, -1, -1)
    return next((span for at in indexes if (span := text.place(at)) is not None), None)


def _plain(word: str) -> str:
    """A word as names are compared."""
    return word.strip("`").replace("``", "`").lower()


def _last_part(name: str) -> str:
    """The last part of a quoted name of several."""
    parts = _PARTS.findall(name)
    return parts[-1].replace("``", "`") if parts else name
