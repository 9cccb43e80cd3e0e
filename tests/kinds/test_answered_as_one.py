"""Queries of one form are answered as one, and nobody can tell: the log has the same bytes as with each by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from punctual.clock import ManualClock, iso
from punctual.engine.engine import Engine
from punctual.kinds import asked
from punctual.kinds.aggregates.kind import AggregatesKind
from punctual.ports.sinks.memory import MemorySink
from tests.inprocess.backend import InProcess

FORMS = (
    "avg(v) AS a, max(v) AS m FROM s {window} {when}",
    "k, avg(v) AS a{third}, max(v) AS m FROM s {window} GROUP BY k {when} DEADLINE 1 SECOND",
    "k, sum(v) AS a, min(v) AS m FROM s {window} WHERE v > {number} GROUP BY k {when}",
    "k, 2 * avg(v) AS d, count(*) AS c FROM s {window} GROUP BY k HAVING avg(v) > {number} {when}",
    "k, count(*) AS c, max(v) AS x FROM s {window} GROUP BY k ORDER BY max(v) DESC LIMIT {third} {when}",
    "count(*) FILTER (WHERE v < {number}) AS f, count(*) AS c FROM s {window} {when}",
    "approx_count_distinct(v) AS d{third}, NULL AS nothing FROM s {window} {when}",
)
"""What a query selects; ``third`` is one of three numbers, so that some queries agree in it and some do not."""
QUERIES = 9
START_US = 1_700_000_000_000_000


def program() -> str:
    statements = ["CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 2 SECONDS, k STRING, v DOUBLE) FROM FEED"]
    for number in range(QUERIES):
        filled = {"window": f"[RANGE {3 + 5 * (number // 2)} SECONDS]", "when": f"PERIOD {2 + number % 3} SECONDS"}
        for form, text in enumerate(FORMS):
            select = text.format(**filled, third=1 + number % 3, number=5 * number)
            statements.append(f"CREATE QUERY q{form}_{number} AS SELECT {select}")
    return ";\n".join(statements)


def ran(folder: Path, *, live: bool) -> tuple[bytes, list[object]]:
    """The bytes of the answer log, and what a sink shows of each query."""
    clock, random = ManualClock(START_US), np.random.default_rng(4)
    sink = MemorySink()
    engine = Engine(str(folder), clock=clock, backend=InProcess, live=live)
    engine.add_sink("memory", sink)
    with engine:
        engine.sql(program())
        engine.open()
        for _tick in range(5):
            clock.sleep(5_000_000)
            ages, keys = random.integers(0, 6_000_000, 40), random.integers(0, 5, 40)
            rows = [(iso(clock.now() - int(age)), f"k{key}", float(age % 97)) for age, key in zip(ages, keys)]
            engine.feed("s", rows)
            engine.tick()
        engine.end()
        names = [f"q{form}_{number}" for form in range(len(FORMS)) for number in range(QUERIES)]
        shown = [frame.to_pylist() for name in names if (frame := sink.frame(name)) is not None]
    return b"".join(path.read_bytes() for path in sorted((folder / "answers").iterdir())), shown


@pytest.mark.parametrize("live", [False, True])
def test_nobody_can_tell_who_was_answered_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live: bool) -> None:
    together = ran(tmp_path / "together", live=live)
    asked._KNOWN.clear()
    monkeypatch.setattr(AggregatesKind, "alike", lambda self, query, types: None)
    apart = ran(tmp_path / "apart", live=live)
    asked._KNOWN.clear()
    assert len(together[1]) == len(FORMS) * QUERIES
    assert together[1] == apart[1]
    assert together[0] == apart[0]
