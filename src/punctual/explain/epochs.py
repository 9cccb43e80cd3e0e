"""What EXPLAIN SCHEDULE says of epochs, where queries with ANSWERS are planned by them."""

from __future__ import annotations

from collections.abc import Iterable

from punctual.clock import span_text
from punctual.config import Options
from punctual.explain.columns import count
from punctual.kinds.registry import kind_of
from punctual.plan.query import Query


def epochs_text(options: Options, queries: Iterable[Query]) -> str:
    """How they are planned; nothing where nobody is."""
    planned = sum(kind_of(query).draws_ahead(query) for query in queries)
    if options.anytime != "epoch" or not planned:
        return ""
    return (
        f"epochs · {count(planned, 'query', 'queries')} · every {span_text(options.epoch_us)}, planned "
        f"{span_text(options.plan_ahead_us)} before · what comes too late waits for the next one"
    )
