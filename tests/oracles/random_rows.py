"""Random rows for the streams of random queries: NULLs, duplicates, ties, silences, rows out of order and late ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from tests.oracles.random_queries import PERIOD_S

Row = dict[str, Any]
Batch = dict[str, list[Row]]
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
"""A multiple of the period."""
PERIODS = 3
ROWS_A_PERIOD = 14
WATERMARK_S = 2
MAKERS: Mapping[str, Mapping[str, Callable[[Random], Any]]] = {
    "s": {
        "k": lambda rng: rng.choice(("a", "b", "B", "é", "", None)),
        "i": lambda rng: rng.choice((0, 1, 2, 3, None)),
        "n": lambda rng: rng.choice((1, 2, 2**40, -5, None)),
        "v": lambda rng: rng.choice((0.5, 1.0, -2.25, 1e6, float("nan"), float("inf"), None)),
        "b": lambda rng: rng.choice((True, False, None)),
        "d": lambda rng: rng.choice((date(2023, 11, 14), date(2024, 2, 29), date(1969, 12, 31), None)),
        "u": lambda rng: rng.choice((START, START + timedelta(seconds=3, microseconds=7), None)),
        "m": lambda rng: rng.choice((Decimal("1.50"), Decimal("-99999999.99"), Decimal("0.00"), None)),
    },
    "r": {
        "k": lambda rng: rng.choice(("a", "b", "c", None)),
        "j": lambda rng: rng.choice((1, 2, 3, None)),
        "w": lambda rng: rng.choice((0.5, 1.0, 4.75, float("nan"), None)),
        "e": lambda rng: rng.choice((date(2023, 11, 14), date(2024, 2, 29), None)),
        "x": lambda rng: rng.choice((Decimal("1.500"), Decimal("2.125"), None)),
        "f": lambda rng: rng.choice((True, False, None)),
    },
    "p": {
        "k": lambda rng: rng.choice(("a", "é", "", "c", None)),
        "i": lambda rng: rng.choice((1, 2, 3, 4)),
        "n": lambda rng: rng.choice((1, 2, -5, None)),
    },
}


def random_batches(seed: int, *, late: bool, silent: str | None = None) -> list[Batch]:
    """Batches of rows in the order of their arrival; ``silent`` is a stream without any row.

    Most batches complete one period. Each stream falls silent before the end of one of them, so that short windows are
    empty. Without late rows none is behind another by more than the watermark, however they are cut into batches.
    """
    rng = Random(seed)
    arrivals: list[tuple[float, str, Row]] = []
    for name, makers in MAKERS.items():
        quiet = rng.randrange(PERIODS) * PERIOD_S
        seconds = [rng.randrange(1, 4 * PERIODS * PERIOD_S) / 4 for _row in range(ROWS_A_PERIOD * PERIODS)]
        ends = [period * PERIOD_S + 2.25 for period in range(PERIODS + 1)]
        for second in [] if name == silent else [*seconds, *ends]:
            if quiet + 0.5 < second <= quiet + PERIOD_S and second not in ends:
                continue
            row = {"ts": START + timedelta(seconds=second), **{column: make(rng) for column, make in makers.items()}}
            delay = rng.uniform(0, WATERMARK_S * 0.9) if second not in ends else 0
            if late and rng.random() < 0.1 and second not in ends:
                delay += rng.uniform(2, 9)
            arrivals += [(second + delay, name, row)] * (2 if rng.random() < 0.1 else 1)
    arrivals.sort(key=lambda one: one[0])
    cuts = [period * PERIOD_S + 2.3 for period in range(PERIODS)] + [rng.uniform(0, PERIODS * PERIOD_S)]
    batches: list[Batch] = [{} for _cut in range(len(cuts) + 1)]
    for at, name, row in arrivals:
        batches[sum(at > cut for cut in cuts)].setdefault(name, []).append(row)
    return [batch for batch in batches if batch]
