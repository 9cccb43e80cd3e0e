"""Types of a query over worlds: what its columns are, and what does not fit, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa

from punctual.errors import BindError, InternalError, PunctualError, Span
from punctual.kernel.draw.bundle_values import Kind
from punctual.kinds.worlds.called_groups import KINDS
from punctual.kinds.worlds.columns import kind_of_type
from punctual.kinds.worlds.evaluate import kind_of
from punctual.kinds.worlds.summaries import BINS, ENDS, LIKELIEST
from punctual.plan.uncertain import GivenBy
from punctual.plan.world_expression import (
    CertainColumn,
    DrawnAttribute,
    Leaf,
    WorldAggregate,
    WorldExpression,
    WorldSummary,
)
from punctual.plan.worlds import Called, Folded, Summed, Worlds

ARROW: dict[Kind, pa.DataType] = {
    "whole": pa.int64(), "number": pa.float64(), "truth": pa.bool_(), "text": pa.string(),
}
NUMBERS: tuple[Kind, ...] = ("whole", "number")


@lru_cache(1_024)  # asked in every pass
def output_types(body: Worlds, columns: tuple[pa.DataType, ...]) -> tuple[pa.DataType, ...]:
    """The types of the columns of answers, where the rows have columns of these types."""
    return tuple(WorldTypes(body, columns).outputs())


class WorldTypes:
    """What is what in a query whose rows have columns of these types."""

    def __init__(self, body: Worlds, columns: Sequence[pa.DataType]) -> None:
        self._body, self._columns = body, columns

    def outputs(self) -> list[pa.DataType]:
        """The types of the columns of answers."""
        return [self.answer_type(one) for one in self._body.outputs]

    def answer_type(self, expression: WorldExpression) -> pa.DataType:
        """The type of a column of answers."""
        if isinstance(expression, CertainColumn) and expression.number < len(self._body.keys):
            return self._columns[self._body.keys[expression.number]]
        if isinstance(expression, WorldSummary) and expression.number >= 0:
            summed = self._body.summaries[expression.number]
            if summed.summary == "INTERVAL":
                return ENDS
            if summed.summary == "HISTOGRAM":
                return LIKELIEST if self._in_worlds(summed.of) == "text" else BINS
        return ARROW[kind_of(expression, self._answer_leaf)]

    def errors(self, span: Span | None) -> list[PunctualError]:
        """Everything that does not fit; ``span`` is the query's place."""
        body = self._body
        found: list[PunctualError] = []

        def tried(check: Callable[[], object]) -> None:
            try:
                check()
            except BindError as error:
                place = error.span or span
                placed = BindError(error.code, error.fact, span=place, detail=error.detail, hint=error.hint)
                if (placed.fact, placed.span) not in {(one.fact, one.span) for one in found}:
                    found.append(placed)

        tried(lambda: _truth(body.where, self._row_leaf, "WHERE"))
        for folded in body.aggregates:
            tried(lambda folded=folded: self._aggregate(folded))  # type: ignore[misc]
        tried(lambda: _truth(body.having, self._group_leaf, "HAVING"))
        for summed in body.summaries:
            tried(lambda summed=summed: self._summary(summed))  # type: ignore[misc]
        tried(lambda: _truth(body.chosen, self._answer_leaf, "HAVING"))
        for one in (*body.outputs, *body.order):
            tried(lambda one=one: self.answer_type(one))  # type: ignore[misc]
        return found

    # -- leaves ------------------------------------------------------------------------------------

    def _row_leaf(self, leaf: Leaf) -> Kind:
        if isinstance(leaf, DrawnAttribute):
            attribute = self._body.attributes[leaf.number]
            given = self._columns[attribute.columns[0]]
            if isinstance(attribute.law, GivenBy):
                if attribute.law.kind != "DISCRETE":
                    return "number"
                given = given.value_type
            return _kind(given)
        if isinstance(leaf, CertainColumn):
            return _kind(self._columns[leaf.number])
        raise InternalError(f"{leaf} stands where it cannot")

    def _group_leaf(self, leaf: Leaf) -> Kind:
        if isinstance(leaf, WorldAggregate):
            return self._aggregate(self._body.aggregates[leaf.number])
        if isinstance(leaf, CertainColumn):
            certain = len(self._body.keys)
            if leaf.number >= certain:
                return kind_of(self._body.drawn_keys[leaf.number - certain], self._row_leaf)
            return _kind(self._columns[self._body.keys[leaf.number]])
        raise InternalError(f"{leaf} stands where it cannot")

    def _answer_leaf(self, leaf: Leaf) -> Kind:
        if isinstance(leaf, WorldSummary):
            return "number" if leaf.number < 0 else self._summary(self._body.summaries[leaf.number], inside=True)
        return self._group_leaf(leaf)

    def _in_worlds(self, expression: WorldExpression) -> Kind:
        return kind_of(expression, self._group_leaf)

    # -- aggregates and summaries ------------------------------------------------------------------

    def _aggregate(self, folded: Folded | Called) -> Kind:
        _truth(folded.where, self._row_leaf, "FILTER")
        if isinstance(folded, Called):
            for one in folded.arguments:
                kind_of(one, self._row_leaf)
            return KINDS[folded.returns]
        if folded.argument is None:
            return "whole"
        try:
            argument = kind_of(folded.argument, self._row_leaf)
        except BindError as error:
            place = error.span or folded.span
            raise BindError(error.code, error.fact, span=place, detail=error.detail, hint=error.hint) from None
        match folded.function:
            case "count":
                return "whole"
            case "min" | "max":
                return argument
            case "value":
                return "number" if argument in NUMBERS else argument
        if argument not in NUMBERS:
            raise BindError("bind.bad-type", f"{folded.function} is for numbers", span=folded.span)
        return argument if folded.function == "sum" else "number"

    def _summary(self, summed: Summed, *, inside: bool = False) -> Kind:
        of, name = self._in_worlds(summed.of), summed.summary
        if name == "SAME":
            return of
        if name == "PROBABILITY" and of != "truth":
            raise BindError(
                "bind.bad-type", "PROBABILITY is of a condition", span=summed.span,
                hint="for example: PROBABILITY(sum(x) > 10)",
            )
        if name in ("EXPECTED", "INTERVAL") and of not in NUMBERS and not (name == "EXPECTED" and of == "truth"):
            raise BindError(
                "bind.bad-type", f"{'an expectation' if name == 'EXPECTED' else name} is of numbers", span=summed.span,
                hint="HISTOGRAM(x, 3) says which values are the likeliest" if of == "text" else None,
            )
        if inside and name in ("INTERVAL", "HISTOGRAM"):
            raise BindError("bind.bad-type", f"nothing can be reckoned with {name}", span=summed.span)
        return "number"


def _kind(data_type: pa.DataType) -> Kind:
    kind = kind_of_type(data_type)
    if kind is None:
        raise BindError(
            "bind.bad-type", f"values of type {data_type} cannot be reckoned with in every world",
            hint="cast it, for example: CAST(x AS DOUBLE)",
        )
    return kind


def _truth(condition: WorldExpression | None, leaf: Callable[[Leaf], Kind], clause: str) -> None:
    if condition is not None and kind_of(condition, leaf) != "truth":
        raise BindError("bind.bad-type", f"{clause} needs a condition", span=getattr(condition, "span", None))
