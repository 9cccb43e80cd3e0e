"""An expression of a program: Spark SQL as written, with its columns and calls found.

Model
-----
An :class:`ExpressionSyntax` is a run of tokens. sqlglot's Spark parser checks its syntax and says which names are
columns (and not fields, lambda variables, types or units); calls and their arguments are read off the tokens. Nothing
is ever *generated* by sqlglot: it would turn ``to_char(x, '99')`` into a cast and ``log2(x)`` into ``LOG(2, x)``.
Rewriting an expression means replacing tokens (see ``pieces.py``), so that Spark gets the user's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.errors import SqlglotError as AnySqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token as RawToken

from punctual.config import unit_us
from punctual.errors import ParseError, PlanError, PunctualError, Span
from punctual.sql.syntax.tokens import SPARK, Token, tokenize

OPERATOR_WORDS = frozenset((
    "AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "DIV", "CASE", "WHEN", "THEN",
    "ELSE", "ESCAPE", "DISTINCT", "ALL", "AS", "FROM", "INTERVAL", "WHERE", "FILTER", "OVER", "BY", "SELECT", "ON",
    "USING",
))
"""Words after which an operand is still to come; none of them is a function before a bracket."""
NULL_RULES = ("IGNORE", "RESPECT")
OPENING = {"(": ")", "[": "]"}
DEEPEST = 100
"""Brackets in brackets beyond this are refused: sqlglot and Spark both recurse."""


UNIT_FIRST = frozenset(("timestampdiff", "timestampadd", "dateadd", "date_add", "datediff", "date_diff"))
"""Calls whose first argument of three is a unit and no column."""


class NeedsRowsError(PlanError):
    """What panes cannot answer: such a query is answered from the rows of its windows. Nobody is shown this.

    ``otherwise`` is what is wrong where there are no rows.
    """

    def __init__(self, what: str, span: Span | None, otherwise: PunctualError | None = None) -> None:
        super().__init__("plan.needs-rows", f"{what} needs the rows of the window", span=span)
        self.what = what
        self.otherwise = otherwise


class _ExpressionParser(SparkParser):
    """Spark's grammar, every function left as it is: no argument is dropped, counted or rearranged.

    IF without brackets is an error, not a command of some other system, about which sqlglot would write to the log.
    """

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    NO_PAREN_IF_COMMANDS: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A possibly qualified name: ``parts`` as written without quotes, tokens ``first`` up to ``end``."""

    parts: tuple[str, ...]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function call: tokens ``first`` up to ``end``, suffixes such as FILTER included.

    ``arguments`` and ``where`` (of FILTER) are token ranges. ``window`` is the span of OVER or WITHIN GROUP.
    """

    name: str
    first: int
    end: int
    arguments: tuple[tuple[int, int], ...]
    distinct: bool = False
    ignore_nulls: bool = False
    where: tuple[int, int] | None = None
    window: Span | None = None


@dataclass(frozen=True, slots=True)
class ExpressionSyntax:
    """Tokens that form one expression."""

    source: str = field(repr=False)
    tokens: tuple[Token, ...] = field(repr=False)
    columns: tuple[ColumnReference, ...]
    calls: tuple[Call, ...]
    tree: exp.Expression = field(repr=False, compare=False)

    @property
    def span(self) -> Span:
        return _whole(self.tokens)

    @property
    def text(self) -> str:
        """As written, white space collapsed."""
        return " ".join(self.source[self.tokens[0].start : self.tokens[-1].end].split())

    def part(self, first: int, end: int) -> ExpressionSyntax:
        """The expression formed by some of the tokens."""
        return parse_expression(self.source, self.tokens[first:end])

    def text_at(self, span: Span) -> str:
        return self.source[span.start : span.end]

    def place(self, first: int, end: int) -> Span:
        return Span(self.tokens[first].start, self.tokens[end - 1].end)


def parse_expression(source: str, tokens: tuple[Token, ...]) -> ExpressionSyntax:
    """Check the syntax of some tokens, and find their columns and calls.

    Raises
    ------
    ParseError
        ``parse.syntax``, at the token that sqlglot objects to.
    NeedsRowsError
        For a subquery inside an expression.
    """
    _refuse_what_cannot_be_read(tokens)
    tree = _tree(source, tokens)
    by_start = {token.start: index for index, token in enumerate(tokens)}
    calls = tuple(_calls(tokens))
    for call in calls:
        if any(first == end for first, end in call.arguments):
            span = Span(tokens[call.first].start, tokens[call.end - 1].end)
            raise ParseError("parse.syntax", "an argument is missing", span=span)
    units = {c.arguments[0] for c in calls if c.name in UNIT_FIRST and len(c.arguments) == 3}
    columns = []
    for column in tree.find_all(exp.Column):
        starts = [part.meta.get("start", -1) for part in column.parts]
        indices = [by_start[start] for start in starts if start in by_start]
        if indices and not isinstance(column.this, exp.Star):
            first, end = min(indices), max(indices) + 1
            if (first, end) not in units:
                columns.append(ColumnReference(tuple(part.name for part in column.parts), first, end))
    columns.sort(key=lambda column: column.first)
    return ExpressionSyntax(source, tokens, tuple(columns), calls, tree)


def parse_text(text: str) -> exp.Expression:
    """The tree of an expression that was made here."""
    return _tree(text, tokenize(text)[0])


def matching(tokens: tuple[Token, ...], first: int) -> int:
    """The index of the bracket that closes the one at ``first``; the length where none does."""
    depth = 0
    for index in range(first, len(tokens)):
        word = tokens[index].word
        depth += (word in OPENING) - (word in (")", "]"))
        if depth == 0:
            return index
    return len(tokens)


def top_level(tokens: tuple[Token, ...]) -> Iterator[tuple[int, str]]:
    """The words that stand in no bracket and in no CASE, each with its index."""
    index, cases = 0, 0
    while index < len(tokens):
        word = tokens[index].word
        cases += (word == "CASE") - (word == "END" and cases > 0)
        if word in OPENING:
            index = matching(tokens, index)
        elif cases == 0:
            yield index, word
        index += 1


def split_commas(tokens: tuple[Token, ...], first: int, end: int) -> list[tuple[int, int]]:
    """Ranges between the commas that stand in no bracket."""
    ranges, start, index = [], first, first
    while index < end:
        word = tokens[index].word
        if word in OPENING:
            index = matching(tokens, index)
        elif word == ",":
            ranges.append((start, index))
            start = index + 1
        index += 1
    return [*ranges, (start, end)] if first < end else []


def _refuse_what_cannot_be_read(tokens: tuple[Token, ...]) -> None:
    depth = 0
    for token in tokens:
        if token.word == "SELECT":
            raise NeedsRowsError("a subquery inside an expression", token.span)
        depth += (token.word in OPENING) - (token.word in (")", "]"))
        if depth > DEEPEST:
            raise ParseError("parse.syntax", f"brackets are more than {DEEPEST} deep", span=token.span)


def _tree(source: str, tokens: tuple[Token, ...]) -> exp.Expression:
    raw = _for_sqlglot(tokens)
    try:
        trees = _ExpressionParser(dialect=SPARK).parse_into(exp.Condition, raw, source)
    except SqlglotError as error:
        raise _located(error, tokens) from None
    except RecursionError:
        raise ParseError("parse.syntax", "this is nested too deep", span=_whole(tokens)) from None
    except (AnySqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        # sqlglot builds some calls eagerly and trips over arguments that it did not expect.
        raise _unreadable(tokens) from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
        raise _unreadable(tokens)
    return trees[0]


def _for_sqlglot(tokens: tuple[Token, ...]) -> list[RawToken]:
    """The sqlglot tokens, without what its grammar does not know and our own reading of calls does.

    ``95%`` before a bracket or comma loses its sign, IGNORE NULLS is left out, ``INTERVAL(x, ..)`` is a call.
    """
    raw: list[RawToken] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1].word if index else ""
        after = tokens[index + 1].word if index + 1 < len(tokens) else ")"
        if token.word == "%" and after in (")", ","):
            continue
        if (token.word in NULL_RULES and after == "NULLS") or (token.word == "NULLS" and before in NULL_RULES):
            continue
        if after == "(" and _calls_interval(tokens, index):
            (old,) = token.raw
            raw.append(RawToken(TokenType.VAR, old.text, old.line, old.col, old.start, old.end, []))
            continue
        raw += token.raw
    return raw


def _calls_interval(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether INTERVAL before a bracket is a call: ``INTERVAL(x, ..)`` is one, ``INTERVAL (x) DAYS`` is none."""
    if tokens[index].word != "INTERVAL":
        return False
    end = matching(tokens, index + 1)
    units = end + 1 < len(tokens) and interval_word(tokens[end + 1].text)
    return not units or len(split_commas(tokens, index + 2, end)) > 1


def interval_word(text: str) -> bool:
    """Whether a word may follow the number of an INTERVAL of Spark's."""
    return unit_us(text) is not None or text.upper() in ("TO", "MONTH", "MONTHS", "YEAR", "YEARS")


def _located(error: SqlglotError, tokens: tuple[Token, ...]) -> ParseError:
    first = error.errors[0] if error.errors else {}
    line_and_column = (first.get("line"), first.get("col"))
    for token in tokens:
        if any((raw.line, raw.col) == line_and_column for raw in token.raw):
            return ParseError("parse.syntax", f'"{token.text}" does not fit here', span=token.span)
    return _unreadable(tokens)


def _unreadable(tokens: tuple[Token, ...]) -> ParseError:
    return ParseError("parse.syntax", "this is not an expression", span=_whole(tokens))


def _whole(tokens: tuple[Token, ...]) -> Span:
    return Span(tokens[0].start, tokens[-1].end)


def _calls(tokens: tuple[Token, ...]) -> list[Call]:
    calls = []
    for index in range(len(tokens) - 1):
        token = tokens[index]
        named = token.kind == "quoted" or (token.kind == "word" and token.word not in OPERATOR_WORDS)
        # LIKE ANY ('a', 'b') calls nothing
        quantifier = index > 0 and tokens[index - 1].word in ("LIKE", "ILIKE", "RLIKE")
        if tokens[index + 1].word == "(" and not quantifier and (named or _calls_interval(tokens, index)):
            calls.append(_call(tokens, index))
    return calls


def _call(tokens: tuple[Token, ...], index: int) -> Call:
    close = matching(tokens, index + 1)
    first, last = index + 2, close
    distinct = first < last and tokens[first].word == "DISTINCT"
    if first < last and tokens[first].word in ("DISTINCT", "ALL") and first + 1 < last:
        first += 1
    ignore_nulls = False
    if last - first > 2 and tokens[last - 1].word == "NULLS" and tokens[last - 2].word in NULL_RULES:
        ignore_nulls = tokens[last - 2].word == "IGNORE"
        last -= 2
    end, where, window = close + 1, None, None
    while end < len(tokens):
        word, after = tokens[end].word, tokens[end + 1].word if end + 1 < len(tokens) else ""
        if word in NULL_RULES and after == "NULLS":
            ignore_nulls, end = word == "IGNORE", end + 2
        elif word == "FILTER" and after == "(":
            stop = matching(tokens, end + 1)
            where, end = (end + 3, stop), stop + 1
        elif word == "WITHIN" and after.startswith("GROUP"):
            window, end = tokens[end].span, min(matching(tokens, end + 2) + 1, len(tokens))
        elif word == "OVER":
            stop = matching(tokens, end + 1) if after == "(" else end + 1
            window, end = tokens[end].span, min(stop + 1, len(tokens))
        else:
            break
    arguments = tuple(split_commas(tokens, first, last))
    name, end = tokens[index].value.lower(), min(end, len(tokens))
    return Call(name, index, end, arguments, distinct, ignore_nulls, where, window)
