"""What gives way: the settings of knobs and the shares of inputs, decided before a pass and found again after a crash.

A decision belongs to a query's instants. Those of open firings are in the journal; a pass that is run again after a
crash is answered as it was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.firings import FiringGroup, Firings, Release
from punctual.schedule.passes import Candidate, Pass
from punctual.schedule.quality import pseudo_deadlines

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Decision:
    """A query's instants from ``first`` through ``last``, released by a batch, are answered with this setting.

    ``level`` is the quality that it follows from, where there is one; that of late ones is 0. Where instants have
    several answers it is that of this ``number``.
    """

    batch: int
    query: str
    first: Micros
    last: Micros
    setting: float
    level: float | None = None
    number: int = 0


def decided(planned: Pass, candidates: Sequence[Candidate]) -> tuple[Decision, ...]:
    """What is new about the settings of a pass; ``candidates`` are those that its groups were made of."""
    members = [
        (group.batch, place, query, group)
        for group, one in zip(planned.groups, candidates, strict=True)
        if one.decided
        for place, query in zip(group.cohort.places, group.cohort.queries)
    ]
    found = []
    for batch, _place, query, group in sorted(members, key=lambda member: member[:2]):
        instants, setting = group.due.instants, group.setting
        assert setting is not None, "what was decided has a setting"
        first, last = int(instants[0]), int(instants[-1])
        found.append(Decision(batch, query, first, last, setting, group.level, group.number))
    return tuple(found)


def with_budgets(planned: Pass, candidates: Sequence[Candidate], now: Micros, latency_us: float) -> Pass:
    """The pass with the time that each group answered from rows has: what is left is shared by what each needs.

    What is late already takes nothing from those that can be in time, and has as long as they have; never less than
    nothing.
    """
    begin = now + int(latency_us)
    ahead = {number: one.deadlines[one.deadlines > begin] for number, one in enumerate(candidates) if one.rows_us > 0.0}
    order = sorted((n for n, deadlines in ahead.items() if deadlines.size), key=lambda n: int(ahead[n].min()))
    demands = [candidates[number].rows_us * ahead[number].size for number in order]
    ends = pseudo_deadlines(demands, [int(ahead[number].min()) for number in order], begin, 1.0)
    longest = max(ends, default=begin)
    budgets = {**dict.fromkeys(ahead, longest - now), **{number: end - now for number, end in zip(order, ends)}}
    groups = (replace(group, budget_us=budgets.get(number)) for number, group in enumerate(planned.groups))
    return replace(planned, groups=tuple(groups))


def forced(planned: Pass, keep: float) -> Pass:
    """The pass with a share that somebody asked for (``SET keep``), and nothing below what a query finds acceptable.

    It follows from the program, so nobody writes it down.
    """

    def share(group: FiringGroup) -> FiringGroup:
        curve = group.cohort.one.curve
        if curve is None or not group.cohort.one.sheds or group.setting is not None:
            return group
        return replace(group, setting=max(keep, curve.least_share))

    return replace(planned, groups=tuple(map(share, planned.groups)))


def still_open(
    decisions: Sequence[Decision], firings: Firings, unapplied: Iterable[Release] = ()
) -> tuple[Decision, ...]:
    """The decisions that still matter: those of an instant that is open, or will be once its batch is applied."""
    spans = [
        (group.cohort, group.batch, group.number, group.due.instants, group.due.instants) for group in firings.groups
    ]
    spans += [
        (cohort, release.batch, 0, np.array([due.first]), np.array([due.last]))
        for release in (*firings.releases, *unapplied)
        for cohort, due in release.dues
        if due.most
    ]
    found: dict[tuple[str, int], list[tuple[int, I64, I64]]] = {(one.query, one.batch): [] for one in decisions}
    for cohort, batch, number, first, last in spans:
        for query in cohort.queries:
            if (query, batch) in found:
                found[query, batch].append((number, first, last))
    return tuple(
        one
        for one in decisions
        if any(
            number <= one.number and np.any((first <= one.last) & (last >= one.first))
            for number, first, last in found[one.query, one.batch]
        )
    )


def with_decisions(groups: Iterable[FiringGroup], decisions: Sequence[Decision]) -> tuple[FiringGroup, ...]:
    """Firings with the settings that were decided for them, each group cut where decisions begin and end."""
    if not decisions:
        return tuple(groups)
    known: dict[tuple[str, int], list[Decision]] = {}
    for one in decisions:
        known.setdefault((one.query, one.batch), []).append(one)
    settings = list(dict.fromkeys((one.setting, one.level) for one in decisions))
    numbers = {setting: number for number, setting in enumerate(settings)}
    found: list[FiringGroup] = []
    for group in groups:
        if not any((query, group.batch) in known for query in group.cohort.queries):
            found.append(group)
            continue
        for number, part in group.cut(partial(_settings, known, numbers, group)):
            setting, level = (part.setting, part.level) if number < 0 else settings[number]
            found.append(replace(part, setting=setting, level=level))
    return tuple(found)


def _settings(
    known: Mapping[tuple[str, int], Sequence[Decision]],
    numbers: Mapping[tuple[float, float | None], int],
    group: FiringGroup,
    query: str,
) -> I64:
    """For each instant of a group the number of the setting that was decided first for a query of it, -1 where none."""
    at = group.due.instants
    found = np.full(at.size, -1, np.int64)
    for one in reversed([one for one in known.get((query, group.batch), ()) if one.number == group.number]):
        found[(at >= one.first) & (at <= one.last)] = numbers[one.setting, one.level]
    return found
