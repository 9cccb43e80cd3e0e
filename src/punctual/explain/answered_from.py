"""What a query is answered from, and whether its plan is made once: panes, or rows through Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.plan.row_query import RowStatement
from punctual.plan.shared import RowReader, SharedPlan


def answered_from(plan: SharedPlan, stands: Mapping[str, bool] | None = None) -> dict[str, str]:
    """A sentence per query, by its name.

    ``stands`` says of row queries whether their plans may be run again, as far as Spark was asked.
    """
    found = {reader.query.name: "from panes" for reader in plan.readers}
    found |= {reader.query.name: _from_rows(reader, stands or {}) for reader in plan.row_readers}
    return {query.name: found[query.name] for query in plan.queries}


def _from_rows(reader: RowReader, stands: Mapping[str, bool]) -> str:
    sampling = sampled_by(reader)
    return _planned(reader, stands) + ("" if sampling is None else f"; {sampling}")


def sampled_by(reader: RowReader) -> str | None:
    """How its windows are sampled where that is asked for, in a few words; None where nothing is to be said."""
    statement = reader.statement
    if isinstance(statement, RowStatement):
        if statement.sampling is None:
            return None
        if statement.sampling.why_not is not None:
            return f"QUALITY has no effect: {statement.sampling.why_not}"
        by, names = statement.sampling.by, statement.names
    else:
        by, names = statement.by, statement.names
        if not names:
            return None
    if not by:
        return "samples of rows" if len(names) == 1 else "samples of rows, of each window by itself"
    keys = (" = ".join(f"{name}.{column}" for name, column in zip(names, equal)) for equal in zip(*by))
    return f"samples by {', '.join(keys)}"


def _planned(reader: RowReader, stands: Mapping[str, bool]) -> str:
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
