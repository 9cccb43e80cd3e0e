"""The last answers of queries that are answered in order: the next ones depend on them.

They are durable where the answers are, in the log. Before a record of the log is forgotten that holds one, it is saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from punctual.kinds.registry import kind_of
from punctual.plan.query import Query
from punctual.ports.answers import AnswerBlock


@dataclass(frozen=True, slots=True)
class Last:
    """A query's last answer, alone in its block, and its position in the log."""

    position: int
    block: AnswerBlock


def in_order(queries: Iterable[Query]) -> frozenset[str]:
    """Names of the queries that are answered in order."""
    return frozenset(query.name for query in queries if kind_of(query).in_order(query))


class LastAnswers:
    """By query, of those that are answered in order."""

    def __init__(self) -> None:
        self._queries: frozenset[str] = frozenset()
        self._last: dict[str, Last] = {}

    def only(self, queries: frozenset[str]) -> None:
        """These queries are answered in order; forget all others."""
        self._queries = queries
        self._last = {name: last for name, last in self._last.items() if name in queries}

    def of(self, query: str) -> AnswerBlock | None:
        """The last answer of a query, where it is kept and there is one."""
        last = self._last.get(query)
        return None if last is None else last.block

    def keep(self, position: int, blocks: Iterable[AnswerBlock]) -> None:
        """Remember the last answers of these blocks, which are durable."""
        for block in blocks if self._queries else ():
            if block.query in self._queries and block.count:
                own = block.table.take(pa.array([block.table.num_rows - 1]))  # a copy: the block can be forgotten
                self._last[block.query] = Last(position, AnswerBlock(block.query, own))

    def before(self, position: int) -> dict[str, Last]:
        """What stands in older records than this one."""
        return {name: last for name, last in self._last.items() if last.position < position}
