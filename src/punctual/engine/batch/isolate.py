"""Who spoiled the job: when a tick fails, find the files or the queries that fail on their own.

One bad file or query must not stop another. The failed tick is tried in parts: each stream without any unit (does
reading it fail?), then by halves of its files; and with its queries by halves. Parts that fail are named with the first
line of their reason; whatever else stands runs again without them. Costs some extra jobs, only after a failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
REASON_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Culprits:
    """Files that cannot be read (stream, path, reason) and queries that cannot be evaluated (name, reason)."""

    files: tuple[tuple[str, str, str], ...] = ()
    queries: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.queries)


def find(items: Sequence[T], fails: Callable[[Sequence[T]], Exception | None]) -> list[tuple[T, str]]:
    """Those of the items that fail by themselves, each with its reason.

    ``fails`` tries some of them together. With one culprit among n this takes about 2 log2(n) tries.

    >>> find([1, 2, 3, 4], lambda some: ValueError("three") if 3 in some else None)
    [(3, 'three')]
    """
    if not items:
        return []
    problem = fails(items)
    if problem is None:
        return []
    if len(items) == 1:
        return [(items[0], reason(problem))]
    middle = len(items) // 2
    return find(items[:middle], fails) + find(items[middle:], fails)


def reason(problem: Exception) -> str:
    """The one line of a failure that a user can use.

    >>> reason(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\nmore"))
    '[DIVIDE_BY_ZERO] Division by zero.'
    >>> reason(ValueError("Worker:\\nTraceback (most recent call last):\\n  File ...\\nKeyError: 'x'\\n\\tat java"))
    "KeyError: 'x'"
    """
    text = str(problem)
    raised = re.search(r"(?s:.*)Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S[^\n]*)", text)
    if raised is not None:
        return raised.group(1).strip()[:REASON_LENGTH]
    found = re.search(r"\[[A-Z][A-Z_.]+\] [^\n]*", text)
    causes = re.findall(r"Caused by: (?:[\w.$]+: )?([^\n]+)", text)
    line = found.group(0) if found else (causes[-1] if causes else text.split("\n", 1)[0])
    return line.split(" SQLSTATE")[0].strip()[:REASON_LENGTH]
