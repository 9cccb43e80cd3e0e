"""What the scheduler hears and what it says: events are in the past tense, commands are imperatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from punctual.clock import Micros
from punctual.config import Options
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.spent import ReadingParts, RowsSpent
from punctual.estimate.window_work import Rates
from punctual.schedule.arrivals import Arrivals
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Reach
from punctual.schedule.firings import FiringGroup, OpenFrom
from punctual.schedule.late_counts import LateCounts
from punctual.schedule.levels import Decision
from punctual.schedule.passes import Pass
from punctual.schedule.qos.notices import Notice
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.endings import Ending
from punctual.schedule.stages.sharing import Draw, EndDraws
from punctual.schedule.stages.stage import Stage


class Moment(NamedTuple):
    """When an event happened: by the wall clock, and by the clock that never goes back."""

    wall: Micros
    steady: Micros


# -- events ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ProgramChanged:
    """Other queries run, or other plans: what the scheduler knows of them. Open firings of others are closed.

    ``watermarks`` are by stream; ``rates`` are the costs by class that the cadence plans in force were made for.
    ``options`` are the program's; None: as before.
    """

    at: Moment
    contracts: Contracts
    watermarks: Mapping[str, Micros]
    rates: Mapping[str, Rates] = field(default_factory=dict)
    options: Options | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReadAsked:
    """Somebody asked for one batch; ``limit`` is the most files of a stream, when less than the option says."""

    at: Moment
    limit: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CompletionAsked:
    """Somebody said that streams are complete through these instants without new rows."""

    at: Moment
    through: Mapping[str, Micros]


@dataclass(frozen=True, slots=True, eq=False)
class NothingRead:
    """There was nothing to read."""

    at: Moment


@dataclass(frozen=True, slots=True, eq=False)
class BatchRead:
    """The job of a batch is done: ``least`` and ``greatest`` are its accepted event times.

    ``used_us`` is the core time that it used, ``parts`` what for.
    """

    at: Moment
    least: Micros | None
    greatest: Micros | None
    used_us: float = 0.0
    parts: ReadingParts = field(default_factory=ReadingParts)


@dataclass(frozen=True, slots=True, eq=False)
class BatchCommitted:
    """A batch is part of the state: how far each stream has come, who spoke in it, and when its rows could be read.

    ``arrivals`` is None in a replay at full speed.
    """

    at: Moment
    batch: int
    reaches: Mapping[str, Reach]
    spoke: frozenset[str] = frozenset()
    arrivals: Mapping[str, Arrivals] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BatchApplied:
    """The holders have a committed batch; ``late`` are the late rows of each stream as of it."""

    at: Moment
    batch: int
    late: Mapping[str, LateCounts]
    crowded: bool = False
    """Whether they hold more than they should, and may put it into the store's shards."""
    executions: Mapping[str, ExecutionCost] | None = None
    """What an execution of queries that read rows is expected to cost now; None where that is as before."""


@dataclass(frozen=True, slots=True)
class ClassCost:
    """What a pass cost one sharing class: merges expected, time in the kernel, answers, time to finish them."""

    sharing_class: str
    merges: float
    kernel_us: float
    answers: float
    finish_us: float


@dataclass(frozen=True, slots=True, eq=False)
class PassAnswered:
    """The answers of the pass are in the log, which calls all batches below ``logged_before`` answered. ``failed``
    queries were stopped.

    Of all the time that it took, ``rows_us`` was for what is answered from rows, and ``rows_spent`` is the core time of
    that; ``executions`` as of a batch.
    """

    at: Moment
    took_us: float
    failed: frozenset[str] = frozenset()
    costs: Sequence[ClassCost] = ()
    rows_us: float = 0.0
    rows_spent: RowsSpent = field(default_factory=RowsSpent)
    executions: Mapping[str, ExecutionCost] | None = None
    logged_before: int = 0
    drawn: Mapping[tuple[str, Micros], Drawn] = field(default_factory=dict)
    """How far draws ahead are, for the answers to come."""
    rounds_us: float = 0.0
    """Of the time that it took, what rounds took that were not drawn ahead."""


@dataclass(frozen=True, slots=True, eq=False)
class CancelAsked:
    """Somebody wants no more answers of a query's open instants, or of one of them."""

    at: Moment
    query: str
    instant: Micros | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Instants are ready to be drawn for; for ``unable`` queries nothing can be drawn ahead.

    The rows of those that are ``left`` Spark has to make first.
    """

    at: Moment
    found: Mapping[tuple[str, Micros], Drawn]
    unable: frozenset[str] = frozenset()
    left: frozenset[tuple[str, Micros]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class RowsMade:
    """Spark was to make the rows of these instants: they are ready to be drawn for now, but for ``unable`` queries."""

    at: Moment
    which: frozenset[tuple[str, Micros]]
    found: Mapping[tuple[str, Micros], Drawn]
    unable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class JobletEnded:
    """Rounds were drawn; ``found`` is how far the draws for the instant are now, None where drawing failed."""

    at: Moment
    joblet: int
    stage: Stage
    used_us: float
    found: Drawn | None


@dataclass(frozen=True, slots=True, eq=False)
class Compacted:
    """The batches so far are a base."""

    at: Moment


@dataclass(frozen=True, slots=True, eq=False)
class TimerFired:
    """It is as late as was asked for."""

    at: Moment


@dataclass(frozen=True, slots=True, eq=False)
class StopAsked:
    """Somebody wants it to end after what it is at."""

    at: Moment


Event: TypeAlias = (
    ProgramChanged
    | ReadAsked
    | CompletionAsked
    | NothingRead
    | BatchRead
    | BatchCommitted
    | BatchApplied
    | PassAnswered
    | CancelAsked
    | Prepared
    | RowsMade
    | JobletEnded
    | Compacted
    | TimerFired
    | StopAsked
)

# -- commands ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """Read the next batch; at most so many files of a stream, and only a share of the rows of those in ``shares``.

    ``why`` is the reason for less than all, also where an option says how much.
    """

    limit: int | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """See what has arrived, while nothing of it can be read yet."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit the batch that was read. ``paced`` maps an event time to when its row could be read."""

    pace: Pace | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """Commit a batch without rows: streams are complete through these instants."""

    through: Mapping[str, Micros]
    ended: bool = False
    """There are no more rows: through the largest event time of all streams that are read together."""


@dataclass(frozen=True, slots=True)
class Apply:
    """Let the holders have a committed batch."""

    batch: int


@dataclass(frozen=True, slots=True)
class Journal:
    """Write decisions down, before anything follows from them; these are all that still matter."""

    decisions: tuple[Decision, ...]
    endings: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True)
class Say:
    """Tell a person that giving way begins or ends, and put it into the ledger."""

    notice: Notice


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Answer these firings. Batches below ``closed_before`` are fully answered once they are in the log."""

    current_pass: Pass
    closed_before: int


@dataclass(frozen=True, slots=True, eq=False)
class Prepare:
    """Make these firings ready to be drawn for: one at least, no other one after ``until`` (by the steady clock)."""

    groups: tuple[FiringGroup, ...]
    until: Micros


@dataclass(frozen=True, slots=True)
class MakeRows:
    """Have Spark make the rows of these instants, beside all else."""

    which: frozenset[tuple[str, Micros]]


@dataclass(frozen=True, slots=True)
class StopQuery:
    """A query cannot go on."""

    query: str
    fact: str
    hint: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget what no window to come and no open firing can read."""

    open_from: OpenFrom
    drawn: frozenset[tuple[str, Micros]] = frozenset()
    """The instants whose draws are still needed."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Make a base of all batches through this one, of which nothing is open but what waits for its next stage."""

    batch: int


@dataclass(frozen=True, slots=True)
class Replan:
    """Plan the cadence anew, for these costs by class."""

    rates: Mapping[str, Rates]


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Fire the timer then, by the clock that never goes back."""

    steady: Micros


@dataclass(frozen=True, slots=True)
class Settle:
    """Nothing is open and nothing is under way; ``finished`` where nothing will come."""

    finished: bool = False


@dataclass(frozen=True, slots=True)
class Pace:
    """A replay at ``speed`` times life: event time ``least`` was at wall-clock time ``began``."""

    speed: float
    began: Micros
    least: Micros

    def time_of(self, event_time: Micros) -> Micros:
        """When a row of this event time could be read.

        >>> Pace(10.0, 1_000, 0).time_of(500)
        1050
        """
        return self.began + int((event_time - self.least) / self.speed)


Command: TypeAlias = (
    Read
    | Look
    | Commit
    | Complete
    | Apply
    | Journal
    | Say
    | Answer
    | Prepare
    | MakeRows
    | Draw
    | EndDraws
    | StopQuery
    | Drop
    | Compact
    | Replan
    | WakeAt
    | Settle
)
