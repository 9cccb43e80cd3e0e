"""A live engine that is behind: urgent answers first, late ones together, each instant once; costs are learned.

The clock is simulated: evaluating a pass takes 80 ms and 2 ms for each query in it, and nothing else takes time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.estimate.measured import FEWEST_PASSES, Measured
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.window_work import Rates
from punctual.runtime.backend import Question
from punctual.schedule.state import State
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
FIXED, EACH = 80_000, 2_000


class Slow(InProcess):
    """Evaluation takes (simulated) time."""

    clock: ManualClock

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        self.clock.sleep(FIXED + EACH * len(questions))
        return super().evaluate(questions)


def opened(folder: Path, program: str, options: dict[str, str] | None = None) -> tuple[Engine, ManualClock]:
    clock = ManualClock(START + 10_000 * SECOND)
    backend = Slow()
    backend.clock = clock
    engine = Engine(str(folder), clock=clock, backend=lambda: backend, options=options)
    engine.sql(program)
    engine.open()
    return engine, clock


def _state(engine: Engine) -> State:
    return engine._opened().state


def _set(engine: Engine, **changes: Any) -> None:
    """Let the scheduler remember something else."""
    engine._opened().state = replace(_state(engine), **changes)


HARD = "DEADLINE 50 MILLISECONDS"
"""Less than a pass takes: whoever asks for this is always late."""
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, a INT) FROM FEED;\n"


def bounded(count: int, seed: int, clause: str = "") -> str:
    """Queries of classes of their own (each has its own WHERE), whose columns need evaluating."""
    chance = random.Random(seed)
    return "".join(
        f"CREATE QUERY q{i} AS SELECT sum(a) + 1 AS total FROM s [RANGE {chance.randint(5, 60)} SECONDS] "
        f"WHERE k <> {i} FREQUENCY {chance.choice([2, 3, 4, 5, 6])} SECONDS {clause};\n"
        for i in range(count)
    )


def answers(engine: Engine) -> dict[tuple[str, int], dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for block in engine.records():
        for row in block.table.to_pylist():
            assert (block.query, row["at"]) not in found, "an instant was answered twice"
            found[block.query, row["at"]] = row
    return found


def feed(engine: Engine, begin: int, end: int, seed: int) -> None:
    chance = random.Random(seed)
    times = [START + second * SECOND for second in range(begin, end)]
    engine.feed("s", [(iso(t), chance.randrange(30), chance.randrange(100)) for t in times])


def stalled(folder: Path, seed: int, *, late_pending: bool) -> tuple[dict[tuple[str, int], dict[str, Any]], int]:
    """Ten calm seconds, then a minute's rows at once: all answers, and how long it took to catch up."""
    engine, clock = opened(folder, STREAM + bounded(8, seed, HARD))
    with engine:
        _set(engine, rules=replace(_state(engine).rules, late_pending=late_pending))
        for second in range(10):
            feed(engine, second, second + 1, seed)
            engine.tick()
        feed(engine, 10, 70, seed)
        began = clock.at
        engine.tick()
        return answers(engine), clock.at - began


@pytest.mark.parametrize("seed", range(5))
def test_late_executions_share_a_pass_and_catch_up_sooner(tmp_path: Path, seed: int) -> None:
    alone, alone_us = stalled(tmp_path / "alone", seed, late_pending=False)
    shared, shared_us = stalled(tmp_path / "shared", seed, late_pending=True)
    assert alone.keys() == shared.keys()
    for key, row in alone.items():
        assert row["rows"] == shared[key]["rows"]
        assert row["execution"] == shared[key]["execution"]
    assert shared_us * 2 < alone_us
    lateness = [sum(max(0, r["answered"] - r["released"]) for r in some.values()) for some in (shared, alone)]
    assert lateness[0] < lateness[1]


def test_the_urgent_are_answered_first(tmp_path: Path) -> None:
    urgent = (
        "CREATE QUERY urgent AS SELECT sum(a) + 1 AS total FROM s [RANGE 5 SECONDS] "
        "PERIOD 60 SECONDS DEADLINE 200 MILLISECONDS;\n"
    )
    engine, clock = opened(tmp_path, STREAM + bounded(60, 1) + urgent)
    with engine:
        cost = PassCost().after(0, FIXED)
        for work in [1, 3, 7, 20, 40] * 40:  # what such passes cost has been seen before
            cost = cost.after(work, FIXED + EACH * work)
        _set(engine, cost=cost)
        feed(engine, 0, 3, 1)
        engine.tick()
        feed(engine, 3, 62, 1)
        released = clock.at
        engine.tick()
        found = answers(engine)
        mine = [row for (query, _at), row in found.items() if query == "urgent"]
        assert mine
        assert all(row["on_time"] for row in mine)
        others = [row["answered"] for (query, _at), row in found.items() if query != "urgent"]
        assert max(others) > released + 200_000  # with everybody in one pass it would have been late


def test_a_restart_after_some_passes_repeats_nothing(tmp_path: Path) -> None:
    """The process dies between two passes of one batch: what was delivered is not answered again, the rest is."""
    program = STREAM + bounded(6, 3, HARD)
    engine, _clock = opened(tmp_path / "whole", program)
    with engine:
        feed(engine, 0, 40, 3)
        engine.tick()
        expected = answers(engine)
    engine, _clock = opened(tmp_path / "cut", program)
    _set(engine, rules=replace(_state(engine).rules, late_pending=False))
    core = engine._opened().core
    deliver, delivered = core.delivery.deliver, 0

    def dying(*arguments: Any) -> int:
        nonlocal delivered
        if delivered == 3:
            raise KeyboardInterrupt
        delivered += 1
        return deliver(*arguments)

    core.delivery.deliver = dying  # type: ignore[method-assign]
    feed(engine, 0, 40, 3)
    with pytest.raises(KeyboardInterrupt):
        engine.tick()
    engine.close()
    engine, _clock = opened(tmp_path / "cut", program)
    with engine:
        resumed = answers(engine)
    assert resumed.keys() == expected.keys()
    assert all(resumed[key]["rows"] == row["rows"] for key, row in expected.items())


def test_costs_that_drift_are_planned_for(tmp_path: Path) -> None:
    """Where answers turn out dear against merges, running sooner to share is no longer worth it: plans change."""
    queries = "".join(
        f"CREATE QUERY q{i} AS SELECT max(a) AS top FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS];\n"
        for i, (length, slide) in enumerate([(10, 2), (15, 3), (30, 5)])
    )
    engine, clock = opened(tmp_path, STREAM + queries, {"window_merge": "scan"})
    with engine:
        core = engine._opened().core
        feed(engine, 0, 40, 1)
        engine.tick()
        (before,) = core.programs.cadences.plans.values()
        assert [plan.method for plan in before] == ["exact"]
        dear = Measured()
        for _ in range(FEWEST_PASSES):
            dear = dear.after(merges=100, kernel_us=100, answers=10, finish_us=10_000)
        _set(engine, measured=dict.fromkeys(core.programs.cadences.plans, dear))
        clock.sleep(61 * SECOND)
        feed(engine, 40, 80, 1)
        engine.tick()
        (after,) = core.programs.cadences.plans.values()
        assert after[-1].costs == ("1", "1024")  # a thousand merges, as a power of two
        assert after[-1].since > START + 79 * SECOND - 1
        feed(engine, 80, 160, 1)
        engine.tick()
        by_query: dict[str, list[int]] = {}
        for query, at in sorted(answers(engine)):
            by_query.setdefault(query, []).append((at - START) // SECOND)
    for query, bound in (("q0", 2), ("q1", 3), ("q2", 5)):
        gaps = [b - a for a, b in pairwise(by_query[query])]
        assert max(gaps) <= bound
    late = [at for at in by_query["q2"] if at > 95]
    assert all(b - a == 5 for a, b in pairwise(late))  # and nobody runs sooner than asked any more


def test_what_is_measured_moves_the_rate_in_use_only_when_it_is_far_off() -> None:
    measured = Measured()
    for _ in range(FEWEST_PASSES - 1):
        measured = measured.after(10, 10, 10, 80)
    assert measured.answer_in_merges(Fraction(0)) == 0  # too few passes
    measured = measured.after(10, 10, 10, 80)
    assert measured.answer_in_merges(Fraction(0)) == 8
    assert measured.answer_in_merges(Fraction(4)) == 4
    assert measured.answer_in_merges(Fraction(2)) == 8
    assert measured.answer_in_merges(Fraction(64)) == 8
    cheap = replace(measured, finish_us=1e-6)
    assert cheap.answer_in_merges(Fraction(8)) == 0
    assert Rates().answer == 0
