"""What the scheduler remembers from event to event: a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from punctual.clock import SECOND, Micros
from punctual.config import Options, Qos
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.measured import Measured
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.reading_load import ReadingLoad
from punctual.estimate.rows_took import RowsTook
from punctual.estimate.window_work import Rates
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Reach
from punctual.schedule.epoch import Epochs
from punctual.schedule.events import Moment, Pace
from punctual.schedule.firings import Firings, Release
from punctual.schedule.jumps import Jump
from punctual.schedule.levels import Decision
from punctual.schedule.passes import Pass
from punctual.schedule.qos.feedback import Feedback
from punctual.schedule.qos.ingest_share import IngestShare
from punctual.schedule.qos.notices import GivingWay
from punctual.schedule.stages.endings import Ending
from punctual.schedule.stages.sharing import Sharing

Mode = Literal["stepped", "once", "live"]
HolderWork = Literal["apply", "answer", "compact", "prepare"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds until the program changes, and mostly for the whole run.

    Attributes
    ----------
    mode : ``stepped`` reads when asked to, ``once`` to the end of the input, ``live`` until it is stopped
    timed : whether deadlines count: not in a replay at full speed
    speed : replay at so many times life
    qos : what gives way under overload, where deadlines count
    keep : the share that queries with a curve use without any load; None: everything
    epochs : in which anytime queries are planned; None: they share the cores as they come
    cores : how many there are
    late_pending : whether late executions share a pass; off for comparison only
    replans : whether cadence plans follow measured costs
    batches_per_base : so many batches are kept before they are compacted into a base
    """

    mode: Mode = "stepped"
    timed: bool = False
    speed: float | None = None
    qos: Qos = "best-effort"
    keep: float | None = None
    epochs: Epochs | None = None
    cores: float = 1.0
    late_pending: bool = True
    replans: bool = False
    tick_us: Micros = SECOND
    idle_us: Micros = 10 * SECOND
    batches_per_base: int = 64

    def with_options(self, options: Options) -> Rules:
        """The same with what the options of a program say."""
        return replace(
            self,
            qos=options.qos,
            keep=options.keep,
            epochs=Epochs(options.epoch_us, options.plan_ahead_us) if options.anytime == "epoch" else None,
            replans=self.timed and options.window_merge == "scan",
            tick_us=options.tick_us,
            idle_us=options.idle_us,
        )


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
    shedding: IngestShare = field(default_factory=IngestShare)
    """How much of the rows is read."""


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
    passed: bool = False
    """Whether a pass was answered since windows were made ready for draws."""
    firings: Firings = field(default_factory=Firings)
    current_pass: Pass | None = None
    """The pass under way."""
    decisions: tuple[Decision, ...] = ()
    """Settings that open firings are answered with."""
    endings: tuple[Ending, ...] = ()
    """Firings that have ended before their last number, or will."""
    sharing: Sharing = field(default_factory=Sharing)
    """What is drawn ahead of answers, and by whom."""
    logged_before: int = 0
    """The log calls all batches below this one answered."""
    orders: tuple[int | Mapping[str, Micros] | None, ...] = ()
    """What was asked for in steps: batches with their limits, completions."""
    cost: PassCost = field(default_factory=PassCost)
    measured: Mapping[str, Measured] = field(default_factory=dict)
    rates: Mapping[str, Rates] = field(default_factory=dict)
    replanned: Micros | None = None
    executions: Mapping[str, ExecutionCost] = field(default_factory=dict)
    """What an execution of queries that read rows is expected to cost, by query."""
    rows_took: RowsTook = field(default_factory=RowsTook)
    """How long jobs take that answer from rows, by what is expected of them."""
    reading: ReadingLoad = field(default_factory=ReadingLoad)
    delays: Mapping[str, Micros] = field(default_factory=dict)
    """By stream, how long after its event time the last instant was released."""
    feedback: Feedback = field(default_factory=Feedback)
    level: float | None = None
    """The quality of the last pass in which somebody might have given way; None where there is no such quality."""
    giving_way: GivingWay = field(default_factory=GivingWay)
    last: Moment | None = None
    """When the last event was."""
    jumps: tuple[Jump, ...] = ()
    stopping: bool = False

    @property
    def open_batches(self) -> int:
        """How many committed batches are not fully answered, counted from the oldest one."""
        oldest = min([release.batch for release in self.unapplied], default=self.next_batch)
        return self.next_batch - min(oldest, self.firings.closed_before(self.next_batch))

    @property
    def goes_on(self) -> bool:
        """Whether rows come by themselves, as time goes on; in steps nobody knows what will be asked for."""
        return not self.stopping and (self.rules.mode == "live" or self.rules.speed is not None)

    @property
    def draws(self) -> Sharing | None:
        """What is drawn ahead of answers; None where nobody draws before answers are due."""
        return self.sharing if self.goes_on and self.rules.timed else None

    @property
    def asks(self) -> bool:
        """Whether queries that are asked once are asked with what is committed next: at the end of an input that has
        one, else as soon as can be."""
        return self.rules.mode != "once" or self.intake.ended

    @property
    def read_meanwhile(self) -> float:
        """How many cores reading takes while answers are made."""
        return self.reading.cores if self.goes_on else 0.0
