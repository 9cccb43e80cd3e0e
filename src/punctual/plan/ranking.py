"""The body of a query whose answer has the best rows of a window, over all worlds in which they may exist."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.query import Body
from punctual.plan.rows import GroupedRows


@dataclass(frozen=True, slots=True)
class Ranking(Body):
    """SELECT TOP k.

    rows : what is ranked, within each group
    score : a row expression, best first or, where ``ascending``, last
    kept : the struct of what panes keep of a row besides its declared columns: ``s`` (score), ``p`` (probability),
        ``r`` (rule), and what is selected and no column
    selected : the struct of ``s``, ``p``, ``r`` and ``x0``, ``x1``, ... for the columns that it selects
    fields : under which names a kept row has these columns
    key : the field of a kept row that is ranked in its place (TOP k STREAMS), empty where rows are
    alike : its keys are alternatives whose rows are equally likely: no row has a probability
    margin : that of STABLE, 0 without it
    span : the place of TOP k
    """

    rows: GroupedRows
    k: int
    semantics: str
    score: Expression
    kept: Expression
    selected: Expression
    fields: tuple[str, ...]
    key: str = ""
    alike: bool = False
    parameters: tuple[float, ...] = ()
    ascending: bool = False
    margin: float = 0.0
    span: Span | None = None

    @property
    def whole(self) -> bool:
        """Whether it needs every row of a window, and no ranks: it has a closed form or a walk of its own."""
        return self.semantics in ("U_TOPK", "EXPECTED_RANK", "PRFE")

    @property
    def ranks(self) -> int:
        """How many ranks of every row it has to know."""
        if self.whole:
            return 1
        return max(self.k, len(self.parameters)) if self.semantics == "PRF" else self.k
