"""An expression to one that has a value in every world, by Spark's grammar, from the loosest operator to the tightest.

It is split by its tokens, not by sqlglot's tree: every part must be known as written, since what is certain is Spark's.
Spark's grammar has two surprises. Comparisons bind tighter than IS, BETWEEN and IN, so ``a = b IS NULL`` asks whether
``a = b`` is NULL; and NOT binds tighter than AND, but looser than all of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Protocol

from punctual.errors import BindError, Span, suggest
from punctual.plan.world_expression import Constant, Operation, WorldExpression
from punctual.sql.syntax.expression import Call, ExpressionSyntax, matching, split_commas, top_level
from punctual.sql.syntax.tokens import Token

NOT = ("NOT", "!")
COMPARED = {
    "=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>",
}  # fmt: skip
ADDED = {"+": "+", "-": "-"}
MULTIPLIED = {"*": "*", "/": "/", "%": "%", "DIV": "div"}
OPERATORS = COMPARED.keys() | ADDED.keys() | MULTIPLIED.keys()
PREDICATES = ("IS", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP")
UNKNOWN = ("||", "&", "|", "^", "~")
"""Operators between comparisons and products that no world knows."""
ONLY_CERTAIN = "Spark functions that are not known here may only be given certain values"
TRUTHS = {"NULL": None, "TRUE": True, "FALSE": False}
FUNCTIONS: dict[str, tuple[str, int, int | None]] = {
    "abs": ("abs", 1, 1), "sign": ("sign", 1, 1), "signum": ("sign", 1, 1), "floor": ("floor", 1, 1),
    "ceil": ("ceil", 1, 1), "ceiling": ("ceil", 1, 1), "round": ("round", 1, 2), "sqrt": ("sqrt", 1, 1),
    "exp": ("exp", 1, 1), "ln": ("ln", 1, 1), "log": ("ln", 1, 1), "log10": ("log10", 1, 1), "pow": ("pow", 2, 2),
    "power": ("pow", 2, 2), "least": ("least", 2, None), "greatest": ("greatest", 2, None),
    "coalesce": ("coalesce", 1, None), "ifnull": ("coalesce", 2, 2), "nvl": ("coalesce", 2, 2),
    "nullif": ("nullif", 2, 2), "if": ("case", 3, 3), "sin": ("sin", 1, 1), "cos": ("cos", 1, 1),
    "tan": ("tan", 1, 1), "atan2": ("atan2", 2, 2), "radians": ("radians", 1, 1),
}  # fmt: skip
"""The operation that a function is, and how many arguments it takes at least and at most."""
CASTS = {
    "DOUBLE": "double", "BIGINT": "whole", "LONG": "whole", "INT": "int", "INTEGER": "int",
}  # fmt: skip
MOST_DIGITS = 20
"""To so many digits after the point bundles are rounded exactly (`kernel/draw/bundle_values.py`)."""
NUMBER = re.compile(r"(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<exponent>E[+-]?[0-9]+)?(?P<suffix>BD|[DLSY])?", re.I)
BITS = {"": 64, "L": 64, "S": 16, "Y": 8}


class Leaves(Protocol):
    """What the parts of an expression are that are not taken apart."""

    def is_certain(self, part: ExpressionSyntax) -> bool:
        """Whether nothing in it differs between worlds, so that Spark computes it as it stands."""

    def certain(self, part: ExpressionSyntax) -> WorldExpression:
        """What is certain, and no literal."""

    def column(self, part: ExpressionSyntax) -> WorldExpression:
        """A column that is not certain."""

    def call(self, part: ExpressionSyntax, call: Call) -> WorldExpression | None:
        """An aggregate or a summary; None for a function of values. ``call`` is that of the part."""


def world_expression(expression: ExpressionSyntax, leaves: Leaves) -> WorldExpression:
    """The expression with a value in every world.

    The largest parts that are certain are not taken apart. ``a + b + c`` has the part ``a + b``, and not ``b + c``.

    Raises
    ------
    BindError
        ``bind.not-in-worlds`` for what only Spark knows, of something uncertain.
    ParseError
        ``parse.syntax`` for what is nested too deep: reading a part again goes deeper than anything here.
    """
    return _Binder(expression, leaves).bind(0, len(expression.tokens))


@dataclass(frozen=True, slots=True)
class _Binder:
    whole: ExpressionSyntax
    leaves: Leaves

    def bind(self, first: int, end: int) -> WorldExpression:
        """The expression that tokens ``first`` up to ``end`` are."""
        if first >= end:
            raise self._refusal(0, len(self.whole.tokens))
        constant = _literal(self.whole.tokens[first:end])
        if constant is not None:
            return constant
        part = self._part(first, end)
        return self.leaves.certain(part) if self.leaves.is_certain(part) else self._condition(first, end)

    def _part(self, first: int, end: int) -> ExpressionSyntax:
        return self.whole if end - first == len(self.whole.tokens) else self.whole.part(first, end)

    def _words(self, first: int, end: int) -> list[tuple[int, str]]:
        """Words in no bracket and no CASE, by their numbers; the name of a field is none."""
        tokens = self.whole.tokens
        found = ((first + index, word) for index, word in top_level(tokens[first:end]))
        return [(index, word) for index, word in found if index == first or tokens[index - 1].word != "."]

    def _operation(self, name: str, arguments: Iterable[WorldExpression], first: int, end: int) -> Operation:
        return Operation(name, tuple(arguments), self.whole.place(first, end))

    def _condition(self, first: int, end: int) -> WorldExpression:
        words = self._words(first, end)
        for name, cuts in (("or", [index for index, word in words if word == "OR"]), ("and", _ands(words))):
            if cuts:
                start, used = self._beginning(first, cuts)
                rest = zip(cuts[used:], [*cuts[used + 1 :], end])
                return self._operation(name, (start, *(self.bind(cut + 1, stop) for cut, stop in rest)), first, end)
        if words and words[0][0] == first and words[0][1] in NOT:
            return self._operation("not", (self.bind(first + 1, end),), first, end)
        for index, word in words:
            if word in PREDICATES:
                negated = index > first and self.whole.tokens[index - 1].word == "NOT"
                found = self._predicate(word, first, index - negated, index, end)
                return self._operation("not", (found,), first, end) if negated else found
        return self._value(first, end, words)

    def _beginning(self, first: int, cuts: list[int]) -> tuple[WorldExpression, int]:
        """The longest certain beginning of a chain, else its first operand; and how many operators are inside."""
        for used in range(len(cuts) - 1, 0, -1):
            part = self.whole.part(first, cuts[used])
            if self.leaves.is_certain(part):
                return self.leaves.certain(part), used
        return self.bind(first, cuts[0]), 0

    def _predicate(self, word: str, first: int, stop: int, at: int, end: int) -> WorldExpression:
        """``<subject> IS ...`` and the like: the subject ends at ``stop``, and ``at`` is the word."""
        tokens = self.whole.tokens
        if stop <= first or word not in ("IS", "BETWEEN", "IN"):
            raise self._refusal(first, end)
        subject = self.bind(first, stop)
        if word == "BETWEEN":
            cut = next((index for index, other in self._words(at, end) if other == "AND"), end)
            low, high = self.bind(at + 1, cut), self.bind(cut + 1, end)
            above = self._operation(">=", (subject, low), first, end)
            return self._operation("and", (above, self._operation("<=", (subject, high), first, end)), first, end)
        if word == "IN":
            if at + 1 >= end or tokens[at + 1].word != "(" or matching(tokens, at + 1) != end - 1:
                raise self._refusal(first, end)
            items = [self.bind(*item) for item in split_commas(tokens, at + 2, end - 1)]
            return self._operation("in", (subject, *items), first, end)
        return self._is(subject, first, at + 1, end)

    def _is(self, subject: WorldExpression, first: int, at: int, end: int) -> WorldExpression:
        """IS [NOT] NULL, UNKNOWN, TRUE, FALSE or DISTINCT FROM; ``at`` is what comes after IS."""
        tokens = self.whole.tokens
        negated = at < end and tokens[at].word == "NOT"
        at += negated
        words = [token.word for token in tokens[at:end]]
        if words in (["NULL"], ["UNKNOWN"]):
            found = self._operation("is null", (subject,), first, end)
        elif words in (["TRUE"], ["FALSE"]):
            found = self._operation("<=>", (subject, Constant(TRUTHS[words[0]])), first, end)
        elif words[:2] == ["DISTINCT", "FROM"]:
            found = self._operation("<=>", (subject, self.bind(at + 2, end)), first, end)
            negated = not negated
        else:
            raise self._refusal(first, end)
        return self._operation("not", (found,), first, end) if negated else found

    def _value(self, first: int, end: int, words: list[tuple[int, str]]) -> WorldExpression:
        for operators in (COMPARED, ADDED, MULTIPLIED):
            cuts = [index for index, word in words if word in operators and self._follows_operand(first, index)]
            if any(cut + 1 == end or self._is_shift(cut) for cut in cuts):
                raise self._refusal(first, end)
            if cuts:
                return self._chain(operators, first, cuts, end)
            if operators is COMPARED and any(word in UNKNOWN for _, word in words):
                raise self._refusal(first, end)
        if self.whole.tokens[first].word in ADDED:
            found = self.bind(first + 1, end)
            return found if self.whole.tokens[first].word == "+" else self._operation("negative", (found,), first, end)
        return self._primary(first, end)

    def _follows_operand(self, first: int, index: int) -> bool:
        """Whether an operator has something on its left: a sign has not."""
        return index > first and self.whole.tokens[index - 1].word not in OPERATORS

    def _is_shift(self, cut: int) -> bool:
        """``<<`` and ``>>`` are two tokens."""
        word = self.whole.tokens[cut].word
        return word in ("<", ">") and self.whole.tokens[cut + 1].word == word

    def _chain(self, operators: Mapping[str, str], first: int, cuts: list[int], end: int) -> WorldExpression:
        """Operators of equal rank, from left to right."""
        found, used = self._beginning(first, cuts)
        for cut, stop in zip(cuts[used:], [*cuts[used + 1 :], end]):
            name = operators[self.whole.tokens[cut].word]
            found = self._operation(name, (found, self.bind(cut + 1, stop)), first, stop)
        return found

    def _primary(self, first: int, end: int) -> WorldExpression:
        tokens = self.whole.tokens
        if tokens[first].word == "(" and matching(tokens, first) == end - 1:
            if len(split_commas(tokens, first + 1, end - 1)) != 1:
                raise self._refusal(first, end)
            return self.bind(first + 1, end - 1)
        if tokens[first].word == "CASE" and tokens[end - 1].word == "END":
            return self._case(first, end)
        if any((call.first, call.end) == (first, end) for call in self.whole.calls):
            return self._call(first, end)
        if any((column.first, column.end) == (first, end) for column in self.whole.columns):
            return self.leaves.column(self._part(first, end))
        raise self._refusal(first, end)

    def _case(self, first: int, end: int) -> WorldExpression:
        """CASE WHEN c THEN x ... ELSE y END, and CASE s WHEN a THEN x ... END, which compares."""
        marks = [(at, word) for at, word in self._words(first + 1, end - 1) if word in ("WHEN", "THEN", "ELSE")]
        words = [word for _at, word in marks]
        pairs = len(words) // 2
        if not pairs or words not in (["WHEN", "THEN"] * pairs, [*["WHEN", "THEN"] * pairs, "ELSE"]):
            raise self._refusal(first, end)
        subject = self.bind(first + 1, marks[0][0]) if marks[0][0] > first + 1 else None
        arguments: list[WorldExpression] = []
        for (at, word), (stop, _word) in zip(marks, [*marks[1:], (end - 1, "END")]):
            found = self.bind(at + 1, stop)
            if subject is not None and word == "WHEN":
                found = self._operation("=", (subject, found), at + 1, stop)
            arguments.append(found)
        return self._operation("case", arguments, first, end)

    def _call(self, first: int, end: int) -> WorldExpression:
        part = self._part(first, end)
        call = next(one for one in part.calls if one.first == 0)
        found = self.leaves.call(part, call)
        if found is not None:
            return found
        if call.distinct or call.ignore_nulls or call.where is not None or call.window is not None:
            raise self._refusal(first, end)
        arguments = [(first + start, first + stop) for start, stop in call.arguments]
        if call.name == "cast":
            return self._cast(first, arguments[0], end)
        if call.name not in FUNCTIONS:
            register = f'functions of Python are registered first: engine.world_function("{call.name}", ...)'
            hint = suggest(call.name, FUNCTIONS, "functions of uncertain values")
            raise self._refusal(first, end, f"{ONLY_CERTAIN}; {register}", hint)
        name, fewest, most = FUNCTIONS[call.name]
        if len(arguments) < fewest or (most is not None and len(arguments) > most):
            raise self._refusal(first, end, f"{call.name} takes {_count(fewest, most)} here")
        bound = [self.bind(*argument) for argument in arguments]
        if name == "round" and len(bound) == 2 and not _is_digits(bound[1]):
            raise self._refusal(first, end, f"a number is rounded to a constant number of digits, 0 to {MOST_DIGITS}")
        return self._operation(name, bound, first, end)

    def _cast(self, first: int, argument: tuple[int, int], end: int) -> WorldExpression:
        start, stop = argument
        cut = next((index for index, word in reversed(self._words(start, stop)) if word == "AS"), stop)
        name = CASTS.get(" ".join(token.word for token in self.whole.tokens[cut + 1 : stop]))
        if name is None:
            raise self._refusal(first, end, "uncertain values are cast to DOUBLE, BIGINT and INT")
        return self._operation(name, (self.bind(start, cut),), first, end)

    def _refusal(self, first: int, end: int, detail: str | None = None, hint: str | None = None) -> BindError:
        place: Span = self.whole.place(first, end)
        text = " ".join(self.whole.text_at(place).split())
        detail = detail or ONLY_CERTAIN
        fact = f'"{text}" cannot be computed in every world'
        return BindError("bind.not-in-worlds", fact, span=place, detail=detail, hint=hint)


def _ands(words: list[tuple[int, str]]) -> list[int]:
    """The ANDs that are none of BETWEEN."""
    cuts, between = [], 0
    for index, word in words:
        between += word == "BETWEEN"
        if word == "AND" and between:
            between -= 1
        elif word == "AND":
            cuts.append(index)
    return cuts


def _literal(tokens: tuple[Token, ...]) -> Constant | None:
    """A literal, perhaps in brackets; None where it is none, or one whose value only Spark knows."""
    while len(tokens) > 2 and tokens[0].word == "(" and matching(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    sign = tokens[0].word if len(tokens) > 1 and tokens[0].word in ADDED else ""
    tokens = tokens[1:] if sign else tokens
    if tokens[-1].kind == "number":
        touching = all(one.end == other.start for one, other in pairwise(tokens))
        text = "".join(token.text for token in tokens)
        return _number(sign, text) if touching else None
    if sign or len(tokens) > 1:
        return None
    if tokens[0].kind == "string":
        # An escape means what Spark says it means, and so do strings that touch.
        quoted, value = tokens[0].text, tokens[0].value
        plain = quoted[1:-1] == value and "\\" not in value and len(tokens[0].raw) == 1
        return Constant(value) if plain else None
    return Constant(TRUTHS[tokens[0].word]) if tokens[0].word in TRUTHS else None


def _number(sign: str, text: str) -> Constant | None:
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    digits, exponent, suffix = found["digits"], found["exponent"] or "", (found["suffix"] or "").upper()
    if digits.isdecimal() and not exponent and suffix in BITS:
        whole = -int(digits) if sign == "-" else int(digits)
        if -(2 ** (BITS[suffix] - 1)) <= whole < 2 ** (BITS[suffix] - 1):
            return Constant(whole)
    if suffix in ("L", "S", "Y"):
        return None
    number = -float(digits + exponent) if sign == "-" else float(digits + exponent)
    if not exponent and suffix != "D":
        number += 0.0  # a decimal, and these have no negative zero
    return Constant(number) if isfinite(number) else None


def _is_digits(expression: WorldExpression) -> bool:
    value = expression.value if isinstance(expression, Constant) else None
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_DIGITS


def _count(fewest: int, most: int | None) -> str:
    several = f"{fewest}" if fewest == most else f"{fewest} or more" if most is None else f"{fewest} or {most}"
    return f"{several} argument{'' if several == '1' else 's'}"
