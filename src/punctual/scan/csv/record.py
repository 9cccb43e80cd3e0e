"""One line of CSV, in all forms, as Spark's parser takes it apart: slow, for lines that the kernel does not vouch for.

A field is quoted if it begins with the quote. Inside of quotes, the quote is written with the escape before it (or
doubled, if that is the escape); an escape before anything else means itself. Text after the closing quote makes the
field an ordinary one, quotes and all, that ends at the next separator; so does white space with text after it, and
white space alone is dropped. In a field that does not begin with the quote nothing has a meaning but the separator.
"""

from __future__ import annotations

import re

import numpy as np

from punctual.scan.csv.settings import NOT_SET, CsvSettings


class _EndOfLine(Exception):
    """There is no further character."""


def split_record(line: str, settings: CsvSettings) -> list[str]:
    """The fields of a line; an empty one is NULL.

    >>> split_record("a,'b ''c''',d'e',", CsvSettings(quote="'", escape="'"))
    ['a', "b 'c'", "d'e'", '']
    >>> split_record("'a' b,'c", CsvSettings(quote="'", escape="'"))
    ["'a' b", 'c']
    """
    if max(line, default="") <= "\uffff":
        return _Record(line, settings).fields()
    # The parser sees characters of 16 bits, which shows where it looks at one behind a quote.
    return [_characters(field) for field in _Record(_units(line), settings).fields()]


class _Record:
    """A walk along a line: ``ch`` is the character at hand, ``prev`` the one before, ``text`` the field so far."""

    def __init__(self, line: str, settings: CsvSettings) -> None:
        self.line = line
        self.at = 0
        self.sep, self.quote, self.escape = settings.sep, settings.quote, settings.escape
        self.own_escape = NOT_SET if self.quote == self.escape else self.escape
        self.stops = re.compile("[" + re.escape(self.quote + self.escape + self.own_escape) + "]")
        self.ch = self.prev = NOT_SET
        self.text = ""
        self.broken = False
        self.found: list[str] = []

    def fields(self) -> list[str]:
        try:
            while True:
                self._next()
                self._field()
        except _EndOfLine:
            self._end()
        return self.found

    def _field(self) -> None:
        if self.ch == self.sep:
            self.found.append("")
            return
        self.broken, self.prev = False, NOT_SET
        if self.ch != self.quote:
            self._until_separator()
        elif not self._is_plainly_quoted():
            self._quoted()
        self.found.append(self.text)
        self.text = ""

    def _end(self) -> None:
        """The line ended in a field, or after a separator."""
        if self.ch == self.quote and self.prev != self.quote and not self.broken:
            self.text += self.quote
        self.found.append(self.text)

    def _next(self) -> None:
        if self.at >= len(self.line):
            raise _EndOfLine
        self.ch = self.line[self.at]
        self.at += 1

    def _until_separator(self) -> None:
        """Take the character at hand and all that follow up to the separator."""
        end = self.line.find(self.sep, self.at - 1)
        self.text += self.line[self.at - 1 : end if end >= 0 else len(self.line)]
        if end < 0:
            self.at = len(self.line)
            raise _EndOfLine
        self.ch, self.at = self.sep, end + 1

    def _is_plainly_quoted(self) -> bool:
        """Whether the field has nothing to unescape and ends before a separator; then it is taken, NULs and all."""
        end = self.line.find(self.quote, self.at)
        if end < 0 or self.line[end - 1] == self.escape or self.line[end + 1 : end + 2] != self.sep:
            return False
        text = self.line[self.at : end]
        if self.escape + self.own_escape in text:
            return False
        self.text, self.ch, self.at = text, self.sep, end + 2
        return True

    def _quoted(self) -> None:
        """A field in quotes, from its first quote or from where it turned out to be an ordinary one."""
        if self.prev != NOT_SET:
            self.text = self.quote + self.text
            self._next()
            self._until_separator()
            return
        self._next()
        while not (self.prev == self.quote and (self.ch <= " " or self.ch == self.sep)):
            if self.ch not in (self.quote, self.escape):
                if self.prev == self.quote:
                    self.broken = True
                    self.text += self.quote + self.ch
                    self.prev = self.ch
                    self._quoted()
                    return
                self._plain_run()
            else:
                self._quote_or_escape()
                self.prev = self.ch
                self._next()
                if self.broken and self.ch == self.sep:
                    return
        self._after_quote()

    def _plain_run(self) -> None:
        """Characters in quotes that have no meaning, up to one that has."""
        if self.prev == self.escape != NOT_SET:
            self.text += self.escape
        found = self.stops.search(self.line, self.at - 1)
        end = found.start() if found else len(self.line)
        self.text += self.line[self.at - 1 : end]
        if found is None:
            self.at = end
            raise _EndOfLine
        self.prev, self.at = self.line[end], end + 1
        self.ch = self.prev
        self._next()

    def _quote_or_escape(self) -> None:
        if self.ch == self.escape and self.prev == self.own_escape != NOT_SET:
            self.text += self.escape
            self.ch = NOT_SET
        elif self.prev == self.escape:
            if self.ch == self.quote:
                self.text += self.quote
                self.ch = NOT_SET
            else:
                self.text += self.prev
        elif self.ch == self.quote and self.prev == self.quote:
            self.text += self.quote
        elif self.prev == self.quote:
            self.text += self.quote
            self.prev = self.ch
            self._loose()

    def _loose(self) -> None:
        """What follows a quote that nothing escapes, up to the separator."""
        while self.ch != self.sep:
            if self.ch not in (self.quote, self.escape):
                if self.prev == self.quote:
                    self.text += self.quote
                    self.prev = self.ch
                    self._loose()
                    return
                self.text += self.ch
            else:
                self._quote_or_escape()
            self.prev = self.ch
            self._next()

    def _after_quote(self) -> None:
        """White space after the closing quote, and what follows it."""
        if self.ch == self.sep:
            return
        blanks = ""
        while True:
            blanks += self.ch
            self._next()
            if self.ch > " " or self.ch == self.sep:
                break
        if self.ch != self.sep:
            self.text += self.quote + blanks + self.ch
            self.prev = self.ch
            self._quoted()


def _units(text: str) -> str:
    """A text in which a character above U+FFFF is two, as in Java."""
    units = np.frombuffer(text.encode("utf-16-le"), "<u2")
    return units.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _characters(units: str) -> str:
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
