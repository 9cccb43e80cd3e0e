"""Which due executions make up the next pass: earliest deadline first, and late ones together.

An *execution* is a sharing class at an instant. A *pass* runs executions together; it costs a fixed part F (a job) and
the work of each, one class at several instants as often as it has instants. All of a pass is answered when it ends.

Order: by deadline, then instant, then name. The head, first in that order, always runs. Then

1. **The head can be on time.** Others join in that order while the pass ends by the head's deadline, the earliest in
   it. They are on time, and what is left starts no later than after the same executions one by one: a set whose
   deadlines are all met one by one stays so. Nobody is skipped to let a smaller one in: those left out would wait for
   its work and save nothing.
2. **The head is late whatever is done**, and late-pending sharing is on: the pass is paid anyway, and everything that
   is pending and *bounded* joins. F is paid once instead of n times, so the backlog goes as fast as it can.
   Of the PERIOD executions, whose instants and deadlines somebody chose,

   * those that one by one would be on time stay so. They wait where they can run after the pass, one by one, in time
     (they would only delay late ones), and join where they cannot; bounded executions behind one of them in the
     order stay out where they would make it late;
   * those that would be late join if their work is at most F.

Why F. Let n late executions run together in place of one by one, in the same order. Of two of them the later one
no longer waits for the earlier one's F, the earlier one now waits for the later one's work w: the sum of lateness
changes by w - F for each pair, by the sum over places j = 0, 1, ... of j (w_j - F). So whoever works less than F lowers
the sum by joining, whoever works more raises it. A dear PERIOD execution therefore waits, and is soon the head. A dear
bounded one joins all the same: throughput decides there, as in Golab, Bijay and Ozsu's late-pending sharing.

What this does not promise: one pass for everything is the soonest end of a backlog, not its least mean lateness (that
takes several passes, short executions first), and a pass is not interrupted, so what is released during a long one
waits for its end.

Nothing starves: each pass runs the head, an execution that is released after a deadline has a later one, so only
finitely many ever come before any given execution.

Pure, and vectorised: a sort and a few running sums. A long stall releases many executions at once: 100,000 of them
take some 35 ms as columns (less than a pass's fixed part); as objects 70 ms, and 140 ms to make these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.errors import InternalError
from punctual.schedule.due import FOREVER


@dataclass(frozen=True, slots=True)
class Pending:
    """An execution that was released and not answered yet."""

    name: str
    """The class."""
    at: Micros
    """The instant."""
    deadline: Micros
    """By the same clock as ``now``: release + the tightest DEADLINE of its queries, else release + bound."""
    work_us: float
    """Predicted, beyond the fixed cost of a pass."""
    bounded: bool
    """False: instants of a PERIOD."""


@dataclass(frozen=True, slots=True)
class PendingColumns:
    """Many executions as arrays of one length; an engine has the instants of a class as an array already."""

    names: Sequence[str]
    """The classes, each once, in any order."""
    owner: NDArray[np.intp]
    """Each execution's class: its place in ``names``."""
    at: NDArray[np.int64]
    deadline: NDArray[np.int64]
    work_us: NDArray[np.float64]
    bounded: NDArray[np.bool_]

    @classmethod
    def of(cls, pending: Sequence[Pending]) -> PendingColumns:
        count = len(pending)
        place = {name: number for number, name in enumerate({one.name: None for one in pending})}
        return cls(
            tuple(place),
            np.fromiter((place[one.name] for one in pending), np.intp, count),
            np.fromiter((one.at for one in pending), np.int64, count),
            np.fromiter((one.deadline for one in pending), np.int64, count),
            np.fromiter((one.work_us for one in pending), np.float64, count),
            np.fromiter((one.bounded for one in pending), np.bool_, count),
        )

    def order(self) -> NDArray[np.intp]:
        """Places of the executions by deadline, instant, name."""
        rank = np.empty(len(self.names), np.intp)
        rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = np.arange(len(self.names))
        return np.lexsort((rank[self.owner], self.at, self.deadline))


def next_pass(
    pending: Sequence[Pending] | PendingColumns,
    now: Micros,
    fixed_us: float,
    *,
    late_pending: bool = True,
    until: Micros | None = None,
    leeway: float = 0.0,
) -> tuple[int, ...]:
    """What to run next, together.

    Parameters
    ----------
    pending
        Everything that was released and not answered yet.
    now
        By the clock of the deadlines.
    fixed_us
        What a pass costs besides the work in it.
    late_pending
        Whether a head that is late takes others along; without it such a head runs alone.
    until
        Something will be released that has to begin then: nobody joins who would make the pass end later.
    leeway
        Who could wait leaves so large a part of the head's time, since a pass may take longer than was predicted.

    Returns
    -------
    Places in ``pending``, earliest deadline first; empty only when nothing is pending.

    Examples
    --------
    Three executions of 10 us and a fixed cost of 80. In time, two fit before the first deadline; late, all join:

    >>> waiting = [Pending("a", 0, 300, 10.0, True), Pending("b", 0, 100, 10.0, True), Pending("c", 0, 200, 10.0, True)]
    >>> next_pass(waiting, 0, 80.0)
    (1, 2)
    >>> next_pass(waiting, 50, 80.0)
    (1, 2, 0)
    >>> next_pass(waiting, 50, 80.0, late_pending=False)
    (1,)
    """
    columns = pending if isinstance(pending, PendingColumns) else PendingColumns.of(pending)
    order = columns.order()
    if not order.size:
        return ()
    work = columns.work_us[order]
    if not (np.isfinite(work).all() and work.min() >= 0.0):
        raise InternalError("an execution's predicted work is negative or not a number")
    slack = columns.deadline[order] - now  # lengths are small enough to be exact as floats
    if fixed_us + work[0] > slack[0]:
        chosen = order[_late_pass(slack, work, columns.bounded[order], fixed_us)] if late_pending else order[:1]
    else:
        end = FOREVER if until is None else until - now
        chosen = order[: _that_join(slack, fixed_us + np.cumsum(work), end, leeway)]
    return tuple(chosen.tolist())


def _that_join(slack: NDArray[np.int64], ends: NDArray[np.float64], until: Micros, leeway: float) -> int:
    """How many executions, in the order of deadlines, run with a head that is on time, and the head."""
    limits = np.where(slack > slack[0], (1.0 - leeway) * slack[0], slack[0])
    over = np.flatnonzero(ends[1:] > np.minimum(limits, (1.0 - leeway) * until)[1:])
    return 1 + int(over[0]) if over.size else ends.size


def _late_pass(
    slack: NDArray[np.int64], work: NDArray[np.float64], bounded: NDArray[np.bool_], fixed_us: float
) -> NDArray[np.bool_]:
    """Which executions run with a head that is late; all arrays in the order of deadlines."""
    one_by_one = np.cumsum(fixed_us + work)
    kept = ~bounded & (one_by_one <= slack)
    dear = ~bounded & ~kept & (work > fixed_us)
    dear[0] = False  # the head runs
    # Ends only grow and limits only fall along the order: what fits is a beginning of it, and the head is in it.
    ends = fixed_us + np.cumsum(np.where(dear, 0.0, work))
    limits = np.minimum.accumulate(np.where(kept, slack, np.inf))
    fits = ends <= limits
    end = ends[np.count_nonzero(fits) - 1]
    # Behind the pass a kept one may have to wait for every PERIOD execution before it that did not join.
    behind = np.cumsum(np.where(kept | dear, fixed_us + work, 0.0))
    can_wait = kept & (end + behind <= slack)
    chosen: NDArray[np.bool_] = fits & ~dear & ~can_wait
    return chosen
