"""A sample of one input of an answer, as the answer names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """Rows whose place is below a share (``kernel/sample/rule.py``), and those that were kept for certain.

    ``input`` is the stream; ``by`` are key columns, or whole rows; ``certain`` has, by column, from which magnitude on
    rows were kept whatever their place; ``of`` says what has a place where that is not the row by its values. Batches
    may have been shed differently while they were read: then ``shares`` are the different ones, and ``share`` is their
    mean over rows.
    """

    input: str
    share: float
    salt: str
    by: tuple[str, ...] = ()
    certain: Mapping[str, float] = field(default_factory=dict)
    of: Literal["lines", "positions"] | None = None
    shares: tuple[float, ...] = ()

    def said(self) -> dict[str, object]:
        """As the field ``sample`` of an answer has it.

        >>> DrawnSample("gps", 0.3, "gps").said()
        {'share': 0.3, 'salt': 'gps', 'by': 'row'}
        >>> DrawnSample("gps", 0.4, "gps", shares=(0.25, 0.5)).said()
        {'share': 0.4, 'shares': [0.25, 0.5], 'salt': 'gps', 'by': 'row'}
        """
        several: dict[str, object] = {"shares": list(self.shares)} if len(self.shares) > 1 else {}
        found = {"share": self.share, **several, "salt": self.salt, "by": list(self.by) or "row"}
        if self.certain:
            found["certain"] = dict(self.certain)
        if self.of is not None:
            found["of"] = self.of
        return found
