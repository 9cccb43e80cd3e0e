"""Which streams may be shed at ingest, and to which share.

A row that is shed is lost to every query that reads the stream. So all of them must have QUALITY and read cells that
know what a row stands for (``Unit.sampled``). One that does not makes the stream unsheddable; among the others the
strictest decides. EXPLAIN names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from punctual.estimate.quality_curve import curve_of
from punctual.kernel.sample.marks import SHARES
from punctual.plan.query import Query
from punctual.plan.rows import GroupedRows
from punctual.plan.shared import Needs, SharedPlan


@dataclass(frozen=True, slots=True)
class Shedding:
    """What may be done to one stream: shed to no less than ``least``, or nothing, and ``why_not``.

    ``strictest`` is the query that accepts no less, the first of those that agree.
    """

    least: float = 1.0
    why_not: str | None = None
    strictest: str | None = None


def is_parted(query: Query, needs: Needs) -> bool:
    """Whether its error needs the parts of a sample, for the jackknife: not that of aggregates of one window as they
    are."""
    computed = any(output.expression.column is None for output in query.outputs)
    return needs.sampled and (computed or bool(needs.rows.windows))


def drawn_apart(query: Query, rows: GroupedRows) -> tuple[str, ...]:
    """The joined windows, by alias, whose samples are drawn apart from that of the first window, row by row.

    By equal columns samples of all windows are drawn together: rows that match stay together. Where QUALITY has a share
    for each input that would leave the least of them.
    """
    together = rows.same and query.quality is not None and not query.quality.inputs
    return () if together else tuple(join.alias for join in rows.windows)


def shedding(plan: SharedPlan) -> dict[str, Shedding]:
    """What may be done to each stream that is read, by its name in lower case."""
    found: dict[str, Shedding] = {}
    for stream, query, why_not in _readings(plan):
        known = found.setdefault(stream, Shedding(0.0))
        if known.why_not is not None:
            continue
        if why_not is not None or query.quality is None:
            found[stream] = Shedding(1.0, why_not)
        elif (least := curve_of(query.quality).least_share) >= 1.0:
            found[stream] = Shedding(1.0, f"query {query.name} accepts no less than all of its rows")
        elif known.strictest is None or least > known.least:
            found[stream] = Shedding(least, strictest=query.name)
    return found


def _readings(plan: SharedPlan) -> Iterator[tuple[str, Query, str | None]]:
    """Streams with their readers, and why a reader cannot do with less, if it cannot."""
    for reader in plan.readers:
        exact = None if plan.units[reader.unit].sampled else f"query {reader.query.name} reads it exactly"
        yield from ((stream.lower(), reader.query, exact) for stream in reader.query.streams)
    for row_reader in plan.row_readers:
        why_not = f"query {row_reader.query.name} reads its rows"
        yield from ((stream.lower(), row_reader.query, why_not) for stream in row_reader.query.streams)


def ingest_shares(sheddable: Mapping[str, Shedding], asked: Mapping[str, float], keep: float | None) -> dict[str, int]:
    """The streams that are shed, with their shares in ten-thousandths.

    ``asked`` are the shares that the scheduler wants, by stream. With ``keep`` every stream that can be shed is, to
    that share.

    >>> streams = {"a": Shedding(0.1), "b": Shedding(why_not="query q reads it exactly")}
    >>> ingest_shares(streams, {"a": 0.5, "b": 0.5}, None), ingest_shares(streams, {}, 0.03)
    ({'a': 5000}, {'a': 1000})
    """
    wanted = asked if keep is None else dict.fromkeys(sheddable, keep)
    found: dict[str, int] = {}
    for name, share in wanted.items():
        may = sheddable.get(name)
        if may is not None and may.why_not is None:
            part = max(1, round(max(share, may.least) * SHARES))
            if part < SHARES:
                found[name] = part
    return found
