"""``SET`` on an engine that is open: it takes effect between two batches, and everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.clock import SECOND, UNITS_US
from punctual.engine.engine import Engine
from tests.engine.test_finish_in_time import EXACT, TOTAL, Simulated, answers, opened, play


def kept(engine: Engine) -> list[float]:
    return [one["kept"] for one in answers(engine, "total")]


@pytest.mark.parametrize("live", [True, False])
def test_keep_is_used_from_then_on_and_given_up_again(live: bool, tmp_path: Path) -> None:
    engine, backend = opened(tmp_path, live=live)
    with engine:
        play(engine, backend, range(3), size=50)
        engine.sql("SET keep = 30%")
        play(engine, backend, range(3, 6), size=50)
        engine.sql("SET keep = auto")
        play(engine, backend, range(6, 9), size=50)
        # A window is answered once the next one has begun.
        assert kept(engine) == [1.0, 1.0, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0]


def late(engine: Engine, backend: Simulated, window: int) -> float:
    """The share that an answer has whose job is held up."""
    backend.pause = 700_000
    play(engine, backend, [window])
    return kept(engine)[-1]


def test_scans_are_cut_as_the_policy_says_that_holds(tmp_path: Path) -> None:
    engine, backend = opened(tmp_path, TOTAL + EXACT)
    with engine:
        play(engine, backend, range(3))
        engine.sql("SET qos = best-effort")
        assert late(engine, backend, 3) == 1.0
        engine.sql("SET qos = dynamic-sampling")
        assert late(engine, backend, 4) < 1.0
        engine.sql("SET keep = 90%")
        assert late(engine, backend, 5) == 0.9


def test_a_policy_that_samples_first_begins_and_ends_to(tmp_path: Path) -> None:
    engine, backend = opened(tmp_path)
    with engine:
        play(engine, backend, range(3), size=50)
        before = len(backend.jobs)
        engine.sql("SET qos = fixed-sampling")
        play(engine, backend, [3], size=50)
        assert len(backend.jobs) == before + 2, "a sampler, then the job"
        engine.sql("SET qos = dynamic-sampling")
        play(engine, backend, [4], size=50)
        assert len(backend.jobs) == before + 3


def test_times_hold_too(tmp_path: Path) -> None:
    engine, _backend = opened(tmp_path)
    with engine:
        engine.sql("SET tick = 250 ms; SET idle = 3 seconds; SET keep_answers = 2 hours; SET window_merge = scan")
        loop = engine._opened()
        rules = loop.state.rules
        assert (rules.tick_us, rules.idle_us, rules.replans) == (SECOND // 4, 3 * SECOND, True)
        assert loop.core.delivery.keep_us == loop.core.ledger.keep_us == 2 * UNITS_US["HOUR"]
        assert rules.timed, "what is no option stays"
