"""What the scheduler remembers from event to event: a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from punctual.clock import SECOND, Micros
from punctual.estimate.measured import Measured
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.window_work import Rates
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Reach
from punctual.schedule.events import Pace
from punctual.schedule.firings import Firings, Release
from punctual.schedule.levels import Decision
from punctual.schedule.passes import Pass

Mode = Literal["stepped", "once", "live"]
HolderWork = Literal["apply", "answer", "compact"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the whole run.

    Attributes
    ----------
    mode : ``stepped`` reads when asked to, ``once`` to the end of the input, ``live`` until it is stopped
    timed : whether deadlines count: not in a replay at full speed
    speed : replay at so many times life
    sheds : whether knobs are turned under overload
    late_pending : whether late executions share a pass; off for comparison only
    replans : whether cadence plans follow measured costs
    batches_per_base : so many batches are kept before they are compacted into a base
    """

    mode: Mode = "stepped"
    timed: bool = False
    speed: float | None = None
    sheds: bool = False
    late_pending: bool = True
    replans: bool = False
    tick_us: Micros = SECOND
    idle_us: Micros = 10 * SECOND
    batches_per_base: int = 64


@dataclass(frozen=True, slots=True, eq=False)
class Intake:
    """Where reading stands.

    ``under_way`` while a job runs; ``waiting`` is the largest event time of a batch that was read and is not committed
    (its time has not come); ``files`` is how many a paced replay takes at once; ``exhausted`` once nothing was found.
    """

    under_way: bool = False
    has_batch: bool = False
    waiting_for: Micros | None = None
    began: Micros | None = None
    looked: Micros | None = None
    pace: Pace | None = None
    files: int = 1
    exhausted: bool = False
    ended: bool = False
    """The end of input was committed."""
    spoke: Mapping[str, Micros] = field(default_factory=dict)
    """By stream, when it had rows last, by the steady clock."""
    started: Micros | None = None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything that decisions depend on."""

    rules: Rules = Rules()
    contracts: Contracts = field(default_factory=Contracts)
    watermarks: Mapping[str, Micros] = field(default_factory=dict)
    reaches: Mapping[str, Reach] = field(default_factory=dict)
    released: Mapping[str, Micros] = field(default_factory=dict)
    """By stream, through when instants were released."""
    next_batch: int = 0
    since_base: int = 0
    crowded: bool = False
    intake: Intake = Intake()
    unapplied: tuple[Release, ...] = ()
    """What committed batches release, which the holders have not got yet."""
    holder: HolderWork | None = None
    firings: Firings = field(default_factory=Firings)
    current_pass: Pass | None = None
    """The pass under way."""
    decisions: tuple[Decision, ...] = ()
    """Settings that open firings are answered with."""
    orders: tuple[int | Mapping[str, Micros] | None, ...] = ()
    """What was asked for in steps: batches with their limits, completions."""
    cost: PassCost = field(default_factory=PassCost)
    measured: Mapping[str, Measured] = field(default_factory=dict)
    rates: Mapping[str, Rates] = field(default_factory=dict)
    replanned: Micros | None = None
    stopping: bool = False

    @property
    def open_batches(self) -> int:
        """How many committed batches are not fully answered, counted from the oldest one."""
        oldest = min([release.batch for release in self.unapplied], default=self.next_batch)
        return self.next_batch - min(oldest, self.firings.closed_before(self.next_batch))
