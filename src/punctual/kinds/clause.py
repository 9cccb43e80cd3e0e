"""A part of a query that can fail by itself."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import Span


@dataclass(frozen=True, slots=True)
class Clause:
    """What the part is called, and where it stands in the program's text."""

    name: str
    span: Span | None = None
