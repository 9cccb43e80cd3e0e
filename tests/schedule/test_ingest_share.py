"""The share of rows that is read, driven by a reader whose costs are known: what it reads, how far it falls behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from punctual.clock import SECOND
from punctual.estimate.spent import ReadingParts
from punctual.schedule.events import BatchRead, NothingRead, Read, TimerFired
from punctual.schedule.qos.ingest_share import STEPS, IngestShare
from punctual.schedule.state import Rules
from tests.schedule.script import Script
from tests.schedule.simulated import contract

MOSTLY_ROWS = ReadingParts(fixed=0.1, kept=0.8)


@dataclass(slots=True)
class Reader:
    """A batch has what arrived since the last one began; it costs a fixed time, a look at all and a walk over the kept.

    Times are seconds, loads are seconds of reading for each second of arrivals, with all rows kept.
    """

    fixed: float = 0.1
    look: float = 0.2
    """The part of the work on a row that is done before it is known whether it is kept."""
    tick: float = 1.0
    now: float = 0.0

    def run(self, load: Callable[[float], float], until: float) -> list[tuple[float, float, float]]:
        """For every batch when it began, its share, and how long it took."""
        state, before, found = IngestShare(), self.now, []
        while self.now < until:
            arrived = load(self.now) * (self.now - before) if self.now > before else 0.0
            before = self.now
            kept = arrived * (1 - self.look) * state.share
            took = self.fixed + arrived * self.look + kept
            found.append((self.now, state.share, took))
            state = state.after(took * SECOND, ReadingParts(self.fixed / took, kept / took), int(self.tick * SECOND))
            self.now += max(self.tick, took)
        return found


@pytest.mark.parametrize("load", [0.1, 0.5, 0.85])
def test_nothing_is_shed_while_reading_keeps_up(load: float) -> None:
    assert {share for _at, share, _took in Reader().run(lambda _now: load, 200)} == {1.0}


@pytest.mark.parametrize("load", [1.5, 2.0, 3.0])
def test_an_overload_that_stays_is_borne_with_a_share_that_hardly_moves(load: float) -> None:
    found = Reader().run(lambda _now: load, 300)
    settled = [(share, took) for at, share, took in found if at > 120]
    assert all(took <= 1.0 for _share, took in settled)
    shares = {share for share, _took in settled}
    assert len(shares) == 1
    # No share larger by two steps would have fitted with the room that is left.
    (share,) = shares
    assert 0.1 + load * 0.2 + load * 0.8 * (share + 2 / STEPS) > 0.8


def test_a_burst_is_shed_and_everything_is_read_again_after_it() -> None:
    found = Reader().run(lambda now: 3.0 if 50 <= now < 80 else 0.4, 160)
    assert {share for at, share, _took in found if at < 50} == {1.0}
    assert min(share for at, share, _took in found if 50 <= at < 80) < 0.5
    assert max(took for _at, _share, took in found) < 10  # without shedding it would double with every batch
    back = min(at for at, share, _took in found if at > 81 and share == 1.0)
    assert back < 90
    assert {share for at, share, _took in found if at >= back} == {1.0}


def test_without_shedding_the_burst_piles_up() -> None:
    """What the policy is good for: the same reader that keeps all rows."""
    took, before, now = 0.1, 0.0, 1.0
    for _ in range(6):
        took, before = 0.1 + 3.0 * (now - before), now
        now += max(1.0, took)
    assert took > 500


def test_one_long_batch_is_no_bottleneck() -> None:
    state = IngestShare().after(5 * SECOND, MOSTLY_ROWS, SECOND)
    assert state.share == 1.0
    assert state.after(SECOND // 2, MOSTLY_ROWS, SECOND) == IngestShare()


def test_nothing_is_shed_where_that_would_save_nothing() -> None:
    state = IngestShare()
    for _ in range(10):
        state = state.after(5 * SECOND, ReadingParts(fixed=0.2), SECOND)
    assert state == IngestShare()


@pytest.mark.parametrize(("load", "shed"), [(0.3, False), (0.9, True)])
def test_a_tick_shorter_than_a_job_is_no_reason(load: float, shed: bool) -> None:
    """Batches then take as long as they take; they are too long where rows take more than the job itself."""
    found = Reader(fixed=0.15, tick=0.1).run(lambda _now: load, 60)
    assert (min(share for _at, share, _took in found) < 1.0) == shed


def test_where_queries_cannot_give_way_further_it_goes_down_step_by_step() -> None:
    state, shares = IngestShare(), []
    for _ in range(40):
        state = state.after(SECOND // 10, MOSTLY_ROWS, SECOND, stuck=True)
        shares.append(state.steps)
    assert shares[:4] == [16, 8, 7, 6]
    assert shares[-1] == 1
    assert state.after(SECOND // 10, MOSTLY_ROWS, SECOND).share > 0.25


LIVE = Rules("live", timed=True, qos="dynamic-sampling")


class Reading(Script):
    """A program that reads batch after batch, each of which takes as long as the test says."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules, contract("q", 1.0))
        self.batches = 0
        self.commands = self(TimerFired(self.now()))

    def batch(self, took: float, parts: ReadingParts = MOSTLY_ROWS) -> float:
        """The share of stream ``s`` that the batch is read with; it is there so many seconds later."""
        (read,) = (one for one in self.commands if isinstance(one, Read))
        self.at += int(took * SECOND)
        self(BatchRead(self.now(), 0, 0, took, parts))
        self.commands = self.committed(self.batches, 0.0) + self.applied(self.batches)
        self.batches += 1
        if took < 1.0:
            self.at += int((1.0 - took) * SECOND)
            self.commands += self(TimerFired(self.now()))
        return dict(read.shares).get("s", 1.0)


def test_shares_come_with_the_command_to_read() -> None:
    script = Reading(LIVE)
    # Of 2.0 s, 0.4 s are no rows that are kept; 0.4 s of 1.6 s are left for those.
    assert [script.batch(2.0) for _ in range(3)] == [1.0, 1.0, 4 / 16]
    assert [script.batch(0.2) for _ in range(3)] == [1 / 16, 4 / 16, 1.0]


@pytest.mark.parametrize(
    "rules",
    [
        replace(LIVE, keep=0.3),  # somebody said how much
        replace(LIVE, qos="best-effort"),
        replace(LIVE, timed=False),
    ],
    ids=["keep", "best effort", "no deadlines"],
)
def test_nothing_is_shed_where_nobody_wants_it(rules: Rules) -> None:
    script = Reading(rules)
    assert {script.batch(3.0) for _ in range(5)} == {1.0}


def test_once_nothing_waits_everything_is_read() -> None:
    script = Reading(LIVE)
    for _ in range(3):
        script.batch(3.0)
    assert script.state.intake.shedding.share < 1.0
    script(NothingRead(script.now()))
    assert script.state.intake.shedding == IngestShare()
