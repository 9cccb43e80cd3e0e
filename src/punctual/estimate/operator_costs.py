"""What an execution of a plan costs, operator by operator.

Model
-----
An operator's time follows from the rows that it takes in and gives out. With ``n`` rows in, selectivity ``s``:

=================  ====================================================  ====================================
selection          ``n C_p + n s C_i``                                   ``select`` n, ``selected`` n s
projection         ``n C``                                               ``project`` n
join by equality   ``n_L C_L + n_R C_R + n_L n_R s C_i``                 ``join`` n_L + n_R, ``joined`` n_L n_R s
other joins        ``n_L n_R C_p + n_L n_R s C_i``                       ``pair`` n_L n_R, ``joined`` n_L n_R s
sort               ``n log2 n C``                                        ``sort`` n log2 n
aggregate          ``n C + groups C_g``                                  ``aggregate`` n, ``group`` groups
=================  ====================================================  ====================================

These are the formulas of Wei and others (section 4.1). Theirs of a join has the hash and probe constants of the two
sides mixed up: a row is hashed for its own side and looked for in the other one, so each side has one constant for both
steps, C_L = C_LHash + C_RProbe and C_R = C_RHash + C_LProbe. Spark sorts both sides (an operator of its own) and merges
them, which does the same to a row of either side: the constants are one.

The constants are the same for all queries, so a query is predicted before it ever ran. They are the coefficients of one
:class:`~punctual.estimate.linear_cost.LinearCost`, since only the time of a whole job is ever measured.

Selectivities are rows out by rows in; of a join, by pairs. An aggregate's is the number of its groups, which does not
grow with the rows once all of them have been seen, and a limit's is the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from punctual.estimate.linear_cost import LinearCost
from punctual.plan.operators import OperatorNode

Counts = dict[str, float]

FIRST_GUESS = LinearCost.guessed(
    1.0,
    job=40_000.0,
    slot=12_000.0,
    plan=60_000.0,
    scan=0.1,
    read=0.5,
    select=0.05,
    selected=0.05,
    project=0.03,
    join=0.3,
    joined=0.2,
    pair=0.02,
    sort=0.05,
    aggregate=0.2,
    group=0.5,
    window=0.5,
    generated=0.2,
    answer=0.8,
)
"""Microseconds for each, before anything was measured: of a job, of a query in it (``slot``), of its plan where that is
made, of rows that are looked at (``scan``) and of those that are used. All is counted, so nothing is left for the fixed
part."""


def counts(operators: OperatorNode, rows: Sequence[float]) -> Counts:
    """What an execution is made of, when each operator gave out so many rows.

    >>> read = OperatorNode("read", window=0)
    >>> counts(OperatorNode("answer", (OperatorNode("select", (read,)),)), (200, 200, 1000))
    {'slot': 1.0, 'answer': 200.0, 'select': 1000.0, 'selected': 200.0, 'read': 1000.0}
    """
    found: Counts = {"slot": 1.0}
    for number, (node, below) in enumerate(operators.numbered()):
        for name, count in _counts(node, [rows[child] for child in below], rows[number]).items():
            found[name] = found.get(name, 0.0) + float(count)
    return found


def _counts(node: OperatorNode, rows_in: Sequence[float], out: float) -> Counts:
    total = sum(rows_in)
    match node.kind:
        case "read":
            return {"read": out}
        case "select":
            return {"select": total, "selected": out}
        case "project":
            return {"project": total}
        case "join" | "semijoin":
            return {"join": total, "joined": out}
        case "pairs":
            return {"pair": _pairs(rows_in), "joined": out}
        case "sort":
            return {"sort": total * log2(max(total, 2.0))}
        case "aggregate":
            return {"aggregate": total, "group": out}
        case "window":
            return {"window": total}
        case "generate":
            return {"generated": out}
        case "answer":
            return {"answer": total}
        case "table" | "union" | "limit" | "other":
            return {}


def selectivities(operators: OperatorNode, rows: Sequence[float]) -> tuple[float | None, ...]:
    """Of each operator, when it gave out so many rows; None where there were none to select from.

    >>> reads = OperatorNode("read", window=0), OperatorNode("read", window=1)
    >>> selectivities(OperatorNode("join", reads), (50, 100, 200))
    (0.0025, None, None)
    """
    found: list[float | None] = []
    for number, (node, below) in enumerate(operators.numbered()):
        base = _base(node, [rows[child] for child in below]) if below else 0.0
        found.append(rows[number] / base if base > 0 else None)
    return tuple(found)


def estimated_rows(
    operators: OperatorNode,
    windows: Sequence[float],
    selectivities: Sequence[float | None],
    finished: Mapping[int, float] | None = None,
) -> tuple[float, ...]:
    """The rows that each operator would give out, for windows of so many rows.

    An operator whose selectivity nobody knows gives out what comes in; a join of them, what its larger side has.
    ``finished`` are the rows of operators that are through.

    >>> plan = OperatorNode("select", (OperatorNode("read", window=0),))
    >>> estimated_rows(plan, [500], (0.2, None))
    (100.0, 500.0)
    """
    numbered = operators.numbered()
    rows = [0.0] * len(numbered)
    for number, (node, below) in reversed(list(enumerate(numbered))):
        known = None if finished is None else finished.get(number)
        rows_in = [rows[child] for child in below]
        rows[number] = _out(node, rows_in, windows, selectivities[number]) if known is None else known
    return tuple(rows)


def _out(node: OperatorNode, rows_in: Sequence[float], windows: Sequence[float], selectivity: float | None) -> float:
    if not rows_in:
        return float(windows[node.window]) if node.window is not None else float(node.rows or 0)
    if node.kind in ("union", "other"):
        return float(sum(rows_in))
    if node.kind in ("project", "sort", "window", "answer"):
        return float(rows_in[0])
    if selectivity is None:
        return float(max(rows_in))
    if node.kind in ("aggregate", "limit"):
        return min(selectivity, float(rows_in[0])) if rows_in[0] else 0.0
    return _base(node, rows_in) * selectivity


def _base(node: OperatorNode, rows_in: Sequence[float]) -> float:
    """What a selectivity is a part of."""
    match node.kind:
        case "join" | "pairs":
            return _pairs(rows_in)
        case "aggregate" | "limit":
            return 1.0
        case "semijoin":
            return float(rows_in[0])
        case _:
            return float(sum(rows_in))


def plan_cost(cost: LinearCost, operators: OperatorNode, rows: Sequence[float]) -> float:
    """Equation (1): microseconds of a plan, without its part of the job; branches of joins are added."""
    return cost.expected_us(counts(operators, rows)) - cost.fixed_us


def operator_us(cost: LinearCost, operators: OperatorNode, rows: Sequence[float]) -> list[float]:
    """Microseconds of each operator, in their order."""
    return [
        cost.expected_us(_counts(node, [rows[child] for child in below], rows[number])) - cost.fixed_us
        for number, (node, below) in enumerate(operators.numbered())
    ]


def remaining_cost(
    cost: LinearCost, operators: OperatorNode, rows: Sequence[float], finished: Mapping[int, float]
) -> float:
    """Equation (2): what is left of it when these operators are through, with those below them.

    ``rows`` are estimated with what the finished ones gave out.
    """
    numbered = operators.numbered()
    done: set[int] = set()
    for number, (_node, below) in enumerate(numbered):
        if number in finished or number in done:
            done |= {number, *below}
    left: Counts = {}
    for number, (node, below) in enumerate(numbered):
        if number not in done:
            for name, count in _counts(node, [rows[child] for child in below], rows[number]).items():
                left[name] = left.get(name, 0.0) + count
    return cost.expected_us(left) - cost.fixed_us


def _pairs(rows_in: Sequence[float]) -> float:
    return float(rows_in[0] * rows_in[1])

