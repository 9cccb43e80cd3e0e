"""What a ranking reads of cells: rows that are candidates for its ranks, and a walk down them."""

from __future__ import annotations

from punctual.clock import Micros
from punctual.plan.fingerprint import fingerprint
from punctual.plan.ranking import Ranking
from punctual.plan.shared import NeededUse, Needs, UnitSynopsis, Walk

ALL_ROWS = 0
"""In place of k: candidates are not enough."""
EXECUTION_RANKS = 1_000
ANSWER_RANKS = 100
"""An execution also merges panes, and every answer has to be put together: as much as so many ranks, measured over
windows of some thousand rows (benchmarks/topk_engine)."""


def needs(body: Ranking, range_us: Micros) -> Needs:
    """One use, of rows in rank order; rankings of one window by one score share the walk for the largest k."""
    semantics = "STREAMS_ALIKE" if body.alike else body.semantics
    most = ALL_ROWS if body.whole or body.alike else body.ranks
    synopsis = UnitSynopsis("world", body.kept, (most, int(body.ascending)))
    parameters = (
        semantics, body.k, int(body.ascending), body.margin, body.parameters, body.fields, body.key,
    )  # fmt: skip
    walk = Walk(
        key=fingerprint(body.kept, body.ascending, range_us),
        steps=body.ranks,
        execution_steps=EXECUTION_RANKS,
        answer_steps=ANSWER_RANKS,
        counted_in="ranks of a row",
    )
    return Needs(body.rows, (NeededUse("top", synopsis, parameters, body.rows.where, body.span),), walk)
