"""What a query is answered from, and whether its plan is made once: panes, or rows through Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.explain.sampling import no_effect, sampled_by
from punctual.kinds.registry import kind_of
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import Reader, RowReader, SharedPlan

PANES = "from panes"
"""Where nothing else is to be said of it."""


def answered_from(plan: SharedPlan, stands: Mapping[str, bool] | None = None) -> dict[str, str]:
    """A sentence per query, by its name.

    ``stands`` says of row queries whether their plans may be run again, as far as Spark was asked.
    """
    found = {reader.query.name: _from_panes(reader) for reader in plan.readers}
    found |= {reader.query.name: _from_rows(reader, stands or {}) for reader in plan.row_readers}
    return {query.name: found[query.name] for query in plan.queries}


def _from_panes(reader: Reader) -> str:
    said = no_effect(reader)
    return PANES if said is None else f"{PANES}; {said}"


def _from_rows(reader: RowReader, stands: Mapping[str, bool]) -> str:
    sampling = sampled_by(reader)
    return _planned(reader, stands) + ("" if sampling is None else f"; {sampling}")


def _planned(reader: RowReader, stands: Mapping[str, bool]) -> str:
    way = kind_of(reader.query).way(reader.query)
    if way is not None:
        return way
    if not isinstance(reader.statement, RowStatement):
        return "from rows, by the kernels of panes"
    if reader.statement.names_instant:
        return "from rows, planned anew for each instant: it names now()"
    match stands.get(reader.query.name):
        case True:
            return "from rows, prepared once"
        case False:
            return "from rows, planned anew for each instant: Spark needs an exchange or a subquery"
        case None:
            return "from rows, prepared once unless Spark needs an exchange or a subquery"
