"""Which names of a text may differ between worlds: uncertain attributes, and what subqueries make of them.

By words alone, so it may take something certain for uncertain, and never the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from punctual.kinds.worlds.by_rows.select_parts import SelectPart, set_operations
from punctual.sql.expressions.function_names import is_aggregate
from punctual.sql.syntax.expression import OPERATOR_WORDS, matching
from punctual.sql.syntax.tokens import Token

CUTS = ("LIMIT", "OFFSET")
"""Clauses that keep some of the rows, by an order that may be uncertain."""


class UncertainNames:
    """The names of a text that may differ between worlds.

    ``columns`` are the uncertain attributes of its streams; ``exist`` says whether all rows of these exist surely.
    ``same_rows`` says whether every SELECT has the same rows in all worlds, whatever they hold.
    """

    def __init__(
        self, tokens: Sequence[Token], parts: Sequence[SelectPart], columns: Iterable[str], *, exist: bool
    ) -> None:
        self._tokens, self._parts = tuple(tokens), parts
        self.names = {name.lower() for name in columns} | set(self._listed())
        self.same_rows = exist
        known = -1
        while known != len(self.names) + (not self.same_rows):
            known = len(self.names) + (not self.same_rows)
            self.same_rows = self.same_rows and self._all_the_same()
            self.names |= set(self._made())

    def differs(self, first: int, end: int) -> bool:
        """Whether an expression may differ between worlds."""
        return any(self._is_named(index) for index in range(first, end)) or (
            not self.same_rows and self._of_several_rows(first, end)
        )

    def _is_named(self, index: int) -> bool:
        tokens = self._tokens
        if tokens[index].kind not in ("word", "quoted") or tokens[index].value.lower() not in self.names:
            return False
        after = tokens[index + 1].word if index + 1 < len(tokens) else ""
        alias = index > 0 and tokens[index - 1].word == "AS"
        return not alias and not (after == "(" and tokens[index].kind == "word")

    def _of_several_rows(self, first: int, end: int) -> bool:
        """Whether a value is made of several rows: an aggregate, or a function over a window of rows."""
        tokens = self._tokens
        return any(
            tokens[index].word in ("OVER", "SELECT")
            or (index + 1 < end and tokens[index + 1].word == "(" and is_aggregate(tokens[index].value.lower()))
            for index in range(first, end)
        )

    def _all_the_same(self) -> bool:
        """Whether nothing uncertain decides which rows there are: such names stand in items alone.

        What decides which result rows there are, and in which order, changes nothing in them.
        """
        said = [place for part in self._parts if part.of_relation for place in part.items]
        said += [part.clauses[word] for part in self._parts for word in ("HAVING", "ORDER BY")
                 if not part.depth and word in part.clauses]  # fmt: skip
        inside = {index for first, end in said for index in range(first, end)}
        if any(self._is_named(index) for index in range(len(self._tokens)) if index not in inside):
            return False
        nested = [part for part in self._parts if part.depth]
        cut = any(part.distinct or any(word in part.clauses for word in CUTS) for part in nested)
        natural = any(token.word == "NATURAL" for token in self._tokens)
        return not cut and not natural and all(whole for _index, whole in set_operations(self._tokens))

    def _made(self) -> Iterator[str]:
        """Names that items of SELECTs give to what differs."""
        for part in self._parts:
            for first, end in part.items:
                if not self.differs(first, end):
                    continue
                last = self._tokens[end - 1]
                if last.kind in ("word", "quoted"):
                    yield last.value.lower()
                yield "".join(token.text for token in self._tokens[first:end]).lower()

    def _listed(self) -> Iterator[str]:
        """Names in lists such as ``WITH q (a, b) AS (...)`` and ``(SELECT ...) AS q (a, b)``: who knows of what."""
        tokens = self._tokens
        for index in range(1, len(tokens)):
            name = tokens[index - 1]
            if tokens[index].word != "(" or name.kind not in ("word", "quoted") or name.word in OPERATOR_WORDS:
                continue
            close = matching(tokens, index)
            inside = tokens[index + 1 : close]
            if not all((one.word == ",") == bool(place % 2) for place, one in enumerate(inside)):
                continue
            before = tokens[index - 2].word if index > 1 else ""
            after = [token.word for token in tokens[close + 1 : close + 3]]
            if before in (")", "AS") or after == ["AS", "("]:
                yield from (one.value.lower() for one in inside if one.word != ",")
