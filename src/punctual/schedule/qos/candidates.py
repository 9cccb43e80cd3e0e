"""Open firings with what a policy says of them: the settings that they would be answered with, if they are answered
next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.firings import FiringGroup
from punctual.schedule.passes import Candidate
from punctual.schedule.qos.open_groups import OpenGroup
from punctual.schedule.qos.prices import Prices
from punctual.schedule.qos.sampling import second_deadlines
from punctual.schedule.qos.verdict import Verdict

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


def candidates(groups: Sequence[OpenGroup], verdict: Verdict, prices: Prices, now: Micros) -> list[Candidate]:
    """All open groups, each cut in two where only some of its instants are late."""
    found: list[Candidate] = []
    for number, one in enumerate(groups):
        late = verdict.late[number] if verdict.late else None
        if late is None:
            found.append(_candidate(one, one.group, one.deadlines, verdict, prices, late=False))
            continue
        deadlines = second_deadlines(one, late, now)
        for is_late in (True, False):
            some: Bools = late == is_late
            if some.any():
                part = one.group.only(some)
                found.append(_candidate(one, part, deadlines[some], verdict, prices, late=is_late))
    return _knobs_together(found)


def _candidate(
    one: OpenGroup, group: FiringGroup, deadlines: I64, verdict: Verdict, prices: Prices, *, late: bool
) -> Candidate:
    share, new = 1.0, False
    if one.curve is not None:
        share = verdict.share_of(one.curve, late=late)
        new = share < 1.0 and one.cost.work_us > 0.0
        if new:
            group = replace(group, setting=share, level=0.0 if late else verdict.level)
    cohort = group.cohort
    if one.said_us:
        return Candidate(group, deadlines, 0.0, 0.0, 0.0, decided=new, said_us=one.said_us)
    if prices.expected(cohort) is None:
        return Candidate(group, deadlines, cohort.shared, cohort.own, 0.0, decided=new)
    # Where a share was forced, or decided before, the cost is that of it.
    return Candidate(group, deadlines, 0.0, 0.0, one.cost.at(share) / prices.cores, decided=new)


def _knobs_together(found: Sequence[Candidate]) -> list[Candidate]:
    """With the settings of knobs in place of shares.

    Rankings of one window are one walk, so those that leave the same share have the strongest setting of all of them.
    """
    strongest: dict[tuple[type, float], float] = {}
    for one in found:
        share = _share_of_knob(one)
        if share is not None:
            settings = [c.knob.setting(share) for c in one.group.cohort.contracts if c.knob is not None]
            which = type(one.group.cohort.one.knob), share
            strongest[which] = max([strongest.get(which, 0.0), *settings])
    return [
        one if share is None else replace(
            one, group=replace(one.group, setting=strongest[type(one.group.cohort.one.knob), share])
        )
        for one, share in ((one, _share_of_knob(one)) for one in found)
    ]  # fmt: skip


def _share_of_knob(one: Candidate) -> float | None:
    """The share of the work that a knob is to leave; None where there is no knob to turn."""
    contract = one.group.cohort.one
    sampled = contract.sheds and contract.curve is not None
    return one.group.setting if one.decided and not sampled else None
