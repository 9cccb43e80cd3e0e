"""The shapes of the operands of expressions: which operands mean the same, wherever they stand.

``lane + 1`` is inside ``lane + 1 * 2`` as text, not as meaning. An expression is parsed once, and every node of its
tree is an operand. Equal nodes have one number, their *shape*; brackets around a node do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from punctual.sql.syntax.expression import parse_text

NOWHERE = -1


class Shapes:
    """Numbers for shapes, the same for all expressions that are asked about."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def of(self, text: str, names: Mapping[str, int], meanings: Sequence[object]) -> list[tuple[int, int]]:
        """The shape of each operand, and the place of its first name; the last one is the whole expression.

        ``names`` are identifiers that occur once, each with its place; names with equal ``meanings`` (by place) are
        equal. An operand without any of them is ``NOWHERE``.

        >>> shapes = Shapes()
        >>> wanted, _place = shapes.of("x + 1", {"x": 0}, ["lane"])[-1]
        >>> operands = shapes.of("(y + 1) * z + 1", {"y": 0, "z": 1}, ["lane", "lane"])
        >>> {place for shape, place in operands if shape == wanted}
        {0}
        """
        found: dict[int, tuple[int, int]] = {}
        # Children come before their parents; nothing recurses, since a sum of a thousand terms is a thousand deep.
        for node in reversed(list(parse_text(text).walk())):
            if isinstance(node, exp.Paren):
                found[id(node)] = found[id(node.this)]
                continue
            place = names.get(node.name, NOWHERE) if isinstance(node, exp.Identifier) else NOWHERE
            if place != NOWHERE:
                shape: object = ("name", meanings[place])
            else:
                inside = [found[id(child)][1] for child in node.iter_expressions()]
                place = min((one for one in inside if one != NOWHERE), default=NOWHERE)
                shape = (type(node), *((name, _shape(value, found)) for name, value in node.args.items()))
            found[id(node)] = (self._numbers.setdefault(shape, len(self._numbers)), place)
        return list(found.values())


def _shape(value: object, found: Mapping[int, tuple[int, int]]) -> object:
    """What stands for an argument of a node: the shapes of its nodes."""
    if isinstance(value, list):
        return tuple(_shape(one, found) for one in value)
    return ("node", found[id(value)][0]) if isinstance(value, exp.Expr) else value
