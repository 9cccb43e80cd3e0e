"""Tokens of JSON as Spark's parser takes them, broken texts included.

Spark goes on reading after a value that it could not take, wherever in the text that left its parser. So which values a
broken line still has depends on how far the parser had come: on errors, too, this one stands where Spark's stands.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

START_OBJECT, END_OBJECT, START_ARRAY, END_ARRAY = "{", "}", "[", "]"
FIELD, STRING, INTEGER, NUMBER, TRUE, FALSE, NULL = "field", "string", "integer", "number", "true", "false", "null"

MOST_LEVELS = 1_000
MOST_DIGITS = 1_000
LONGEST_NAME = 50_000
_LONGEST_REPORT = 256

_BLANKS = re.compile(r"[ \n\r\t]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_PLAIN_APOSTROPHE = re.compile(r"[^'\\\x00-\x1f]*")
_WHOLE = re.compile(r"0|[0-9]*")
_REST = re.compile(r"(\.([0-9]*))?([eE][+-]?([0-9]*))?")
_NO_DIGITS = re.compile("[^0-9]+")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "/": "/", "\\": "\\", "'": "'"}
_NON_NUMBERS = {
    "NaN": float("nan"), "Infinity": float("inf"), "+INF": float("inf"), "-INF": float("-inf"),
    "+Infinity": float("inf"), "-Infinity": float("-inf"),
}  # fmt: skip


class JsonFault(Exception):
    """The text is not JSON here, or a value is not what was asked for."""


@dataclass(slots=True)
class _Level:
    """An object or array that is open; None is the text itself."""

    is_object: bool | None
    count: int = -1
    name: str | None = None


@dataclass(slots=True)
class JsonParser:
    """One text, token by token.

    ``lenient`` is how the values of a line are read: numbers that are none (``NaN``) are taken, and control characters
    in strings are not. Otherwise it is the other way round, as in ``get_json_object``.
    """

    text: str
    lenient: bool = True
    at: int = 0
    token: str | None = None
    special: float | None = None
    """The value of a number that has no digits."""
    _next: str | None = None
    _levels: list[_Level] = field(default_factory=lambda: [_Level(None)])
    _content: str = ""
    _open: bool = False
    """Whether the content of the string is still to be read."""

    @property
    def name(self) -> str | None:
        """The field that is read; for what opens an object or array, the field that has it."""
        if self.token in (START_OBJECT, START_ARRAY) and len(self._levels) > 1:
            return self._levels[-2].name
        return self._levels[-1].name

    def next(self) -> str | None:
        """Go to the next token; None at the end of the text, and once after a field whose value is broken."""
        if self.token == FIELD:
            found, self._next = self._next, None
            if found in (START_OBJECT, START_ARRAY):
                self._enter(found)
            self.token = found
            return found
        if self._open:
            self.skip_string()
        first = self._visible()
        if first is None:
            if len(self._levels) > 1:
                raise JsonFault
            self.token = None
            return None
        if first in "]}":
            return self._leave(first)
        level = self._levels[-1]
        level.count += 1
        if level.is_object is not None and level.count > 0:
            if first != ",":
                raise JsonFault
            first = self._expected()
        if level.is_object:
            level.name = self._name(first)
            self.token = FIELD
            if self._expected() != ":":
                raise JsonFault
            self._next = self._value(self._expected())
            return FIELD
        found = self._value(first)
        if found in (START_OBJECT, START_ARRAY):
            self._enter(found)
        self.token = found
        return found

    def skip_children(self) -> None:
        """Go to the end of the object or array that is opened, if one is."""
        if self.token not in (START_OBJECT, START_ARRAY):
            return
        depth = 1
        while depth:
            found = self.next()
            if found is None:
                raise JsonFault
            depth += (found in (START_OBJECT, START_ARRAY)) - (found in (END_OBJECT, END_ARRAY))

    def content(self) -> str:
        """The content of a string, or a number as written."""
        if self._open:
            self._open = False
            self._content = self._string('"', _PLAIN)
        return self._content

    def skip_string(self) -> None:
        """Go behind the string that was not read."""
        self._open = False
        self._string('"', _PLAIN)

    @property
    def is_open(self) -> bool:
        """Whether the content of a string stands ahead: bytes are then taken from the text itself."""
        return self._open

    def close(self, content: str) -> None:
        """The string was read by other means."""
        self._open, self._content = False, content

    def _enter(self, found: str) -> None:
        self._levels.append(_Level(found == START_OBJECT))
        if len(self._levels) - 1 > MOST_LEVELS:
            raise JsonFault

    def _leave(self, mark: str) -> str:
        if self._levels[-1].is_object is not (mark == END_OBJECT):
            raise JsonFault
        self._levels.pop()
        self.token = mark
        return mark

    def _visible(self) -> str | None:
        """Take the next character that is no blank; None at the end."""
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.at >= len(self.text):
            return None
        self.at += 1
        char = self.text[self.at - 1]
        if char < " " or char == "/":
            raise JsonFault
        return char

    def _expected(self) -> str:
        char = self._visible()
        if char is None:
            raise JsonFault
        return char

    def take(self) -> str:
        """Take the next character."""
        if self.at >= len(self.text):
            raise JsonFault
        self.at += 1
        return self.text[self.at - 1]

    def _name(self, first: str) -> str:
        if first == '"':
            name = self._string('"', _PLAIN)
        elif first == "'":
            name = self._string("'", _PLAIN_APOSTROPHE)
        else:
            raise JsonFault
        if len(name) > LONGEST_NAME:
            raise JsonFault
        return name

    def _string(self, quote: str, plain: re.Pattern[str]) -> str:
        """The content of a string up to its quote, which is taken."""
        parts = []
        while True:
            found = plain.match(self.text, self.at)
            if found:
                parts.append(found.group())
                self.at = found.end()
            char = self.take()
            if char == quote:
                break
            if char == "\\":
                parts.append(self.escape())
            elif self.lenient:
                raise JsonFault
            else:
                parts.append(char)
        return joined("".join(parts)) if len(parts) > 1 else parts[0]

    def escape(self) -> str:
        """The character that an escape says; its backslash is taken."""
        char = self.take()
        if char != "u":
            if char not in _ESCAPES:
                raise JsonFault
            return _ESCAPES[char]
        value = 0
        for _ in range(4):
            digit = self.take()
            if digit not in "0123456789abcdefABCDEF":
                raise JsonFault
            value = value * 16 + int(digit, 16)
        return chr(value)

    def _value(self, first: str) -> str:
        self.special = None
        if first == '"':
            self._open = True
            return STRING
        if first in "{[":
            return first
        if first in "0123456789-":
            return self._number(first)
        if first == "t":
            return self._word("true", 1, TRUE)
        if first == "f":
            return self._word("false", 1, FALSE)
        if first == "n":
            return self._word("null", 1, NULL)
        if first == "'":
            self._content = self._string("'", _PLAIN_APOSTROPHE)
            return STRING
        if first in "NI":
            return self._non_number("NaN" if first == "N" else "Infinity", 1)
        if first == "+":
            return self._signed_word(first, self.take())
        if is_identifier_start(first):
            self._broken_word(1)
        raise JsonFault

    def _number(self, first: str) -> str:
        start = self.at - 1
        if first == "-":
            first = self.take()
            if first not in "0123456789":
                return self._signed_word("-", first)
        whole = _WHOLE.match(self.text, self.at - 1)
        self.at = whole.end() if whole else self.at
        if first == "0" and self._peek() in tuple("0123456789"):
            raise JsonFault
        rest = _REST.match(self.text, self.at)
        if rest and rest.end() > self.at:
            lacking = rest.end(1) if rest[2] == "" else rest.end() if rest[4] == "" else None
            if lacking is not None:
                # The parser stands behind the first mark; where the whole part is zero, behind the fault.
                self.at = lacking + 1 if first == "0" else self.at + 1
                raise JsonFault
            self.at = rest.end()
        self._content = self.text[start : self.at]
        # A zero in front is not counted.
        if len(_NO_DIGITS.sub("", self._content)) - (first == "0") > MOST_DIGITS:
            raise JsonFault
        return NUMBER if rest and rest.end() > rest.start() else INTEGER

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _signed_word(self, sign: str, first: str) -> str:
        """Infinity with a sign, in one of two spellings; the sign and a character are taken."""
        if first == "I":
            second = self.take()
            if second in "Nn":
                return self._non_number(sign + ("INF" if second == "N" else "Infinity"), 3)
        raise JsonFault

    def _non_number(self, word: str, taken: int) -> str:
        self._word(word, taken, NUMBER)
        if not self.lenient:
            raise JsonFault
        self.special = _NON_NUMBERS[word]
        self._content = word
        return NUMBER

    def _word(self, word: str, taken: int, token: str) -> str:
        for i in range(taken, len(word)):
            if self._peek() != word[i]:
                self._broken_word(i)
            self.at += 1
        if is_identifier_part(self._peek()):
            self._broken_word(len(word))
        return token

    def _broken_word(self, length: int) -> None:
        """Fail behind what looks like a word, of which some characters are taken."""
        while self.at < len(self.text) and is_identifier_part(self._peek()):
            self.at += 1
            length += 1
            if length >= _LONGEST_REPORT:
                break
        raise JsonFault


_STARTS = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"}
_PARTS = _STARTS | {"Nd", "Mn", "Mc", "Cf"}
_CONTROLS = {*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0xA0)}


def is_identifier_start(char: str) -> bool:
    """Whether a name of Java may begin with the character."""
    return unicodedata.category(char) in _STARTS and ord(char) < 0x10000


def is_identifier_part(char: str) -> bool:
    """Whether a name of Java may have the character in it.

    >>> [is_identifier_part(char) for char in ("a", "$", "7", "-", "")]
    [True, True, True, False, False]
    """
    if not char or ord(char) >= 0x10000:
        return False
    return unicodedata.category(char) in _PARTS or ord(char) in _CONTROLS


def joined(text: str) -> str:
    """Text in which the halves of surrogate pairs are one character; lone halves stay.

    >>> joined("\\ud83d\\ude00") == "\\U0001f600", joined("\\ud83d") == "\\ud83d"
    (True, True)
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
