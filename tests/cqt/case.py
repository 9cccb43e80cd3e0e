"""A `.cqt` case: blocks separated by blank lines, the first word of a block is its directive.

Lines that start with ``#`` are comments; those at the top of the file of the form ``# name: value`` are the case's
headers. The expectation is in the file and only there, so a block knows its place and the file can be rewritten
with other expectations (``accept.py``) without touching anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HEADER = re.compile(r"#\s*([a-z]+):\s*(.*)")
DIRECTIVES = frozenset(
    ("statement", "feed", "advance", "tick", "end", "restart", "answers", "dead", "explain")
)


@dataclass(frozen=True, slots=True)
class Block:
    """One directive: the words of its first line, the lines below it, and where those lines are in the file."""

    words: tuple[str, ...]
    body: tuple[str, ...]
    line: int
    """Index of the directive's line in the file; the body follows it."""

    @property
    def directive(self) -> str:
        return self.words[0]

    @property
    def text(self) -> str:
        return "\n".join(self.body)


@dataclass(frozen=True, slots=True)
class Case:
    """A file of blocks."""

    name: str
    path: Path
    headers: Mapping[str, str]
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]

    @property
    def tolerance(self) -> float:
        """By how much, relatively, a float may differ from what is written; 0: not at all."""
        return float(self.headers.get("tolerance", "0"))

    @property
    def row_queries(self) -> tuple[str, ...]:
        """The queries that are answered from rows."""
        return tuple(name.strip() for name in self.headers.get("rows", "").split(",") if name.strip())

    def with_bodies(self, bodies: Mapping[int, list[str]]) -> str:
        """The file's text with other bodies for the blocks at these lines."""
        lines: list[str] = []
        skip = 0
        sizes = {block.line: len(block.body) for block in self.blocks}
        for number, line in enumerate(self.lines):
            if skip:
                skip -= 1
                continue
            lines.append(line)
            if number in bodies:
                lines += bodies[number]
                skip = sizes[number]
        return "\n".join(lines) + "\n"


class CaseError(Exception):
    """The file is not a case."""


def read_case(path: Path) -> Case:
    """Read a file; a block that is not one is refused, so that no expectation is skipped unseen."""
    lines = path.read_text().splitlines()
    headers: dict[str, str] = {}
    blocks: list[Block] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if not line.strip() or line.startswith("#"):
            match = HEADER.match(line)
            if match and not blocks:
                headers[match[1]] = match[2].strip()
            number += 1
            continue
        stop = number + 1
        while stop < len(lines) and lines[stop].strip():
            stop += 1
        words = tuple(line.split())
        if words[0] not in DIRECTIVES:
            raise CaseError(f"{path.name}:{number + 1}: there is no directive {words[0]!r}")
        blocks.append(Block(words, tuple(lines[number + 1 : stop]), number))
        number = stop
    if "about" not in headers:
        raise CaseError(f"{path.name}: the header '# about:' is missing")
    return Case(path.stem, path, headers, tuple(blocks), tuple(lines))


def read_cases(folder: Path) -> list[Case]:
    """All cases of a folder, by name."""
    return [read_case(path) for path in sorted(folder.glob("*.cqt"))]
