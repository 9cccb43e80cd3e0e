"""Conditions after IF, by which values are treated as missing: those that kernels judge, so that Spark need not."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.errors import BindError
from punctual.kernel.draw.bundle_values import Kind
from punctual.kinds.worlds.evaluate import kind_of
from punctual.plan.relation import Stream, find_column
from punctual.plan.uncertain import FoundBy
from punctual.plan.world_expression import CertainColumn, Leaf, OfColumns

OTHERS: Mapping[str, Kind] = {"FLOAT": "number", "DOUBLE": "number", "BOOLEAN": "truth", "STRING": "text"}
"""What columns are that can be reckoned with and are no whole numbers."""


def known_condition(law: FoundBy, stream: Stream) -> OfColumns | None:
    """The condition of a column of this stream where kernels know it; what is wrong with any other Spark says."""
    known = law.known_if
    if known is None:
        return None
    columns = [find_column(stream.columns, name) for name in known.columns]

    def leaf_kind(leaf: Leaf) -> Kind:
        assert isinstance(leaf, CertainColumn), "nothing of a row is drawn yet"
        column = columns[leaf.number]
        assert column is not None, "a column that was found where the stream was declared"
        return OTHERS.get(column.type, "whole")

    try:
        return known if kind_of(known.expression, leaf_kind) == "truth" else None
    except BindError:
        return None
