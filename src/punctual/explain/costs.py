"""What row queries cost, as text: operators with the rows and the core time that are expected of each."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.catalog import Catalog
from punctual.estimate.added_work import GUESSED_RATE, AddedWork, added_work
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import operator_us
from punctual.explain.columns import line
from punctual.plan.operators import OperatorNode
from punctual.plan.shared import RowReader


def row_query_costs(
    reader: RowReader, others: Sequence[RowReader], catalog: Catalog, costs: KnownCosts
) -> list[str]:
    """What a row query adds to the others: lines of its block."""
    work = added_work(reader, catalog.streams, costs, others)
    return cost_lines(work, costs.rows.operators, [window.stream for window in reader.windows])


def cost_lines(work: AddedWork, cost: LinearCost, windows: Sequence[str]) -> list[str]:
    """The same of work that is known; ``windows`` are the names of the streams of its windows."""
    lines = []
    each = operator_us(cost, work.query.operators, work.rows)
    for (node, depth), rows, us in zip(_deep(work.query.operators), work.rows, each):
        what = f"{windows[node.window]}" if node.window is not None else node.about
        left = f"      {'  ' * depth}{node.kind if depth else 'operators'}"
        lines.append(line(left, f"{_rows(rows)}, {time_text(us)}" + (f"  {what}" if what else "")))
    high = f", seldom more than {time_text(work.answer_us.high_us)}"
    lines.append(line("      answer takes", f"{time_text(work.answer_us.median_us)} of core time{high}"))
    lines.append(line("      adds", f"{100 * work.cores:.3g} % of a core, keeps {bytes_text(work.bytes)}"))
    lines += [line("" if number else "      known", part) for number, part in enumerate(_known(work))]
    return lines


def _known(work: AddedWork) -> list[str]:
    """What the numbers rest on."""
    unknown = [name for name, known in work.rates.items() if not known]
    parts = []
    if work.seen:
        parts.append("by its own answers")
    else:
        parts.append("by operators of other queries" if work.learned else "by guesses: nothing was measured")
        parts.append("selectivities are not known yet")
    if unknown:
        parts.append(f"as if {', '.join(unknown)} had {GUESSED_RATE:,.0f} rows per second")
    return parts


def _deep(node: OperatorNode, depth: int = 0) -> list[tuple[OperatorNode, int]]:
    return [(node, depth), *(one for child in node.children for one in _deep(child, depth + 1))]


def _rows(rows: float) -> str:
    whole = round(rows)
    return "1 row" if whole == 1 else f"{whole:,} rows"


def time_text(us: float) -> str:
    """Microseconds for people.

    >>> time_text(12_345), time_text(0.4), time_text(2_500_000)
    ('12ms', '0us', '2.5s')
    """
    if us >= 1_000_000:
        return f"{us / 1_000_000:.3g}s"
    return f"{us / 1_000:.0f}ms" if us >= 10_000 else f"{us / 1_000:.1f}ms" if us >= 1_000 else f"{us:.0f}us"


def bytes_text(size: float) -> str:
    """Bytes for people.

    >>> bytes_text(512), bytes_text(1_500_000)
    ('512 B', '1.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"
