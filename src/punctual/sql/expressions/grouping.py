"""Grouping expressions found in answer expressions: whatever equals one becomes the name of that key.

A key of one piece is a column and found by its name. A longer one counts as found only where it is an operand: of all
operands of the expression, the one that begins there must have the key's shape. Brackets around a key are not part of
it. A grouping expression without a column is a constant; wherever it stands again it has the same value, so nobody
looks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.own_names import own
from punctual.plan.expression import key_name
from punctual.sql.expressions.pieces import Piece, Pieces, render, unbracketed
from punctual.sql.expressions.shapes import Shapes

_Said = tuple[tuple[str, str], ...]
"""The kind and the text of each piece: what pieces are compared by."""


class Grouping:
    """The grouping expressions of one query."""

    def __init__(self, keys: Sequence[Pieces]) -> None:
        self._keys: dict[_Said, tuple[int, Pieces]] = {}
        for index, key in enumerate(map(unbracketed, keys)):
            if any(piece.kind == "column" for piece in key):
                self._keys.setdefault(_said(key), (index, key))
        self._lengths = sorted({len(said) for said in self._keys}, reverse=True)
        self._shapes = Shapes()
        self._shape_of: dict[_Said, int] = {}

    def with_keys(self, pieces: Pieces) -> Pieces:
        """The pieces with each grouping expression replaced by its name; of two at one place, the longer."""
        said = _said(pieces)
        operands: set[tuple[int, int]] | None = None
        result: list[Piece] = []
        index = 0
        while index < len(pieces):
            for length in self._lengths:
                found = self._keys.get(said[index : index + length])
                if found is None:
                    continue
                if length > 1:
                    operands = set(self._operands(pieces)) if operands is None else operands
                    if self._operand(found[1], index) not in operands:
                        continue
                result.append(Piece(key_name(found[0]), "answer", pieces[index].span))
                index += length
                break
            else:
                result.append(pieces[index])
                index += 1
        return tuple(result)

    def _operand(self, key: Pieces, index: int) -> tuple[int, int]:
        """A key as the operand that begins at a piece: its shape, and where its first name stands then."""
        said = _said(key)
        if said not in self._shape_of:
            self._shape_of[said] = self._operands(key)[-1][0]
        return self._shape_of[said], index + next(i for i, piece in enumerate(key) if piece.kind == "column")

    def _operands(self, pieces: Pieces) -> list[tuple[int, int]]:
        """The shape of each operand and the piece that is its first name."""
        names = {own(str(i)): i for i, piece in enumerate(pieces) if piece.kind in ("column", "answer")}
        renamed = [Piece(own(str(i)), p.kind, p.span) if own(str(i)) in names else p for i, p in enumerate(pieces)]
        return self._shapes.of(render(renamed).sql, names, _said(pieces))


def _said(pieces: Pieces) -> _Said:
    return tuple((piece.kind, piece.text) for piece in pieces)
