"""The text of a row query as Spark SQL: its windows are views, ``now()`` is an instant, its rows have one order.

Rows that ORDER BY leaves in any order are ordered by all columns, so that the answer's bytes, and which rows LIMIT
takes, depend on nothing but the rows. A query without ORDER BY and LIMIT is sorted once it is answered
(``operators/answer_rows.py``), where that costs no exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from punctual.clock import Micros
from punctual.plan.row_query import RowStatement, SparkText, WindowPlace, Word
from punctual.plan.sql_text import quoted
from punctual.runtime.analysis import PlacedText

ORDER_WORDS = frozenset(("ASC", "DESC", "NULLS"))
PIPE = Word("|>")


def row_text(
    statement: RowStatement, view: Callable[[int], str], at: Micros, types: Sequence[pa.DataType] = ()
) -> PlacedText:
    """The query over views by the number of their window; ``types`` are those of its columns, where they are known."""

    def window(place: WindowPlace) -> str:
        name = quoted(view(place.window))
        return f"{name} AS {place.label}" if place.label else name

    def add(part: SparkText) -> None:
        for piece, span in part.rendered(window, lambda back_us: instant_text(at - back_us)):
            text.add(piece, span)

    text = PlacedText()
    add(statement.select)
    columns = [str(number) for number, kind in enumerate(types, 1) if is_orderable(kind)]
    if statement.order:
        text.add(" ORDER BY")
        add(statement.order)
        text.add("".join(f", {column}" for column in columns) if not _orders_by_all(statement.order) else "")
    elif statement.tail and columns:
        text.add(f"{' |>' if statement.tail.tokens[0] == PIPE else ''} ORDER BY {', '.join(columns)}")
    add(statement.tail)
    return text


def instant_text(at: Micros) -> str:
    """An instant as Spark SQL."""
    return f"timestamp_micros({at}L)"


def is_orderable(kind: pa.DataType) -> bool:
    """Whether Spark orders values of a type: all but those with a map in them.

    >>> is_orderable(pa.list_(pa.int32())), is_orderable(pa.list_(pa.map_(pa.string(), pa.int32())))
    (True, False)
    """
    if pa.types.is_map(kind) or pa.types.is_interval(kind):
        return False
    if pa.types.is_struct(kind):
        return all(is_orderable(field.type) for field in kind)
    return is_orderable(kind.value_type) if pa.types.is_list(kind) else True


def _orders_by_all(order: SparkText) -> bool:
    """Whether it is ORDER BY ALL, which has no further items."""
    words = [token.text.upper() if isinstance(token, Word) else "" for token in order.tokens[:2]]
    return words[0] == "ALL" and (len(words) == 1 or words[1] in ORDER_WORDS)
