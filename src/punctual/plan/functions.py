"""The aggregate functions of window queries: their names, what they keep, and the laws they obey.

A function reads a *synopsis*: what a pane keeps of its rows so that panes can be merged. The planner picks how a
window is evaluated from the synopsis' laws, never from a function's name; ``tests/kernel/test_laws.py`` proves what
is declared here, for every function it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SynopsisKind = Literal[
    "rows", "count", "sum", "moments", "minimum", "maximum", "first", "last", "values", "distinct", "world"
]


@dataclass(frozen=True, slots=True)
class Laws:
    """What may be done with a synopsis.

    mergeable : synopses of two disjoint sets of rows give the synopsis of their union, in any order.
    invertible : rows that left a window can be taken out again exactly.
    ordered : it depends on the order of rows of one event time, so it reads their other columns too.
    grows : its state grows with the rows below it.
    sized : its first parameter says how much it keeps, 0 everything; one that keeps more serves those that need less.
    own_type : what it finishes has a type of its own, and not the one that a query sees.
    """

    mergeable: bool = True
    invertible: bool = False
    ordered: bool = False
    grows: bool = False
    sized: bool = False
    own_type: bool = False


SYNOPSES: dict[str, Laws] = {
    "rows": Laws(invertible=True),
    "count": Laws(invertible=True),
    # Sums are exact integers in limbs, and a range is a difference of running totals, so nothing asks for subtraction.
    "sum": Laws(),
    "moments": Laws(),
    "minimum": Laws(),
    "maximum": Laws(),
    "first": Laws(ordered=True),
    "last": Laws(ordered=True),
    "values": Laws(invertible=True),
    "distinct": Laws(),
    "world": Laws(ordered=True, grows=True, sized=True, own_type=True),
}


@dataclass(frozen=True, slots=True)
class Function:
    """An aggregate function: the synopsis it reads, and that which it reads under DISTINCT (None: refused)."""

    name: str
    synopsis: SynopsisKind
    distinct: SynopsisKind | None = None
    parameters: tuple[int, int] = (0, 0)
    """Fewest and most constant parameters after the argument."""


FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        Function("count", "count", distinct="values"),
        Function("count_if", "count"),
        Function("sum", "sum", distinct="values"),
        Function("avg", "sum", distinct="values"),
        Function("min", "minimum", distinct="minimum"),
        Function("max", "maximum", distinct="maximum"),
        Function("stddev_samp", "moments"),
        Function("stddev_pop", "moments"),
        Function("var_samp", "moments"),
        Function("var_pop", "moments"),
        Function("approx_percentile", "values", parameters=(1, 2)),
        Function("approx_count_distinct", "distinct", parameters=(0, 1)),
        Function("first", "first"),
        Function("last", "last"),
    )
}
ALIASES: dict[str, str] = {
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "percentile_approx": "approx_percentile",
    "first_value": "first",
    "last_value": "last",
    "any_value": "first",
}


def canonical(name: str) -> str | None:
    """The function's own name, or None where it is not an aggregate that panes can keep."""
    lower = name.lower()
    lower = ALIASES.get(lower, lower)
    return lower if lower in FUNCTIONS else None
