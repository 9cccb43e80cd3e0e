"""Types of plain expressions, as Spark's analyzer gives them, without asking it.

Plain are columns, literals, arithmetic and comparisons of numbers, conditions, CASE, casts and the few functions below.
Everything else has no type here, nor has anything that Spark might refuse or cast by a rule that is not written down:
who gets None asks the analyzer. ``tests/spark/test_plain_types.py`` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Literal, NamedTuple, NoReturn

import pyarrow as pa

from punctual.plan.expression import Expression
from punctual.runtime.declared_types import BOOLEAN, DATE, STRING, TIMESTAMP, declared_type

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
NUMBERS = (*INTEGERS, pa.float32(), pa.float64())
"""From the narrowest to the widest: two of them meet in the wider one."""
TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))|(?P<word>[A-Za-z_][A-Za-z_0-9]*)"
    r"|'(?P<string>[^'\\]*)'|(?P<symbol><>|<=|>=|==|!=|[-+*/%<>=(),.\[\]]))\s*"
)
COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=")
MOST_DIGITS = 15
"""A longer number is Spark's to read."""
LARGEST_INT = 2**31 - 1
DEEPEST = 40
"""Brackets that are deeper are Spark's to read: each takes ten frames of Python."""


class _Odd(Exception):
    """An expression that is not plain."""


class _Token(NamedTuple):
    kind: Literal["column", "field", "number", "string", "word", "symbol", "end"]
    text: str


END = _Token("end", "")


def plain_type(expression: Expression, columns: Mapping[str, pa.DataType]) -> pa.DataType | None:
    """The type of an expression over columns of these types; None where only Spark can tell."""
    if expression.column is not None:
        return columns.get(expression.column)
    try:
        return _Reader(_tokens(expression), columns).whole()
    except _Odd:
        return None


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type can be added up."""
    return kind in NUMBERS or bool(pa.types.is_decimal(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """Whether values of a type have an order and no parts."""
    return not pa.types.is_nested(kind) and not pa.types.is_null(kind)


def _odd() -> NoReturn:
    raise _Odd


def _tokens(expression: Expression) -> list[_Token]:
    found: list[_Token] = []
    for part in expression.parts:
        if not isinstance(part, str):
            found.append(_Token(part.kind, part.text))
            continue
        if "--" in part or "/*" in part:
            _odd()
        at, end = 0, len(part.rstrip())
        while at < end:
            token = TOKEN.match(part, at)
            if token is None or token.lastgroup is None:
                _odd()
            text = token[token.lastgroup]
            match token.lastgroup:
                case "number":
                    found.append(_Token("number", text))
                case "string":
                    found.append(_Token("string", text))
                case "word":
                    found.append(_Token("word", text.upper()))
                case _:
                    found.append(_Token("symbol", text))
            at = token.end()
    return found


class _Reader:
    """Reads an expression by Spark's precedence: OR, AND, NOT, predicates, comparisons, sums, products, signs."""

    def __init__(self, tokens: list[_Token], columns: Mapping[str, pa.DataType]) -> None:
        self._tokens = tokens
        self._columns = columns
        self._at = 0
        self._depth = 0

    def whole(self) -> pa.DataType:
        kind = self._any()
        return kind if self._next is END else _odd()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, *texts: str) -> str | None:
        """The next token where it is one of these words or symbols."""
        token = self._next
        if token.kind in ("word", "symbol") and token.text in texts:
            self._at += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if self._accept(text) is None:
            _odd()

    def _any(self) -> pa.DataType:
        self._depth += 1
        if self._depth > DEEPEST:
            _odd()
        kind = self._both("OR", lambda: self._both("AND", self._not))
        self._depth -= 1
        return kind

    def _both(self, word: str, part: Callable[[], pa.DataType]) -> pa.DataType:
        kind = part()
        while self._accept(word):
            kind = BOOLEAN if kind == part() == BOOLEAN else _odd()
        return kind

    def _not(self) -> pa.DataType:
        negated = False
        while self._accept("NOT"):
            negated = True
        kind = self._predicate()
        return kind if not negated or kind == BOOLEAN else _odd()

    def _predicate(self) -> pa.DataType:
        kind = self._comparison()
        if self._accept("IS"):
            self._accept("NOT")
            self._expect("NULL")
            return BOOLEAN
        negated = self._accept("NOT") is not None
        if self._accept("BETWEEN"):
            others = [self._sum()]
            self._expect("AND")
            others.append(self._sum())
        elif self._accept("IN"):
            self._expect("(")
            others = self._list()
        elif self._accept("LIKE"):
            return BOOLEAN if kind == self._sum() == STRING else _odd()
        else:
            return kind if not negated else _odd()
        for other in others:
            _compared(kind, other)
        return BOOLEAN

    def _comparison(self) -> pa.DataType:
        kind = self._sum()
        while self._accept(*COMPARISONS):
            kind = _compared(kind, self._sum())
        return kind

    def _sum(self) -> pa.DataType:
        kind = self._product()
        while operator := self._accept("+", "-"):
            kind = _reckoned(operator, kind, self._product())
        return kind

    def _product(self) -> pa.DataType:
        kind = self._signed()
        while operator := self._accept("*", "/", "%"):
            kind = _reckoned(operator, kind, self._signed())
        return kind

    def _signed(self) -> pa.DataType:
        signs = 0
        while self._accept("-", "+"):
            signs += 1
        kind = self._primary()
        return kind if not signs or is_number(kind) else _odd()

    def _primary(self) -> pa.DataType:
        kind = self._operand()
        while opening := self._accept("[", "."):
            if opening == "[":
                index = self._take()
                self._expect("]")
                whole = index.kind == "number" and _number(index.text) == pa.int32()
                kind = kind.value_type if whole and pa.types.is_list(kind) else _odd()
            else:
                field = self._take()
                known = field.kind == "field" and pa.types.is_struct(kind) and kind.get_field_index(field.text) >= 0
                kind = kind.field(field.text).type if known else _odd()
        return kind

    def _operand(self) -> pa.DataType:
        token = self._take()
        match token.kind:
            case "column":
                return self._columns.get(token.text) or _odd()
            case "number":
                return _number(token.text)
            case "string":
                return STRING
            case "symbol" if token.text == "(":
                kind = self._any()
                self._expect(")")
                return kind
            case "word":
                return self._worded(token.text)
        return _odd()

    def _worded(self, word: str) -> pa.DataType:
        if word in ("TRUE", "FALSE"):
            return BOOLEAN
        if word == "NULL":
            return pa.null()
        if word == "CASE":
            return self._case()
        self._expect("(")
        if word == "CAST":
            return self._cast()
        if word == "NAMED_STRUCT":
            return self._struct()
        rule = FUNCTIONS.get(word)
        return rule(self._list()) if rule is not None else _odd()

    def _list(self) -> list[pa.DataType]:
        """Operands between commas, through the closing bracket."""
        found = [self._any()]
        while self._accept(","):
            found.append(self._any())
        self._expect(")")
        return found

    def _case(self) -> pa.DataType:
        subject = None if self._next == ("word", "WHEN") else self._any()
        results: list[pa.DataType] = []
        while self._accept("WHEN"):
            condition = self._any()
            if (condition if subject is None else _compared(subject, condition)) != BOOLEAN:
                _odd()
            self._expect("THEN")
            results.append(self._any())
        if self._accept("ELSE"):
            results.append(self._any())
        self._expect("END")
        return _common(results)

    def _cast(self) -> pa.DataType:
        kind = self._any()
        self._expect("AS")
        text = self._take().text if self._next.kind == "word" else _odd()
        if text == "DECIMAL":
            self._expect("(")
            precision = self._take().text
            self._expect(",")
            text = f"DECIMAL({precision},{self._take().text})"
            self._expect(")")
        self._expect(")")
        target = declared_type(text)
        return target if target is not None and _castable(kind, target) else _odd()

    def _struct(self) -> pa.DataType:
        fields: list[tuple[str, pa.DataType]] = []
        while True:
            name = self._take()
            self._expect(",")
            kind = self._any()
            if name.kind != "string" or pa.types.is_null(kind) or name.text in dict(fields):
                _odd()
            fields.append((name.text, kind))
            if not self._accept(","):
                break
        self._expect(")")
        return pa.struct(fields)


def _number(text: str) -> pa.DataType:
    """The type of a number as written: INT, a DECIMAL of so many digits, or DOUBLE where it has an exponent."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(whole + fraction) > MOST_DIGITS or len(exponent.lstrip("+-")) > 2:
        return _odd()
    if exponent:
        return pa.float64()
    if fraction:
        return pa.decimal128(max(len(str(int(whole + fraction))), len(fraction)), len(fraction))
    return pa.int32() if int(whole) <= LARGEST_INT else _odd()


def _reckoned(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Arithmetic. That of decimals alone has rules of precision that are left to Spark."""
    if left in NUMBERS and right in NUMBERS:
        return pa.float64() if operator == "/" else _wider(left, right)
    if is_number(left) and is_number(right) and (pa.types.is_floating(left) or pa.types.is_floating(right)):
        return pa.float64()
    return _odd()


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    return max(left, right, key=NUMBERS.index)


def _compared(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    same = left == right and is_scalar(left)
    return BOOLEAN if same or (is_number(left) and is_number(right)) else _odd()


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The type of a value that is one of several."""
    if not kinds:
        return _odd()
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0] if is_scalar(kinds[0]) else _odd()
    return reduce(_wider, kinds) if all(kind in NUMBERS for kind in kinds) else _odd()


def _castable(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast is one that Spark never refuses."""
    if not is_scalar(target):
        return False
    if kind == target or pa.types.is_null(kind) or (is_number(kind) and is_number(target)):
        return True
    if target == STRING:
        return is_scalar(kind)
    if kind == STRING:
        return is_number(target) or target in (BOOLEAN, DATE, TIMESTAMP)
    return (kind, target) in ((TIMESTAMP, DATE), (DATE, TIMESTAMP)) or (kind == BOOLEAN and target in NUMBERS)


def _takes(arguments: tuple[pa.DataType, ...], result: pa.DataType) -> Callable[[Sequence[pa.DataType]], pa.DataType]:
    """A function of values of just these types."""
    return lambda given: result if tuple(given) == arguments else _odd()


def _concat(given: Sequence[pa.DataType]) -> pa.DataType:
    texts = all(kind == STRING or is_number(kind) or kind in (DATE, TIMESTAMP) for kind in given)
    return STRING if STRING in given and texts else _odd()


def _substring(given: Sequence[pa.DataType]) -> pa.DataType:
    return STRING if tuple(given) in ((STRING, pa.int32()), (STRING, pa.int32(), pa.int32())) else _odd()


def _whole(given: Sequence[pa.DataType]) -> pa.DataType:
    return pa.int64() if len(given) == 1 and given[0] in NUMBERS else _odd()


def _absolute(given: Sequence[pa.DataType]) -> pa.DataType:
    return given[0] if len(given) == 1 and given[0] in NUMBERS else _odd()


def _from_epoch(given: Sequence[pa.DataType]) -> pa.DataType:
    return TIMESTAMP if len(given) == 1 and given[0] in INTEGERS else _odd()


FUNCTIONS: dict[str, Callable[[Sequence[pa.DataType]], pa.DataType]] = {
    "ABS": _absolute,
    "CEIL": _whole,
    "COALESCE": _common,
    "CONCAT": _concat,
    "DATE_TRUNC": _takes((STRING, TIMESTAMP), TIMESTAMP),
    "FLOOR": _whole,
    "LENGTH": _takes((STRING,), pa.int32()),
    "LOWER": _takes((STRING,), STRING),
    "SUBSTRING": _substring,
    "TIMESTAMP_MICROS": _from_epoch,
    "TIMESTAMP_MILLIS": _from_epoch,
    "TIMESTAMP_SECONDS": _from_epoch,
    "UNIX_MICROS": _takes((TIMESTAMP,), pa.int64()),
    "UPPER": _takes((STRING,), STRING),
}
"""Functions whose result has one type for arguments that they surely take."""
