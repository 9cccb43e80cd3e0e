"""Result rows as a pandas DataFrame, whatever their times.

Model
-----
pandas keeps microseconds of hundreds of thousands of years, but shows times with a zone, dates, and times inside other
values through Python's ``datetime``, which has the years 1 to 9999. A column with a year beyond them has a type that
can be shown: TIMESTAMP is without its zone (still UTC), DATE is a time, and what has such times inside is as in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from punctual.clock import instant_us
from punctual.ports.sinks.json_text import fragments

_DAY_US = 86_400_000_000
_FIRST, _LAST = instant_us("0001-01-01"), instant_us("9999-12-31T23:59:59.999999")


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """The table as a frame.

    >>> table = pa.table({"day": pa.array([2_932_897], pa.date32()), "at": pa.array([0], pa.timestamp("us", tz="UTC"))})
    >>> to_pandas(table).to_dict("records")
    [{'day': Timestamp('10000-01-01 00:00:00'), 'at': Timestamp('1970-01-01 00:00:00+0000', tz='UTC')}]
    """
    as_json: dict[str, list[object]] = {}
    for place, name in enumerate(table.column_names):
        column = table.column(place).combine_chunks()
        if all(_in_python(leaf) for leaf in _leaves(column)):
            continue
        if pa.types.is_timestamp(column.type):
            held = column.cast(pa.timestamp("us"))
        elif pa.types.is_date(column.type):
            held = column.cast(pa.timestamp("s"))
        else:
            held = pa.nulls(len(column))
            as_json[name] = [orjson.loads(text) for text in fragments(column).to_pylist()]
        table = table.set_column(place, name, held)
    frame: pd.DataFrame = table.to_pandas()
    for name, values in as_json.items():
        frame[name] = pd.Series(values, dtype=object)
    return frame


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    """The column, or the columns that its values are made of."""
    if pa.types.is_map(column.type):
        parts = [column.keys, column.items]
    elif pa.types.is_nested(column.type):
        parts = column.flatten() if pa.types.is_struct(column.type) else [column.flatten()]
    else:
        yield column
        return
    for part in parts:
        yield from _leaves(part)


def _in_python(leaf: pa.Array) -> bool:
    """Whether Python's ``datetime`` has all times of a column."""
    if pa.types.is_timestamp(leaf.type):
        unit = 1
    elif pa.types.is_date32(leaf.type):
        unit = _DAY_US
    else:
        return True
    least, greatest = (end.value for end in pc.min_max(leaf).values())
    return least is None or (least * unit >= _FIRST and greatest * unit <= _LAST)
