"""The SELECTs of a text that is Spark's, by their tokens: which there are, where their items and clauses stand.

Nothing is checked that Spark checks: this only finds what has to be told apart or put together anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from punctual.sql.syntax.expression import OPENING, matching, split_commas
from punctual.sql.syntax.tokens import Token

SET_WORDS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
CLAUSES = frozenset((
    "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "WINDOW", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY",
    "LIMIT", "OFFSET",
))
BEFORE_RELATION = ("FROM", "JOIN", "LATERAL")


@dataclass(frozen=True, slots=True)
class SelectPart:
    """A SELECT: the index of its word, its items as ranges of tokens, and the same of its clauses by their words.

    ``depth`` is how many brackets it stands in, ``end`` the index after its last token. ``of_relation`` says that it is
    a relation: the whole query, an operand of UNION and the like, or what stands in FROM or WITH.
    """

    select: int
    depth: int
    distinct: bool
    items: tuple[tuple[int, int], ...]
    end: int
    clauses: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    of_relation: bool = True

    @property
    def first_item(self) -> int:
        return self.items[0][0]


def select_parts(tokens: Sequence[Token]) -> list[SelectPart]:
    """All SELECTs, in the order of their words."""
    every = tuple(tokens)
    found: list[SelectPart] = []
    opened: list[int] = []
    for index, token in enumerate(every):
        if token.word in OPENING:
            opened.append(index)
        elif token.word in OPENING.values() and opened:
            opened.pop()
        elif token.word == "SELECT":
            part = _part(every, index, len(opened))
            relation = not opened or _is_relation(every, opened, found)
            found.append(SelectPart(
                part.select, part.depth, part.distinct, part.items, part.end, part.clauses, relation
            ))  # fmt: skip
    return found


def _part(tokens: tuple[Token, ...], select: int, depth: int) -> SelectPart:
    first = select + 1
    distinct = first < len(tokens) and tokens[first].word == "DISTINCT"
    if first < len(tokens) and tokens[first].word in ("DISTINCT", "ALL"):
        first += 1
    marks: list[tuple[str, int]] = []
    index = first
    while index < len(tokens):
        word = tokens[index].word
        if word in OPENING:
            index = matching(tokens, index)
        elif word in OPENING.values() or (word in SET_WORDS and marks):
            break
        elif word in CLAUSES and not (word == "FROM" and tokens[index - 1].word == "DISTINCT"):
            marks.append((word, index))
        index += 1
    end = min(index, len(tokens))
    stops = [at for _word, at in marks] + [end]
    clauses = {word: (at + 1, stop) for (word, at), stop in zip(marks, stops[1:])}
    return SelectPart(select, depth, distinct, tuple(split_commas(tokens, first, stops[0])), end, clauses)


def _is_relation(tokens: Sequence[Token], opened: Sequence[int], before: Sequence[SelectPart]) -> bool:
    """Whether the brackets around a SELECT hold a relation, and no value of an expression."""
    bracket = opened[-1]
    if bracket == 0:
        return True
    word = tokens[bracket - 1].word
    if word in BEFORE_RELATION or word in SET_WORDS:
        return True
    if word in ("ALL", "DISTINCT"):  # of UNION ALL (SELECT ...)
        return tokens[bracket - 2].word in SET_WORDS
    if word == "AS":  # of WITH
        return True
    if word == "(":
        return _is_relation(tokens, opened[:-1], before)
    if word != ",":
        return False
    around = [part for part in before if part.depth == len(opened) - 1 and part.select < bracket < part.end]
    first, end = around[-1].clauses.get("FROM", (0, 0)) if around else (0, 0)
    return first <= bracket < end


def set_operations(tokens: Sequence[Token], depth: int | None = None) -> Iterator[tuple[int, bool]]:
    """The words that unite or subtract queries, in so many brackets or anywhere; and whether ALL stands after each."""
    open_brackets = 0
    for index, token in enumerate(tokens):
        open_brackets += (token.word in OPENING) - (token.word in OPENING.values())
        if token.word in SET_WORDS and (depth is None or depth == open_brackets):
            after = tokens[index + 1].word if index + 1 < len(tokens) else ""
            # SELECT * EXCEPT (a, b) leaves columns out
            if not (token.word == "EXCEPT" and tokens[index - 1].word == "*" and after == "("):
                yield index, after == "ALL"
