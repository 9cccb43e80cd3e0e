"""Static tables as views under their own names, for row queries; made again when their content changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from punctual.plan.sql_text import quoted


class StaticViews:
    """The tables of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._made: dict[str, pa.Table] = {}

    def show(self, names: Iterable[str], tables: Mapping[str, pa.Table]) -> set[str]:
        """Let these be seen with this content; which of them had another one before."""
        changed = set()
        for name in names:
            known = self._made.get(name)
            if known is not tables[name]:
                # One partition, like a window: what reads both needs no exchange.
                frame = self._session.createDataFrame(tables[name]).coalesce(1)
                frame.createOrReplaceTempView(quoted(name))
                self._made[name] = tables[name]
                changed |= set() if known is None else {name}
        return changed
